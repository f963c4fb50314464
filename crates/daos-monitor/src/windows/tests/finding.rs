//! What is found, how soon and how exactly.

use super::run::{Run, attrs, hot, hot_share, middle, region_at, regions};
use crate::Monitor;
use daos_core::rng::Rng;
use daos_core::testing::{TestMemory, mib, pages, target};
use daos_core::{AddrRange, PAGE_SIZE, Prices, Snapshot};

/// 256 MiB.
const ALL: AddrRange = AddrRange { start: 16 << 20, end: 272 << 20 };

/// A tenth of it, that ends nowhere in particular.
fn block() -> AddrRange {
    pages(30_011, 36_567)
}

/// The aggregation interval.
const INTERVAL_US: u64 = 100_000;

#[test]
fn a_hot_block_is_found_to_the_page() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[block()]));
    run.until(4.0);
    assert_eq!(hot(run.last()), [block()]);
    let region = region_at(run.last(), middle(block()));
    assert!(region.access_rate > 0.9, "{region:?}");
    let first = run.last().targets[0].regions[0];
    assert_eq!(first.access_rate, 0.0);
}

#[test]
fn scattered_blocks_are_found() {
    let blocks: Vec<AddrRange> =
        (0..12).map(|i| pages(6_000 + i * 5_000, 6_000 + i * 5_000 + 90 * (i + 1))).collect();
    let mut run = Run::of(TestMemory::new(&[ALL], &blocks));
    run.until(10.0);
    for block in &blocks {
        assert!(hot_share(run.last(), *block) >= 0.95, "{block:?} in {:?}", hot(run.last()));
    }
    let truth: u64 = blocks.iter().map(|b| b.pages()).sum();
    let found: u64 = hot(run.last()).iter().map(|r| r.pages()).sum();
    assert!(found <= truth + truth / 20, "{found} pages, not {truth}");
}

#[test]
fn a_small_block_stays_found_in_memory_that_is_known_in_parts() {
    // More page tables than there may be subregions: two blocks near each other, and one by itself.
    let blocks = [pages(20_000, 20_400), pages(21_500, 21_900), pages(50_000, 50_300)];
    let (mut found, mut lost) = (0, 0);
    for seed in 0..4 {
        let memory = TestMemory::new(&[ALL], &blocks);
        let mut run = Run::new(memory, attrs(10, 20), Some(0.01), seed);
        run.until(40.0);
        for block in blocks {
            let is_found = |snapshot: &&Snapshot| hot_share(snapshot, block) >= 0.5;
            let since = run.snapshots.iter().skip_while(|snapshot| !is_found(snapshot));
            let (still, not): (Vec<_>, Vec<_>) = since.partition(is_found);
            (found, lost) = (found + still.len(), lost + not.len());
        }
    }
    assert!(found > 4000 && lost * 20 < found, "{found} snapshots, not in {lost} after it");
}

#[test]
fn a_block_of_huge_pages_is_found() {
    let block = mib(100, 126);
    let mut memory = TestMemory::new(&[ALL], &[block]);
    memory.set(&[ALL], |page, inside| page.huge = inside);
    let mut run = Run::of(memory);
    run.until(8.0);
    assert_eq!(hot(run.last()), [block]);
}

/// The snapshots of the intervals that began after something changed now.
fn from_now(run: &mut Run, seconds: f64) -> Vec<Snapshot> {
    let (seen, now_us) = (run.snapshots.len(), run.now_us);
    run.until(now_us as f64 / 1e6 + seconds);
    run.snapshots[seen..].iter().filter(|s| s.start_us >= now_us).cloned().collect()
}

#[test]
fn a_block_that_turns_hot_is_noticed() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[mib(200, 210)]));
    run.until(6.0);
    run.memory.set_used(&[mib(200, 210), block()]);
    let after = from_now(&mut run, 1.3);
    assert!(hot_share(&after[1], block()) >= 0.5, "{:?}", hot(&after[1]));
    assert!(hot_share(&after[9], block()) >= 0.95, "{:?}", hot(&after[9]));
    assert!(hot_share(&after[9], mib(200, 210)) >= 0.99, "the other one stays");
}

