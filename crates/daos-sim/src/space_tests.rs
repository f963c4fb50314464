//! Tests of the simulated space: statistics, consistency, and what it costs.

use super::*;
use proptest::prelude::*;

const MIXED: &str = "\
cold, 64M
hot, 64M
swept, 10000000

one
2s
hot, random, 0, 3
swept, stride, 4096, 1

two
1s
hot, random, 0, 1
";

const SAMPLE_US: u64 = 5000;

fn space(text: &str, options: SimOptions) -> SimSpace {
    SimSpace::new(Config::parse("test", text).unwrap(), options)
}

fn mixed(seed: u64) -> SimSpace {
    space(MIXED, SimOptions { seed, accesses_per_sec: 2_000_000, ..SimOptions::default() })
}

fn window(start: u64, pages: u32) -> Window {
    Window { target: TARGET, start, pages }
}

/// Windows over all of a range.
fn windows(range: AddrRange) -> Vec<Window> {
    (range.start..range.end)
        .step_by(BLOCK_SIZE as usize)
        .map(|start| {
            window(start, ((range.end.min(start + BLOCK_SIZE) - start) / PAGE_SIZE) as u32)
        })
        .collect()
}

fn check(space: &mut SimSpace, windows: &[Window]) -> Vec<Observation> {
    let mut found = Vec::new();
    space.check(windows, &mut found).unwrap();
    found
}

fn accessed(space: &mut SimSpace, range: AddrRange) -> u32 {
    check(space, &windows(range)).iter().map(|o| o.accessed).sum()
}

/// The share of a range's pages accessed in a sampling interval, on average over
/// all of them between two times.
fn measured(space: &mut SimSpace, region: usize, until_us: u64) -> f64 {
    let range = space.ranges()[region];
    let (mut sum, mut intervals) = (0, 0);
    while space.now_us() + SAMPLE_US <= until_us {
        space.arm(&windows(range)).unwrap();
        space.advance_us(SAMPLE_US);
        sum += u64::from(accessed(space, range));
        intervals += 1;
    }
    sum as f64 / (intervals * range.pages()) as f64
}

#[test]
fn never_armed_pages_read_as_accessed() {
    let mut space = mixed(0);
    for region in 0..3 {
        let range = space.ranges()[region];
        assert_eq!(u64::from(accessed(&mut space, range)), range.pages());
    }
}

#[test]
fn cold_pages_stay_unaccessed_once_armed() {
    let mut space = mixed(0);
    let cold = space.ranges()[0];
    space.arm(&windows(cold)).unwrap();
    space.advance_us(3_600_000_000);
    assert_eq!(accessed(&mut space, cold), 0);
}

#[test]
fn statistics_match_the_truth() {
    for region in 0..3 {
        let mut space = mixed(42);
        let truth = space.truth(0, 3_000_000, SAMPLE_US)[region].rate;
        let measured = measured(&mut space, region, 3_000_000);
        assert!((measured - truth).abs() < 0.01, "region {region}: {measured}, truly {truth}");
    }
}

#[test]
fn truth_is_per_phase_and_repeats() {
    let space = mixed(0);
    let rate = |from, to, region: usize| space.truth(from, to, SAMPLE_US)[region].rate;
    // 1.5 and 2 million accesses a second to 16384 pages.
    let expected = |per_sec: f64| 1.0 - (-per_sec * 0.005 / 16384.0).exp();
    assert!((rate(0, 2_000_000, 1) - expected(1.5e6)).abs() < 1e-9);
    assert!((rate(2_000_000, 3_000_000, 1) - expected(2e6)).abs() < 1e-9);
    assert!((rate(3_000_000, 5_000_000, 1) - expected(1.5e6)).abs() < 1e-9);
    assert_eq!(rate(2_000_000, 3_000_000, 2), 0.0);
    assert_eq!(rate(0, 9_000_000, 0), 0.0);
}

#[test]
fn an_answer_does_not_change_by_being_asked_for() {
    let mut space = mixed(5);
    let hot = space.ranges()[1];
    space.arm(&windows(hot)).unwrap();
    let mut last = vec![Observation { pages: Some([0; 8]), ..Observation::default() }; 32];
    for _ in 0..10 {
        space.advance_us(1000);
        let found = check(&mut space, &windows(hot));
        assert_eq!(found, check(&mut space, &windows(hot)));
        for (before, now) in last.iter().zip(&found) {
            let (before, now) = (before.pages.unwrap(), now.pages.unwrap());
            assert!((0..8).all(|i| before[i] & !now[i] == 0), "an accessed page was forgotten");
        }
        last = found;
    }
}

