use super::super::testing::{run, unit, unit_space};
use super::*;
use crate::math::gaussian;

fn poly(samples: usize, seed: u64) -> Poly {
    Poly::new(unit_space(), samples, seed).unwrap()
}

#[test]
fn sixty_percent_are_global_and_the_rest_near_the_best() {
    for (samples, global, degree) in [(5, 3, 1), (10, 6, 3), (20, 12, 6), (30, 18, 10)] {
        let mut search = poly(samples, 7);
        assert_eq!(search.global_samples(), global);
        let mut asks = Vec::new();
        while let Some(ask) = search.ask() {
            if ask.why == Why::Improve {
                let best = search.points().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
                assert!((unit(&ask.at) - best.unwrap().0).abs() <= 0.1 + 1e-3);
            }
            let score = Some(-(unit(&ask.at) - 0.3).abs());
            asks.push(ask.why);
            search.tell(Sample::of(ask.at, score));
        }
        assert_eq!((asks.len(), search.degree()), (samples, degree));
        assert!(asks[..global].iter().all(|why| *why == Why::Explore));
        assert!(asks[global..].iter().all(|why| *why == Why::Improve));
    }
}

#[test]
fn the_global_ones_cover_the_range() {
    let mut counts = [0; 10];
    for seed in 0..500 {
        counts[(unit(&poly(10, seed).ask().unwrap().at) * 10.0).min(9.0) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (25..=80).contains(count)), "{counts:?}");
}

#[test]
fn distances_are_those_of_values() {
    let search = Poly::new(SearchSpace::default(), 10, 1).unwrap();
    assert_eq!(search.space().point(&[0.5]), At::Point(vec![30e6]));
}

#[test]
fn finds_the_peak_of_a_parabola() {
    let mut search = poly(10, 3);
    run(&mut search, |at| 1.0 - (unit(at) - 0.4).powi(2));
    let best = search.best().unwrap();
    assert!((unit(&best.at) - 0.4).abs() < 2e-3 && (best.score.mean - 1.0).abs() < 1e-4);
}

#[test]
fn void_samples_are_counted_and_left_out() {
    let mut search = poly(4, 3);
    for _ in 0..4 {
        let at = search.ask().unwrap().at;
        search.tell(Sample::of(at, None));
    }
    assert_eq!((search.ask(), search.best()), (None, None));
}

#[test]
fn refuses_two_thresholds() {
    let space = SearchSpace::parse(["min_age=0s..60s", "max_freq=0..20%"]).unwrap();
    assert_eq!(Poly::new(space, 10, 1).unwrap_err(), OneThreshold(2));
}

#[test]
fn gains_are_over_what_no_scheme_scores() {
    let gain = |baselines: &[f64], of: fn(f64) -> f64| {
        let mut rng = Rng::new(1);
        let mut search = poly(12, 1);
        for x in (0..12).map(|at| f64::from(at) / 11.0) {
            let score = Some(of(x) + 0.01 * gaussian(&mut rng));
            search.tell(Sample::of(At::Point(vec![x]), score));
        }
        for score in baselines {
            search.tell(Sample::of(At::NoScheme, Some(*score)));
        }
        search.best().unwrap()
    };
    // Whatever the scheme does, the score is about 1.
    for baselines in [&[1.0][..], &[1.01, 0.99, 1.0]] {
        let best = gain(baselines, |_| 1.0);
        assert!(best.gain.mean.abs() < 0.03 && !best.is_better_than_none(), "{best:?}");
        assert!((best.score.mean - 1.0).abs() < 0.03, "{best:?}");
        let best = gain(baselines, |x| 1.0 + x);
        assert!((best.gain.mean - 1.0).abs() < 0.05 && best.is_better_than_none(), "{best:?}");
        let width = |of: ConfidenceInterval| of.high - of.low;
        assert!(width(best.gain) > width(best.score), "{best:?}");
    }
    // Baselines that differ as much leave it open.
    assert!(!gain(&[-1.0, 3.0], |x| 1.0 + x).is_better_than_none());
}

#[test]
fn ended_early_it_is_not_sure_of_nonsense() {
    let mut fooled = 0;
    for seed in 0..50 {
        for taken in 1..10 {
            let mut rng = Rng::new(!seed);
            let mut search = poly(30, seed);
            search.tell(Sample::of(At::NoScheme, Some(0.0)));
            for _ in 0..taken {
                let at = search.ask().unwrap().at;
                search.tell(Sample::of(at, Some(0.1 * gaussian(&mut rng))));
            }
            let best = search.best().unwrap();
            assert_eq!(search.degree(), taken / 3);
            fooled += usize::from(best.is_better_than_none());
            if taken == 1 {
                assert_eq!(best.gain.low, f64::NEG_INFINITY);
            }
        }
    }
    assert!(fooled <= 45, "{fooled} of 450");
}
