//! As whom a command runs, and whose the files are, when root was asked by `sudo`.

use daos_core::AddrRange;
use daos_testing::{
    Process, Scratch, WINDOWS, built, bytes_where, daos, eventually, snapshots, until,
};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Output};
use test_tag::tag;

/// A user that every host has, and its group.
const CALLER: &str = "nobody";

/// What `id` says of it, such as `-u`.
fn caller(what: &str) -> String {
    let output = Command::new("id").args([what, CALLER]).output().expect("id is there");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// `daos`, as if that user had called it by `sudo`.
fn by_sudo(args: &[&str]) -> Command {
    let mut command = daos(args);
    command.env("SUDO_UID", caller("-u")).env("SUDO_GID", caller("-g"));
    command
}

/// Records a command that says who it is, with these options.
fn who(scratch: &Scratch, options: &[&str]) -> Output {
    const ASK: &str = "id -u; id -g; id -G; echo $USER; grep -E '^(CapPrm|CapEff|NoNewPrivs)' \
        /proc/self/status | cut -f 2; sleep 0.3";
    let record = ["record", "-o", &scratch.text("record")];
    let args = [&record, options, &["--", "sh", "-c", ASK]].concat();
    by_sudo(&args).output().expect("daos runs")
}

fn lines(said: &[u8]) -> Vec<&str> {
    std::str::from_utf8(said).unwrap().lines().collect()
}

#[tag(root)]
#[test]
fn a_command_runs_as_who_called_sudo() {
    let scratch = Scratch::new();
    let output = who(&scratch, &[]);
    let none = "0000000000000000";
    let [uid, gid, groups] = ["-u", "-g", "-G"].map(caller);
    assert_eq!(lines(&output.stdout), [&uid, &gid, &groups, CALLER, none, none, "1"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let told = format!("run as {CALLER} (user {uid})");
    assert_eq!(stderr.matches(&told).count(), 1, "{stderr}");
    assert!(output.status.success());
}

#[tag(root)]
#[test]
fn root_is_kept_where_it_is_asked_for() {
    let scratch = Scratch::new();
    for user in ["root", "0"] {
        let output = who(&scratch, &["--user", user]);
        let said = lines(&output.stdout);
        assert_eq!((said[0], said[1], said.last()), ("0", "0", Some(&"1")), "{said:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("run as"), "{stderr}");
    }
}

#[tag(root)]
#[test]
fn a_caller_that_is_no_user_lets_nothing_begin() {
    let scratch = Scratch::new();
    for uid in ["4000000001", "root", ""] {
        let touch = ["--", "touch", &scratch.text("touched")];
        let record = ["record", "-o", &scratch.text("record")];
        let output = daos(&[&record[..], &touch].concat()).env("SUDO_UID", uid).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("SUDO_UID is {uid:?}")), "{stderr}");
        assert!(!scratch.path("touched").exists() && !scratch.path("record").exists());
    }
}

#[tag(root)]
#[test]
fn files_belong_to_who_called_sudo() {
    let scratch = Scratch::new();
    let uid: u32 = caller("-u").parse().unwrap();
    let owner = |name: &str| scratch.path(name).symlink_metadata().unwrap().uid();
    let command = ["--", "sh", "-c", "sleep 0.3"];
    let (record, stats) = (scratch.text("record"), scratch.text("stats"));
    let scheme = ["-s", "4K max min min 30s max stat"];
    let args = ["record", "-q", "-o", &record, "--stats", &stats];
    let args = [&args, &scheme[..], &command].concat();
    assert!(by_sudo(&args).status().unwrap().success());
    let picture = scratch.text("heatmap.svg");
    let args = ["report", "heatmap", "-o", &picture, &record];
    assert!(by_sudo(&args).status().unwrap().success());
    let out = scratch.text("a/tuning");
    let tune = ["tune", "-q", "--samples", "2", "--out", &out];
    assert!(by_sudo(&[&tune[..], &scheme, &command].concat()).status().unwrap().success());
    let tuning = ["a", "a/tuning", "a/tuning/samples.jsonl", "a/tuning/output.log"];
    for name in ["record", "stats", "heatmap.svg", "a/tuning/plot.png"].iter().chain(&tuning) {
        assert_eq!(owner(name), uid, "{name}");
    }

    // What was there stays whose it was.
    std::os::unix::fs::chown(&record, Some(0), Some(0)).unwrap();
    let args = [&["record", "-q", "-o", &record][..], &command].concat();
    assert!(by_sudo(&args).status().unwrap().success());
    assert_eq!(owner("record"), 0);
}

/// The rights that a process has, may have, and could ever have.
fn sets(pid: u32) -> [u64; 3] {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    ["CapEff:", "CapPrm:", "CapBnd:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    })
}

#[tag(root)]
#[test]
fn a_tuning_and_the_guard_of_its_swap_give_up_rights() {
    /// Those of watching, CAP_SYS_ADMIN, and in the last byte CAP_SETUID, CAP_SETGID, CAP_KILL
    /// and those to read and write files.
    const KEPT: u64 = 1 << 19 | 1 << 23 | 1 << 38 | 1 << 39 | 1 << 21 | 0xef;
    let scratch = Scratch::new();
    let args = ["tune", "-q", "-s", "prcl", "--limit", "1m", "--zram", "64M", "--out"];
    let out = scratch.text("out");
    let args = [&args[..], &[&out, "--", "sleep", "60"]].concat();
    let daos = Process::start(&mut by_sudo(&args));
    assert!(until(|| sets(daos.pid()) == [KEPT; 3]), "{:x?}", sets(daos.pid()));
    let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", daos.pid()));
    let children = children().expect("it runs");
    let guard = children.split_whitespace().next().expect("the guard is the first").parse();
    let guard = sets(guard.expect("a number"));
    assert_eq!(guard, [1 << 21; 3], "{guard:x?}");
}

#[tag(root)]
#[test]
fn rights_are_given_up_and_the_end_comes_all_the_same() {
    /// CAP_KILL, and those that watching takes: CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_PERFMON,
    /// CAP_BPF.
    const KEPT: u64 = 1 << 5 | 1 << 19 | 1 << 23 | 1 << 38 | 1 << 39;
    let scratch = Scratch::new();
    let args = ["record", "-q", "-o", &scratch.text("record"), "-d", "3s", "--", "sleep", "60"];
    let mut daos = Process::start(&mut by_sudo(&args));
    assert!(until(|| sets(daos.pid()) == [KEPT; 3]), "{:x?}", sets(daos.pid()));
    // The command belongs to another user, and is ended.
    assert!(daos.end().success());
    assert_eq!(scratch.record().end().unwrap().reason, "the duration was over");
}

#[tag(root)]
#[test]
fn what_files_of_others_hold_may_be_paged_out() {
    /// CAP_FOWNER, CAP_DAC_READ_SEARCH, and those that watching takes.
    const KEPT: u64 = 1 << 3 | 1 << 2 | 1 << 19 | 1 << 23 | 1 << 38 | 1 << 39;
    let idle = Process::start(Command::new("sleep").arg("60"));
    let (scheme, pid) = ("4K max min min 30s max pageout", idle.pid().to_string());
    let args = ["apply", "-q", "--dry-run", "-s", scheme, "--pid", &pid];
    let daos = Process::start(&mut by_sudo(&args));
    assert!(until(|| sets(daos.pid()) == [KEPT; 3]), "{:x?}", sets(daos.pid()));
}

#[tag(root)]
#[test]
fn what_a_user_runs_is_seen() {
    eventually(|| {
        let scratch = Scratch::new();
        scratch.configure("cold, 48M\nhot, 16M\n\nbusy\n3s\nhot, random, 1, 1\n");
        // The build directory may be closed to others; a copy is not.
        let load = scratch.text("daos-eval");
        fs::copy(built("daos-eval"), &load).unwrap();
        fs::set_permissions(scratch.path(""), Permissions::from_mode(0o755)).unwrap();
        let record = ["record", "-q", "-o", &scratch.text("record")];
        let command = ["--", &load, "workload", &scratch.text("load.cfg")];
        let output = by_sudo(&[&record[..], WINDOWS, &command].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let hot =
            |snapshot| bytes_where(snapshot, AddrRange::new(0, u64::MAX), |r| r.access_rate > 0.5);
        let most = snapshots(&scratch.record()).iter().map(hot).max().unwrap_or(0) >> 20;
        assert!((15..40).contains(&most), "{most} MiB hot");
    });
}
