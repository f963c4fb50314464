//! Whether a process gets no more than a part of a CPU: the quota of a cgroup.

use crate::cgroup::{hierarchy, of_process};
use std::fs;
use std::path::Path;

/// Whether a cgroup of process `pid` is limited to a part of the time (`cpu.max`,
/// `cpu.cfs_quota_us`). Before Linux 6.18 a task may be stopped for that with the kernel's locks in
/// its hands.
pub fn is_limited(root: &Path, pid: u32) -> bool {
    of_process(root, pid)
        .is_some_and(|cgroups| cgroups.lines().any(|line| is_limited_in(root, line)))
}

/// The same by one hierarchy, a line of `/proc/PID/cgroup`.
fn is_limited_in(root: &Path, line: &str) -> bool {
    let Some((controllers, path)) = hierarchy(line) else { return false };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "cpu.max"),
        names if names.split(',').any(|name| name == "cpu") => {
            ("sys/fs/cgroup/cpu", "cpu.cfs_quota_us")
        }
        _ => return false,
    };
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().any(|part| {
        let quota = fs::read_to_string(root.join(mount).join(part).join(file)).unwrap_or_default();
        quota
            .split_whitespace()
            .next()
            .is_some_and(|quota| quota.parse().is_ok_and(|us: u64| us > 0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_of_any_cgroup_above_counts() {
        let is_limited_with = |cgroups: &str, file: &str, quota: &str| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in [("proc/7/cgroup", cgroups), (file, quota)] {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            is_limited(root.path(), 7)
        };
        let two = "0::/system.slice/daos.service\n";
        let above = "sys/fs/cgroup/system.slice/cpu.max";
        assert!(is_limited_with(two, above, "5000 100000\n"));
        assert!(!is_limited_with(two, above, "max 100000\n"));
        assert!(!is_limited_with(two, "sys/fs/cgroup/user.slice/cpu.max", "5000 100000\n"));
        let one = "4:memory:/a\n1:cpu,cpuacct:/a/b\n0::/\n";
        assert!(is_limited_with(one, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "20000\n"));
        assert!(!is_limited_with(one, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n"));
    }
}