#[test]
fn a_block_that_turns_cold_is_noticed() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[mib(200, 210), block()]));
    run.until(6.0);
    assert!(hot_share(run.last(), block()) >= 0.99);
    run.memory.set_used(&[mib(200, 210)]);
    let after = from_now(&mut run, 1.3);
    assert!(hot_share(&after[2], block()) <= 0.5, "{:?}", hot(&after[2]));
    assert!(hot_share(&after[9], block()) <= 0.05, "{:?}", hot(&after[9]));
    assert!(hot_share(&after[9], mib(200, 210)) >= 0.99, "the other one stays");
}

#[test]
fn what_is_cold_ages_by_one_an_interval() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[block()]));
    run.until(5.0);
    let cold = ALL.start;
    let ages: Vec<u64> = run.snapshots[20..].iter().map(|s| region_at(s, cold).age_us).collect();
    // Where subregions become one, the mean of their ages counts, which differ by milliseconds.
    let grew = |pair: &[u64]| (pair[1] - pair[0]).abs_diff(INTERVAL_US) < INTERVAL_US / 20;
    assert!(ages.windows(2).all(grew), "{ages:?}");
    let end_us = run.last().end_us;
    let last = *ages.last().unwrap();
    assert!((end_us - 3 * INTERVAL_US..=end_us).contains(&last), "{last} of {end_us}");
}

#[test]
fn what_turns_cold_begins_a_new_age() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[block()]));
    run.until(4.0);
    assert!(
        region_at(run.last(), middle(block())).age_us >= 30 * INTERVAL_US,
        "it has been hot for long"
    );
    run.memory.set_used(&[]);
    let after = from_now(&mut run, 2.0);
    for (nr, snapshot) in (0..).zip(&after).skip(2) {
        let region = region_at(snapshot, middle(block()));
        assert!(region.age_us <= (nr + 1) * INTERVAL_US, "{region:?} {nr} intervals on");
        assert!(
            region.age_us + 3 * INTERVAL_US >= nr * INTERVAL_US,
            "{region:?} {nr} intervals on"
        );
    }
    assert!(
        region_at(after.last().unwrap(), ALL.start).age_us >= 50 * INTERVAL_US,
        "the rest stays old"
    );
}

#[test]
fn what_is_not_in_memory_is_hardly_looked_at() {
    let all = mib(0, 1024);
    let read = |absent: &[AddrRange]| {
        let mut memory = TestMemory::new(&[all], &[]);
        memory.set(absent, |page, inside| page.present = !inside);
        let mut run = Run::of(memory);
        run.until(4.0);
        assert!(regions(run.last()).all(|r| r.access_rate == 0.0 && r.unobserved == 0.0));
        let settled = &run.snapshots[20..];
        let sum = |count: fn(&Snapshot) -> u64| settled.iter().map(count).sum::<u64>();
        (sum(|s| s.cost.pages), sum(|s| s.cost.armed))
    };
    let (pages, armed) = read(&[all]);
    assert_eq!(armed, 0);
    assert!(pages * 20 < read(&[]).0, "{pages} pages of nothing");
}

#[test]
fn what_comes_into_memory_is_noticed() {
    let mut memory = TestMemory::new(&[ALL], &[]);
    memory.set(&[ALL], |page, inside| page.present = !inside);
    let mut run = Run::of(memory);
    run.until(3.0);
    run.memory.set(&[block()], |page, inside| (page.present, page.used) = (true, inside));
    run.until(6.0);
    assert!(hot_share(run.last(), block()) >= 0.95, "{:?}", hot(run.last()));
}

#[test]
fn unobservable_memory_is_told_from_cold() {
    let unobservable = mib(100, 164);
    let mut memory = TestMemory::new(&[ALL], &[unobservable]);
    memory.set(&[unobservable], |page, inside| page.stuck = inside);
    let mut run = Run::of(memory);
    run.until(5.0);
    let last = run.last();
    let whole: f64 = regions(last).map(|r| r.unobserved * r.range.pages() as f64).sum();
    let truth = unobservable.pages() as f64;
    assert!((whole - truth).abs() < 0.1 * truth, "{whole} pages, not {truth}");
    assert!(region_at(last, middle(unobservable)).unobserved > 0.9);
    assert!(hot(last).is_empty());
}

#[test]
fn what_is_used_is_found_beside_what_can_not_tell() {
    // The middle of the first page table can't be observed, and that of the second is not in
    // memory.
    let (stuck, absent) = (pages(4_096 + 180, 4_096 + 500), pages(4_608 + 180, 4_608 + 500));
    let used = [pages(4_096, 4_096 + 180), pages(4_608, 4_608 + 180)];
    let mut memory = TestMemory::new(&[mib(16, 20)], &used);
    memory.set(&[stuck], |page, inside| page.stuck = inside);
    memory.set(&[absent], |page, inside| page.present = !inside);
    let mut run = Run::of(memory);
    run.until(4.0);
    for block in used {
        assert!(hot_share(run.last(), block) >= 0.95, "{block:?} in {:?}", run.last());
    }
}

