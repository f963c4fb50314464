//! Runs to tables, and to sentences. Nothing here knows a clock or a file: the same runs give
//! the same tables.

mod compared;
mod comparison;
mod metric;
mod sentences;
mod statistics;
mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use compared::Compared;
pub use comparison::compare;
pub use metric::{Metric, Unit};
pub use sentences::sentences;
pub use statistics::{Statistic, Summary, mean, paired_p, permutation_p};
pub use table::{Cell, Row, Table, Verdict, percent};

use super::configuration::BASELINE;
use super::store::{Measured, Outcome, RawRun, Store};

/// What was measured, in order.
#[derive(Debug, Clone)]
pub struct Results<'a> {
    /// The names of the workloads that were run.
    pub workloads: Vec<&'a str>,
    /// The names of the configurations that were run.
    pub configurations: Vec<&'a str>,
    runs: &'a [RawRun],
    store: &'a Store,
}

impl<'a> Results<'a> {
    /// Of an evaluation.
    pub fn of(store: &'a Store) -> Self {
        let runs = &store.runs[..];
        let was_run = |of: fn(&RawRun) -> &String, name: &str| runs.iter().any(|r| of(r) == name);
        let names = |all: &'a [super::store::Named], of: fn(&RawRun) -> &String| {
            let names = all.iter().map(|named| &*named.name);
            names.filter(|name| was_run(of, name)).collect::<Vec<_>>()
        };
        let workloads = names(&store.header.workloads, |run| &run.workload);
        let mut configurations = names(&store.header.configurations, |run| &run.config);
        if store.header.pairs && runs.iter().any(|run| run.beside.is_some()) {
            configurations.push(BASELINE);
        }
        // What others are compared with stands first.
        configurations.sort_by_key(|name| *name != BASELINE);
        Self { workloads, configurations, runs, store }
    }

    /// The configuration that others are compared with: `orig` or, without it, the first.
    pub fn baseline(&self) -> Option<&'a str> {
        self.configurations.first().copied()
    }

    /// Whether runs are pairs: a copy in a configuration, and one as in the baseline beside it.
    pub fn is_paired(&self) -> bool {
        self.store.header.pairs
    }

    /// Those metrics that are of a workload alone: memory of the machine is not, where two run at
    /// once.
    pub fn metrics(&self, all: &[Metric]) -> Vec<Metric> {
        let is_told = |metric: &Metric| !(self.is_paired() && *metric == Metric::MemUsed);
        all.iter().copied().filter(is_told).collect()
    }

    /// What was measured of a workload in a configuration, by round.
    pub fn measured(&self, workload: &str, configuration: &str) -> Vec<&'a Measured> {
        self.store.measured(workload, configuration)
    }

    /// The values of a metric, by round.
    pub fn values(&self, metric: Metric, workload: &str, configuration: &str) -> Vec<f64> {
        let measured = self.measured(workload, configuration);
        measured.into_iter().map(|run| metric.of(run)).collect()
    }

    /// The most runs, or pairs, that a workload has in a configuration.
    pub fn most_runs(&self) -> usize {
        // Of pairs the baseline has as many as all others together.
        let counts = |config: &&&str| !(self.is_paired() && **config == BASELINE);
        let configurations = || self.configurations.iter().filter(counts);
        let of = |workload: &&'a str| {
            configurations().map(|config| self.measured(workload, config).len()).max()
        };
        self.workloads.iter().filter_map(of).max().unwrap_or(0)
    }

    /// What failed: workload, configuration and why; the last failure of each.
    pub fn failures(&self) -> Vec<(&'a str, &'a str, &'a str)> {
        let mut failures: Vec<(&str, &str, &str)> = Vec::new();
        for run in self.runs {
            if let Outcome::Failed { failed } = &run.outcome {
                failures.retain(|(w, c, _)| (*w, *c) != (&*run.workload, &*run.config));
                failures.push((&run.workload, &run.config, failed));
            }
        }
        failures
    }
}