#[test]
fn arming_one_page_does_not_change_the_others_chances() {
    let mut space = mixed(6);
    let hot = space.ranges()[1];
    space.arm(&windows(hot)).unwrap();
    for page in 0..5 {
        space.advance_us(1000);
        space.arm(&[window(hot.start + page * 40 * PAGE_SIZE, 1)]).unwrap();
    }
    let truth = space.truth(0, 5000, SAMPLE_US)[1].rate;
    let share = f64::from(accessed(&mut space, hot)) / hot.pages() as f64;
    assert!((share - truth).abs() < 0.02, "{share}, truly {truth}");
}

#[test]
fn a_window_says_which_pages() {
    let mut space = mixed(1);
    let cold = space.ranges()[0];
    // Pages 500..524, across two blocks, of which 510..514 are armed.
    space.arm(&[window(cold.start + 510 * PAGE_SIZE, 4)]).unwrap();
    let found = check(&mut space, &[window(cold.start + 500 * PAGE_SIZE, 24)])[0];
    assert_eq!((found.present, found.accessed, found.unobservable), (24, 20, 0));
    assert_eq!(found.pages.unwrap()[0], 0xff_c3ff);
    assert_eq!(found.pages.unwrap()[1..], [0; 7]);
}

#[test]
fn what_is_not_mapped_is_not_present() {
    let mut space = mixed(0);
    let end = space.ranges()[2].end;
    let stranger = Window { target: TargetId(1), start: space.ranges()[0].start, pages: 1 };
    let found = check(&mut space, &[window(end - PAGE_SIZE, 2), window(end, 1), stranger]);
    assert_eq!(found.iter().map(|o| o.present).collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn a_huge_page_has_one_bit() {
    let text = "hot, 9M\n\nbusy\n1s\nhot, random, 0, 1\n";
    let mut space = space(
        text,
        SimOptions { huge_pages: true, accesses_per_sec: 1000, ..SimOptions::default() },
    );
    let hot = space.ranges()[0];
    space.arm(&[window(hot.start + PAGE_SIZE, 1)]).unwrap();
    assert_eq!(check(&mut space, &windows(hot))[0].accessed, 0);
    space.arm(&windows(hot)).unwrap();
    space.advance_us(2000);
    for found in &check(&mut space, &windows(hot))[..4] {
        assert!(found.accessed == 0 || found.accessed == 512);
    }
    // Four huge pages and 256 small ones; the first was armed twice.
    let counters = space.counters();
    assert_eq!(counters.entries_cleared, 4 + 256);
    assert_eq!((counters.ranges_armed, counters.flushes), (6, 5));
    let rate = space.truth(0, 1_000_000, 2000)[0].rate;
    assert!((rate - (1.0 - (-4.0f64 / 9.0).exp())).abs() < 1e-9);
}

#[test]
fn counts_what_it_was_asked_for() {
    let mut space = mixed(0);
    let ranges = space.ranges().to_vec();
    space.arm(&[window(ranges[0].start, 512), window(ranges[0].start, 512)]).unwrap();
    space.arm(&[window(ranges[1].start, 8)]).unwrap();
    space.advance_us(1_000_000);
    check(&mut space, &[window(ranges[1].start, 8)]);
    assert_eq!(
        space.counters(),
        Counters {
            wakes: 0,
            windows_read: 1,
            entries_read: 8,
            ranges_armed: 3,
            entries_cleared: 520,
            entries_passed: 0,
            flushes: 2,
            entries_set_again: 8,
            entries_at_once: 0,
        }
    );
}

/// Regions of these numbers of pages, hot if odd, one behind the other.
fn packed(pages: &[u64], options: SimOptions) -> SimSpace {
    let mut text = String::new();
    for (at, pages) in pages.iter().enumerate() {
        text += &format!("r{at}, {}K\n", pages * 4);
    }
    text += "\nbusy\n1s\n";
    for at in (1..pages.len()).step_by(2) {
        text += &format!("r{at}, random, 0, {}\n", pages[at]);
    }
    let config = Config::parse("packed", &text).unwrap();
    let mut end = BLOCK_SIZE;
    let ranges = pages.iter().map(|pages| {
        let start = end;
        end += pages * PAGE_SIZE;
        AddrRange::new(start, end)
    });
    let ranges = ranges.collect();
    SimSpace::placed(config, ranges, options).unwrap()
}

#[test]
fn several_regions_share_a_block() {
    let many = SimOptions { accesses_per_sec: 1_000_000_000, ..SimOptions::default() };
    let mut space = packed(&[10, 5, 100, 1000, 3, 1, 400], many);
    let all = space.workload.whole();
    space.arm(&windows(all)).unwrap();
    space.advance_us(SAMPLE_US);
    let found = check(&mut space, &windows(all));
    let hot = |page: u64| {
        let bits = found[page as usize / 512].pages.unwrap();
        bits[page as usize % 512 / 64] >> (page % 64) & 1 == 1
    };
    let expected = |page| (10..15).contains(&page) || (115..1115).contains(&page) || page == 1118;
    for page in 0..1519 {
        assert_eq!(hot(page), expected(page), "page {page}");
        let one = check(&mut space, &[window(all.start + page * PAGE_SIZE, 1)])[0];
        assert_eq!((one.present, one.accessed), (1, u32::from(expected(page))), "page {page}");
    }
    let across = check(&mut space, &[window(all.start + 500 * PAGE_SIZE, 512)])[0];
    assert_eq!((across.present, across.accessed), (512, 512));
}

#[test]
fn a_flush_clears_a_run_of_neighbours_and_short_gaps_are_passed_over() {
    let mut space = packed(&[1024], SimOptions::default());
    let start = space.ranges()[0].start;
    let arm = |space: &mut SimSpace, first, pages| {
        space.arm(&[window(start + first * PAGE_SIZE, pages)]).unwrap();
        let counters = space.counters();
        (counters.ranges_armed, counters.flushes, counters.entries_passed)
    };
    assert_eq!(arm(&mut space, 10, 2), (1, 1, 0));
    assert_eq!(arm(&mut space, 63, 200), (2, 2, 0));
    // 0..10 and 12..60 are left to clear.
    assert_eq!(arm(&mut space, 0, 60), (3, 3, 2));
    // 60..63 and 263..512: what lies between is too much to pass over.
    assert_eq!(arm(&mut space, 0, 512), (5, 5, 2));
    assert_eq!(space.counters().entries_cleared, 512);
    // Nothing is left: a range all the same, but no flush.
    assert_eq!(arm(&mut space, 0, 512), (6, 5, 2));
}

#[test]
fn the_prices_are_those_of_the_model() {
    let mut space = mixed(0);
    assert!((space.prices().arm_run - 0.94).abs() < 1e-9);
    space.set_model(CostModel::OTHER_CPU);
    assert!((space.prices().arm_run - 11.4).abs() < 1e-9);
    assert!((space.prices().interrupt - 6.0).abs() < 1e-9);
}

#[test]
fn what_was_set_again_unseen_is_counted_at_last() {
    let many = SimOptions { accesses_per_sec: 1_000_000_000, ..SimOptions::default() };
    let mut space = packed(&[10, 5, 100, 1000], many);
    let all = space.workload.whole();
    space.arm(&windows(all)).unwrap();
    space.advance_us(SAMPLE_US);
    assert_eq!(space.counters().entries_set_again, 0);
    space.settle();
    assert_eq!(space.counters().entries_set_again, 1005);
    space.settle();
    assert_eq!(space.counters().entries_set_again, 1005);
}

#[test]
fn a_sparse_space_gives_its_mappings_and_says_where_nothing_is() {
    const GIB: u64 = 1 << 30;
    let config = Config::parse("sparse", "a, 8K\nb, 4K\nc, 4K\n\nidle\n1s\n").unwrap();
    let ranges = vec![
        AddrRange::new(GIB + BLOCK_SIZE, GIB + BLOCK_SIZE + 8192),
        AddrRange::new(GIB + BLOCK_SIZE + 8192, GIB + BLOCK_SIZE + 12288),
        AddrRange::new(600 * GIB, 600 * GIB + 4096),
    ];
    let options = SimOptions { sparse: true, ..SimOptions::default() };
    let mut space = SimSpace::placed(config.clone(), ranges.clone(), options).unwrap();
    assert!(space.capabilities().sparse);
    let touching = AddrRange::new(ranges[0].start, ranges[1].end);
    assert_eq!(space.targets().unwrap()[0].ranges, [touching, ranges[2]]);

    let mut empty = |address, pages| check(&mut space, &[window(address, pages)])[0].empty_bytes;
    assert_eq!(empty(ranges[0].start, 1), 0, "it is mapped");
    assert_eq!(empty(ranges[1].end, 1), 0, "its neighbour in the block is");
    for pages in [1, 512] {
        assert_eq!(empty(GIB, pages), BLOCK_SIZE);
        assert_eq!(empty(2 * GIB, pages), GIB);
        assert_eq!(empty(500 * GIB, pages), GIB);
        assert_eq!(empty(1030 * GIB, pages), 512 * GIB);
    }

    let other = |ranges: Vec<AddrRange>| SimSpace::placed(config.clone(), ranges, options).is_err();
    assert!(other(ranges[..2].to_vec()), "too few");
    assert!(other(vec![ranges[1], ranges[0], ranges[2]]), "of the wrong sizes");
    assert!(other(vec![ranges[0], ranges[1], AddrRange::new(ranges[1].start, ranges[1].end)]));
    let odd = AddrRange::new(600 * GIB + 1, 600 * GIB + 4097);
    assert!(other(vec![ranges[0], ranges[1], odd]), "not page-aligned");
}

#[test]
fn hot_stripes_are_swept_in_every_interval() {
    // Every tenth page of 1000, each in 5 ms.
    let text = "striped, 4000K\n\nbusy\n1s\nstriped, stride, 40K, 1\n";
    let accesses_per_sec = 22_000;
    let mut space = space(text, SimOptions { accesses_per_sec, ..SimOptions::default() });
    let striped = space.ranges()[0];
    for _ in 0..20 {
        space.arm(&windows(striped)).unwrap();
        space.advance_us(SAMPLE_US);
        assert_eq!(accessed(&mut space, striped), 100);
    }
}

#[test]
fn five_terabytes_cost_little() {
    let text = "cold, 4608G\nhot, 512G\n\nbusy\n1s\nhot, random, 0, 1\n";
    let mut space = space(text, SimOptions::default());
    let mut rng = daos_core::Rng::new(1);
    for _ in 0..1000 {
        let pages: Vec<Window> = space
            .ranges()
            .iter()
            .map(|r| window(r.start + rng.below(r.pages()) * PAGE_SIZE, 1))
            .collect();
        space.arm(&pages).unwrap();
        space.advance_us(SAMPLE_US);
        assert_eq!(check(&mut space, &pages)[0].accessed, 0);
    }
    // A pointer for each block, and the two blocks of each round.
    assert!(space.state_bytes() <= (5 << 19) * 8 + 16 + 2000 * 72, "{}", space.state_bytes());
}

proptest! {
    #[test]
    fn same_seed_same_answers(
        seed: u64,
        asked in prop::collection::vec((0u64..60_000, 1u32..=512, 0u64..20_000, any::<bool>()), 1..40),
    ) {
        let run = || {
            let mut space = mixed(seed);
            let start = space.ranges()[0].start;
            let mut found = Vec::new();
            for (page, pages, us, arm) in &asked {
                let w = [window(start + page * PAGE_SIZE, *pages)];
                if *arm { space.arm(&w).unwrap() } else { space.check(&w, &mut found).unwrap() }
                space.advance_us(*us);
            }
            found
        };
        let found = run();
        for o in &found {
            prop_assert!(o.accessed <= o.present);
            let bits: u32 = o.pages.unwrap().iter().map(|w| w.count_ones()).sum();
            prop_assert_eq!(bits, o.accessed);
        }
        prop_assert_eq!(found, run());
    }
}

#[test]
fn all_is_armed_at_once_for_a_price_of_its_own() {
    let mut space = mixed(3);
    let ranges = space.ranges().to_vec();
    let pages: u64 = ranges.iter().map(|range| range.pages()).sum();
    assert!(space.can_arm_target(TARGET) && space.arm_target(TARGET).unwrap());
    let Counters { entries_at_once, entries_cleared, flushes, .. } = space.counters();
    assert_eq!(
        (entries_at_once, entries_cleared, flushes),
        (space.config().bytes() / PAGE_SIZE, 0, 1)
    );
    assert!(pages.abs_diff(entries_at_once) <= ranges.len() as u64);
    for range in &ranges {
        assert_eq!(accessed(&mut space, *range), 0);
    }
    space.advance_us(1_000_000);
    assert!(accessed(&mut space, ranges[1]) > 0 && accessed(&mut space, ranges[0]) == 0);
}