#[test]
fn targets_come_and_go_at_an_update() {
    let mut run = Run::of(TestMemory::new(&[mib(0, 64)], &[mib(5, 6)]));
    let ids = |run: &Run| run.last().targets.iter().map(|t| t.id.0).collect::<Vec<_>>();
    run.until(2.0);
    assert_eq!(ids(&run), [0]);
    run.memory.targets.push(target(7, &[mib(5, 8)]));
    run.until(6.0);
    assert_eq!(ids(&run), [0, 7]);
    let new = &run.last().targets[1];
    let found = new.regions.iter().filter(|r| r.access_rate >= 0.25).map(|r| r.range);
    assert_eq!(AddrRange::joined(found), [mib(5, 6)]);
    run.memory.targets.remove(0);
    run.until(8.0);
    assert_eq!(ids(&run), [7]);
    run.memory.targets.clear();
    run.until(10.0);
    assert!(!run.monitor.has_targets());
}

#[test]
fn what_is_new_is_looked_at_while_page_tables_are_learned() {
    // Some pages of each page table: it takes minutes until all are known.
    let mixed: Vec<AddrRange> =
        (8..256).map(|table| pages(table * 512 + 100, table * 512 + 116)).collect();
    let new = mib(512, 1024);
    let used = [&mixed[..], &[new]].concat();
    let mut run =
        Run::new(TestMemory::new(&[mib(16, 512)], &mixed), attrs(10, 1000), Some(0.005), 42);
    // A process whose tables are dear to arm, so that not all is looked at at once.
    run.memory.prices.arm_run = 40.0;
    run.until(3.0);
    run.memory.targets.push(target(7, &[new]));
    run.memory.set_used(&used);
    run.until(7.0);
    let regions = &run.last().targets[1].regions;
    let found: u64 =
        regions.iter().filter(|r| r.access_rate >= 0.25).map(|r| r.range.pages()).sum();
    assert!(found * 10 >= new.pages() * 9, "{found} of {} pages", new.pages());
}

#[test]
fn where_arming_is_dear_it_begins_all_over_a_target() {
    let mut run = Run::new(TestMemory::new(&[mib(0, 1024)], &[]), attrs(10, 1000), Some(0.005), 42);
    (run.memory.prices.arm_run, run.memory.prices.interrupt) = (20.0, 20.0);
    run.memory.set_used(&[mib(0, 1024)]);
    run.until(0.5);
    let mut starts: Vec<u64> = run.memory.armed.iter().map(|window| window.start).collect();
    starts.sort_unstable();
    let ends = [0, 1024 << 20];
    let gaps = ends[..1].iter().chain(&starts).zip(starts.iter().chain(&ends[1..]));
    let widest = gaps.map(|(from, to)| to - from).max().expect("some");
    assert!((20..400).contains(&starts.len()), "{} were armed", starts.len());
    assert!(widest < 128 << 20, "{} MiB without any", widest >> 20);
}

#[test]
fn the_stream_of_snapshots_is_fixed_by_the_seed() {
    let snapshots = |seed| {
        let memory = TestMemory::new(&[ALL], &[block(), pages(50_000, 50_003)]);
        let mut run = Run::new(memory, attrs(10, 300), None, seed);
        run.until(4.0);
        run.snapshots
    };
    assert_eq!(snapshots(3), snapshots(3));
    assert_ne!(snapshots(3), snapshots(4));
}

/// The shares that are told to be accessed within these times, on average, of memory that is gone
/// over in so many microseconds, again and again; over three seeds.
fn told_of_sweep(period_us: u64, bound: f64, within_us: [u64; 2]) -> [f64; 2] {
    let all = [42, 43, 44].map(|seed| told_by(seed, period_us, bound, within_us));
    [0, 1].map(|at| all.iter().map(|told| told[at]).sum::<f64>() / 3.0)
}

