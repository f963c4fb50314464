//! `--all`: processes are found as they come and go, and none is acted on that is not meant.
//!
//! Whoever watches all processes claims them, and other tests want theirs. So these mean a
//! cgroup of their own, or run by themselves.

use crate::bound::overhead;
use crate::hostile::hostile;
use daos_core::TargetId;
use daos_linux::TempCgroup;
use daos_record::Record;
use daos_testing::{
    Process, Scratch, WINDOWS, Workload, ZramSize, daos, eventually, resident, score, sleep_s,
    snapshots, until,
};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use test_tag::tag;

const MIB: u64 = 1 << 20;
/// 32 MiB in use, 128 MiB idle.
pub const MOSTLY_IDLE: &str = "cold, 64M\nhot, 32M\nidle, 64M\n\nbusy\n300s\nhot, random, 1, 1\n";

/// A cgroup; there is one for a test process at a time.
pub struct Cgroup {
    pub cgroup: TempCgroup,
    _alone: MutexGuard<'static, ()>,
}

impl Cgroup {
    pub fn make() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cgroup = TempCgroup::make(Path::new("/"), None).expect("a cgroup can be made");
        Self { cgroup, _alone: alone }
    }

    /// Moves a process into it. Memory that it has stays counted where it was.
    pub fn take(&self, pid: u32) {
        fs::write(self.cgroup.processes(), pid.to_string()).expect("it can be moved");
    }

    /// Its name as a pattern: from which hierarchy's root its path is told is no matter then.
    pub fn pattern(&self) -> String {
        format!("*/{}", self.cgroup.name())
    }
}

/// A workload that is mostly idle, and has no huge pages.
fn mostly_idle(scratch: &Scratch) -> Workload {
    scratch.workload(MOSTLY_IDLE, &["--thp", "never"])
}

fn target_of(record: &Record, pid: u32) -> Option<TargetId> {
    record.targets().find(|target| target.pid == Some(pid)).map(|target| target.id)
}

