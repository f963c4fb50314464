//! Memory of every kind: what is in use is seen in use or counted as unobserved,
//! never taken for cold, and the target does not notice.

use daos_core::{AddrRange, HOT_RATE, Snapshot};
use daos_record::Record;
use daos_testing::{MONITORS, Process, Scratch, built, bytes_where, snapshots, until};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use test_tag::tag;

/// The program of `tests/programs/memory_target.rs`, which runs until this is dropped.
pub struct Target {
    process: Process,
    /// Its memory, all of it in use.
    pub memory: AddrRange,
}

impl Target {
    pub fn start(scratch: &Scratch, kind: &str, mib: u64) -> Self {
        let mut command = Command::new(built("examples/memory-target"));
        command.args([kind, &mib.to_string(), &scratch.text("mapped")]);
        let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut line = String::new();
        let stdout = process.child().stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says when it is ready");
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("ready"), "{line:?}");
        let mut number = || words.next().and_then(|word| word.parse().ok()).expect("an address");
        let memory = AddrRange::new(number(), number());
        Self { process, memory }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends it; it must have found its memory as it left it, always.
    pub fn end_undisturbed(mut self) {
        drop(self.process.child().stdin.take());
        let status = self.process.end();
        assert!(status.success(), "the target was disturbed: {status}");
    }
}

/// What a record says of memory that is all in use, as shares of it.
#[derive(Debug)]
struct Seen {
    hot: f64,
    unobserved: f64,
    cold: f64,
}

/// Over its last eight snapshots, if it has so many after its first second.
fn seen(record: &Record, memory: AddrRange) -> Option<Seen> {
    let all = snapshots(record);
    let last: &[Snapshot] = all.last_chunk::<8>().filter(|last| last[0].start_us >= 1_000_000)?;
    let whole = (memory.len() * last.len() as u64) as f64;
    let (mut hot, mut unobserved) = (0, 0);
    for s in last {
        hot += bytes_where(s, memory, |r| r.access_rate >= HOT_RATE);
        unobserved +=
            bytes_where(s, memory, |r| r.access_rate < HOT_RATE && r.unobserved >= HOT_RATE);
    }
    let (hot, unobserved) = (hot as f64 / whole, unobserved as f64 / whole);
    Some(Seen { hot, unobserved, cold: 1.0 - hot - unobserved })
}

/// Watches a target of this kind, which uses all of its memory all the time, with each
/// monitor, until it is seen as it should be. A monitor that fits its windows to what looking
/// costs needs a while for that, and a target that gets no CPU time uses no memory.
fn watch(kind: &str, mib: u64, is_right: impl Fn(&Seen) -> bool) {
    let scratch = Scratch::new();
    let target = Target::start(&scratch, kind, mib);
    for monitor in MONITORS {
        let pid = target.pid().to_string();
        let mut recorder = Process::start(scratch.recorder(&["--pid", &pid]).args(monitor));
        let mut last = None;
        let is_seen = until(|| {
            let so_far = Record::open(scratch.path("record")).ok();
            last = so_far.and_then(|record| seen(&record, target.memory));
            last.as_ref().is_some_and(&is_right)
        });
        println!("{kind} {monitor:?}: {last:?}");
        assert!(is_seen, "{kind}, {monitor:?}: {last:?}");
        recorder.signal(Signal::INT);
        assert!(recorder.end().success());
        std::fs::remove_file(scratch.path("record")).expect("it was written");
    }
    target.end_undisturbed();
}

fn is_unobserved(seen: &Seen) -> bool {
    seen.unobserved > 0.8
}

#[tag(root)]
#[test]
fn private_memory_is_seen() {
    watch("private", 32, |seen| seen.hot > 0.55);
}

#[tag(root)]
#[test]
fn locked_memory_is_unobserved() {
    watch("locked", 32, is_unobserved);
}

#[tag(root)]
#[test]
fn memory_of_several_processes_is_unobserved() {
    watch("shared", 32, is_unobserved);
}

#[tag(root)]
#[test]
fn a_mapped_file_is_seen_or_unobserved() {
    watch("file", 32, |seen| seen.cold < 0.45);
}

#[tag(root)]
#[test]
fn memory_of_hugetlbfs_is_unobserved() {
    let Some(_reserved) = Reserved::huge_pages(16) else {
        println!("NOT RUN: this kernel has no 2 MiB pages to reserve");
        return;
    };
    watch("hugetlb", 32, is_unobserved);
}

/// Huge pages that are reserved until this is dropped.
struct Reserved {
    before: String,
}

impl Reserved {
    const SETTING: &str = "/proc/sys/vm/nr_hugepages";

    fn huge_pages(pages: u64) -> Option<Self> {
        let is_2m = fs::read_to_string("/proc/meminfo").ok()?.lines().any(|line| {
            line.strip_prefix("Hugepagesize:").is_some_and(|size| size.trim() == "2048 kB")
        });
        let before = fs::read_to_string(Self::SETTING).ok().filter(|_| is_2m)?;
        let reserved = Self { before };
        let wanted = pages + reserved.before.trim().parse::<u64>().ok()?;
        fs::write(Self::SETTING, wanted.to_string()).ok()?;
        let now: u64 = fs::read_to_string(Self::SETTING).ok()?.trim().parse().ok()?;
        (now >= wanted).then_some(reserved)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Err(err) = fs::write(Self::SETTING, self.before.trim()) {
            println!("{} was {}, and could not be set back: {err}", Self::SETTING, self.before);
        }
    }
}
