use super::super::testing::{run, unit, unit_space};
use super::*;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

fn told(points: &[(f64, f64)]) -> Gp {
    let mut search = Gp::new(unit_space(), 30, 1);
    for &(x, score) in points {
        search.tell(Sample::of(At::Point(vec![x]), Some(score)));
    }
    search
}

#[test]
fn goes_through_points_without_noise() {
    let points: Vec<(f64, f64)> =
        (0..=10).map(|at| f64::from(at) / 10.0).map(|x| (x, (5.0 * x).sin())).collect();
    let search = told(&points);
    let curve = search.curve(&points.iter().map(|p| At::Point(vec![p.0])).collect::<Vec<_>>());
    for ((x, y), found) in points.iter().zip(curve) {
        assert!((found.mean - y).abs() < 0.01, "{x}: {found:?} instead of {y}");
    }
    let best = search.best().unwrap();
    assert!((unit(&best.at) - 0.314).abs() < 0.02, "{best:?}");
}

#[test]
fn is_less_sure_where_nothing_was_measured() {
    let mut search = told(&[(0.0, 0.1), (0.1, 0.3), (0.2, 0.0), (0.3, 0.2), (0.9, 0.1)]);
    search.tell(Sample::of(At::NoScheme, Some(0.0)));
    let curve = search.curve(&[At::Point(vec![0.2]), At::Point(vec![0.6])]);
    assert!(curve[1].high - curve[1].low > 1.3 * (curve[0].high - curve[0].low), "{curve:?}");
}

#[test]
fn begins_with_no_scheme_and_measures_it_again() {
    let mut search = Gp::new(unit_space(), 30, 1);
    assert_eq!(search.best(), None);
    assert_eq!(search.ask().unwrap(), Ask { at: At::NoScheme, why: Why::Baseline });
    let mut rng = Rng::new(1);
    run(&mut search, |at| unit(at) * (1.0 - unit(at)) + 0.01 * gaussian(&mut rng));
    let baselines = search.samples().iter().filter(|sample| sample.at == At::NoScheme).count();
    assert!((3..15).contains(&baselines), "{baselines}");
    assert_eq!(search.samples().len(), 30);
}

#[test]
fn no_scheme_can_be_the_best() {
    let is_better = |of: fn(f64) -> f64, seed: u64| {
        let mut rng = Rng::new(seed);
        let mut search = Gp::new(unit_space(), 12, seed);
        run(&mut search, |at| of(unit(at)) + 0.02 * gaussian(&mut rng));
        search.best().unwrap().is_better_than_none()
    };
    for seed in 0..3 {
        assert!(!is_better(|x| -0.4 * x, seed), "falls: {seed}");
        assert!(!is_better(|x| (x - 0.6).powi(2) - 0.36, seed), "falls and rises: {seed}");
        assert!(is_better(|x| 0.4 * x, seed), "rises: {seed}");
    }
}

#[test]
fn noise_alone_is_no_gain() {
    // At most as often as the confidence allows, and some.
    let is_fooled = |seed: &u64| {
        let mut rng = Rng::new(*seed);
        let mut search = Gp::new(unit_space(), 8, *seed);
        run(&mut search, |_| gaussian(&mut rng));
        search.best().unwrap().is_better_than_none()
    };
    let fooled = (0..40).filter(is_fooled).count();
    assert!(fooled <= 6, "{fooled} of 40");
}

#[test]
fn two_samples_do_not_tell_how_much_scores_vary() {
    let mut gp = Gp::new(unit_space(), 10, 1);
    gp.tell(Sample::of(At::NoScheme, Some(0.0)));
    gp.tell(Sample::of(At::Point(vec![0.5]), Some(0.011)));
    let best = gp.best().unwrap();
    assert!(best.gain.low < 0.0, "{best:?}");
}

#[test]
fn units_of_the_score_make_no_difference() {
    let asks = |factor: f64| {
        let mut search = Gp::new(unit_space(), 8, 3);
        run(&mut search, |at| factor * (3.0 * unit(at)).sin());
        search.samples().iter().map(|sample| unit(&sample.at)).collect::<Vec<_>>()
    };
    assert_eq!(asks(1.0), asks(1024.0));
    assert_eq!(asks(1.0), asks(1.0 / 1024.0));
}

#[test]
fn the_level_of_the_score_makes_no_difference() {
    // A gain of 0.2 on a level of 100, with baselines and without.
    let of = |at: &At| if *at == At::NoScheme { 100.0 } else { 100.0 + 0.2 * unit(at) };
    for seed in 0..3 {
        let mut rng = Rng::new(seed);
        let mut search = Gp::new(unit_space(), 15, seed);
        run(&mut search, |at| of(at) + 0.01 * gaussian(&mut rng));
        let best = search.best().unwrap();
        assert!(unit(&best.at) > 0.7 && best.is_better_than_none(), "{seed}: {best:?}");
        assert!((best.gain.mean - 0.2).abs() < 0.06, "{seed}: {best:?}");
        assert!((best.score.mean - 100.2).abs() < 0.06, "{seed}: {best:?}");
        let curve = search.curve(std::slice::from_ref(&best.at));
        assert!((curve[0].mean - best.score.mean).abs() < 1e-9);
    }
    let search = told(&[(0.0, 100.0), (0.25, 100.1), (0.5, 100.2), (0.75, 100.1), (1.0, 100.0)]);
    let best = search.best().unwrap();
    assert!((unit(&best.at) - 0.5).abs() < 0.1 && best.score.mean > 100.1, "{best:?}");
}

