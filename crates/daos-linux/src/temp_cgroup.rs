//! A memory cgroup, with a limit or without one, for as long as it is needed.
//!
//! It lies at the top of the hierarchy: below a cgroup that has processes of its own,
//! version 2 allows none.

use crate::cgroup::{Mount, Version};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use thiserror::Error;

/// What its name begins with; the number of the process that made it follows.
const PREFIX: &str = "daos-temp-";
/// How often, and how far apart, it is tried to remove it: processes that were killed
/// take a moment to leave it.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Why there is none.
#[derive(Debug, Error)]
pub enum CgroupError {
    /// Nothing limits memory here.
    #[error(
        "no cgroup hierarchy with the memory controller is mounted; mount one (`mount -t cgroup2 none /sys/fs/cgroup`) and enable memory in its cgroup.subtree_control"
    )]
    None,
    /// The kernel would not.
    #[error("cannot set up a memory cgroup at {path}: {why}; run daos as root", path = .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        why: io::Error,
    },
}

/// A cgroup that is removed when this is dropped; the processes in it have to end before.
#[derive(Debug)]
pub struct TempCgroup {
    dir: PathBuf,
}

impl TempCgroup {
    /// Makes one whose processes may have this many bytes of memory together, if there is a limit.
    /// `root` is `/`, or a test's tree. Removes those that users which were killed left behind.
    pub fn make(root: &Path, limit_bytes: Option<u64>) -> Result<Self, CgroupError> {
        let mount = Mount::find(root).ok_or(CgroupError::None)?;
        remove_left_behind(root, &mount.dir);
        let dir = mount.dir.join(format!("{PREFIX}{}", std::process::id()));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |why| CgroupError::Io { path, why }
        };
        fs::create_dir(&dir).map_err(failed(&dir))?;
        let cgroup = Self { dir };
        let limit = cgroup.dir.join(match mount.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        });
        if let Some(bytes) = limit_bytes {
            // Where it is not there, the controller is not enabled for this cgroup.
            fs::write(&limit, bytes.to_string()).map_err(failed(&limit))?;
        }
        Ok(cgroup)
    }

    /// The end of its path, which no other has.
    pub fn name(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The file to which a process writes its number to get in.
    pub fn processes(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }
}

impl Drop for TempCgroup {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match fs::remove_dir(&self.dir) {
                Err(err) if err.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

/// One with processes in it can't be removed, and stays.
fn remove_left_behind(root: &Path, hierarchy: &Path) {
    for entry in fs::read_dir(hierarchy).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_gone = |pid: &str| !root.join("proc").join(pid).exists();
        if maker.is_some_and(is_gone) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_left_behind_go_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let hierarchy = root.path().join("memory");
        for dir in ["memory/daos-temp-7", "memory/daos-temp-8", "memory/other", "proc/8"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        remove_left_behind(root.path(), &hierarchy);
        let is_there = |name: &str| hierarchy.join(name).exists();
        assert!(!is_there("daos-temp-7") && is_there("daos-temp-8") && is_there("other"));
    }

    #[test]
    fn a_host_without_cgroups_says_so() {
        let root = tempfile::tempdir().unwrap();
        let error = TempCgroup::make(root.path(), Some(1 << 20)).unwrap_err().to_string();
        assert!(error.contains("memory controller"), "{error}");
    }
}
