use super::*;

fn sampled(of: impl Fn(f64) -> f64, count: u32) -> Vec<(f64, f64)> {
    (0..count).map(|at| f64::from(at) / f64::from(count - 1)).map(|x| (x, of(x))).collect()
}

#[test]
fn peaks_are_where_the_gradient_turns() {
    // Its derivative is (x - 0.2) (x - 0.5) (x - 0.8), downwards: peaks at 0.2 and 0.8.
    let of = |x: f64| -(x.powi(4) / 4.0 - 0.5 * x.powi(3) + 0.33 * x * x - 0.08 * x);
    let curve = Polynomial::fit(&sampled(of, 9), 4).unwrap();
    let peaks = curve.peaks();
    assert_eq!(peaks.len(), 2, "{peaks:?}");
    for ((x, y), wanted) in peaks.into_iter().zip([0.2, 0.8]) {
        assert!((x - wanted).abs() < 1e-9 && (y - of(wanted)).abs() < 1e-12, "{x} {y}");
    }
    assert!(curve.sd(0.5) < 1e-9);
}

#[test]
fn ends_are_peaks_too() {
    let peaks = |of: fn(f64) -> f64| Polynomial::fit(&sampled(of, 9), 2).unwrap().peaks();
    assert_eq!(peaks(|x| x).iter().map(|p| p.0).collect::<Vec<_>>(), [1.0]);
    assert_eq!(peaks(|x| -x).iter().map(|p| p.0).collect::<Vec<_>>(), [0.0]);
    assert_eq!(peaks(|x| (x - 0.5).powi(2)).iter().map(|p| p.0).collect::<Vec<_>>(), [0.0, 1.0]);
}

#[test]
fn a_high_degree_is_still_sound() {
    let of = |x: f64| (20.0 * x).sin();
    let curve = Polynomial::fit(&sampled(of, 61), 20).unwrap();
    for (x, y) in sampled(of, 200) {
        assert!((curve.at(x) - y).abs() < 1e-3, "{x}: {} instead of {y}", curve.at(x));
    }
}

#[test]
fn few_points_lower_the_degree() {
    let twice = [(0.2, 1.0), (0.2, 3.0), (0.7, 5.0)];
    let line = Polynomial::fit(&twice, 5).unwrap();
    assert_eq!(line.degree(), 1);
    assert!((line.at(0.2) - 2.0).abs() < 1e-12 && (line.at(0.7) - 5.0).abs() < 1e-12);
    assert!(Polynomial::fit(&[], 3).is_none());
}

#[test]
fn what_goes_through_each_point_knows_no_noise() {
    let curve = Polynomial::fit(&[(0.2, 1.0), (0.7, 5.0)], 1).unwrap();
    assert_eq!(curve.free(), 0);
    assert!(curve.noise().is_infinite() && curve.sd(0.2).is_infinite());
}
