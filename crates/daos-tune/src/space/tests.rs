use super::*;
use daos_schemes::text;
use proptest::prelude::*;

fn prcl() -> Scheme {
    text::parse("4K max min min 5s max pageout", "here").unwrap().remove(0)
}

#[test]
fn is_read_as_it_is_written() {
    let space = SearchSpace::parse(["min_age=1s..60s", " max_freq = 0..20%"]).unwrap();
    let bounds = |param: &Param| (param.threshold, param.low, param.high);
    assert_eq!(bounds(&space.params()[0]), (Threshold::MinAge, 1e6, 60e6));
    assert_eq!(bounds(&space.params()[1]), (Threshold::MaxFreq, 0.0, 0.2));
    assert_eq!(SearchSpace::parse(["min_age=0s..60s"]).unwrap(), SearchSpace::default());
    for (text, wanted) in [
        ("min_age", "write NAME=LOW..HIGH"),
        ("min_age=5s", "write NAME=LOW..HIGH"),
        ("min_ag=1s..2s", "did you mean min_age?"),
        ("min_age=1..2", "expected a duration with a unit"),
        ("max_freq=1..2", "percent with its sign"),
        ("min_size=4K..4K", "from 4K to 4K"),
        ("min_age=9s..1s", "the first has to be the smaller"),
    ] {
        let err = SearchSpace::parse([text]).unwrap_err().to_string();
        assert!(err.contains(wanted), "{text}: {err}");
    }
    assert_eq!(SearchSpace::parse([]), Err(SpaceError::Nothing));
    let twice = ["min_age=1s..2s", "min_age=0s..9s"];
    assert_eq!(SearchSpace::parse(twice), Err(SpaceError::Twice("min_age")));
}

#[test]
fn more_aggressive_is_more_memory() {
    let space = SearchSpace::parse(["min_age=0s..60s", "max_freq=0..20%"]).unwrap();
    assert_eq!(space.point(&[0.0, 0.0]), At::Point(vec![60e6, 0.0]));
    assert_eq!(space.point(&[1.0, 1.0]), At::Point(vec![0.0, 0.2]));
    // Half of the way is far below half of the time; on a linear scale it is half.
    assert_eq!(space.show(&space.point(&[0.5, 0.5])), "min_age=6.81s max_freq=10%");
    let linear = space.linear();
    assert_eq!(linear.show(&linear.point(&[0.5, 0.5])), "min_age=30s max_freq=10%");
    assert_eq!(linear.show(&At::NoScheme), "no scheme");
}

#[test]
fn sets_thresholds_and_nothing_else() {
    let space =
        SearchSpace::parse(["min_age=0s..60s", "max_freq=0..20%", "min_size=0..1M"]).unwrap();
    let tuned = space.apply(&prcl(), &At::Point(vec![17.2e6, 0.05, 8192.0])).unwrap();
    assert_eq!(text::format(&tuned), "8K max min 5% 17.2s max pageout");
    assert_eq!(space.apply(&prcl(), &At::NoScheme), None);
    let mut back = tuned;
    (back.pattern, back.name) = (prcl().pattern, None);
    assert_eq!(back, prcl());
}

#[test]
fn bounds_that_would_cross_are_refused() {
    let check = |range, line| {
        let scheme = text::parse(line, "here").unwrap().remove(0);
        SearchSpace::parse([range]).unwrap().check(&scheme, 100_000)
    };
    let line = "4K 2M min 50% 5s 30s pageout";
    assert_eq!(check("min_age=0s..30s", line), Ok(()));
    let err = check("min_age=0s..60s", line).unwrap_err().to_string();
    assert!(err.starts_with("min_age can't be tuned up to 1m: the scheme's other bound is 30s"));
    let err = check("max_size=0..1M", line).unwrap_err().to_string();
    assert!(
        err.starts_with("max_size can't be tuned down to 0: the scheme's other bound is 4K"),
        "{err}"
    );
}

proptest! {
    #[test]
    fn values_lie_in_the_range_and_come_back(
        which in 0usize..6, unit in 0.0f64..=1.0, low in 0.0f64..0.5, is_log: bool,
    ) {
        let threshold = Threshold::ALL[which];
        let most = [1e9, 1.0, 1e8][which / 2];
        let scale = if is_log { Scale::Log } else { Scale::Linear };
        let param = Param { threshold, low: low * most, high: most, scale };
        let value = param.value(unit);
        prop_assert!(param.low <= value && value <= param.high);
        // What rounding takes away is a hundredth of the range at most.
        prop_assert!((param.unit(value) - unit).abs() < 0.01, "{value} {}", param.unit(value));
        // Once rounded, it stays.
        let again = param.value(param.unit(value));
        prop_assert!((again - value).abs() <= 1e-9 * value, "{value} {again}");
    }
}
