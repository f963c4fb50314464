//! Whose process numbers these are.

use daos_core::text::safe;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The number of the first PID namespace, which is that of the host (`PROC_PID_INIT_INO`).
const OF_HOST: u64 = 0xefff_fffc;

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

/// Whether process 1 is that of the host, rather than that of a container that this runs in.
/// Where that can't be known, it is.
pub fn is_of_host(proc: &Path) -> bool {
    fs::metadata(proc.join("self/ns/pid")).map_or(true, |namespace| namespace.ino() == OF_HOST)
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
}