#[test]
fn baselines_alone_tell_nothing() {
    let mut search = Gp::new(unit_space(), 10, 1);
    search.tell(Sample::of(At::NoScheme, Some(1.0)));
    assert_eq!(search.best(), None);
}

#[test]
fn finds_narrow_peaks_and_cliffs_too() {
    let peak = |x: f64| (-((x - 0.72) / 0.08).powi(2)).exp();
    let cliff = |x: f64| if x < 0.6 { x } else { -0.3 };
    for (of, best) in [(&peak as &dyn Fn(f64) -> f64, 1.0), (&cliff, 0.6)] {
        for seed in 0..2 {
            let mut rng = Rng::new(seed);
            let mut search = Gp::new(unit_space(), 30, seed);
            run(&mut search, |at| of(unit(at)) + 0.05 * gaussian(&mut rng));
            let found = of(unit(&search.best().unwrap().at));
            assert!(found > best - 0.15, "seed {seed}: {found} instead of {best}");
        }
    }
}

#[test]
fn tunes_several_thresholds() {
    let ranges = ["min_age=0s..60s", "max_freq=0..20%", "min_size=0..2M"];
    let space = SearchSpace::parse(ranges).unwrap();
    let of = |at: &At| {
        let Some(units) = space.units(at) else { return 0.0 };
        // The third does not matter.
        let far = (units[0] - 0.7).powi(2) + 2.0 * (units[1] - 0.2).powi(2);
        0.3 - far
    };
    for seed in 0..3 {
        let mut rng = Rng::new(seed);
        let mut search = Gp::new(space.clone(), 25, seed);
        run(&mut search, |at| of(at) + 0.02 * gaussian(&mut rng));
        let best = search.best().unwrap();
        assert!(of(&best.at) > 0.25, "seed {seed}: {best:?} is {}", of(&best.at));
        assert!(best.is_better_than_none());
    }
}

#[test]
fn void_samples_are_passed_over() {
    let mut search = Gp::new(unit_space(), 12, 1);
    let mut count = 0;
    while let Some(ask) = search.ask() {
        count += 1;
        let score = (count % 3 != 0).then_some(unit(&ask.at));
        search.tell(Sample::of(ask.at, score));
    }
    assert_eq!(count, 12);
    let best = unit(&search.best().unwrap().at);
    assert!(best > 0.9, "{best}");
    let mut search = Gp::new(unit_space(), 12, 1);
    run_void(&mut search);
    assert_eq!(search.best(), None);
}

#[test]
fn a_scheme_that_fails_is_not_asked_for_again_nor_the_best() {
    // More is better, and from 0.7 on the work fails.
    for seed in 0..4 {
        let mut search = Gp::new(unit_space(), 20, seed);
        let (mut in_a_row, mut most) = (0, 0);
        while let Some(ask) = search.ask() {
            let fails = ask.at != At::NoScheme && unit(&ask.at) >= 0.7;
            in_a_row = if fails { in_a_row + 1 } else { 0 };
            if search.samples().len() < 19 {
                most = most.max(in_a_row);
            }
            let score = if ask.at == At::NoScheme { 0.0 } else { unit(&ask.at) };
            search.tell(Sample::of(ask.at, (!fails).then_some(score)));
        }
        let best = unit(&search.best().unwrap().at);
        assert!(most < 3 && (0.4..0.7).contains(&best), "seed {seed}: {most} in a row, {best}");
    }
}

fn run_void(search: &mut Gp) {
    while let Some(ask) = search.ask() {
        search.tell(Sample::of(ask.at, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn asks_are_in_range_and_depend_on_seed_and_samples_alone(
        scores in proptest::collection::vec(-1.0f64..1.0, 9), seed: u64, dims in 1usize..4,
    ) {
        let ranges = ["min_age=1s..60s", "max_freq=1%..20%", "min_size=4K..2M"];
        let space = SearchSpace::parse(ranges[..dims].iter().copied()).unwrap();
        let mut search = Gp::new(space.clone(), scores.len(), seed);
        let mut again = search.clone();
        for score in scores {
            let ask = search.ask().unwrap();
            prop_assert_eq!(search.ask(), Some(ask.clone()));
            prop_assert_eq!(again.ask(), Some(ask.clone()));
            if let At::Point(values) = &ask.at {
                for (param, value) in space.params().iter().zip(values) {
                    prop_assert!(param.low <= *value && *value <= param.high);
                }
            }
            let sample = Sample::of(ask.at, Some(score));
            search.tell(sample.clone());
            again.tell(sample);
        }
        prop_assert_eq!(search.ask(), None);
        prop_assert_eq!(search.best(), again.best());
    }

    #[test]
    fn the_order_of_telling_does_not_change_the_curve(
        points in proptest::collection::vec((0.0f64..1.0, -1.0f64..1.0), 2..10),
    ) {
        let places: Vec<At> = [0.1, 0.5, 0.9].map(|x| At::Point(vec![x])).into();
        let curve = told(&points).curve(&places);
        let reversed: Vec<_> = points.into_iter().rev().collect();
        for (a, b) in curve.iter().zip(told(&reversed).curve(&places)) {
            prop_assert!((a.mean - b.mean).abs() < 1e-6 && (a.low == b.low || (a.low - b.low).abs() < 1e-5));
        }
    }
}
