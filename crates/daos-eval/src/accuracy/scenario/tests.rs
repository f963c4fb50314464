//! Every shape in every size: what was asked for is there.

use super::*;
use crate::accuracy::truth::TruePhase;
use daos_core::{HOT_RATE, MonitorAttrs};

const SAMPLE_US: u64 = 5000;

fn scenario(shape: Shape, bytes: u64, hot: f64, page: PageSize) -> Scenario {
    let bytes = shape.own_bytes().unwrap_or(bytes);
    let hot = shape.own_hot().unwrap_or(hot);
    Scenario { shape, bytes, hot, page, blocks: 64, rate: None }
}

/// Of each phase in `us` microseconds, the bytes that are mapped and that are hot.
fn sizes(scenario: &Scenario, us: u64) -> Vec<(u64, u64)> {
    let space = scenario.space(7, SAMPLE_US, None).unwrap();
    let phases = TruePhase::simulated(&space, &MonitorAttrs::default(), us);
    let of_phase = |phase: &TruePhase| {
        let all = phase.ranges.iter().map(|truth| truth.range.len()).sum();
        (all, phase.ranges.iter().map(|truth| truth.bytes_from(HOT_RATE)).sum())
    };
    phases.iter().map(of_phase).collect()
}

#[test]
fn as_much_is_hot_as_was_asked_for() {
    for &shape in Shape::ALL {
        for page in [PageSize::Small, PageSize::Huge] {
            for (bytes, hot) in [(1 << 30, 0.1), (10 << 30, 0.01), (5 << 40, 0.001)] {
                let scenario = scenario(shape, bytes, hot, page);
                for (all, found) in sizes(&scenario, 12_000_000) {
                    let page = page.bytes() as f64;
                    let expected = scenario.mapped_bytes() as f64;
                    assert!((all as f64 - expected).abs() <= page, "{scenario}: {all} bytes");
                    // A zipf part is a 512th, and stripes are whole numbers of pages apart.
                    let grain = if shape == Shape::Zipf { expected / 512.0 } else { page };
                    let (found, wanted) = (found as f64, expected * scenario.hot);
                    let near = (found - wanted).abs() <= grain.max(0.01 * wanted);
                    assert!(near && found > 0.0, "{scenario}: {found} bytes hot of {wanted}");
                }
            }
        }
    }
}

#[test]
fn hot_blocks_are_accessed_nine_times_in_ten() {
    for shape in [Shape::Block, Shape::Blocks, Shape::Phased, Shape::Moving, Shape::Sparse] {
        for page in [PageSize::Small, PageSize::Huge] {
            let space = scenario(shape, 10 << 30, 0.01, page).space(1, SAMPLE_US, None).unwrap();
            let phases = TruePhase::simulated(&space, &MonitorAttrs::default(), 1);
            let hot: Vec<f64> = phases[0]
                .ranges
                .iter()
                .map(|truth| truth.rate)
                .filter(|rate| *rate > 0.0)
                .collect();
            assert!(!hot.is_empty());
            assert!(hot.iter().all(|rate| (rate - 0.9).abs() < 0.02), "{shape:?}: {hot:?}");
        }
    }
}

#[test]
fn blocks_are_as_many_and_differ_as_said() {
    let layout = scenario(Shape::Blocks, 1 << 30, 0.1, PageSize::Small).layout(3).unwrap();
    let hot: Vec<u64> =
        layout.phases[0].patterns.iter().map(|u| layout.regions[u.region].pages).collect();
    assert_eq!((hot.len(), hot.iter().sum::<u64>()), (64, 26_214));
    let (min, max) = (hot.iter().min().unwrap(), hot.iter().max().unwrap());
    assert!(*max > 4 * min && *max <= 11 * min, "{min} to {max} pages");
    // Nothing is aligned to more than a page.
    let ranges = layout.ranges(0, 4096);
    assert!(ranges.iter().filter(|range| range.start % (2 << 20) == 0).count() < 5);
    // Fewer pages than blocks.
    let few = scenario(Shape::Blocks, 1 << 30, 0.0001, PageSize::Small).layout(3).unwrap();
    assert_eq!(few.phases[0].patterns.len(), 26);
}

#[test]
fn the_sparse_space_has_its_mappings() {
    let space = scenario(Shape::Sparse, 0, 0.1, PageSize::Small).space(1, SAMPLE_US, None).unwrap();
    let mut access = space.clone();
    let targets = daos_core::AccessCheck::targets(&mut access).unwrap();
    assert_eq!(targets[0].ranges.len(), 8522);
    assert!(daos_core::AccessCheck::capabilities(&access).sparse);
    let span = targets[0].ranges[8521].end - space.ranges()[0].start;
    assert!((35e9..36.7e9).contains(&(span as f64)), "{span}");
}

#[test]
fn another_seed_is_another_space() {
    for shape in [Shape::Blocks, Shape::Phased, Shape::Zipf, Shape::Sparse] {
        let scenario = scenario(shape, 1 << 30, 0.1, PageSize::Small);
        assert_eq!(scenario.layout(1).unwrap(), scenario.layout(1).unwrap());
        assert_ne!(scenario.layout(1).unwrap(), scenario.layout(2).unwrap());
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let good = scenario(Shape::Block, 1 << 30, 0.1, PageSize::Huge);
    assert!(good.validate().is_ok());
    let message = |scenario: Scenario| scenario.validate().unwrap_err().to_string();
    assert!(message(Scenario { bytes: 64 << 20, ..good }).contains("128 MiB to 16 TiB"));
    assert!(message(Scenario { bytes: 17 << 40, ..good }).contains("17 TiB"));
    for hot in [0.0, 0.5, f64::NAN] {
        assert!(message(Scenario { hot, ..good }).contains("% hot"));
    }
    assert!(message(Scenario { blocks: 0, ..good }).contains("blocks"));
}
