//! Swap on a file, for a while.
//!
//! The guard sets it up, too.

use super::shell_guard::ShellGuard;
use crate::suite::error::SuiteError;
use daos_linux::swap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Of the highest priority, so that what is paged out goes there. What goes wrong is its first
/// line. A file that is still in use stays, as nobody could turn it off without its name.
const GUARD: &str = "rm -f \"$0\"
if fallocate -l \"$1\" \"$0\" && chmod 600 \"$0\" && mkswap \"$0\" >/dev/null && swapon -p 32767 \"$0\"
then echo ready; read -r _
why=$(swapoff \"$0\" 2>&1) || fail \"$why; it is still on: end processes, then run 'swapoff $0 && rm $0'\"
fi
rm -f \"$0\"";

/// Swap on a file, until this is dropped.
#[derive(Debug)]
pub struct FileSwap {
    guard: ShellGuard,
}

impl FileSwap {
    /// Sets it up, of this many bytes.
    pub fn set_up(path: &Path, bytes: u64) -> Result<Self, SuiteError> {
        let failed = |why: String| SuiteError::Host {
            path: path.to_owned(),
            value: format!("{} MiB of swap", bytes >> 20),
            why,
        };
        if is_on(Path::new("/"), path) {
            let path = path.display();
            return Err(failed(format!("it is on already; run 'swapoff {path} && rm {path}'")));
        }
        let guard = ShellGuard::start(GUARD, path, bytes.to_string());
        let mut guard = guard.map_err(|err| failed(err.to_string()))?;
        let mut said = String::new();
        if let Some(stdout) = guard.output() {
            let read = BufReader::new(stdout).read_line(&mut said);
            read.map_err(|err| failed(err.to_string()))?;
        }
        if said.trim() == "ready" {
            Ok(Self { guard })
        } else {
            Err(failed(said.trim().to_owned()))
        }
    }

    /// Takes it away.
    pub fn put_back(self) -> Result<(), SuiteError> {
        self.guard.put_back().map_err(SuiteError::NotPutBack)
    }
}

/// Whether there is swap on this file, as after one that was killed with its guard.
fn is_on(root: &Path, path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| swap::in_use(root, &path).is_some())
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

    #[test]
    fn a_file_that_is_in_use_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a swap");
        let line = format!("{}/a\\040swap file 1024 0 32767", dir.path().display());
        fs::create_dir(dir.path().join("proc")).unwrap();
        let swaps = dir.path().join("proc/swaps");
        fs::write(&swaps, format!("Filename Type Size Used\n{line}\n")).unwrap();
        assert!(!is_on(dir.path(), &path), "it is another one that has no name any more");
        fs::write(&path, "").unwrap();
        assert!(is_on(dir.path(), &path));
        assert!(!is_on(dir.path(), &swaps));
    }
}
