//! What keeps `daos` from a kernel that could do all it needs.

use daos_core::text::safe;
use std::fs;
use std::path::Path;

/// Whether `proc` tells of the processes of another PID namespace than that of the caller,
/// whose number is `pid`; then what to do.
pub fn other_pids(proc: &Path, pid: u32) -> Option<String> {
    let there = fs::read_link(proc.join("self")).ok();
    let there = there.as_ref().and_then(|link| link.to_str());
    if there == Some(&pid.to_string()) {
        return None;
    }
    let there = there.map_or("nothing".to_owned(), |pid| format!("process {}", safe(pid)));
    Some(format!(
        "/proc is that of another PID namespace: process {pid} is {there} in it; mount this one's \
         (mount -t proc proc /proc), or start daos outside of the container"
    ))
}

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
    use std::os::unix::fs::symlink;

    #[test]
    fn a_proc_of_other_processes_is_noticed() {
        let proc = tempfile::tempdir().unwrap();
        let why = other_pids(proc.path(), 7).unwrap();
        assert!(why.contains("process 7 is nothing in it"), "{why}");
        symlink("4711", proc.path().join("self")).unwrap();
        let why = other_pids(proc.path(), 7).unwrap();
        assert!(why.contains("process 7 is process 4711 in it"), "{why}");
        assert_eq!(other_pids(proc.path(), 4711), None);
        assert_eq!(other_pids(Path::new("/proc"), std::process::id()), None);
    }

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