fn bill(args: &[&str]) -> Value {
    let output = daos(args).args(["--format", "json"]).output().expect("daos runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn owner(bill: &Value, pid: u32) -> Value {
    let owners = bill["owners"].as_array().expect("a list");
    let owner = owners.iter().find(|owner| owner["pid"] == pid);
    owner.unwrap_or_else(|| panic!("no {pid} in {bill}")).clone()
}

#[track_caller]
fn assert_mib(owner: &Value, name: &str, from: u64, to: u64) {
    let bytes = owner[name].as_u64().unwrap_or_else(|| panic!("no {name} in {owner}"));
    assert!((from..=to).contains(&(bytes / MIB)), "{name}: {} MiB in {owner}", bytes / MIB);
}

#[tag(root)]
#[test]
fn where_no_process_is_meant_that_is_told() {
    let scratch = Scratch::new();
    let record = scratch.text("record");
    let meant = ["--all", "--cgroup", "/no-such-cgroup", "-d", "1s"];
    for command in [&["record", "-o", &record][..], &["apply", "-s", "prcl", "--dry-run"]] {
        let output = daos(&[command, &meant].concat()).output().expect("daos runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "some may come: {said}");
        assert!(said.contains("no process was watched: check --cgroup"), "{said}");
        assert!(!said.contains("report heatmap"), "there is nothing to be seen: {said}");
    }
}

#[tag(root)]
#[test]
fn those_of_a_cgroup_are_found_and_their_idle_memory_is_told() {
    eventually(|| {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        // It has to be empty before it goes.
        let cgroup = Cgroup::make();
        let (inside, outside) = (mostly_idle(&scratch), mostly_idle(&other));
        cgroup.take(inside.pid());
        let args = ["--all", "--cgroup", &cgroup.pattern(), "--duration", "10s"];
        let mut recorder = scratch.recorder(&[&args, WINDOWS].concat());
        assert!(Process::start(&mut recorder).end().success());
        let record = scratch.record();
        let id = target_of(&record, inside.pid()).expect("it was found");
        assert_eq!(record.targets().count(), 1, "{:?}", record.targets().collect::<Vec<_>>());
        assert!(record.targets().all(|t| t.cgroup.is_some() && t.memory.is_some()));

        let bill = bill(&["report", "owners", &scratch.text("record")]);
        // At least the file that is being recorded, and all that ran before.
        assert!(bill["page_cache"]["unmapped"].as_u64() > Some(0), "{bill}");
        let owner = owner(&bill, inside.pid());
        println!("{owner}");
        assert_mib(&owner, "resident", 160, 176);
        assert_mib(&owner, "anonymous", 160, 170);
        assert_mib(&owner, "idle_5s", 112, 144);
        assert_mib(&owner, "accessed_1s", 28, 48);
        assert!(owner["idle_1m"].is_null(), "that is not known yet: {owner}");
        outside.stop();
        let score = score(&record, id, &inside.stop(), 3.0);
        assert!(score.recall >= 0.6 && score.precision >= 0.6, "{score:?}");
    });
}

#[tag(root, quiet)]
#[test]
fn processes_come_and_go_and_small_ones_are_left_out() {
    eventually(|| {
        let (scratch, first, late, small) =
            (Scratch::new(), Scratch::new(), Scratch::new(), Scratch::new());
        let small = small.workload("all, 1M\n\nrun\n300s\nall, random, 1, 1\n", &[]);
        let leaving = mostly_idle(&first);
        let storm = hostile(&["forks"]);
        let args = ["--all", "--min-rss", "100M"];
        let mut recorder = scratch.recorder(&[&args, WINDOWS].concat());
        let mut recorder = Process::start(&mut recorder);
        sleep_s(3.0);
        let coming = mostly_idle(&late);
        sleep_s(2.0);
        let leaving_pid = leaving.pid();
        leaving.stop();
        sleep_s(6.0);
        assert!(recorder.is_running());
        recorder.signal(rustix::process::Signal::INT);
        assert!(recorder.end().success());
        drop(storm);

        let record = scratch.record();
        assert_eq!(target_of(&record, small.pid()), None);
        let left = target_of(&record, leaving_pid).expect("it was there first");
        let came = target_of(&record, coming.pid()).expect("it came");
        let all = snapshots(&record);
        let ids = |nr: usize| all[nr].targets.iter().map(|t| t.id).collect::<Vec<_>>();
        let (begin, end) = (ids(all.len() / 8), ids(all.len() - 1));
        assert!(begin.contains(&left) && !begin.contains(&came), "{begin:?}");
        assert!(end.contains(&came) && !end.contains(&left), "{end:?}");
        small.stop();
        let score = score(&record, came, &coming.stop(), 5.0);
        assert!(score.recall >= 0.6 && score.precision >= 0.6, "{score:?}");
    });
}

#[tag(root, quiet)]
#[test]
fn the_bound_holds_on_a_crowd_and_a_storm() {
    eventually(|| {
        let scratch = Scratch::new();
        let crowd = hostile(&["crowd", "600", "256"]);
        let storm = hostile(&["forks"]);
        let args = ["--all", "--duration", "12s", "--max-overhead", "1"];
        let mut recorder = Process::start(&mut scratch.recorder(&args));
        assert!(recorder.end().success());
        drop((crowd, storm));
        let overhead = overhead(&scratch);
        println!("{overhead}");
        let worst = overhead["worst_10s_percent"].as_f64().expect("it took ten seconds");
        assert!(worst <= 1.1, "{worst} %: {overhead}");
        let record = scratch.record();
        assert!(record.targets().count() > 10, "some of the crowd were watched");
        let most = record.header().attrs.max_regions as usize;
        assert!(snapshots(&record).iter().all(|s| s.targets.len() <= most / 4 * 3));
    });
}

/// Schemes act on what is in the cgroup, and on nothing else; `daos` and what it runs under are
/// in it, too, and are no targets.
#[tag(root)]
#[test]
fn only_who_is_meant_is_acted_on() {
    eventually(|| {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        let cgroup = Cgroup::make();
        let (inside, outside) = (mostly_idle(&scratch), mostly_idle(&other));
        let before = resident(outside.pid());
        cgroup.take(inside.pid());
        let zram = ZramSize::unique(512);
        // A shell that moves itself there, and so all that it starts.
        let script = "echo $$ > \"$0\" && \"$@\"; exit $?";
        let mut applier = std::process::Command::new("sh");
        applier.args(["-c", script]).arg(cgroup.cgroup.processes());
        applier.arg(daos(&[]).get_program());
        applier.args(["record", "--quiet", "-o", &scratch.text("record"), "--duration", "14s"]);
        applier.args(["--all", "--cgroup", &cgroup.pattern(), "--include-system"]).args(WINDOWS);
        applier.args(["--scheme", "4K max min min 2s max pageout", "--zram", zram.text()]);
        let mut applier = Process::start(&mut applier);
        let is_gone = until(|| resident(inside.pid()) < 60 * MIB);
        assert!(is_gone, "{} MiB are resident", resident(inside.pid()) / MIB);
        assert!(resident(outside.pid()) >= before, "another was touched");
        assert!(applier.end().success());
        zram.assert_gone();
        let record = scratch.record();
        let pids: Vec<_> = record.targets().map(|target| target.pid).collect();
        assert_eq!(pids, [Some(inside.pid())]);
        outside.stop();
        assert!(inside.stop()[0].regions[1].accesses > 0);
    });
}

/// Neither who watches nor who is above it is a target when schemes act, nor is process 1, nor
/// are kernel threads.
#[tag(root, quiet)]
#[test]
fn who_is_never_acted_on() {
    let scratch = Scratch::new();
    let crowd = hostile(&["crowd", "3", "16384"]);
    let args = ["--all", "--include-system", "--scheme", "min max min min 1s max stat"];
    let mut recorder = scratch.recorder(&[&args, WINDOWS, &["--duration", "6s"]].concat());
    let mut recorder = Process::start(&mut recorder);
    assert!(recorder.end().success());
    drop(crowd);
    let record = scratch.record();
    let pids: Vec<u32> = record.targets().filter_map(|target| target.pid).collect();
    assert!(pids.len() >= 3, "the crowd: {pids:?}");
    let mut above = vec![1, 2, recorder.pid(), std::process::id()];
    let status = fs::read_to_string("/proc/self/status").expect("it is there");
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    above.push(parent.and_then(|pid| pid.trim().parse().ok()).expect("there is one"));
    assert!(above.iter().all(|pid| !pids.contains(pid)), "{above:?} in {pids:?}");
}

#[tag(root)]
#[test]
fn owners_are_shown_after_a_look() {
    eventually(|| {
        let scratch = Scratch::new();
        let cgroup = Cgroup::make();
        let load = mostly_idle(&scratch);
        cgroup.take(load.pid());
        let pattern = cgroup.pattern();
        let args = ["owners", "--quiet", "--for", "9s", "--cgroup", &pattern];
        let bill = bill(&[&args, WINDOWS].concat());
        let owner = owner(&bill, load.pid());
        println!("{owner}");
        assert_mib(&owner, "idle_5s", 112, 144);
        assert_mib(&owner, "resident", 160, 176);
        load.stop();
    });
}
