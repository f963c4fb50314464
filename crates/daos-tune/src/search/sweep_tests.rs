use super::super::Random;
use super::super::groups::groups;
use super::super::testing::{run, unit, unit_space};
use super::*;
use crate::math::gaussian;

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
    let groups = groups(search.samples());
    assert_eq!(groups.len(), 62);
    assert!(groups.iter().any(|group| group.at == At::NoScheme));
    assert!(groups.iter().any(|group| group.at == At::Point(vec![17e6])));
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

#[test]
fn a_void_sample_is_made_up_for_twice_at_most() {
    let mut search = Sweep::parse(["max_freq=0..20%/10%"], 2, 1).unwrap();
    // No scheme and the first point are void once, the last one always.
    let [none, first, last] =
        [At::NoScheme, At::Point(vec![0.0]), At::Point(vec![0.2])].map(|at| (at, 0));
    let mut voids = [none, first, last];
    let mut asks = Vec::new();
    while let Some(ask) = search.ask() {
        let count = voids.iter_mut().find(|(at, _)| *at == ask.at).map(|(_, count)| {
            *count += 1;
            *count
        });
        let is_void = ask.at == At::Point(vec![0.2]) || count == Some(1);
        asks.push(ask.at.clone());
        search.tell(Sample::of(ask.at, (!is_void).then_some(1.0)));
    }
    assert_eq!((asks.len(), search.count()), (2 * 4 + 1 + 1 + 2, 12));
    let scores = |at: &At| search.told.iter().filter(|s| s.at == *at && s.score.is_some()).count();
    assert_eq!(search.grid.iter().map(scores).collect::<Vec<_>>(), [2, 2, 2, 0]);
    // Not at once: whatever spoilt it may last for a while.
    assert!(asks[..8].chunks(4).all(|round| search.grid.iter().all(|at| round.contains(at))));
}

#[test]
fn noise_alone_is_no_gain() {
    // A scheme that does nothing, and as many baselines as a tuning takes.
    let fooled = |search: &mut dyn Search, seed: u64| {
        let mut rng = Rng::new(mix(!seed));
        run(search, |_| gaussian(&mut rng));
        for _ in 0..3 {
            search.tell(Sample::of(At::NoScheme, Some(gaussian(&mut rng))));
        }
        search.best().unwrap().is_better_than_none()
    };
    let sweep = |seed| Sweep::parse(["min_age=0s..60s/2s"], 3, seed).unwrap();
    let random = (0..100).filter(|seed| fooled(&mut Random::new(unit_space(), 25, *seed), *seed));
    let sweeps = (0..100).filter(|seed| fooled(&mut sweep(*seed), *seed));
    let counts = [random.count(), sweeps.count()];
    // At most as often as the confidence allows, and some.
    assert!(counts.iter().all(|count| *count <= 10), "{counts:?}");
}

#[test]
fn a_clear_gain_is_one() {
    let score = |at: &At, rng: &mut Rng| unit(at) + 0.02 * gaussian(rng);
    for seed in 0..5 {
        let mut rng = Rng::new(seed);
        let mut search = Sweep::parse(["max_freq=0..100%/10%"], 3, seed).unwrap();
        run(&mut search, |at| score(at, &mut rng));
        assert!(search.best().unwrap().is_better_than_none());
        let mut search = Random::new(unit_space(), 20, seed);
        run(&mut search, |at| score(at, &mut rng));
        for _ in 0..3 {
            search.tell(Sample::of(At::NoScheme, Some(score(&At::NoScheme, &mut rng))));
        }
        assert!(search.best().unwrap().is_better_than_none());
    }
}

#[test]
fn baselines_alone_tell_nothing() {
    let sweep = Sweep::parse(["min_age=0s..60s/1s"], 3, 1).unwrap();
    let searches: [Box<dyn Search>; 2] =
        [Box::new(Random::new(unit_space(), 5, 1)), Box::new(sweep)];
    for mut search in searches {
        search.tell(Sample::of(At::NoScheme, Some(0.0)));
        assert_eq!(search.best(), None);
    }
    // With a single point but nothing to tell the noise from, nothing is sure.
    let mut search = Random::new(unit_space(), 5, 1);
    search.tell(Sample::of(At::Point(vec![0.5]), Some(1.0)));
    let best = search.best().unwrap();
    assert_eq!((best.gain.mean, best.gain.low), (1.0, f64::NEG_INFINITY));
}
