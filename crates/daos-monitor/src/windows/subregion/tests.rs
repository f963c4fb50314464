use super::super::curve::Curve;
use super::super::seen::{Accessed, Waiting};
use super::Subregion;
use daos_core::pages::Pages;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, PageBits};

fn seen(accessed: u64) -> Observation {
    let mut pages = PageBits::default();
    pages[0] = accessed;
    Observation {
        present: 8,
        accessed: accessed.count_ones(),
        pages: Some(pages),
        ..Observation::default()
    }
}

/// Of a whole page table, of which the first so many pages were accessed.
fn table(accessed: u32) -> Observation {
    let mut pages = PageBits::default();
    pages[..accessed as usize / 64].fill(u64::MAX);
    Observation { present: 512, accessed, pages: Some(pages), ..Observation::default() }
}

#[test]
fn pages_of_a_probe_tell_how_many_are_in_use() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.arm(0, 8, 1_000);
    // Of eight pages one is accessed often, the others never.
    for (at_us, accessed) in [(6_000, 0), (1_001_000, 1), (2_600_000, 1)] {
        subregion.take((0, 8), &seen(accessed), at_us);
    }
    assert!((subregion.curve.shares[4] - 0.125).abs() < 0.02, "{:?}", subregion.curve);
    // If that was all, it is over some time.
    subregion.take((0, 8), &seen(1), 30_000_000);
    assert_eq!(subregion.curve, Curve::default());
}

#[test]
fn pages_of_a_table_that_are_gone_are_in_use_no_longer() {
    let mut subregion = Subregion::new(AddrRange::new(0, 8 * PAGE_SIZE), 8, 0);
    subregion.make_table();
    subregion.arm(0, 8, 1_000);
    subregion.take((0, 8), &seen(0xff), 6_000);
    assert_eq!(subregion.summary.used, 8);
    let mut gone = PageBits::default();
    gone[0] = 0x3f;
    let seen = Observation { present: 2, absent: Some(gone), ..seen(0xc0) };
    subregion.take((0, 8), &seen, 1_006_000);
    assert_eq!(subregion.summary.used, 2);
    let within = |subregion: &Subregion| subregion.shares_within(1_006_000).last();
    assert_eq!(within(&subregion), Some(0.25));
    subregion.absent = true;
    assert_eq!(within(&subregion), Some(0.0));
}

#[test]
fn a_page_table_that_was_cut_is_learned_again() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.make_table();
    subregion.arm_all_us = 5_000_000;
    subregion.clip(AddrRange::new(0, HUGE_PAGE_SIZE / 2), 8);
    assert!(subregion.table.is_none() && subregion.arm_all_us == 0);
}

#[test]
fn a_probe_is_mixed_while_some_of_its_pages_wait_and_others_were_accessed() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    let mut is_mixed_with = |accessed| {
        subregion.arm(0, 8, subregion.armed.read_us + 1_000);
        subregion.take((0, 8), &seen(accessed), subregion.armed.at_us + 5_000);
        subregion.is_probe_mixed()
    };
    assert_eq!([0, 3, 0, 0xff].map(&mut is_mixed_with), [false, true, false, false]);
}

#[test]
fn pages_of_a_huge_page_are_one_and_overdue_ones_come_soon() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    let tells = |subregion: &mut Subregion, entries| {
        subregion.arm(0, 8, subregion.armed.read_us + 1_000);
        let seen = Observation { entries, ..seen(0xff) };
        let taken = subregion.take((0, 8), &seen, subregion.armed.at_us + 5_000);
        taken.at_all.is_some()
    };
    assert_eq!([8, 1, 8].map(|entries| tells(&mut subregion, entries)), [true, false, true]);
    subregion.make_table();
    // The first look tells which are in use.
    tells(&mut subregion, 8);
    assert!(tells(&mut subregion, 8));
    subregion.table.as_mut().unwrap().suspect = Some((0, 8));
    assert!(!tells(&mut subregion, 8));
}

#[test]
fn a_page_that_is_accessed_again_and_again_is_one_page() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    for at_us in (1..20).map(|nr| nr * 100_000) {
        subregion.arm(0, 8, at_us);
        subregion.take((0, 8), &seen(1), at_us + 50_000);
    }
    assert_eq!(subregion.accessed.share, 0.125);
}

#[test]
fn a_table_that_is_used_again_tells_so_at_once() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.make_table();
    // All of it once in three seconds; then not for long; then again, in a part that is read.
    for nr in 0..4 {
        subregion.arm(0, 512, nr * 3_000_000 + 1_000);
        subregion.take((0, 512), &table(0), nr * 3_000_000 + 1_000_000);
        subregion.take((0, 512), &table(512), nr * 3_000_000 + 2_000_000);
    }
    subregion.arm(0, 512, 12_001_000);
    while subregion.curve.shares[5] > 0.0 {
        subregion.take((0, 512), &table(0), subregion.armed.read_us + 1_000_000);
    }
    assert!(subregion.armed.read_us < 40_000_000);
    subregion.take((0, 64), &table(64), subregion.armed.read_us + 1_000_000);
    assert!(subregion.curve.shares[6] > 0.0, "{:?}", subregion.curve);
}

