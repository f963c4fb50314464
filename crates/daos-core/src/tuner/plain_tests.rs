use super::super::testing::{run, unit, unit_space};
use super::*;

#[test]
fn random_takes_the_highest() {
    let mut search = Random::new(unit_space(), 50, 1);
    run(&mut search, |at| -(unit(at) - 0.3).abs());
    let best = search.best().unwrap();
    assert!((unit(&best.at) - 0.3).abs() < 0.1);
    assert_eq!(search.samples().len(), 50);
}

#[test]
fn a_sweep_measures_every_point_as_often() {
    let mut search = Sweep::parse(["min_age=0s..60s/1s"], 3, 1).unwrap();
    assert_eq!(search.count(), 62 * 3);
    let mut count = 0.0;
    run(&mut search, |at| {
        count += 1.0;
        if *at == At::NoScheme { 0.0 } else { count }
    });
    let groups = search.groups();
    assert_eq!((groups.len(), groups[0].at.clone()), (62, At::NoScheme));
    assert_eq!(groups[18].at, At::Point(vec![17e6]));
    assert!(groups.iter().all(|group| group.count == 3));
    // Each round in another order.
    assert_ne!(search.order(0), search.order(1));
    let Some(best) = search.best() else { panic!() };
    assert!(best.at != At::NoScheme && best.score.low < best.score.mean);
}

#[test]
fn a_sweep_goes_on_where_it_ended() {
    let mut one = Sweep::parse(["max_freq=0..30%/10%", "min_age=1s..2s/1s"], 2, 5).unwrap();
    assert_eq!(one.count(), 2 * (1 + 4 * 2));
    let mut other = one.clone();
    run(&mut one, |_| 1.0);
    for sample in &one.samples()[..7] {
        other.tell(sample.clone());
    }
    assert_eq!(other.ask().unwrap().at, one.samples()[7].at);
    // A third of 30 % is exactly that.
    assert!(one.grid.contains(&At::Point(vec![0.3, 1e6])), "{:?}", one.grid);
}

#[test]
fn grids_without_a_step_are_refused() {
    for (text, wanted) in [
        ("min_age=0s..60s", "LOW..HIGH/STEP"),
        ("min_age=0s..60s/0s", "above 0"),
        ("min_age=0s..60s/x", "LOW..HIGH/STEP"),
        ("min_age=0s..60s/1us", "more than 100000"),
    ] {
        let err = Sweep::parse([text], 1, 1).unwrap_err().to_string();
        assert!(err.contains(wanted), "{text}: {err}");
    }
}
