//! Projection, with memory whose frames are made up.

use super::*;
use daos_core::{MappedFrames, PageRun};
use proptest::prelude::*;
use std::convert::Infallible;

const NOW_US: u64 = 50_000_000;

/// Pages of targets, by target and number, and their frames: sorted.
#[derive(Debug, Default)]
struct Tables(Vec<(u32, u64, u64)>);

impl PageFrames for Tables {
    type Error = Infallible;

    fn frames(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        mut each: impl FnMut(MappedFrames),
    ) -> Result<(), Infallible> {
        for &(of, page, frame) in &self.0 {
            let start = page * PAGE_SIZE;
            if of == target.0 && AddrRange::any_contains(ranges, start) {
                let pages = AddrRange::new(start, start + PAGE_SIZE);
                each(MappedFrames { pages, physical: frame * PAGE_SIZE });
            }
        }
        Ok(())
    }
}

fn ram(frames: u64) -> Vec<AddrRange> {
    vec![AddrRange::new(0, frames * PAGE_SIZE)]
}

fn attrs() -> MonitorAttrs {
    MonitorAttrs { min_regions: 3, max_regions: 20, ..MonitorAttrs::default() }
}

/// A target whose pages from 0 on are used at these rates; 0: idle for ten seconds.
fn target(id: u32, rates: &[f64]) -> TargetSnapshot {
    let page = |at: usize| AddrRange::new(at as u64 * PAGE_SIZE, (at as u64 + 1) * PAGE_SIZE);
    let run = |(at, &access_rate): (usize, &f64)| PageRun {
        range: page(at),
        access_rate,
        age_us: if access_rate > 0.0 { 0 } else { 10_000_000 },
    };
    let runs: Vec<_> = rates.iter().enumerate().map(run).collect();
    let range = AddrRange::new(0, rates.len() as u64 * PAGE_SIZE);
    let region = RegionSnapshot { range, access_rate: 0.1, unobserved: 0.0, age_us: 1 };
    TargetSnapshot {
        id: TargetId(id),
        regions: vec![region],
        pages: runs.into(),
        ..TargetSnapshot::default()
    }
}

fn snapshot(targets: Vec<TargetSnapshot>) -> Snapshot {
    Snapshot { end_us: NOW_US, sample_us: 5_000, targets, ..Snapshot::default() }
}

/// A whole round of it.
fn round(projection: &mut Projection, snapshot: &Snapshot, tables: &mut Tables) {
    for _ in 0..100_000 {
        let Ok(stepped) = projection.step(snapshot, tables);
        if stepped.is_over {
            return;
        }
    }
    panic!("it never ends");
}

/// The rate of each frame.
fn rates(told: &Snapshot, frames: u64) -> Vec<f64> {
    let parts: Vec<_> = told.targets[0].parts().collect();
    let of = |frame: u64| {
        let addr = frame * PAGE_SIZE;
        parts.iter().find(|part| part.range.contains(addr)).map_or(0.0, |part| part.access_rate)
    };
    (0..frames).map(of).collect()
}

#[test]
fn a_frame_is_used_as_its_page_is_and_as_the_one_used_most_of_several() {
    let mut tables = Tables(vec![(1, 0, 7), (1, 1, 3), (1, 2, 900), (4, 0, 3), (4, 1, 4)]);
    let owners = snapshot(vec![target(1, &[0.5, 0.0, 0.25]), target(4, &[0.125, 0.0])]);
    let mut projection = Projection::new(&attrs(), &ram(1024));
    let early = projection.project(owners.clone(), TargetId(9), Some(1));
    assert!(early.targets[0].regions.is_empty() && early.targets[0].working_sets.is_none());
    round(&mut projection, &owners, &mut tables);
    let told = projection.project(owners.clone(), TargetId(9), Some(1 << 20));
    let rates = rates(&told, 1024);
    assert_eq!((rates[7], rates[3], rates[900], rates[4]), (0.5, 0.125, 0.25, 0.0));
    assert_eq!(rates.iter().filter(|rate| **rate > 0.0).count(), 3);
    let target = &told.targets[0];
    assert_eq!((target.id, target.resident_bytes), (TargetId(9), Some(1 << 20)));
    let sets = target.working_sets.unwrap().bytes();
    assert!(sets[0] < sets[6] && sets[6] > 2.9 * PAGE_SIZE as f64, "{sets:?}");
    // Later, what is idle is older, and nothing else has changed.
    let later = Snapshot { end_us: NOW_US + 2_000_000, ..owners };
    let later = projection.project(later, TargetId(9), None);
    let age = |told: &Snapshot| {
        told.targets[0].parts().find(|part| part.range.contains(4 * PAGE_SIZE)).unwrap().age_us
    };
    assert_eq!((age(&told), age(&later)), (10_000_000, 12_000_000));
    assert!(later.targets[0].pages.is_later(&target.pages, 2_000_000));
}

