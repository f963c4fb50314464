use super::*;

fn curve(shape: Shape) -> Curve {
    // As published: nothing varied.
    let (a, b, d, sign) = match shape.number() {
        1 => (0.2, 0.6, 0.1, 1.0),
        2 => (0.5, 0.3, 0.5, 1.0),
        3 => (0.5, 0.1, 1.2, 1.0),
        4 => (0.2, 0.6, 0.1, -1.0),
        5 => (0.5, 0.3, 0.5, -1.0),
        _ => (0.5, 0.1, 1.2, -1.0),
    };
    let step = |center| Step { center, width: 0.05 };
    Curve::new((a, b, d, sign), step(0.2), step(0.5))
}

#[test]
fn are_what_they_are_called() {
    let scores = |shape| [0.0, 0.35, 0.65, 1.0].map(|x| curve(shape).at(x));
    let [start, early, late, end] = scores(Shape::Rises);
    assert!(start == 0.0 && start < early && early < late && late < end);
    let [start, early, late, end] = scores(Shape::RisesFalls);
    assert!(start == 0.0 && early > late && late > 0.0 && end > late && end < early);
    let [start, early, late, _] = scores(Shape::RisesFallsBelow);
    assert!(start == 0.0 && early > 0.0 && late < 0.0);
    for (up, down) in [(0, 3), (1, 4), (2, 5)] {
        assert_eq!(scores(Shape::ALL[up]), scores(Shape::ALL[down]).map(|score| -score));
    }
    // The ends are exact: steps are scaled to go from 0 to 1.
    let end = curve(Shape::RisesFalls).at(1.0);
    assert!((end - (0.5 + 0.3 - 0.5) / 2.0).abs() < 1e-12);
}

#[test]
fn seeds_vary_them_by_a_fifth() {
    let curves: Vec<Curve> = (0..200).map(|seed| Shape::RisesFalls.curve(seed)).collect();
    let centers: Vec<f64> = curves.iter().map(|curve| curve.thrashes.center).collect();
    assert!(centers.iter().all(|c| (0.4..=0.6).contains(c)));
    assert!(centers.iter().any(|c| *c < 0.42) && centers.iter().any(|c| *c > 0.58));
    assert_eq!(Shape::Falls.curve(3), Shape::Falls.curve(3));
}

#[test]
fn losses_and_noise_are_shares_of_the_range() {
    let curve = curve(Shape::RisesFallsBelow);
    let points = || (0..=1000).map(|at| f64::from(at) / 1000.0);
    let losses: Vec<f64> = points().map(|x| curve.loss(x)).collect();
    assert!(losses.iter().any(|loss| *loss < 1e-4) && losses.iter().any(|loss| *loss > 0.999));
    let mut rng = Rng::new(1);
    let off = (0..4000).map(|_| curve.measured(0.3, 0.05, &mut rng) - curve.at(0.3));
    let variance = off.map(|off| off * off).sum::<f64>() / 4000.0;
    let share = variance.sqrt() / curve.range();
    assert!((share - 0.05).abs() < 0.003, "{share}");
}
