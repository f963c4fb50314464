//! What keeps `daos` from a kernel that could do all it needs.

use daos_core::text::safe;
use std::fs;
use std::path::Path;

/// How far the kernel is locked down, and what that may keep from working; `None` if it
/// is not. See kernel_lockdown(7).
pub fn lockdown(sys: &Path) -> Option<String> {
    let levels = fs::read_to_string(sys.join("kernel/security/lockdown")).ok()?;
    let level = levels.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'))?;
    match level {
        "none" => None,
        "confidentiality" => Some(
            "the kernel is locked down (confidentiality), so no BPF program may read its memory: \
             boot with lockdown=integrity or less"
                .to_owned(),
        ),
        level => Some(format!(
            "the kernel is locked down ({}), which may be why: try lockdown=none, or Secure Boot \
             turned off",
            safe(level)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lockdown_is_named() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(lockdown(sys.path()), None, "a kernel without it");
        let dir = sys.path().join("kernel/security");
        fs::create_dir_all(&dir).unwrap();
        let of = |levels: &str| {
            fs::write(dir.join("lockdown"), levels).unwrap();
            lockdown(sys.path())
        };
        assert_eq!(of("[none] integrity confidentiality\n"), None);
        let why = of("none [integrity] confidentiality\n").unwrap();
        assert!(why.contains("(integrity), which may be why"), "{why}");
        let why = of("none integrity [confidentiality]\n").unwrap();
        assert!(why.contains("no BPF program may read"), "{why}");
    }
}
