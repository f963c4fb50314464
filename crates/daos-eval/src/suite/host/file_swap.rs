//! Swap on a file, for a while.
//!
//! A process of the shell sets it up, waits for the end of its input, whose other end only its
//! user has, and takes it away: so it goes however its user ends, `kill -9` included.

use crate::suite::error::SuiteError;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Of the highest priority, so that what is paged out goes there. Ctrl-C and its like are not
/// meant for it. What goes wrong is its first line.
const GUARD: &str = "trap '' HUP INT QUIT TERM
exec 2>&1
rm -f \"$0\"
if fallocate -l \"$1\" \"$0\" && chmod 600 \"$0\" && mkswap \"$0\" >/dev/null && swapon -p 32767 \"$0\"
then echo ready; read -r _; swapoff \"$0\"
fi
rm -f \"$0\"";

/// Swap on a file, until this is dropped.
#[derive(Debug)]
pub struct FileSwap {
    guard: Child,
}

impl FileSwap {
    /// Sets it up, of this many bytes.
    pub fn set_up(path: &Path, bytes: u64) -> Result<Self, SuiteError> {
        let failed = |why: String| SuiteError::Host {
            path: path.to_owned(),
            value: format!("{} MiB of swap", bytes >> 20),
            why,
        };
        let mut command = Command::new("sh");
        command.args(["-c", GUARD]).arg(path).arg(bytes.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let guard = command.spawn().map_err(|err| failed(err.to_string()))?;
        let mut swap = Self { guard };
        let mut said = String::new();
        if let Some(stdout) = &mut swap.guard.stdout {
            let read = BufReader::new(stdout).read_line(&mut said);
            read.map_err(|err| failed(err.to_string()))?;
        }
        if said.trim() == "ready" { Ok(swap) } else { Err(failed(said.trim().to_owned())) }
    }
}

impl Drop for FileSwap {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_told() {
        let error = FileSwap::set_up(Path::new("/no/such/dir/swap"), 1 << 20).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("1 MiB of swap") && error.contains("No such file"), "{error}");
    }
}
