//! Values of a configuration and of the baseline, to be compared.

use super::Results;
use super::metric::Metric;
use super::statistics::mean;
use super::table::{Verdict, percent};

/// What is compared: runs that took turns, or copies that ran at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Of the baseline.
    pub before: Vec<f64>,
    /// Of the configuration.
    pub after: Vec<f64>,
    /// Whether each of these belongs to the one at the same place of the others.
    pub is_paired: bool,
}

impl Compared {
    /// Of a workload: in pairs, with the copies that ran beside it.
    pub fn of(results: &Results<'_>, metric: Metric, workload: &str, configuration: &str) -> Self {
        if results.is_paired() {
            let pairs = results.store.pairs(workload, configuration);
            let pairs =
                pairs.into_iter().map(|(after, before)| [before, after].map(|r| metric.of(r)));
            let (before, after) = pairs.map(|[before, after]| (before, after)).unzip();
            return Self { before, after, is_paired: true };
        }
        let baseline = results.baseline().unwrap_or_default();
        let [before, after] =
            [baseline, configuration].map(|c| results.values(metric, workload, c));
        Self { before, after, is_paired: false }
    }

    /// By how many percent the mean is more than the baseline's. Of pairs both means are over the
    /// same times, and each side of the machine is in both.
    pub fn percent(&self) -> Option<f64> {
        percent(mean(&self.after)?, mean(&self.before)?)
    }

    /// The same of each run, or of each pair.
    pub fn percents(&self) -> Vec<f64> {
        let mean = mean(&self.before);
        let of = |(at, &after): (usize, &f64)| {
            let before = if self.is_paired { self.before.get(at).copied() } else { mean };
            percent(after, before?)
        };
        self.after.iter().enumerate().filter_map(of).collect()
    }

    /// Whether that could be chance.
    pub fn verdict(&self) -> Verdict {
        if self.is_paired {
            let pairs = self.after.iter().zip(&self.before);
            Verdict::of_differences(
                &pairs.map(|(after, before)| after - before).collect::<Vec<_>>(),
            )
        } else {
            Verdict::of(&self.before, &self.after)
        }
    }
}
