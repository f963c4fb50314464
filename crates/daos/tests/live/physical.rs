//! `--paddr`: the machine's memory by physical address, whoever has it.
//!
//! Tests mean a cgroup of their own, so that they take no process from others, or run by
//! themselves.

use crate::bound::overhead;
use crate::everyone::{Cgroup, MOSTLY_IDLE};
use crate::hostile::hostile;
use daos_core::{AddrRange, Ownership, PAGE_SIZE, Snapshot};
use daos_testing::{
    Process, Scratch, WINDOWS, Workload, ZramSize, eventually, resident, sleep_s, snapshots, until,
};
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use test_tag::tag;

const MIB: u64 = 1 << 20;
/// `/proc/PID/pagemap`: the page is there, and in which frame.
const IS_PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// A workload that is mostly idle, in huge pages (`always`) or in small ones (`never`).
fn mostly_idle(scratch: &Scratch, thp: &str) -> Workload {
    scratch.workload(MOSTLY_IDLE, &["--thp", thp])
}

/// Which frames a process has at which addresses, of its mappings without a file.
fn frames_of(pid: u32) -> HashMap<u64, u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let pagemap = File::open(format!("/proc/{pid}/pagemap")).expect("it runs");
    let mut frames = HashMap::new();
    for line in maps.lines().filter(|line| !line.contains('/') && !line.contains("[v")) {
        let (start, rest) = line.split_once('-').expect("a range");
        let end = rest.split(' ').next().expect("a range");
        let number = |text| u64::from_str_radix(text, 16).expect("an address");
        let (start, end) = (number(start) / PAGE_SIZE, number(end) / PAGE_SIZE);
        let mut entries = vec![0; (end - start) as usize * 8];
        pagemap.read_exact_at(&mut entries, start * 8).expect("root may read it");
        for (page, entry) in (start..).zip(entries.as_chunks::<8>().0) {
            let entry = u64::from_ne_bytes(*entry);
            if entry & IS_PRESENT != 0 {
                frames.insert(page, entry & FRAME);
            }
        }
    }
    frames
}

/// Of the frames that a process has in a range, the shares that are seen in use, and idle for a
/// second.
fn seen(snapshot: &Snapshot, frames: &HashMap<u64, u64>, range: AddrRange) -> (f64, f64) {
    let parts: Vec<_> = snapshot.targets[0].parts().collect();
    let (mut all, mut used, mut idle) = (0, 0, 0);
    for page in range.start / PAGE_SIZE..range.end / PAGE_SIZE {
        let Some(frame) = frames.get(&page) else { continue };
        let at = parts.partition_point(|part| part.range.end <= frame * PAGE_SIZE);
        let Some(part) = parts.get(at).filter(|p| p.range.contains(frame * PAGE_SIZE)) else {
            continue;
        };
        all += 1;
        used += u32::from(part.access_rate > 0.0);
        idle += u32::from(part.access_rate == 0.0 && part.age_us >= 1_000_000);
    }
    let share = |part| f64::from(part) / f64::from(all.max(1));
    (share(used), share(idle))
}

/// What a process is told to have, as a share of the frames that it has, and the share of these
/// that lie where it is told to have any.
fn told(ownership: &Ownership, pid: u32, frames: &HashMap<u64, u64>) -> (f64, f64) {
    let place = ownership.owners.iter().position(|owner| owner.pid == Some(pid));
    let Some(place) = place.map(|place| place as u32) else { return (0.0, 0.0) };
    let bytes_in = |range| ownership.within(range).get(&place).copied().unwrap_or(0.0);
    let page = |frame: u64| AddrRange::new(frame * PAGE_SIZE, (frame + 1) * PAGE_SIZE);
    let found = frames.values().filter(|&&frame| bytes_in(page(frame)) > 0.0).count();
    let (all, bytes) = (frames.len() as f64, bytes_in(AddrRange::new(0, u64::MAX)));
    (bytes / (all * PAGE_SIZE as f64), found as f64 / all)
}

#[tag(root)]
#[test]
fn huge_pages_in_use_and_idle_ones_are_told_apart_by_frame() {
    are_told_apart("always");
}

