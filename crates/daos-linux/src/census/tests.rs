use super::*;
use std::os::unix::fs::symlink;

/// A host with processes, and a memory controller of version 2.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        let mounts = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        host.write("proc/self/mountinfo", mounts);
        host
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A process with so many pages, which was started at such a tick.
    fn add(&self, pid: u32, parent: u32, pages: u64, start: u64, uid: u32, cgroup: &str) {
        let stat =
            format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 {pages} 0");
        self.write(&format!("proc/{pid}/stat"), &stat);
        self.write(&format!("proc/{pid}/status"), &format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n"));
        self.write(&format!("proc/{pid}/cgroup"), &format!("0::{cgroup}\n"));
    }

    fn census(&self, selection: Selection) -> Census {
        Census::new(self.root(), selection)
    }
}

/// A tick at which a process was started that is too young, however long the test takes.
fn just_now() -> u64 {
    process::ticks_now() + 100 * LEAST_AGE_TICKS
}

/// The numbers of those that fit, in order.
fn fitting(census: &mut Census) -> Vec<u32> {
    let all = std::iter::from_fn(|| census.step());
    let mut fit: Vec<_> = all.filter(|c| c.verdict == Verdict::Fits).map(|c| c.pid).collect();
    fit.sort_unstable();
    fit
}

#[test]
fn all_are_gone_over_again_and_again() {
    let host = Host::new();
    host.add(10, 1, 100, 5, 0, "/");
    host.add(11, 1, 200, 5, 0, "/");
    let mut census = host.census(Selection::default());
    assert_eq!(fitting(&mut census), [10, 11]);
    host.add(12, 1, 300, 5, 0, "/");
    fs::remove_dir_all(host.root().join("proc/10")).unwrap();
    assert_eq!(fitting(&mut census), [11, 12]);
}

#[test]
fn the_young_are_gone_over_again_when_they_are_of_age() {
    let host = Host::new();
    host.add(10, 1, 100, 5, 0, "/");
    host.add(11, 1, 100, just_now(), 0, "/");
    host.add(12, 1, 100, just_now(), 0, "/");
    let mut census = host.census(Selection::default());
    assert_eq!(fitting(&mut census), [10]);
    assert!(census.has_young());
    fs::remove_dir_all(host.root().join("proc/12")).unwrap();
    host.add(11, 1, 100, 5, 0, "/");
    assert!(census.go_over_young());
    assert_eq!(fitting(&mut census), [11]);
    assert!(!census.has_young());
    assert_eq!(fitting(&mut census), [10, 11], "then all again");
}

#[test]
fn who_is_meant() {
    let host = Host::new();
    host.add(10, 1, 1000, 5, 0, "/web/a");
    host.add(11, 1, 10, 5, 1001, "/web");
    host.add(12, 1, 1000, 5, 1001, "/db");
    host.add(13, 1, 0, 5, 0, "/web");
    // Started just now; one of them is large.
    host.add(14, 1, 1000, just_now(), 0, "/web");
    host.add(15, 1, 100_000, just_now(), 0, "/web");
    let fit = |selection| fitting(&mut host.census(selection));
    assert_eq!(fit(Selection::default()), [10, 11, 12, 15]);
    let cgroup = Some(CgroupPattern::new("web").unwrap());
    assert_eq!(fit(Selection { cgroup, ..Selection::default() }), [10, 11, 15]);
    assert_eq!(fit(Selection { uid: Some(1001), ..Selection::default() }), [11, 12]);
    let large = Selection { min_resident_bytes: 1 << 20, ..Selection::default() };
    assert_eq!(fit(large.clone()), [10, 12, 15]);
    let census = host.census(large);
    assert_eq!(census.verdict_on(14), Verdict::Fits, "whatever its age");
    assert_eq!(census.verdict_on(99), Verdict::Other);
    assert_eq!(census.cgroup_of(10).as_deref(), Some("/web/a"));
}

#[test]
fn who_is_left_alone() {
    let host = Host::new();
    let me = std::process::id();
    // Ours: a shell under a terminal, and what we started. Process 1 is above all.
    host.add(1, 0, 100, 0, 0, "/init.scope");
    host.add(20, 1, 100, 5, 1000, "/user.slice/a");
    host.add(21, 20, 100, 5, 1000, "/user.slice/a");
    host.add(me, 21, 100, 5, 0, "/user.slice/a");
    host.add(me + 1, me, 100, 5, 0, "/user.slice/a");
    // Others': a daemon, what it started, a program of somebody's that was left behind, and one
    // of a system user below a shell.
    host.add(30, 1, 100, 5, 0, "/system.slice/db.service");
    host.add(31, 30, 100, 5, 101, "/system.slice/db.service");
    host.add(32, 1, 100, 5, 1000, "/user.slice/a");
    host.add(33, 21, 100, 5, 0, "/system.slices");
    host.add(34, 33, 100, 5, 0, "/user.slice/a");
    host.add(35, 20, 100, 5, 1000, "/user.slice/a");
    symlink("/usr/bin/daos", host.root().join(format!("proc/{me}/exe"))).unwrap();
    symlink("/opt/daos (deleted)", host.root().join("proc/34/exe")).unwrap();
    symlink("/usr/bin/other", host.root().join("proc/33/exe")).unwrap();
    // Somebody's program that is only called so.
    symlink("/home/a/daos", host.root().join("proc/35/exe")).unwrap();
    let fit = |include_system| {
        let protection = Some(Protection::new(host.root(), include_system));
        fitting(&mut host.census(Selection { protection, ..Selection::default() }))
    };
    // Without systemd: a child of process 1 of a system user is a daemon, and so is what it
    // starts, but for what people do.
    assert_eq!(fit(false), [32, 33, 35]);
    assert_eq!(fit(true), [30, 31, 32, 33, 35]);
    fs::create_dir_all(host.root().join("run/systemd/system")).unwrap();
    assert_eq!(fit(false), [32, 33, 35]);
    assert_eq!(fit(true), [30, 31, 32, 33, 35]);
}
