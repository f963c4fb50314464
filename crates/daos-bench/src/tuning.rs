//! How far from the best the tuner's methods end, on curves whose best is known.
//!
//! The six shapes of scores (the paper's Figure 3), each with many seeds, measured with
//! noise. Every method has the same number of samples; a baseline that a method asks for
//! is one of them, though the paper's method would need its own beside them.

use daos_core::Rng;
use daos_core::tuner::{At, Method, Param, Sample, Shape, Space, Threshold};
use serde::Serialize;
use std::io::{self, Write};

/// Standard deviation of the noise, as a share of the score's range.
pub const NOISE: f64 = 0.05;
/// A loss up to this is a good one, as a share of the score's range.
pub const GOOD: f64 = 0.05;

/// What is compared.
#[derive(Debug, Clone)]
pub struct TuningPlan {
    /// The methods.
    pub methods: Vec<Method>,
    /// The numbers of samples.
    pub samples: Vec<usize>,
    /// Seeds for each shape.
    pub seeds: u64,
}

impl Default for TuningPlan {
    /// All methods, 5 to 30 samples, 100 seeds.
    fn default() -> Self {
        Self { methods: Method::ALL.to_vec(), samples: vec![5, 10, 20, 30], seeds: 100 }
    }
}

/// How a method did with a number of samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// The method's name.
    pub method: &'static str,
    /// Number of samples.
    pub samples: usize,
    /// Mean loss: the distance to the true best as a share of the score's range.
    pub mean_loss: f64,
    /// Share of the seeds with a loss of at most [`GOOD`].
    pub good: f64,
    /// Share of the seeds where the interval held the true score; it should be 90 %.
    pub covered: f64,
    /// Mean loss on each shape, in the order of [`Shape::ALL`].
    pub by_shape: Vec<f64>,
}

/// Tunes each shape for each seed, number of samples and method; `done` is called after
/// each of these with the share that is done.
pub fn compare_tuning(plan: &TuningPlan, mut done: impl FnMut(f64)) -> Vec<Tuned> {
    let all = plan.methods.len() * plan.samples.len() * Shape::ALL.len();
    let mut tuned = Vec::new();
    let mut count = 0;
    for &method in &plan.methods {
        for &samples in &plan.samples {
            let mut runs = Vec::new();
            for shape in Shape::ALL {
                runs.push((0..plan.seeds).map(|seed| run(method, samples, shape, seed)).collect());
                count += 1;
                done(count as f64 / all as f64);
            }
            tuned.push(summary(method, samples, &runs));
        }
    }
    tuned
}

/// Loss, and whether the interval held the true score.
type Run = (f64, bool);

fn run(method: Method, samples: usize, shape: Shape, seed: u64) -> Run {
    let curve = shape.curve(seed);
    // A threshold whose value is the aggressiveness.
    let aggressiveness = Param::new(Threshold::MaxFreq, 0.0, 1.0);
    let space = Space::new(vec![aggressiveness]).expect("one range that is not empty");
    let mut search = method.search(space, samples, seed).expect("one threshold suits all methods");
    let x = |at: &At| match at {
        At::NoScheme => 0.0,
        At::Point(values) => values[0],
    };
    let mut rng = Rng::new(daos_core::rng::mix(!seed));
    while let Some(ask) = search.ask() {
        let score = Some(curve.measured(x(&ask.at), NOISE, &mut rng));
        search.tell(Sample { at: ask.at, score });
    }
    // Without a single sample nothing is applied.
    let Some(best) = search.best() else { return (curve.loss(0.0), false) };
    let truth = curve.at(x(&best.at));
    (curve.loss(x(&best.at)), best.score.low <= truth && truth <= best.score.high)
}

fn summary(method: Method, samples: usize, runs: &[Vec<Run>]) -> Tuned {
    let all = || runs.iter().flatten();
    let share = |count: usize| count as f64 / all().count().max(1) as f64;
    let mean =
        |runs: &[Run]| runs.iter().map(|(loss, _)| loss).sum::<f64>() / runs.len().max(1) as f64;
    let by_shape: Vec<f64> = runs.iter().map(|runs| mean(runs)).collect();
    Tuned {
        method: method.name(),
        samples,
        mean_loss: by_shape.iter().sum::<f64>() / by_shape.len().max(1) as f64,
        good: share(all().filter(|(loss, _)| *loss <= GOOD).count()),
        covered: share(all().filter(|(_, covered)| *covered).count()),
        by_shape,
    }
}

/// Writes a table with a row for each method and number of samples.
pub fn tuning_text(tuned: &[Tuned], plan: &TuningPlan, out: &mut impl Write) -> io::Result<()> {
    let (noise, good) = (NOISE * 100.0, GOOD * 100.0);
    writeln!(
        out,
        "loss: distance to the true best in % of the score's range; 6 shapes, {} seeds each, \
         noise {noise} %",
        plan.seeds
    )?;
    let shapes = Shape::ALL.map(|shape| format!("{:>6}", shape.number())).concat();
    writeln!(out, "method  samples  mean loss  loss<={good}%  held by interval  shape{shapes}")?;
    for one in tuned {
        let by_shape = one.by_shape.iter().map(|loss| format!("{:>6.1}", loss * 100.0));
        writeln!(
            out,
            "{:<8}{:>7}{:>10.2}{:>10.1} %{:>16.1} %       {}",
            one.method,
            one.samples,
            one.mean_loss * 100.0,
            one.good * 100.0,
            one.covered * 100.0,
            by_shape.collect::<String>()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_and_prints() {
        let plan =
            TuningPlan { methods: vec![Method::Gp, Method::Poly], samples: vec![10], seeds: 3 };
        let mut last = 0.0;
        let tuned = compare_tuning(&plan, |share| last = share);
        assert_eq!((tuned.len(), last), (2, 1.0));
        assert!(tuned[0].mean_loss * 2.0 <= tuned[1].mean_loss, "{tuned:?}");
        assert_eq!(tuned, compare_tuning(&plan, |_| {}));
        let mut out = Vec::new();
        tuning_text(&tuned, &plan, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().nth(2).unwrap().starts_with("gp           10"), "{text}");
    }
}
