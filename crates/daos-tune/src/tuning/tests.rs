use super::*;
use crate::math::gaussian;
use crate::score::{RSS, RUNTIME, Scoring};
use daos_core::Rng;
use daos_schemes::text;
use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

/// Runs for 20 s without a scheme. With one, the younger memory may be that is paged out,
/// the more is saved, down to 10 s; below that it is also slower.
struct Program {
    clock_s: Rc<Cell<f64>>,
    noise: f64,
    /// How much the machine varies, as a share: what it does to one copy of a pair, it does to
    /// both.
    machine: f64,
    rng: Rng,
    /// Which sample fails.
    fails: fn(usize) -> bool,
    taken: usize,
}

impl Program {
    fn new(noise: f64) -> Self {
        let (clock_s, rng) = (Rc::default(), Rng::new(7));
        Self { clock_s, noise, machine: 0.0, rng, fails: |_| false, taken: 0 }
    }
}

impl Workload for Program {
    type Error = Infallible;

    fn measure(
        &mut self,
        scheme: Option<&Scheme>,
        bounds: &RunBounds,
    ) -> Result<Measurement, Infallible> {
        self.taken += 1;
        if (self.fails)(self.taken - 1) {
            self.clock_s.set(self.clock_s.get() + 1.0);
            return Ok(Measurement::Void("exit status 1".to_owned()));
        }
        let age_s = scheme.map(|scheme| scheme.pattern.age.min.us(100_000) as f64 / 1e6);
        let slow = age_s.map_or(0.0, |age| 0.5 / (1.0 + ((age - 10.0) / 0.5).exp()));
        let saved = age_s.map_or(0.0, |age| 0.5 * (1.0 - age / 60.0));
        let machine = 1.0 + self.machine * gaussian(&mut self.rng).clamp(-2.0, 2.0);
        let mut runtime =
            |slow| 20.0 * machine * (1.0 + slow + self.noise * gaussian(&mut self.rng));
        let values = |runtime, saved| {
            Values::from([(RUNTIME.to_owned(), runtime), (RSS.to_owned(), 1e9 * (1.0 - saved))])
        };
        if let Some(side) = bounds.pair {
            // The second side takes a twentieth longer.
            let [own, beside] = [(side, slow), (side.other(), 0.0)]
                .map(|(side, slow)| runtime(slow) * if side == Side::First { 1.0 } else { 1.05 });
            let cut_short = bounds.is_lost(own / beside);
            self.clock_s.set(self.clock_s.get() + own.max(beside) + 0.2);
            let (metrics, beside) = (values(own, saved), values(beside, 0.0));
            return Ok(Measurement::Pair { metrics, beside, cut_short });
        }
        let runtime = runtime(slow);
        let is_lost = bounds.is_lost(runtime);
        let runtime = bounds.level.map_or(runtime, |level| runtime.min(level.lost_at));
        self.clock_s.set(self.clock_s.get() + runtime + 0.2);
        let values = values(runtime, saved);
        Ok(if is_lost { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }
}

fn tuning(aim: Aim, limits: TuningLimits, records: Vec<SampleRecord>) -> Tuning {
    let scheme = text::parse("4K max min min 5s max pageout", "test").unwrap().remove(0);
    let scorer = Scorer::new(Scoring::default());
    let tuning = Tuning::new((scheme, 100_000), SearchSpace::default(), aim, limits, 3, scorer);
    tuning.unwrap().after(records)
}

fn limits(time_s: Option<f64>, samples: Option<usize>) -> TuningLimits {
    TuningLimits { time_s, samples }
}

/// Takes samples until the end, or `most`.
fn run(tuning: &mut Tuning, program: &mut Program, most: usize) -> Option<TuningEnd> {
    for _ in 0..most {
        let step = match tuning.ask().unwrap() {
            Next::Measure(step) => step,
            Next::End(end) => return Some(end),
        };
        let clock_s = Rc::clone(&program.clock_s);
        let Ok(end) = tuning.take(&step, program, || clock_s.get());
        assert_eq!(end, None);
    }
    None
}

#[test]
fn finds_the_best_age_within_the_limit() {
    let mut program = Program::new(0.01);
    let mut tuning = tuning(Aim::Best(Method::Gp), limits(Some(600.0), None), Vec::new());
    assert!(matches!(
        run(&mut tuning, &mut program, 100),
        Some(TuningEnd::Time | TuningEnd::Samples)
    ));
    assert!((25..=29).contains(&tuning.records().len()), "{}", tuning.records().len());
    assert!(tuning.elapsed_s() <= 600.0, "{}", tuning.elapsed_s());
    let baselines = tuning.records().iter().filter(|record| record.is_baseline()).count();
    assert!((2..=10).contains(&baselines), "{baselines}");
    let best = tuning.best().unwrap().unwrap();
    let At::Point(at) = &best.at else { panic!("{best:?}") };
    assert!((10e6..15e6).contains(&at[0]) && best.is_better_than_none(), "{best:?}");
    assert!(tuning.records().iter().any(|record| record.cut_short));
}

#[test]
fn pairs_find_what_a_machine_that_varies_hides() {
    let tuned = |in_pairs: bool| {
        let mut program = Program { machine: 0.3, ..Program::new(0.01) };
        let mut tuning = tuning(Aim::Best(Method::Gp), limits(None, Some(16)), Vec::new());
        if in_pairs {
            tuning = tuning.in_pairs();
        }
        assert_eq!(run(&mut tuning, &mut program, 100), Some(TuningEnd::Samples));
        tuning
    };
    let mut paired = tuned(true);
    let best = paired.best().unwrap().unwrap();
    let At::Point(at) = &best.at else { panic!("{best:?}") };
    assert!((10e6..16e6).contains(&at[0]) && best.is_better_than_none(), "{best:?}");
    let sides = paired.records().iter().map(|r| r.beside.as_ref().map(|beside| beside.side));
    let changed = [Some(Side::Second), Some(Side::First)].into_iter().cycle();
    assert!(sides.zip(changed).all(|(side, expected)| side == expected));
    // Without them all that is known is lost in what the machine does.
    assert!(!tuned(false).best().unwrap().unwrap().is_better_than_none());
}

#[test]
fn the_papers_method_has_its_baselines_beside() {
    let mut program = Program::new(0.01);
    let mut tuning = tuning(Aim::Best(Method::Poly), limits(None, Some(24)), Vec::new());
    assert_eq!(run(&mut tuning, &mut program, 100), Some(TuningEnd::Samples));
    let at = |why: Why| {
        let all = tuning.records().iter().enumerate();
        all.filter(|(_, r)| r.why == why).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(at(Why::Baseline), [0, 10, 20]);
    // 60 and 40 % of 21.
    assert_eq!((at(Why::Explore).len(), at(Why::Improve).len()), (12, 9));
    assert!(tuning.best().unwrap().is_some());
}

#[test]
fn interrupted_it_goes_on_the_same_way() {
    let (aim, limits) = (Aim::Best(Method::Gp), limits(None, Some(12)));
    let (mut program, mut whole) = (Program::new(0.0), tuning(aim.clone(), limits, Vec::new()));
    run(&mut whole, &mut program, 100);
    let (mut program, mut first) = (Program::new(0.0), tuning(aim.clone(), limits, Vec::new()));
    assert_eq!(run(&mut first, &mut program, 5), None);
    let mut second = tuning(aim, limits, first.records().to_vec());
    assert_eq!(run(&mut second, &mut program, 100), Some(TuningEnd::Samples));
    let points = |tuning: &Tuning| {
        tuning.records().iter().map(|record| record.at.clone()).collect::<Vec<_>>()
    };
    assert_eq!(points(&second), points(&whole));
}

#[test]
fn void_samples_are_passed_over_and_the_third_in_a_row_ends_it() {
    let mut program = Program::new(0.0);
    program.fails = |at| at == 0 || at == 3 || at == 4 || at >= 7;
    let mut tuning = tuning(Aim::Best(Method::Gp), limits(None, Some(50)), Vec::new());
    assert_eq!(run(&mut tuning, &mut program, 100), Some(TuningEnd::Void));
    assert_eq!(tuning.records().len(), 10);
    assert!(tuning.records()[1].is_baseline(), "a baseline has to be known first");
    assert!(tuning.best().unwrap().is_some());
    // Whoever goes on with it has mended something.
    let records = tuning.records().to_vec();
    let mut again = self::tuning(Aim::Best(Method::Gp), limits(None, Some(50)), records);
    assert!(matches!(again.ask().unwrap(), Next::Measure(_)));
}

#[test]
fn without_a_baseline_nothing_is_known() {
    let mut program = Program::new(0.0);
    program.fails = |_| true;
    let mut tuning = tuning(Aim::Best(Method::Gp), limits(None, Some(50)), Vec::new());
    assert_eq!(run(&mut tuning, &mut program, 100), Some(TuningEnd::Void));
    assert_eq!(tuning.best().unwrap(), None);
}

#[test]
fn a_limit_that_is_too_short_is_refused() {
    let mut program = Program::new(0.0);
    let mut tuning = tuning(Aim::Best(Method::Gp), limits(Some(30.0), None), Vec::new());
    assert_eq!(run(&mut tuning, &mut program, 1), None);
    assert_eq!(tuning.ask().unwrap(), Next::End(TuningEnd::TooShort));
}

#[test]
fn a_sweep_measures_every_point_as_often_and_cuts_nothing_short() {
    let mut program = Program::new(0.0);
    let sweep = Sweep::parse(["min_age=0s..60s/10s"], 2, 1).unwrap();
    let mut tuning = tuning(Aim::Sweep(sweep), TuningLimits::default(), Vec::new());
    assert_eq!(run(&mut tuning, &mut program, 100), Some(TuningEnd::Samples));
    assert_eq!(tuning.records().len(), 16);
    assert!(tuning.records().iter().all(|record| !record.cut_short));
    let points = TuningResult::of(&mut tuning, TuningEnd::Samples).unwrap().points;
    assert!(points.len() == 8 && points.iter().all(|point| point.count == 2));
}

#[test]
fn patience_is_known_once_a_baseline_is() {
    let mut program = Program::new(0.0);
    let mut tuning = tuning(Aim::Best(Method::Gp), limits(Some(300.0), None), Vec::new());
    let bounds = |tuning: &mut Tuning| match tuning.ask().unwrap() {
        Next::Measure(step) => step.bounds,
        Next::End(end) => panic!("{end:?}"),
    };
    let first = RunBounds { pair: None, level: None, patience_s: 300.0, left_s: 300.0 };
    assert_eq!(bounds(&mut tuning), first);
    run(&mut tuning, &mut program, 1);
    let RunBounds { level, patience_s, left_s, .. } = bounds(&mut tuning);
    assert!((patience_s - 70.6).abs() < 0.01);
    assert!((left_s - 300.0).abs() < 0.01);
    // A tenth, and two deviations of a noise of 2 %.
    assert!((level.unwrap().lost_at - 22.8).abs() < 1e-9);
}
