//! Schemes that are replaced while they work.

use super::toy::{SECOND, Toy, idle};
use crate::Engine;
use daos_core::{Action, PAGE_SIZE};

#[test]
fn what_was_there_before_goes_on_and_what_is_known_stays() {
    let mut toy = Toy::new(100);
    let mut engine = Engine::new(vec![idle(8, Action::Stat), idle(12, Action::Pageout)]);
    toy.run(&mut engine, 9 * SECOND);
    let counted = engine.stats().next().unwrap().1.tried_bytes;
    assert!(counted > 0);
    engine.replace(vec![idle(10, Action::Pageout), idle(8, Action::Stat)]);
    let after: Vec<u64> = engine.stats().map(|(_, stats)| stats.tried_bytes).collect();
    assert_eq!(after, [0, counted]);
    // Its pages were watched for the other scheme already.
    toy.run(&mut engine, 3 * SECOND);
    assert_eq!(toy.present(), 0);
    assert_eq!(engine.stats().next().unwrap().1.applied_bytes, 100 * PAGE_SIZE);
}

#[test]
fn without_schemes_nothing_happens() {
    let mut toy = Toy::new(100);
    let mut engine = Engine::new(vec![idle(1, Action::Pageout)]);
    engine.replace(Vec::new());
    toy.run(&mut engine, 3 * SECOND);
    assert!(toy.log.is_empty());
}

#[test]
fn every_scheme_has_its_turn_and_its_numbers() {
    let mut toy = Toy::new(100).knows(&[(0, 50, 0.0), (50, 100, 0.5)]);
    let mut engine = Engine::new(vec![
        idle(1, Action::Pageout),
        super::toy::hot(Action::Willneed),
        idle(1, Action::Stat),
    ]);
    toy.now_us = 5 * SECOND;
    let mut last = toy.pass(&mut engine);
    for _ in 0..20 {
        let next = toy.pass(&mut engine);
        last.extend(next);
    }
    let of = |scheme| last.iter().filter(move |done| done.scheme == scheme);
    assert!(of(0).count() > 0 && of(0).all(|done| done.action == Action::Pageout));
    assert!(of(1).count() > 0 && of(1).all(|done| done.action == Action::Willneed));
    assert_eq!(of(2).count(), 0, "counting is nothing done");
}