#[tag(root)]
#[test]
fn small_pages_in_use_and_idle_ones_are_told_apart_by_frame() {
    are_told_apart("never");
}

fn are_told_apart(thp: &str) {
    eventually(|| {
        let scratch = Scratch::new();
        let cgroup = Cgroup::make();
        let load = mostly_idle(&scratch, thp);
        cgroup.take(load.pid());
        let args = ["--paddr", "--cgroup", &cgroup.pattern(), "--duration", "12s"];
        let mut recorder = Process::start(&mut scratch.recorder(&[&args, WINDOWS].concat()));
        sleep_s(8.0);
        let frames = frames_of(load.pid());
        assert!(recorder.end().success());
        let record = scratch.record();
        assert_eq!(record.header().backend, "ebpf-paddr");
        let last = snapshots(&record).pop().expect("it took a while");
        let info = record.targets().next().expect("the machine");
        let told = told(info.ownership.as_ref().expect("it is known"), load.pid(), &frames);
        println!("{told:?} of its memory is told to be its own");
        // It is told by samples: where frames are scattered over a fragmented machine, many of the
        // blocks that they lie in have none.
        assert!((0.8..1.2).contains(&told.0) && told.1 >= 0.4, "{told:?}");
        let truth = load.stop();
        let mut shares = HashMap::new();
        for region in &truth[0].regions {
            shares.insert(region.name.clone(), seen(&last, &frames, region.range()));
        }
        println!("{shares:?}");
        assert!(shares["hot"].0 >= 0.6, "{shares:?}");
        for name in ["cold", "idle"] {
            assert!(shares[name].0 <= 0.3 && shares[name].1 >= 0.5, "{shares:?}");
        }
    });
}

#[tag(root)]
#[test]
fn idle_frames_are_paged_out_of_who_is_meant_alone() {
    eventually(|| {
        let (scratch, second, third) = (Scratch::new(), Scratch::new(), Scratch::new());
        let cgroup = Cgroup::make();
        let (inside, other) = (mostly_idle(&scratch, "always"), mostly_idle(&second, "always"));
        let outside = mostly_idle(&third, "always");
        let before = resident(outside.pid());
        cgroup.take(inside.pid());
        cgroup.take(other.pid());
        let zram = ZramSize::unique(512);
        let pattern = cgroup.pattern();
        let args = ["--paddr", "--cgroup", &pattern, "--include-system", "--duration", "25s"];
        let scheme = ["--scheme", "4K max min min 2s max pageout", "--zram", zram.text()];
        let mut applier = scratch.recorder(&[&args, WINDOWS, &scheme].concat());
        let mut applier = Process::start(&mut applier);
        let are_gone = until(|| [&inside, &other].iter().all(|of| resident(of.pid()) < 60 * MIB));
        let left = [inside.pid(), other.pid()].map(|pid| resident(pid) / MIB);
        println!("{left:?} MiB are resident");
        assert!(are_gone, "{left:?} MiB are resident");
        assert!(resident(outside.pid()) >= before, "another was touched");
        assert!(applier.end().success());
        zram.assert_gone();
        for load in [outside, other, inside] {
            assert!(load.stop()[0].regions[1].accesses > 0);
        }
    });
}

#[tag(root, quiet)]
#[test]
fn the_bound_holds_on_a_crowd_and_a_storm() {
    eventually(|| {
        let scratch = Scratch::new();
        let crowd = hostile(&["crowd", "300", "256"]);
        let storm = hostile(&["forks"]);
        let args = ["--paddr", "--duration", "12s", "--max-overhead", "1"];
        let mut recorder = Process::start(&mut scratch.recorder(&args));
        assert!(recorder.end().success());
        drop((crowd, storm));
        let overhead = overhead(&scratch);
        println!("{overhead}");
        let worst = overhead["worst_10s_percent"].as_f64().expect("it took ten seconds");
        assert!(worst <= 1.1, "{worst} %: {overhead}");
        let most = scratch.record().header().attrs.max_regions as usize;
        let last = snapshots(&scratch.record()).pop().expect("it took a while");
        assert!((10..=most).contains(&last.targets[0].regions.len()), "{}", last.nr_regions());
    });
}
