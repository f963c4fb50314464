//! Which processes are meant, among all.

use super::Protection;
use glob::Pattern;
use std::fmt;

/// Which processes are meant, by what does not change with what they access.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only those in such a cgroup, or below it.
    pub cgroup: Option<CgroupPattern>,
    /// Only those that act as this user (their effective number).
    pub uid: Option<u32>,
    /// Only those with at least so many bytes resident.
    pub min_resident_bytes: u64,
    /// Those that are left out since their memory is to be acted on; `None` where all are only
    /// watched.
    pub protection: Option<Protection>,
}

impl Selection {
    /// Whether it means all of the machine, system daemons as well.
    pub fn is_of_all(&self) -> bool {
        let with_system = self.protection.as_ref().is_none_or(Protection::includes_system);
        let chosen = self.cgroup.is_some() || self.uid.is_some() || self.min_resident_bytes > 0;
        !chosen && with_system
    }
}

/// A pattern of paths of cgroups: `*` stands for any text, `?` for a character, `[ab]` for one
/// of some. It means the cgroups below those that it matches, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupPattern(Pattern);

impl CgroupPattern {
    /// Of a path from the root of the hierarchy, such as `/system.slice/*` or `*docker*`. The
    /// slash before it may be left out.
    ///
    /// # Errors
    ///
    /// What is wrong with the pattern, and where. No text at all is refused: it comes of a
    /// variable that is not set, and would mean the whole machine.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty; name a cgroup, such as system.slice, or `/` for all".into());
        }
        let path = text.trim_end_matches('/');
        let from_root = text.starts_with(['/', '*']);
        let path = if from_root { path.to_owned() } else { format!("/{path}") };
        match Pattern::new(&path) {
            Ok(pattern) => Ok(Self(pattern)),
            Err(error) => Err(format!(
                "{} (`*` stands for any text, `?` for a character, `[ab]` for one of some)",
                error.msg
            )),
        }
    }

    /// Whether the cgroup with this path, or one above it, is meant.
    pub fn matches(&self, path: &str) -> bool {
        let mut rest = path.trim_end_matches('/');
        loop {
            if self.0.matches(rest) {
                return true;
            }
            match rest.rfind('/') {
                Some(slash) => rest = &rest[..slash],
                None => return false,
            }
        }
    }
}

impl fmt::Display for CgroupPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_is_below_too() {
        let matches =
            |pattern: &str, path: &str| CgroupPattern::new(pattern).unwrap().matches(path);
        assert!(matches("/a/b", "/a/b") && matches("/a/b/", "/a/b/c") && matches("a", "/a/b"));
        assert!(!matches("/a/b", "/a") && !matches("/a/b", "/a/bc") && !matches("b", "/a/b"));
        assert!(matches("/a/*.service", "/a/db.service") && matches("*db*", "/a/db.service/x"));
        assert!(!matches("/a/?", "/a/bc") && matches("/a/[bx]c", "/a/bc"));
        assert!(matches("/", "/") && matches("/", "/a/b") && matches("*", "/"));
        assert!(CgroupPattern::new("/a[").unwrap_err().contains("`*` stands for"));
    }

    #[test]
    fn no_pattern_is_not_all() {
        for empty in ["", " "] {
            let why = CgroupPattern::new(empty).unwrap_err();
            assert!(why.contains("name a cgroup"), "{why}");
        }
    }
}
