//! One monitor for a process: two would clear each other's accessed bits.
//!
//! A claim is a lock on a file in a directory that only root can write to, so that nobody
//! else can take claims to keep processes from being watched.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

const CLAIMS: &str = "/run/daos/claims";

/// Another `daos` watches the process already.
#[derive(Debug, Error)]
#[error(
    "another daos is watching process {0}; two monitors would clear each other's accessed bits: stop that one first"
)]
pub struct Claimed(u32);

/// The right to watch a process. The kernel takes it back when its holder ends,
/// however it ends.
#[derive(Debug)]
pub struct Claim {
    _held: Option<Held>,
}

/// A file, locked for as long as it is open.
#[derive(Debug)]
struct Held {
    _file: File,
    path: PathBuf,
}

impl Claim {
    /// Claims process `pid`, or says that another has.
    ///
    /// The files are those of the mount namespace, and of its root: a monitor in another
    /// namespace, or one that has capabilities but is not root, is not noticed.
    pub fn take(pid: u32) -> Result<Self, Claimed> {
        Self::take_in(Path::new(CLAIMS), pid)
    }

    /// Removes the files of claims that nobody holds, which a `daos` that was killed has left;
    /// returns how many.
    pub fn remove_left_behind() -> usize {
        Self::remove_left_behind_in(Path::new(CLAIMS))
    }

    fn remove_left_behind_in(dir: &Path) -> usize {
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        let pids = files.filter_map(|file| file.file_name().to_str()?.parse::<u32>().ok());
        // Whoever can take one removes it in the end.
        pids.filter(|pid| matches!(Held::take(dir, *pid), Ok(Some(_)))).count()
    }

    fn take_in(dir: &Path, pid: u32) -> Result<Self, Claimed> {
        match Held::take(dir, pid) {
            Ok(Some(held)) => Ok(Self { _held: Some(held) }),
            Ok(None) => Err(Claimed(pid)),
            // Where there can be no such files, there is no way to know.
            Err(_) => Ok(Self { _held: None }),
        }
    }
}

impl Held {
    /// `None` when somebody else has it.
    fn take(dir: &Path, pid: u32) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let path = dir.join(pid.to_string());
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            // Its last holder may have removed it between our opening and locking it.
            let locked = file.metadata()?;
            match fs::symlink_metadata(&path) {
                Ok(there) if (there.dev(), there.ino()) == (locked.dev(), locked.ino()) => {
                    return Ok(Some(Self { _file: file, path }));
                }
                _ => {}
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // While we hold the lock: nobody else can have it by this file. One that stays is no
        // claim.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_claim_lasts_as_long_as_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let claims = dir.path().join("claims");
        let first = Claim::take_in(&claims, 7).unwrap();
        assert_eq!(claims.metadata().unwrap().mode() & 0o777, 0o700);
        let refused = Claim::take_in(&claims, 7).unwrap_err().to_string();
        assert!(refused.contains("process 7"), "{refused}");
        assert!(Claim::take_in(&claims, 8).is_ok());
        drop(first);
        assert_eq!(claims.read_dir().unwrap().count(), 0);
        assert!(Claim::take_in(&claims, 7).is_ok());
        // What one that was killed has left behind is no claim.
        fs::write(claims.join("9"), "").unwrap();
        assert!(Claim::take_in(&claims, 9).unwrap()._held.is_some());
        let held = Claim::take_in(&claims, 10).unwrap();
        fs::write(claims.join("11"), "").unwrap();
        assert_eq!(Claim::remove_left_behind_in(&claims), 1);
        assert!(claims.join("10").exists() && !claims.join("11").exists());
        drop(held);
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        symlink(&elsewhere, dir.path().join("7")).unwrap();
        assert!(Claim::take_in(dir.path(), 7).unwrap()._held.is_none());
        assert!(!elsewhere.exists());
    }

    #[test]
    fn many_want_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let held = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(claim) = Claim::take_in(path, 7) {
                            let others = held.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            assert_eq!(others, 0, "two hold it");
                            held.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            drop(claim);
                        }
                    }
                });
            }
        });
    }
}
