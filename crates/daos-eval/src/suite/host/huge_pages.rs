//! The host's policy for huge pages, changed for a while.
//!
//! It is put back however its user ends: the guard holds the policy that was there, and writes
//! it back. There is one way for all ends.

use super::shell_guard::ShellGuard;
use crate::suite::configuration::HugePages;
use crate::suite::error::SuiteError;
use std::fs;
use std::path::{Path, PathBuf};

/// Below `/`.
const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const PUT_BACK: &str = "read -r _
why=$(printf %s \"$1\" 2>&1 >\"$0\") || fail \"$why; run 'echo $1 >$0'\"";

/// The policy that is in force, until this is dropped.
#[derive(Debug)]
pub struct HugePagePolicy {
    /// `None` where it was in force already.
    guard: Option<ShellGuard>,
}

impl HugePagePolicy {
    /// Puts a policy in force. `root` is `/`, or a test's tree.
    pub fn set(root: &Path, policy: HugePages) -> Result<Self, SuiteError> {
        let path = root.join(ENABLED);
        let wanted = match policy {
            HugePages::Madvise => "madvise",
            HugePages::Always => "always",
        };
        let failed = |why: String| host_error(&path, wanted, why);
        let all = match fs::read_to_string(&path) {
            Ok(all) => all,
            // A kernel without huge pages has none by either policy.
            Err(_) if policy == HugePages::Madvise => return Ok(Self { guard: None }),
            Err(err) => return Err(failed(err.to_string())),
        };
        let Some(before) = in_force(&all) else {
            return Err(failed(format!("none of {:?} is in force", all.trim())));
        };
        if before == wanted {
            return Ok(Self { guard: None });
        }
        let guard = ShellGuard::start(PUT_BACK, &path, before);
        let guard = guard.map_err(|err| failed(err.to_string()))?;
        let set = Self { guard: Some(guard) };
        fs::write(&path, wanted).map_err(|err| failed(err.to_string()))?;
        Ok(set)
    }

    /// Puts back the one that was in force.
    pub fn put_back(self) -> Result<(), SuiteError> {
        self.guard.map_or(Ok(()), ShellGuard::put_back).map_err(SuiteError::NotPutBack)
    }
}

/// The one in brackets: `always [madvise] never`.
fn in_force(all: &str) -> Option<&str> {
    let word = all.split_whitespace().find_map(|word| word.strip_prefix('['))?;
    Some(word.trim_end_matches(']'))
}

fn host_error(path: &Path, value: &str, why: String) -> SuiteError {
    SuiteError::Host { path: PathBuf::from(path), value: value.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(all: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(ENABLED);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, all).unwrap();
        root
    }

    #[test]
    fn what_was_there_is_put_back() {
        let root = host("always [madvise] never\n");
        let read = || fs::read_to_string(root.path().join(ENABLED)).unwrap();
        let set = HugePagePolicy::set(root.path(), HugePages::Always).unwrap();
        assert_eq!(read(), "always");
        drop(set);
        assert_eq!(read(), "madvise");
    }

    #[test]
    fn what_cannot_be_put_back_is_told() {
        let root = host("always [madvise] never\n");
        let set = HugePagePolicy::set(root.path(), HugePages::Always).unwrap();
        let path = root.path().join(ENABLED);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = set.put_back().unwrap_err().to_string();
        assert!(error.contains("run 'echo madvise >"), "{error}");
    }

    #[test]
    fn it_is_put_back_when_its_user_is_killed() {
        let root = host("always [madvise] never\n");
        let path = root.path().join(ENABLED);
        let mut set = HugePagePolicy::set(root.path(), HugePages::Always).unwrap();
        // All that is left of a user that was killed is that nobody holds the other end.
        let guard = set.guard.take().unwrap();
        drop(set);
        assert_eq!(fs::read_to_string(&path).unwrap(), "always");
        drop(guard);
        assert_eq!(fs::read_to_string(&path).unwrap(), "madvise");
    }

    #[test]
    fn what_is_in_force_is_left() {
        let root = host("[always] madvise never\n");
        let set = HugePagePolicy::set(root.path(), HugePages::Always).unwrap();
        assert!(set.guard.is_none());
        let none = tempfile::tempdir().unwrap();
        assert!(HugePagePolicy::set(none.path(), HugePages::Madvise).is_ok());
        let error = HugePagePolicy::set(none.path(), HugePages::Always).unwrap_err();
        assert!(error.to_string().contains("transparent_hugepage"), "{error}");
    }
}
