//! Whether what stands at a path may be written to: by root, who may do anything, in a
//! directory where others can put what they like.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Most links from a path to a file, as in the kernel.
const MOST_LINKS: usize = 40;

/// Who writes, and whom that user trusts: itself, root, and who called `sudo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    id: u32,
    /// Who called `sudo`, where that was how root came about.
    caller: Option<u32>,
}

impl User {
    /// This process.
    pub fn current() -> Self {
        let id = rustix::process::geteuid().as_raw();
        let caller = || std::env::var("SUDO_UID").ok()?.parse().ok();
        Self { id, caller: if id == 0 { caller() } else { None } }
    }

    /// Why the file, device or whatever else at `path`, of which `found` was read without
    /// following links, may not be written to; `None` if it may.
    pub fn refusal(&self, path: &Path, found: &Metadata) -> Option<&'static str> {
        let file_type = found.file_type();
        if file_type.is_symlink() {
            Some("a link, which is not followed")
        } else if file_type.is_dir() {
            Some("a directory")
        } else if file_type.is_char_device() {
            (!is_void(found)).then_some("a device")
        } else if !file_type.is_file() {
            Some("a device, a pipe or a socket")
        } else if !self.is_exposed(path) {
            None
        } else if !self.trusts(found.uid()) {
            Some("another user's file, in a directory that others can write to")
        } else {
            // The other name may be where nobody expects it to be written.
            (found.nlink() > 1).then_some("a file that has other names, too")
        }
    }

    /// Whether `path` is, or leads on to, a link of a user that is not trusted, in a
    /// directory where others can make links.
    pub fn follows_untrusted_link(&self, path: &Path) -> bool {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(found) = path.symlink_metadata() else { return false };
            if !found.is_symlink() {
                return false;
            }
            if self.is_exposed(&path) && !self.trusts(found.uid()) {
                return true;
            }
            let Ok(to) = path.read_link() else { return false };
            path = directory(&path).join(to);
        }
        true
    }

    /// Whether what belongs to this user was not put there by a stranger.
    pub fn trusts(&self, uid: u32) -> bool {
        [0, self.id].contains(&uid) || self.caller == Some(uid)
    }

    /// Whether this is root, and others can put something at `path`.
    fn is_exposed(&self, path: &Path) -> bool {
        let others_write = |dir: Metadata| dir.mode() & 0o022 != 0 || !self.trusts(dir.uid());
        self.id == 0 && directory(path).metadata().is_ok_and(others_write)
    }
}

/// Whether it is `/dev/null` or `/dev/full`: devices of which nothing can be lost.
pub fn is_void(found: &Metadata) -> bool {
    let number = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
    found.file_type().is_char_device() && [(1, 3), (1, 7)].contains(&number)
}

/// The directory that `path` is in.
pub fn directory(path: &Path) -> PathBuf {
    let named = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    named.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Root, seen from whom all files of this test belong to another.
    fn root() -> User {
        User { id: 0, caller: None }
    }

    /// Files that belong to whoever runs this; root gives them away.
    fn stranger_owns(path: &Path) {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(path, Some(12345), None).unwrap();
        }
    }

    fn refusal(user: User, path: &Path) -> Option<&'static str> {
        user.refusal(path, &path.symlink_metadata().unwrap())
    }

    #[test]
    fn devices_links_and_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("/dev/null", &link).unwrap();
        for (path, refused) in [
            (Path::new("/dev/null"), false),
            (Path::new("/dev/full"), false),
            (Path::new("/dev/zero"), true),
            (Path::new("/dev"), true),
            (&link, true),
        ] {
            assert_eq!(refusal(User::current(), path).is_some(), refused, "{path:?}");
        }
    }

    #[test]
    fn what_others_may_have_put_there_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        stranger_owns(&file);
        stranger_owns(&link);
        let owner = file.metadata().unwrap().uid();
        let caller = User { id: 0, caller: Some(owner) };
        fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        assert!(refusal(root(), &file).unwrap().contains("another user's"));
        assert!(root().follows_untrusted_link(&link));
        assert!(!caller.follows_untrusted_link(&link));
        assert_eq!(refusal(caller, &file), None);
        assert_eq!(refusal(User { id: owner, caller: None }, &file), None);
        fs::hard_link(&file, dir.path().join("other")).unwrap();
        assert!(refusal(caller, &file).unwrap().contains("other names"));
    }

    #[test]
    fn links_that_lead_in_a_circle_end() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink(&link, &link).unwrap();
        assert!(User::current().follows_untrusted_link(&link));
    }
}
