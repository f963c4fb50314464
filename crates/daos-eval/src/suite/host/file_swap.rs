//! Swap on a file, for a while.
//!
//! The guard sets it up, too.

use super::shell_guard::ShellGuard;
use crate::suite::error::SuiteError;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Of the highest priority, so that what is paged out goes there. What goes wrong is its first
/// line.
const GUARD: &str = "exec 2>&1
rm -f \"$0\"
if fallocate -l \"$1\" \"$0\" && chmod 600 \"$0\" && mkswap \"$0\" >/dev/null && swapon -p 32767 \"$0\"
then echo ready; read -r _; swapoff \"$0\"
fi
rm -f \"$0\"";

/// Swap on a file, until this is dropped.
#[derive(Debug)]
pub struct FileSwap {
    _guard: ShellGuard,
}

impl FileSwap {
    /// Sets it up, of this many bytes.
    pub fn set_up(path: &Path, bytes: u64) -> Result<Self, SuiteError> {
        let failed = |why: String| SuiteError::Host {
            path: path.to_owned(),
            value: format!("{} MiB of swap", bytes >> 20),
            why,
        };
        let guard = ShellGuard::start(GUARD, path, bytes.to_string());
        let mut guard = guard.map_err(|err| failed(err.to_string()))?;
        let mut said = String::new();
        if let Some(stdout) = guard.output() {
            let read = BufReader::new(stdout).read_line(&mut said);
            read.map_err(|err| failed(err.to_string()))?;
        }
        if said.trim() == "ready" {
            Ok(Self { _guard: guard })
        } else {
            Err(failed(said.trim().to_owned()))
        }
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
