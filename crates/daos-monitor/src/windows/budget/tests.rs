use super::savings::LENT;
use super::*;
use proptest::prelude::*;

#[test]
fn costs_correct_the_prediction() {
    let mut budget = Budget::new(0.01);
    // Three times as much as predicted, and something beside that.
    for nr in 0..200 {
        let expected = f64::from(nr % 7) * 100.0;
        budget.expect(Price { reading: expected, ..Price::default() });
        budget.note_sampling();
        let monitor_us = budget.wake + 50.0 + 3.0 * expected;
        budget.charge(CpuCost { monitor_us, target_us: 0.0 });
    }
    let (beside, factor) = budget.readings.line();
    assert!((2.7..3.1).contains(&factor) && (30.0..90.0).contains(&beside), "{factor}, {beside}");
}

#[test]
fn reading_and_arming_are_corrected_each_by_itself() {
    let mut budget = Budget::new(0.01);
    // Four times as much as predicted, and half as much.
    for nr in 0..200 {
        let reading = f64::from(nr % 7) * 400.0;
        let arming = if nr % 2 == 0 { 800.0 } else { 0.0 };
        budget.expect(Price { reading, arming, ..Price::default() });
        budget.note_sampling();
        let monitor_us = budget.wake + 4.0 * reading + 0.5 * arming;
        budget.charge(CpuCost { monitor_us, target_us: 0.0 });
    }
    let factors = (budget.factor_of_reading(), budget.factor_of_arming());
    assert!((3.7..4.1).contains(&factors.0) && (0.4..0.9).contains(&factors.1), "{factors:?}");
    let later = Price { reading_later: 10.0, arming: 10.0, ..Price::default() };
    assert_eq!(budget.real(later), 10.0 * (factors.0 + factors.1));
}

#[test]
fn reading_takes_its_share_while_page_tables_are_learned() {
    // First for ten seconds in which none are.
    let read = |is_learning: bool| {
        let mut budget = Budget::new(0.005 / PLANNED);
        let mut read_us = 0.0;
        for tick in 1..=200 {
            let is_learning = is_learning && tick > 100;
            if tick == 101 {
                read_us = 0.0;
            }
            budget.fill(tick * 100_000);
            let price = Price { reading: 20.0, ..Price::default() };
            budget.note_sampling();
            while budget.reserve_reading(price, 0.0, is_learning) {
                read_us += 20.0;
            }
            let monitor_us = budget.wake + budget.expected.reading;
            budget.charge(CpuCost { monitor_us, target_us: 0.0 });
        }
        read_us
    };
    // Of 50 ms in ten seconds.
    let (learning, else_all) = (read(true), read(false));
    assert!((11_000.0..15_000.0).contains(&learning), "{learning} us");
    assert!(else_all > 40_000.0, "{else_all} us");
}

#[test]
fn what_was_lent_is_put_by_later_and_no_more_is_lent_than_was_not_spent() {
    let mut budget = Budget::new(0.005 / PLANNED);
    budget.fill(1_000_000);
    assert!(!budget.has_saved(40_000.0, 0.0) && budget.can_lend(40_000.0));
    assert!(!budget.can_lend(LENT * 50_000.0 + 1.0));
    budget.save_for(40_000.0, 0.8);
    budget.spend_saved(40_000.0, 10_000.0);
    budget.charge(CpuCost { monitor_us: 30_000.0, target_us: 10_000.0 });
    assert_eq!((budget.saved, budget.debt), (-40_000.0, 0.0));
    assert!(!budget.can_lend(40_000.0), "twice in ten seconds");
    budget.save_for(0.0, 0.8);
    (2..=9).for_each(|second| budget.fill(second * 1_000_000));
    assert!((-20_000.0..-1_000.0).contains(&budget.saved), "{}", budget.saved);
    assert!(budget.left > 0.0);
    (10..=12).for_each(|second| budget.fill(second * 1_000_000));
    assert!(budget.can_lend(40_000.0), "{}", budget.spent_lately());
}

