use super::*;
use crate::search::Why;
use crate::tuning::Beside;

/// A sample: at which age, or none; its run time and resident set.
pub(crate) fn record(at: Option<f64>, runtime: f64, rss: f64) -> SampleRecord {
    SampleRecord {
        at: at.map_or(At::NoScheme, |age| At::Point(vec![age])),
        why: Why::Explore,
        metrics: Values::from([(RUNTIME.to_owned(), runtime), (RSS.to_owned(), rss)]),
        beside: None,
        cut_short: false,
        cut_at_loss: None,
        void: None,
        took_s: runtime,
    }
}

/// A sample in a pair: on which side, its run time and that of the other, whose resident set is
/// twice as large.
pub(crate) fn pair(at: Option<f64>, side: Side, runtime: f64, other: f64) -> SampleRecord {
    let metrics = record(None, other, 100.0).metrics;
    let beside = Some(Beside { side: side.other(), metrics });
    SampleRecord { beside, ..record(at, runtime, 50.0) }
}

fn scores(scorer: &mut Scorer, records: &[SampleRecord]) -> Vec<f64> {
    let scored = scorer.scores(records);
    scored
        .into_iter()
        .map(|one| one.map_or(f64::NAN, |one| (one.score * 1e3).round() / 1e3))
        .collect()
}

#[test]
fn each_baseline_changes_all_scores() {
    let mut scorer = Scorer::new(Scoring::default()).as_in_the_paper();
    let mut records = vec![record(None, 10.0, 100.0), record(Some(5e6), 10.5, 50.0)];
    assert_eq!(scores(&mut scorer, &records), [0.0, 0.225]);
    records.push(record(None, 11.0, 100.0));
    assert_eq!(scores(&mut scorer, &records), [0.024, 0.25, -0.024]);
}

#[test]
fn who_violates_the_level_gets_the_worst_score_so_far() {
    let lost = record(Some(1e6), 12.0, 10.0);
    let mut records = vec![record(None, 10.0, 100.0), lost.clone()];
    let mut scorer = Scorer::new(Scoring::default());
    assert_eq!(scores(&mut scorer, &records), [0.0, 0.0]);
    assert_eq!(scorer.level(&records, None).map(|level| level.lost_at.round()), Some(11.0));
    // By the paper, the first keeps its own, and so is not to be cut short.
    let mut paper = Scorer::new(Scoring::default()).as_in_the_paper();
    assert_eq!(paper.level(&records[..1], None), None);
    assert_eq!(scores(&mut paper, &records), [0.0, 0.35]);
    records.extend([record(Some(9e6), 10.2, 90.0), lost]);
    assert_eq!(scores(&mut paper, &records), [0.0, 0.35, 0.04, 0.04]);
    assert!(paper.level(&records, None).is_some());
}

#[test]
fn what_was_cut_short_stays_lost() {
    let mut scorer = Scorer::new(Scoring::default());
    let mut cut = record(Some(1e6), 11.0, 10.0);
    cut.cut_short = true;
    // The second baseline is slow: by it, the sample would be within the level.
    let records = [record(None, 10.0, 100.0), cut, record(None, 12.0, 100.0)];
    assert!(scores(&mut scorer, &records)[1] < 0.1);
}

#[test]
fn what_was_cut_short_for_less_is_not_lost_for_more() {
    let mut cut = record(Some(1e6), 11.0, 10.0);
    (cut.cut_short, cut.cut_at_loss) = (true, Some(0.02));
    let records = [record(None, 10.0, 100.0), cut];
    let scored_at = |max_loss| {
        let mut scorer = Scorer::new(Scoring { max_loss, ..Scoring::default() });
        scorer.scores(&records).remove(1)
    };
    assert!(scored_at(0.02).is_ok() && scored_at(0.01).is_ok());
    assert!(scored_at(0.2).unwrap_err().contains("--max-loss"));
}

#[test]
fn void_samples_have_no_score() {
    let mut scorer = Scorer::new(Scoring::default());
    let mut void = record(None, 1.0, 1.0);
    void.void = Some("exit status 1".to_owned());
    let alone = scorer.scores(std::slice::from_ref(&void));
    assert_eq!(alone, [Err("exit status 1".to_owned())]);
    let records = [void, record(None, 10.0, 100.0)];
    let scores = scores(&mut scorer, &records);
    assert!(scores[0].is_nan() && scores[1] == 0.0);
}