fn told_by(seed: u64, period_us: u64, bound: f64, within_us: [u64; 2]) -> [f64; 2] {
    let mut run = Run::new(TestMemory::new(&[ALL], &[]), attrs(10, 1000), Some(bound), seed);
    let (mut told, mut nr) = ([0.0; 2], 0.0);
    while run.due_us < 40_000_000 {
        let before = run.snapshots.len();
        run.sweep_and_tick(ALL, period_us);
        if run.snapshots.len() > before && run.now_us > 15_000_000 {
            let sets = run.last().targets[0].working_sets.expect("counted");
            for (told, us) in told.iter_mut().zip(within_us) {
                *told += sets.within(us) / ALL.len() as f64;
            }
            nr += 1.0;
        }
    }
    told.map(|told| told / nr)
}

#[test]
fn of_what_is_swept_slowly_as_much_is_accessed_in_a_second_as_is_passed() {
    // With a thousandth of a CPU, not even every page table can be read within two seconds.
    for (bound, of_second, of_five) in
        [(0.001, 0.5..=1.5, 0.65..=1.2), (0.005, 0.8..=1.3, 0.8..=1.2)]
    {
        for period_us in [960_000, 1_920_000, 3_840_000, 7_680_000] {
            let truth = (1_000_000.0 / period_us as f64).min(1.0);
            let [second, five] = told_of_sweep(period_us, bound, [1_000_000, 5_000_000]);
            let all = (5_000_000.0 / period_us as f64).min(1.0);
            assert!(of_second.contains(&(second / truth)), "{second} of {truth}, {bound}");
            assert!(of_five.contains(&(five / all)), "{five} of {all}, {bound}");
        }
    }
}

#[test]
fn what_is_mapped_and_written_was_accessed() {
    let mut run = Run::of(TestMemory::new(&[ALL], &[]));
    run.until(4.5);
    let written = mib(300, 364);
    run.memory.targets[0].ranges.push(written);
    let within = |run: &Run| {
        let sets = run.last().targets[0].working_sets.expect("counted");
        sets.within(1_000_000) / written.len() as f64
    };
    run.until(5.5);
    assert!(within(&run) > 0.5, "{} once it is seen", within(&run));
    run.until(9.0);
    assert!(within(&run) < 0.1, "{} long after", within(&run));
}

#[test]
fn a_block_that_moves_is_followed_where_bits_are_dear_to_set_anew() {
    let all = mib(16, 528);
    let block = |nth: u64| mib(32 + 52 * nth, 84 + 52 * nth);
    let mut shares = Vec::new();
    for seed in 0..24 {
        let mut memory = TestMemory::new(&[all], &[block(0)]);
        memory.prices = Prices { set_again: 0.43, ..memory.prices };
        let mut run = Run::new(memory, attrs(10, 1000), Some(0.003), seed);
        // To wake up takes long where others use the caches.
        run.tick_us = 100.0;
        for nth in 1..6 {
            run.until(5.0 * nth as f64);
            run.memory.set_used(&[block(nth)]);
            run.until(5.0 * nth as f64 + 2.5);
            shares.push(hot_share(run.last(), block(nth)));
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    // 0.67 where page tables are learned meanwhile, and what comes into use is looked at in its
    // turn.
    assert!(mean > 0.75, "{mean}: {shares:?}");
}

#[test]
fn where_few_pages_are_used_places_without_any_are_not_preferred() {
    // A page in 32, once a second, in memory too large for its pages to be known one by one.
    let all = mib(16, 16 + 2048);
    let mut rng = Rng::new(7);
    let groups = (0..all.pages() / 32).map(|group| all.start / PAGE_SIZE + group * 32);
    let used: Vec<_> =
        groups.map(|first| first + rng.below(32)).map(|page| pages(page, page + 1)).collect();
    let truth = used.len() as f64 * PAGE_SIZE as f64;
    let mut told = Vec::new();
    for seed in 0..3 {
        let memory = TestMemory::new(&[all], &[]);
        let mut run = Run::new(memory, attrs(10, 1000), Some(0.002), seed);
        for step in 1..=900 {
            let now: Vec<_> = used.iter().filter(|_| rng.below(20) == 0).copied().collect();
            run.memory.set_used(&now);
            run.until(f64::from(step) / 20.0);
            if step > 400 {
                let sets = run.last().targets[0].working_sets.expect("counted");
                told.push(sets.within(5_000_000) / truth);
            }
        }
    }
    let mean = told.iter().sum::<f64>() / told.len() as f64;
    // 0.5 where a place with a page in use is left, and one without is not.
    assert!((0.7..1.3).contains(&mean), "{mean}");
}