#[test]
fn ends_that_are_dear_each_time_come_less_often() {
    // Of 10 ms a second each takes 0.9, whether there is a tick behind it or another end, and
    // though it is not usual.
    for ticks_behind in [0, 1, 3] {
        let mut budget = Budget::new(0.01 / PLANNED);
        let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
        (0..100).for_each(|_| budget.charge(cost(40.0)));
        let doublings: Vec<u32> = (0..30)
            .map(|_| {
                budget.note_ending(false);
                budget.charge(cost(940.0));
                (0..ticks_behind).for_each(|_| budget.charge(cost(40.0)));
                budget.interval_doublings(100_000, false, 1.0)
            })
            .collect();
        assert_eq!((doublings[0], doublings[29]), (0, 2), "{doublings:?}");
    }
}

#[test]
fn ends_of_intervals_share_with_updates_of_targets() {
    // Of 5 ms a second, an end takes one, and an update, each second, two and a half.
    let doublings = |updating: f64| {
        let mut budget = Budget::new(0.005 / PLANNED);
        let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
        (0..100).for_each(|_| budget.charge(cost(40.0)));
        for _ in 0..100 {
            budget.note_ending(true);
            budget.charge(cost(1_040.0));
            budget.charge(cost(1_040.0));
            budget.note_update(1_000_000);
            budget.charge(cost(40.0 + updating));
        }
        budget.interval_doublings(100_000, false, 1.0)
    };
    assert_eq!((doublings(0.0), doublings(2_500.0)), (4, 5));
}

#[test]
fn what_is_put_by_is_not_for_ends_of_intervals_nor_before_there_is_enough_to_read() {
    let mut budget = Budget::new(0.005 / PLANNED);
    let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
    for _ in 0..100 {
        budget.note_ending(true);
        budget.charge(cost(340.0));
        budget.charge(cost(40.0));
    }
    let before = budget.interval_doublings(100_000, false, 1.0);
    budget.save_for(20_000.0, 0.6);
    assert_eq!(budget.interval_doublings(100_000, false, 1.0), before + 1);
    budget.left = 0.0;
    budget.fill(200_000);
    assert_eq!((budget.saved, budget.left), (0.0, 1_000.0));
    budget.fill(1_000_000);
    assert!(budget.saved == 0.0 && budget.left > FIRST * budget.capacity());
    budget.fill(2_000_000);
    assert_eq!(budget.saved, 0.6 * 5_000.0);
    budget.news_wait = true;
    budget.fill(3_000_000);
    assert_eq!(budget.saved, (0.6 + PUT_BY_BESIDE_NEWS) * 5_000.0, "news come first");
}

#[test]
fn what_is_put_by_leaves_enough_to_arm_something_now_and_then() {
    // Of 5 ms in a second, ends of intervals and reading take 2.
    let run = |heeds: bool| {
        let mut budget = Budget::new(0.005 / PLANNED);
        budget.save_for(100_000.0, 0.85);
        let (mut armings, mut armed_us) = (0, 0);
        for now_us in (0..20_000_000).step_by(100_000) {
            budget.fill(now_us);
            let can_arm = budget.is_worth_arming(KEPT_FOR_CHANGE, false);
            if can_arm {
                (armings, armed_us) = (armings + 1, now_us);
            }
            budget.arming_waits = heeds && now_us > armed_us + 2_000_000;
            let arming_us = if can_arm { 600.0 } else { 0.0 };
            budget.charge(CpuCost { monitor_us: 200.0 + arming_us, target_us: 0.0 });
        }
        (armings, budget.saved)
    };
    let ((starved, most), (armings, saved)) = (run(false), run(true));
    assert!(starved <= 1 && armings >= 5, "{starved} and {armings} times");
    assert!(saved > 0.8 * most, "{saved} of {most} us are put by all the same");
}

