//! One evaluation at a time: two would measure each other.

use crate::suite::error::SuiteError;
use crate::suite::no_link::no_link;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const DIR: &str = "/run/daos";

/// The right to measure on this machine, until this is dropped or the process ends.
#[derive(Debug)]
pub struct OneSuite {
    locked: File,
}

impl OneSuite {
    /// Takes it, or says who has it.
    pub fn take() -> Result<Self, SuiteError> {
        Self::take_in(Path::new(DIR))
    }

    fn take_in(dir: &Path) -> Result<Self, SuiteError> {
        let path = dir.join("evaluation");
        let failed = |why: io::Error| SuiteError::Write { path: path.clone(), why };
        DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(failed)?;
        let mut options = no_link();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let holder = holder.trim().to_owned();
                let known = !holder.is_empty();
                return Err(SuiteError::Another(if known { holder } else { "?".to_owned() }));
            }
            Err(errno) => return Err(failed(errno.into())),
        }
        let pid = std::process::id();
        file.set_len(0).and_then(|()| writeln!(file, "{pid}")).map_err(failed)?;
        Ok(Self { locked: file })
    }
}

impl Drop for OneSuite {
    fn drop(&mut self) {
        // Not by closing alone: a process that was just forked has the file open until it
        // executes its program, and would keep the lock.
        let _ = flock(&self.locked, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = OneSuite::take_in(dir.path()).unwrap();
        let second = OneSuite::take_in(dir.path()).unwrap_err().to_string();
        assert!(second.contains(&format!("process {}", std::process::id())), "{second}");
        // As a process does that is being started.
        let _forked = first.locked.try_clone().unwrap();
        drop(first);
        OneSuite::take_in(dir.path()).unwrap();
    }
}
