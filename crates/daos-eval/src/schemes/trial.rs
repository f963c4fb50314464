//! A trial: a program run once in one configuration, and what came of it.

use super::counters::Counters;
use crate::under_test::{Sample, TimeSeries};
use daos_core::median;
use daos_workload::PhaseTruth;

/// A trial's configuration: one way to run a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    /// What the program does: a configuration, the last phase of which counts.
    pub workload: String,
    /// Options for `daos-eval workload`.
    pub options: Vec<String>,
    /// The scheme beside it, if there is one.
    pub scheme: Option<String>,
    /// Bytes of compressed swap for that scheme.
    pub zram_bytes: Option<u64>,
    /// The most memory that the program may have, in bytes.
    pub limit_bytes: Option<u64>,
    /// The region of this many bytes, which no other has, is watched: which of its pages
    /// are resident.
    pub watched_bytes: Option<u64>,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// When the scheme was started, or would have been, on `CLOCK_MONOTONIC`.
    pub begun_us: u64,
    /// Whether the kernel killed the program, whose memory was limited. Of such a run
    /// nothing else is known.
    pub is_killed: bool,
    /// What the program accessed in the phase that counts.
    pub counted: Option<PhaseTruth>,
    /// What was sampled, from before the scheme was started to the program's end.
    pub time_series: TimeSeries,
    /// What the schemes counted, if there were any.
    pub counters: Option<Counters>,
}

impl Trial {
    /// When the phase that counts began and ended.
    fn time(&self) -> Option<(u64, u64)> {
        self.counted.as_ref().map(|phase| (phase.start_us, phase.end_us))
    }

    /// Accesses a second in the phase that counts; of one region, or of all.
    pub(super) fn accesses_per_sec(&self, region: Option<&str>) -> Option<f64> {
        let phase = self.counted.as_ref()?;
        let elapsed_us = phase.end_us.checked_sub(phase.start_us).filter(|us| *us > 0)?;
        let wanted = phase.regions.iter().filter(|r| region.is_none_or(|name| r.name == name));
        let accesses: u64 = wanted.map(|region| region.accesses).sum();
        Some(1e6 * accesses as f64 / elapsed_us as f64)
    }

    /// CPU time in the phase that counts in percent of one CPU: in the kernel, and
    /// altogether.
    pub(super) fn cpu_percent(&self) -> Option<(f64, f64)> {
        self.time_series.cpu_percent(self.time()?)
    }

    /// The samples of the phase that counts.
    fn counting(&self) -> &[Sample] {
        self.time().map_or(&[], |time| self.time_series.within(time))
    }

    /// The resident set in the phase that counts: the median over the samples.
    pub(super) fn resident_bytes(&self) -> Option<f64> {
        median(self.counting().iter().map(|sample| sample.resident_bytes as f64))
    }

    /// Of the memory that is watched the share that was resident in the phase that
    /// counts: at least, and the median over the samples.
    pub(super) fn watched_share(&self) -> Option<(f64, f64)> {
        let shares = || self.counting().iter().filter_map(|sample| sample.watched_share);
        Some((shares().min_by(f64::total_cmp)?, median(shares())?))
    }

    /// What was sampled last in the phase that counts: later the program ends, and its
    /// memory with it.
    pub(super) fn last(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        self.counting().last().map(|sample| of(sample) as f64)
    }

    /// By how many percent fewer accesses a second were made than by `alone`.
    pub(super) fn slowdown_percent(&self, alone: &Trial) -> Option<f64> {
        let (with, without) = (self.accesses_per_sec(None)?, alone.accesses_per_sec(None)?);
        ratio(with, without).map(|share| 100.0 * (1.0 - share))
    }

    /// The same of accesses in a second of its own CPU time: what it was disturbed by shows,
    /// and not what others took of the machine.
    pub(super) fn slowdown_by_cpu_percent(&self, alone: &Trial) -> Option<f64> {
        let rate = |trial: &Trial| ratio(trial.accesses_per_sec(None)?, trial.cpu_percent()?.1);
        ratio(rate(self)?, rate(alone)?).map(|share| 100.0 * (1.0 - share))
    }

    /// CPU time of monitoring, and of the schemes, in percent of one CPU.
    pub(super) fn costs(&self) -> (Option<f64>, Option<f64>) {
        let counters = self.counters.as_ref();
        let monitor = counters.and_then(Counters::monitor_percent);
        (monitor, counters.and_then(Counters::schemes_percent))
    }
}

/// `None` if there is nothing to compare with.
pub(super) fn ratio(a: f64, b: f64) -> Option<f64> {
    (b != 0.0).then(|| a / b).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_workload::truth::PatternKind;
    use daos_workload::{Mode, RegionTruth};

    fn trial(accesses: [u64; 2]) -> Trial {
        let region = |(name, accesses): (&str, u64)| RegionTruth {
            name: name.to_owned(),
            start: 0,
            end: 4096,
            pattern: PatternKind::Random,
            stride: None,
            weight: 1,
            accesses,
            mode: Mode::Rw,
        };
        let regions = ["hot", "cold"].into_iter().zip(accesses).map(region).collect();
        let sample = |(at, resident_bytes, share): (u64, u64, f64)| Sample {
            at_us: at * 1_000_000,
            resident_bytes,
            watched_share: Some(share),
            ..Sample::default()
        };
        let samples = [(0, 9, 0.1), (1, 5, 0.9), (2, 3, 0.7), (3, 4, 0.8), (9, 1, 0.2)];
        Trial {
            counted: Some(PhaseTruth { start_us: 1_000_000, end_us: 3_000_000, regions }),
            time_series: TimeSeries { samples: samples.map(sample).to_vec() },
            ..Trial::default()
        }
    }

    #[test]
    fn only_the_phase_that_counts_counts() {
        let trial = trial([600, 200]);
        assert_eq!(trial.accesses_per_sec(None), Some(400.0));
        assert_eq!(trial.accesses_per_sec(Some("hot")), Some(300.0));
        assert_eq!(trial.resident_bytes(), Some(4.0));
        assert_eq!(trial.watched_share(), Some((0.7, 0.8)));
        assert_eq!(trial.last(|sample| sample.resident_bytes), Some(4.0));
    }

    #[test]
    fn a_slowdown_is_fewer_accesses() {
        assert_eq!(trial([30, 30]).slowdown_percent(&trial([60, 60])), Some(50.0));
        assert_eq!(trial([60, 60]).slowdown_percent(&trial([30, 30])), Some(-100.0));
        assert_eq!(trial([60, 60]).slowdown_percent(&trial([0, 0])), None);
        assert_eq!(trial([60, 60]).slowdown_percent(&Trial::default()), None);
        // It did half as much in half the time.
        let mut half = trial([30, 30]);
        half.time_series.samples.iter_mut().for_each(|sample| sample.cpu_us = sample.at_us / 2);
        let mut whole = trial([60, 60]);
        whole.time_series.samples.iter_mut().for_each(|sample| sample.cpu_us = sample.at_us);
        assert_eq!(half.slowdown_by_cpu_percent(&whole), Some(0.0));
        assert_eq!(half.slowdown_by_cpu_percent(&Trial::default()), None);
    }
}