#[test]
fn pages_wait_since_they_were_armed_though_others_are_armed_anew() {
    const S: u64 = 1_000_000;
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.make_table();
    // All are in use; an eighth is accessed again, armed anew, and accessed.
    subregion.arm(0, 512, S);
    subregion.take((0, 512), &table(512), 2 * S);
    subregion.arm(0, 512, 3 * S);
    subregion.take((0, 512), &table(64), 4 * S);
    subregion.arm(0, 64, 5 * S);
    subregion.take((0, 64), &table(64), 6 * S);
    let [armed, others] = subregion.now_waiting;
    assert_eq!(
        (armed.part, others),
        (0.0, Waiting { part: 0.875, since_us: 3 * S, read_us: 4 * S })
    );
    subregion.arm(0, 64, 7 * S);
    subregion.was_armed(7 * S + 500_000);
    let [armed, others] = subregion.now_waiting;
    assert_eq!(armed, Waiting { part: 0.125, since_us: 7 * S, read_us: 7 * S + 500_000 });
    assert_eq!(others.read_us, 4 * S);
    subregion.take((0, 512), &table(0), 8 * S);
    let [armed, others] = subregion.now_waiting;
    assert_eq!((armed.read_us, others.read_us, others.since_us), (8 * S, 8 * S, 3 * S));
}

#[test]
fn pages_that_come_early_tell_no_higher_rate_than_is_usual() {
    const S: u64 = 1_000_000;
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.make_table();
    let some = |from: u64, nr: u32| {
        let mut pages = PageBits::default();
        let numbers = (from..from + u64::from(nr)).map(|page| page as usize % 512);
        numbers.for_each(|page| pages[page / 64] |= 1 << (page % 64));
        Observation { present: 512, accessed: nr, pages: Some(pages), ..Observation::default() }
    };
    // All of it, at random times, every two seconds.
    subregion.arm(0, 512, S);
    subregion.take((0, 512), &some(0, 201), 2 * S);
    subregion.take((0, 512), &some(0, 512), 12 * S);
    for nr in 2..20 {
        subregion.arm(0, 512, 10 * nr * S);
        subregion.take((0, 512), &some(200 * nr, 201), (10 * nr + 1) * S);
    }
    let known = subregion.estimate.rate();
    assert!((0.2..0.7).contains(&known), "{known}");
    // Some of it by chance at once.
    subregion.arm(0, 512, 300 * S);
    subregion.take((0, 512), &some(0, 2), 300 * S + 5_000);
    subregion.take((0, 512), &some(0, 8), 300 * S + 85_000);
    let now = subregion.estimate.rate();
    assert!(now < 1.5 * known, "{now} of {known}");
}

#[test]
fn memory_is_told_to_be_idle_for_as_long_as_a_look_holds() {
    const S: u64 = 1_000_000;
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, S);
    let told = |subregion: &Subregion, now_us| {
        now_us - subregion.told_since_us(subregion.settled_us(), now_us)
    };
    assert_eq!(told(&subregion, 9 * S), 0);
    subregion.arm(0, 8, S);
    subregion.take((0, 8), &seen(0), S + 5_000);
    assert_eq!((told(&subregion, S + 15_000), told(&subregion, 9 * S)), (15_000, 20_000));
    subregion.take((0, 8), &seen(0), 4 * S);
    assert_eq!((told(&subregion, 9 * S), told(&subregion, 99 * S)), (8 * S, 12 * S));
    subregion.absent = true;
    assert_eq!(told(&subregion, 99 * S), 98 * S);
}

#[test]
fn one_look_that_came_while_all_were_gone_over_gives_no_page_up() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.make_table();
    let all = |from: u32, to: u32| Observation {
        present: 512,
        accessed: to - from,
        pages: Some(Pages::range(from, to).0),
        ..Observation::default()
    };
    subregion.arm(0, 512, 0);
    subregion.take((0, 512), &all(0, 512), 5_000);
    assert!(subregion.estimate.rate() > 100.0);
    subregion.arm(0, 512, 10_000);
    // Half of them come again within 100 ms, the others after it.
    subregion.take((0, 512), &all(0, 256), 110_000);
    assert_eq!(subregion.summary.used, 512);
    subregion.take((0, 512), &all(0, 256), 2_000_000);
    assert_eq!(subregion.summary.used, 256);
}

#[test]
fn a_probe_that_is_moved_back_is_as_it_was() {
    const S: u64 = 1_000_000;
    let mut subregion = Subregion::new(AddrRange::new(0, 16 * HUGE_PAGE_SIZE), 8, 0);
    for nr in 1..20 {
        subregion.arm(0, 8, nr * S);
        subregion.take((0, 8), &seen(0xff), nr * S + 5_000);
    }
    let before = subregion.clone();
    subregion.move_probe(0, 4);
    subregion.arm(0, 4, 20 * S);
    let changed = (1..9).any(|nr| subregion.take((0, 4), &seen(0), 20 * S + nr * 100_000).changed);
    assert!(changed && subregion.since_us > before.since_us);
    let there = subregion.move_back().expect("it was moved");
    assert_eq!((there.range, there.accessed), (there.probe, Accessed::default()));
    assert!(there.estimate.rate() < 0.1 * before.estimate.rate());
    let state = |s: &Subregion| (s.range, s.probe, s.estimate, s.since_us, s.curve, s.accessed);
    assert_eq!(state(&subregion), state(&before));
    assert!(subregion.unsure && subregion.waiting.is_empty() && subregion.move_back().is_none());
}

#[test]
fn a_probe_that_comes_into_use_is_in_use() {
    let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
    subregion.arm(0, 8, 1_000);
    for (at_us, accessed) in [(6_000, 0), (3_000_000, 0), (6_000_000, 0), (8_000_000, 0xff)] {
        subregion.take((0, 8), &seen(accessed), at_us);
    }
    // Once in eight seconds, as far as is known: the next look tells.
    assert!(subregion.curve.shares[4] < 0.3, "{:?}", subregion.curve);
    subregion.arm(0, 8, 8_001_000);
    subregion.take((0, 8), &seen(0xff), 8_006_000);
    assert!(subregion.curve.shares[4] > 0.9, "{:?}", subregion.curve);
}