#[test]
fn what_is_gone_is_gone_after_another_round() {
    let mut projection = Projection::new(&attrs(), &ram(64));
    let owners = snapshot(vec![target(0, &[0.5, 0.5])]);
    round(&mut projection, &owners, &mut Tables(vec![(0, 0, 10), (0, 1, 20)]));
    round(&mut projection, &owners, &mut Tables(vec![(0, 0, 30)]));
    let rates = rates(&projection.project(owners, TargetId(0), None), 64);
    assert_eq!((rates[10], rates[20], rates[30]), (0.0, 0.0, 0.5));
    assert_eq!(projection.rounds(), 2);
}

#[test]
fn frames_that_are_no_ram_count_for_nothing() {
    let ram = [AddrRange::new(0x10_000, 0x20_000), AddrRange::new(0x100_000, 0x110_000)];
    let mut projection = Projection::new(&attrs(), &ram);
    let owners = snapshot(vec![target(0, &[0.5; 5])]);
    // Before, inside, between, inside, and behind.
    let frames = [(0, 0, 1), (0, 1, 0x10), (0, 2, 0x50), (0, 3, 0x10f), (0, 4, 1 << 50)];
    round(&mut projection, &owners, &mut Tables(frames.to_vec()));
    let told = projection.project(owners, TargetId(0), None);
    let used: Vec<_> =
        told.targets[0].parts().filter(|p| p.access_rate > 0.0).map(|p| p.range.start).collect();
    assert_eq!(used, [0x10_000, 0x10f_000]);
}

proptest! {
    /// Whatever lies where: each frame is told as its owner's page, and regions keep the rules.
    #[test]
    fn each_frame_is_told_as_its_owner_has_it(
        frames in Just((0..3000u64).collect::<Vec<_>>()).prop_shuffle(),
        used in prop::collection::vec(prop::bool::weighted(0.2), 600..2000),
    ) {
        let rates_of: Vec<f64> = used.iter().map(|used| if *used { 0.5 } else { 0.0 }).collect();
        let (a, b) = rates_of.split_at(rates_of.len() / 3);
        let owners = snapshot(vec![target(2, a), target(3, b)]);
        let pages = (0..a.len()).map(|page| (2, page as u64));
        let pages = pages.chain((0..b.len()).map(|page| (3, page as u64)));
        let tables: Vec<_> = pages.zip(&frames).map(|((of, page), f)| (of, page, *f)).collect();
        let mut projection = Projection::new(&attrs(), &ram(3000));
        round(&mut projection, &owners, &mut Tables(tables));
        let told = projection.project(owners, TargetId(0), None);
        let mut expected = vec![0.0; 3000];
        for (frame, rate) in frames.iter().zip(&rates_of) {
            expected[*frame as usize] = *rate;
        }
        let rates = rates(&told, 3000);
        for (frame, (is, should)) in rates.iter().zip(&expected).enumerate() {
            prop_assert!((is - should).abs() < 1e-9, "{}: {} for {}", frame, is, should);
        }
        let target = &told.targets[0];
        prop_assert!(target.regions.len() <= 20);
        prop_assert!(target.regions.is_sorted_by(|a, b| a.range.end <= b.range.start));
        prop_assert!(target.pages.iter().is_sorted_by(|a, b| a.range.end <= b.range.start));
    }
}
