//! Lock: what is hot stays, under pressure.

use super::*;
use daos_linux::TempCgroup;
use std::path::Path;
use std::time::{Duration, Instant};
use test_tag::tag;

const MIB: u64 = 1 << 20;

/// The pressure: another process of the cgroup that goes through far more memory than fits.
fn stream(cgroup: &TempCgroup) -> Target {
    Target::start_in(cgroup, Making { in_use: true, ..Making::pages(256 * MIB) })
}

/// The least share of the hot memory that was resident, some time after the start.
fn least_resident(lock: bool) -> f64 {
    let _zram = Zram::start(1 << 30);
    let cgroup = TempCgroup::make(Path::new("/"), Some(96 * MIB)).expect("a cgroup can be made");
    let idle = Making::pages(24 * MIB);
    let hot = Target::start_in(&cgroup, idle);
    let mut actor = Actor::on(&hot);
    let _stream = stream(&cgroup);
    let started = Instant::now();
    let mut least = 1.0f64;
    while started.elapsed() < Duration::from_secs(5) {
        if lock {
            for start in (hot.memory.start..hot.memory.end).step_by(16 << 20) {
                let batch = AddrRange::new(start, hot.memory.end.min(start + (16 << 20)));
                let report = actor.apply(Action::Lock, &[batch]);
                // What is in swap comes back by parts.
                assert!(report.refused.iter().all(|(why, _)| *why == Refusal::NoRoom));
            }
        }
        std::thread::sleep(Duration::from_millis(100));
        if started.elapsed() > Duration::from_secs(2) {
            let present = hot.count(PageState::Present) as f64;
            least = least.min(present / hot.memory.pages() as f64);
        }
    }
    assert!(hot.is_intact());
    least
}

/// The hot memory is not accessed at all here, which is the hardest case.
#[tag(root, quiet)]
#[test]
fn what_is_locked_stays_resident_under_pressure() {
    // A busy machine may be slow to press, and slow to lock: each is tried three times.
    let attempts = |lock| (0..3).map(move |_| least_resident(lock));
    let (mut without, mut with) = (attempts(false), attempts(true));
    assert!(without.any(|share| share < 0.5), "no pressure: it stayed without a lock");
    assert!(with.any(|share| share >= 0.95), "it did not stay with a lock");
}
