//! Which `daos` it is: of two that are built from other sources, runs are not pooled.

use daos_cli::find_program;
use std::fs;
use std::path::Path;

/// A checksum of the executable file of that `path`, or of that name on the PATH, and how large it
/// is, in words; `None` if it can't be read.
pub(super) fn daos_build(path: &Path) -> Option<String> {
    let bytes = fs::read(find_program(path.as_os_str())?).ok()?;
    Some(format!("build {:08x}, {} bytes", crc32fast::hash(&bytes), bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_are_another_build() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            daos_build(&path).unwrap()
        };
        assert_eq!(file("a", "one"), file("b", "one"));
        assert_ne!(file("a", "one"), file("b", "two"));
        assert_eq!(daos_build(&dir.path().join("c")), None);
        assert!(daos_build(Path::new("sh")).is_some());
    }
}