#[test]
fn what_a_tick_with_samples_takes_beside_them_is_no_cost_of_an_end() {
    let mut budget = Budget::new(0.01);
    for tick in 0..400 {
        if tick % 10 == 0 {
            budget.note_ending(true);
        }
        let reading = f64::from(20 + 30 * (tick % 3));
        budget.expect(Price { reading, ..Price::default() });
        budget.note_sampling();
        let ending = if tick % 10 == 0 { 100.0 } else { 0.0 };
        let monitor_us = budget.wake + 120.0 + reading + ending;
        budget.charge(CpuCost { monitor_us, target_us: 0.0 });
    }
    assert!((80.0..150.0).contains(&budget.ending), "{}", budget.ending);
}

#[test]
fn what_was_put_by_is_spent_beside_the_rest() {
    let mut budget = Budget::new(0.01);
    budget.save_for(10_000.0, 0.5);
    for second in 1..=4 {
        let before = budget.saved;
        budget.fill(second * 1_000_000);
        // Nothing is put by beyond what is wanted.
        assert!((budget.saved - before - 4_500.0).abs() < 1.0 || budget.saved == 10_000.0);
    }
    assert!(budget.has_saved(10_000.0, 1.0) && !budget.has_saved(30_000.0, 0.0));
    let left = budget.left;
    budget.spend_saved(8_000.0, 3_000.0);
    assert_eq!((budget.saved, budget.left - left), (2_000.0, 5_000.0));
    // The targets' side is paid for, up to there.
    budget.charge(CpuCost { monitor_us: 5_000.0, target_us: 4_000.0 });
    assert_eq!((budget.left, budget.debt), (left, 1_000.0));
}

proptest! {
    #[test]
    fn the_bound_is_kept_over_any_ten_seconds(
        share in 0.001f64..0.05,
        off in 0.5f64..4.0,
        waits in prop::collection::vec(1_000u64..200_000, 300..400),
    ) {
        let mut budget = Budget::new(share);
        let mut costs = Vec::new();
        let mut now_us = 0;
        for wait in waits {
            now_us += wait;
            budget.fill(now_us);
            let price = budget.sampling(16, 0.5);
            let mut spent = CpuCost::default();
            budget.note_sampling();
            while budget.reserve(price, 0.0) {
                spent.monitor_us += off * price.monitor();
                spent.target_us += off * price.target;
            }
            budget.charge(spent);
            costs.push((now_us, spent.monitor_us + spent.target_us));
        }
        // The guess is off by a factor at first.
        for (at, _) in costs.iter().filter(|b| b.0 > 5_000_000) {
            let window = |b: &&(u64, f64)| b.0 > *at && b.0 <= *at + 10_000_000;
            let spent: f64 = costs.iter().filter(window).map(|b| b.1).sum();
            prop_assert!(spent <= 1.1 * share * 10e6 + 60.0, "{spent} of {}", share * 10e6);
        }
    }
}

#[test]
fn what_was_lent_is_owed_no_longer_than_the_bound_is_promised_over() {
    let mut budget = Budget::new(0.005 / PLANNED);
    budget.save_for(40_000.0, 0.6);
    budget.fill(1_000_000);
    budget.spend_saved(40_000.0, 0.0);
    budget.charge(CpuCost { monitor_us: 40_000.0, target_us: 0.0 });
    budget.fill(2_000_000);
    assert!(budget.saved < -30_000.0, "{}", budget.saved);
    // In steps, as ticks come; nothing is paid back, since little is left.
    for second in 3..=12 {
        budget.left = 0.0;
        budget.fill(second * 1_000_000);
    }
    assert_eq!(budget.saved, 0.0);
    // What the targets paid is paid back.
    budget.charge(CpuCost { monitor_us: 0.0, target_us: 100_000.0 });
    budget.fill(30_000_000);
    assert!(budget.debt > 0.0);
}
