//! What a systemd unit keeps from `daos` that it needs, and the setting to change.

use daos_linux::support::{NEEDED_RIGHTS, Rights};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;

/// Rights beside those that watching takes all the time: their names, bits, and what for.
const BESIDE_WATCHING: [(&str, u32, &str); 3] = [
    ("CAP_SYS_ADMIN", 21, "see what is RAM, at the start"),
    ("CAP_SETPCAP", 8, "give up rights once it has begun"),
    ("CAP_FOWNER", 3, "page out memory of files that belong to others"),
];
/// Open files below which it is told that children may be left out. Chosen: some hundreds of
/// them.
const FEW_FILES: u64 = 4096;

/// What is missing, if this runs in a unit: a line each. `root`: where `/proc`, `/sys`, `/run`
/// and `/dev` are.
pub fn missing(root: &Path) -> Vec<String> {
    // systemd sets it for what it starts, among that the terminals of a desktop.
    if std::env::var_os("INVOCATION_ID").is_none() || !is_in_service(root) {
        return Vec::new();
    }
    let limit = getrlimit(Resource::Nofile).maximum;
    missing_in(root, limit.unwrap_or(u64::MAX))
}

/// Whether this is in the cgroup of a service of the system.
fn is_in_service(root: &Path) -> bool {
    let cgroups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_service =
        |line: &str| line.trim_end().ends_with(".service") && !line.contains("/user.slice/");
    cgroups.lines().any(of_service)
}

fn missing_in(root: &Path, most_files: u64) -> Vec<String> {
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let rights = Rights::of_status(&status);
    let mut missing = Vec::new();
    let needed = NEEDED_RIGHTS.map(|(name, bit)| (name, bit, "watch processes"));
    for (name, bit, what) in needed.into_iter().chain(BESIDE_WATCHING) {
        if !rights.covers(bit) {
            missing.push(format!(
                "{name} is missing, to {what}: add it to CapabilityBoundingSet= (and to \
                 AmbientCapabilities= with another User= than root)"
            ));
        }
    }
    let mut lacks = |lacks: bool, what: &str| {
        if lacks {
            missing.push(what.to_owned());
        }
    };
    let is_there = |path: &str| root.join(path).exists();
    let is_writable = |path: &str| access(root.join(path), Access::WRITE_OK).is_ok();
    lacks(
        !is_there("proc/meminfo") || !is_there("proc/iomem"),
        "/proc shows processes only: leave out ProcSubset=pid",
    );
    lacks(
        !is_there("proc/1"),
        "/proc hides other processes: leave out ProtectProc= and PrivatePIDs=",
    );
    lacks(
        field("Seccomp:") == Some("2"),
        "system calls are filtered: SystemCallFilter= has to allow bpf, process_madvise, \
         process_vm_readv, pidfd_open, sched_setaffinity and capset",
    );
    lacks(
        !is_writable("run/daos") && !is_writable("run"),
        "/run/daos can't be written to, so that two of them could watch one process: add \
         RuntimeDirectory=daos",
    );
    lacks(
        statvfs(root.join("sys")).is_ok_and(|sys| sys.f_flag.contains(StatVfsMountFlags::RDONLY)),
        "/sys is read-only, so --zram can't set up swap: set it up for the host, or leave out \
         ProtectKernelTunables=",
    );
    if most_files < FEW_FILES {
        missing.push(format!(
            "no more than {most_files} files may be open, four for each target: raise LimitNOFILE="
        ));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;

    #[test]
    fn settings_of_a_unit_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in ["proc/self", "proc/1", "sys/block", "run/daos"] {
            create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("proc/meminfo"), "").unwrap();
        fs::write(root.join("proc/iomem"), "").unwrap();
        let status = |rights: u64, seccomp: u32| {
            let text = format!("CapEff:\t{rights:016x}\nSeccomp:\t{seccomp}\n");
            fs::write(root.join("proc/self/status"), text).unwrap();
        };
        status(u64::MAX, 0);
        assert_eq!(missing_in(root, 1 << 20), [""; 0]);

        status(!(1 << 38 | 1 << 21), 2);
        fs::remove_dir(root.join("proc/1")).unwrap();
        fs::remove_file(root.join("proc/iomem")).unwrap();
        let told = missing_in(root, 1024);
        let settings = [
            "CAP_PERFMON is missing",
            "CAP_SYS_ADMIN is missing",
            "ProcSubset=",
            "ProtectProc=",
            "SystemCallFilter=",
            "LimitNOFILE=",
        ];
        assert_eq!(told.len(), settings.len(), "{told:?}");
        for (told, setting) in told.iter().zip(settings) {
            assert!(told.contains(setting), "{told}");
        }
        status(!(1 << 38), 0);
        assert!(!missing_in(root, 1 << 20).iter().any(|told| told.contains("CAP_PERFMON")));
        for (cgroup, expected) in [
            ("0::/system.slice/daos-apply@db.service\n", true),
            ("1:name=systemd:/mine.slice/db.service\n", true),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.service\n", false),
            ("0::/user.slice/user-1000.slice/session-2.scope\n", false),
        ] {
            fs::write(root.join("proc/self/cgroup"), cgroup).unwrap();
            assert_eq!(is_in_service(root), expected, "{cgroup}");
        }
        fs::remove_dir_all(root.join("run")).unwrap();
        let told = missing_in(root, 1 << 20);
        assert!(told.iter().any(|told| told.contains("RuntimeDirectory=daos")), "{told:?}");
    }
}
