//! What a run of a monitor is judged by, from its snapshots and the truth.
//!
//! A metric is a field of [`RunMetrics`] and a line in [`RunMetrics::measurements`], from
//! which the tables and the JSON follow.

use super::cost::Costs;
use super::detection_latency::DetectionTimer;
use super::idle_score::IdleScorer;
use super::score::Scorer;
use super::truth::TruePhase;
use crate::metrics::{Measurement, Unit};
use daos_core::Snapshot;

/// What one run showed. A metric that it could not show is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunMetrics {
    /// Of the hot memory the share that was reported hot, 0 to 1.
    pub recall: Option<f64>,
    /// Of the memory reported hot the share that was hot, 0 to 1.
    pub precision: Option<f64>,
    /// By how much the working set was reported too large, as a share of the true one:
    /// medians over the snapshots.
    pub wss_error: Option<f64>,
    /// The same of the 75th percentiles.
    pub wss_error_p75: Option<f64>,
    /// Mean distance of the reported access rate of a page from the true one, 0 to 1.
    pub rate_error: Option<f64>,
    /// The same as a share of the mean true rate.
    pub rate_error_relative: Option<f64>,
    /// By how much too much is told to be idle for five seconds, as a share of all memory.
    pub idle_error: Option<f64>,
    /// Mean distance of the age of idle memory from the true one, as a share of it.
    pub age_error: Option<f64>,
    /// Milliseconds until half of what turned hot is reported hot.
    pub hot_half_ms: Option<f64>,
    /// Milliseconds until 95 % of it is.
    pub hot_most_ms: Option<f64>,
    /// Milliseconds until half of what turned cold is no longer reported hot.
    pub cold_half_ms: Option<f64>,
    /// Milliseconds until 95 % of it is not.
    pub cold_most_ms: Option<f64>,
    /// Mean windows checked in a tick.
    pub checks_per_tick: Option<f64>,
    /// Mean pages read in a tick.
    pub pages_per_tick: Option<f64>,
    /// CPU time of the monitor in percent of one CPU, from its first tick on.
    pub cpu_percent: Option<f64>,
    /// Accesses that the target made fewer in the same time, in percent.
    pub slowdown_percent: Option<f64>,
    /// CPU time of the monitor and what it took from the target, as the monitor knew it, in
    /// percent of one CPU.
    pub cost_percent: Option<f64>,
    /// The same in the ten seconds in which it was highest.
    pub worst_cost_percent: Option<f64>,
    /// How often a scan of all pages in every sampling interval would cost as much.
    pub times_cheaper: Option<f64>,
    /// Peak resident set of the monitor in bytes.
    pub peak_rss_bytes: Option<f64>,
    /// Accesses that the target made in a second, while it was watched.
    pub accesses_per_sec: Option<f64>,
}

impl RunMetrics {
    /// All of them, in the order in which they are shown.
    pub fn measurements(&self) -> Vec<Measurement> {
        use Unit::{Bytes, Millions, Milliseconds, Number, Percent, Share};
        let new = Measurement::new;
        vec![
            new("recall", "recall", Share, self.recall),
            new("precision", "precision", Share, self.precision),
            new("wss_error", "working set error", Share, self.wss_error),
            new("wss_error_p75", "same, 75th percentile", Share, self.wss_error_p75),
            new("rate_error", "rate error, by page", Share, self.rate_error),
            new("rate_error_relative", "same, of the mean rate", Share, self.rate_error_relative),
            new("idle_error", "idle for 5 s, error, of all", Share, self.idle_error),
            new("age_error", "age of idle memory, error", Share, self.age_error),
            new("hot_half_ms", "half seen hot after", Milliseconds, self.hot_half_ms),
            new("hot_most_ms", "95 % seen hot after", Milliseconds, self.hot_most_ms),
            new("cold_half_ms", "half seen cold after", Milliseconds, self.cold_half_ms),
            new("cold_most_ms", "95 % seen cold after", Milliseconds, self.cold_most_ms),
            new("checks_per_tick", "checks a tick", Number, self.checks_per_tick),
            new("pages_per_tick", "pages a tick", Number, self.pages_per_tick),
            new("cpu_percent", "CPU", Percent, self.cpu_percent),
            new("slowdown_percent", "slowdown", Percent, self.slowdown_percent),
            new("cost_percent", "cost, both sides", Percent, self.cost_percent),
            new("worst_cost_percent", "same, worst 10 s", Percent, self.worst_cost_percent),
            new("times_cheaper", "full scan, times dearer", Number, self.times_cheaper),
            new("peak_rss_bytes", "peak resident", Bytes, self.peak_rss_bytes),
            new("accesses_per_sec", "accesses a second", Millions, self.accesses_per_sec),
        ]
    }
}

/// Compares the snapshots of a run with the truth, one by one, and adds up what they cost.
#[derive(Debug, Clone)]
pub struct RunMeter {
    scorer: Scorer,
    idle: IdleScorer,
    origin_us: u64,
    timer: DetectionTimer,
    costs: Costs,
}

impl RunMeter {
    /// For a run whose monitoring began at `origin_us` on the clock of the truth. Snapshots
    /// count from `warmup_us` microseconds behind that on, and from `settle_us` behind the
    /// start of a phase.
    pub fn new(phases: Vec<TruePhase>, origin_us: u64, warmup_us: u64, settle_us: u64) -> Self {
        Self {
            timer: DetectionTimer::new(&phases, origin_us),
            idle: IdleScorer::default(),
            origin_us,
            scorer: Scorer::new(phases, origin_us, warmup_us).settling(settle_us),
            costs: Costs::default(),
        }
    }

    /// Takes in a snapshot of one target, which is the one that the truth is of.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.costs.add(snapshot);
        if let Some(target) = snapshot.targets.first() {
            self.scorer.add(snapshot, target);
            let phases = self.scorer.settled(snapshot).unwrap_or_default();
            self.idle.add(phases, self.origin_us, snapshot, target);
            self.timer.add(snapshot, target);
        }
    }

    /// What the snapshots cost.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// What the snapshots show; what they don't is `None`.
    pub fn metrics(&self) -> RunMetrics {
        let (score, latency, costs) = (self.scorer.score(), self.timer.latency(), &self.costs);
        let ms = |us: Option<u64>| us.map(|us| us as f64 / 1e3);
        RunMetrics {
            recall: score.recall,
            precision: score.precision,
            wss_error: score.wss_error,
            wss_error_p75: score.wss_error_p75,
            rate_error: score.rate_error,
            rate_error_relative: score.rate_error_relative,
            idle_error: self.idle.idle_error(),
            age_error: self.idle.age_error(),
            hot_half_ms: ms(latency.hot_half_us),
            hot_most_ms: ms(latency.hot_most_us),
            cold_half_ms: ms(latency.cold_half_us),
            cold_most_ms: ms(latency.cold_most_us),
            checks_per_tick: costs.checks_per_tick(),
            pages_per_tick: costs.pages_per_tick(),
            cpu_percent: costs.cpu_percent(),
            cost_percent: costs.both_percent(),
            worst_cost_percent: costs.worst_percent(),
            ..RunMetrics::default()
        }
    }
}