#[test]
fn another_score_does_not_take_what_was_cut_short_for_lost() {
    let mut cut = record(Some(1e6), 11.0, 10.0);
    cut.cut_short = true;
    let function = ScoreFunction::Expression(crate::score::Expression::parse("m").unwrap());
    let mut scorer = Scorer::new(Scoring { function, ..Scoring::default() });
    let scored = scorer.scores(&[record(None, 10.0, 100.0), cut]);
    assert!(scored[1].as_ref().unwrap_err().contains("cut short"), "{scored:?}");
}

#[test]
fn what_the_score_does_not_need_may_be_missing() {
    let function = ScoreFunction::Expression(crate::score::Expression::parse("m").unwrap());
    let mut scorer = Scorer::new(Scoring { function, ..Scoring::default() });
    let records = [record(None, 0.0, 100.0), record(Some(1e6), 0.0, 25.0)];
    assert_eq!(scores(&mut scorer, &records), [0.0, 0.75]);
    let mut scorer = Scorer::new(Scoring::default());
    let why = scorer.scores(&records).remove(1).unwrap_err();
    assert!(why.contains("runtime is 0"), "{why}");
}

#[test]
fn a_command_is_asked_once_for_each_input() {
    let asked = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&asked);
    let command = move |json: &str| {
        count.set(count.get() + 1);
        let input: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(input["orig"]["runtime"], 10.0);
        input["m"].as_f64().filter(|m| *m < 0.9).ok_or_else(|| "too good".to_owned())
    };
    let mut scorer = Scorer::by(Scoring::default(), Box::new(command));
    let records = [record(None, 10.0, 100.0), record(Some(1e6), 20.0, 50.0)];
    assert_eq!(scores(&mut scorer, &records), [0.0, 0.5]);
    assert_eq!(scores(&mut scorer, &records), [0.0, 0.5]);
    assert_eq!(asked.get(), 2);
    let records = [record(None, 10.0, 100.0), record(Some(1e6), 20.0, 5.0)];
    for _ in 0..2 {
        assert_eq!(scorer.scores(&records).remove(1), Err("too good".to_owned()));
        assert_eq!(asked.get(), 3);
    }
}

#[test]
fn what_hits_both_copies_of_a_pair_changes_no_score() {
    // The machine gets slower and slower; the scheme costs a twentieth.
    let at = Some(5e6);
    let calm = [pair(None, Side::First, 10.0, 10.0), pair(at, Side::Second, 10.5, 10.0)];
    let slow = |by: f64, one: &SampleRecord| {
        let mut one = one.clone();
        let metrics = one.beside.iter_mut().map(|beside| &mut beside.metrics);
        metrics.chain([&mut one.metrics]).for_each(|all| *all.get_mut(RUNTIME).unwrap() *= by);
        one
    };
    let drifting = [slow(1.0, &calm[0]), slow(1.4, &calm[1]), slow(2.0, &calm[1])];
    let performance = |records: &[SampleRecord]| {
        let scored = Scorer::new(Scoring::default()).scores(records);
        scored.into_iter().map(|one| one.unwrap().performance).collect::<Vec<f64>>()
    };
    let found = performance(&drifting);
    assert!((found[1] + 0.05).abs() < 1e-9 && (found[2] + 0.05).abs() < 1e-9, "{found:?}");
    // Alone, it would pass for what the scheme costs.
    let alone = drifting.map(|one| SampleRecord { beside: None, ..one });
    assert!(performance(&alone)[2] < -1.0);
}

#[test]
fn what_sides_differ_by_is_taken_off() {
    // The first side takes a tenth longer; the scheme costs nothing.
    let baselines = [Side::First, Side::Second, Side::First].map(|side| {
        let (own, other) = if side == Side::First { (11.0, 10.0) } else { (10.0, 11.0) };
        pair(None, side, own, other)
    });
    let sample = |side, own, other| pair(Some(5e6), side, own, other);
    let mut records = baselines.to_vec();
    records.extend([sample(Side::First, 11.0, 10.0), sample(Side::Second, 10.0, 11.0)]);
    let mut scorer = Scorer::new(Scoring::default());
    for scored in &scorer.scores(&records) {
        let scored = scored.as_ref().unwrap();
        assert!(scored.performance.abs() < 0.003, "{scored:?}");
    }
    // It is lost later on the slow side, by what is measured beside it.
    let [first, second] =
        Side::BOTH.map(|side| scorer.level(&records, Some(side)).unwrap().lost_at);
    assert!(first > 1.1 * 1.1 && (1.0..1.1).contains(&second), "{first} {second}");
}
