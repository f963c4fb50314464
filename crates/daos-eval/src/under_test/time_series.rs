//! What a program took over the time, as samples from outside.

/// What was seen of a program at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// When, in microseconds on `CLOCK_MONOTONIC`.
    pub at_us: u64,
    /// Its resident set, in bytes.
    pub resident_bytes: u64,
    /// What it has in swap, in bytes.
    pub swap_bytes: u64,
    /// CPU time that it took so far in the kernel, in microseconds. In steps of a clock
    /// tick, 10 ms on most kernels.
    pub system_us: u64,
    /// The same in the kernel and in user space together.
    pub cpu_us: u64,
    /// Bytes of memory that compressed swap takes on the whole host.
    pub zram_bytes: u64,
    /// Of the memory that is watched the share that is resident, 0 to 1.
    pub watched_share: Option<f64>,
}

/// The samples of a program, by rising time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// All of them.
    pub samples: Vec<Sample>,
}

impl TimeSeries {
    /// Seconds from `from_us` until the resident set is at most `bytes` for the first
    /// time.
    pub fn seconds_until_at_most(&self, bytes: u64, from_us: u64) -> Option<f64> {
        let since = self.samples.iter().filter(|sample| sample.at_us >= from_us);
        let first = since.clone().find(|sample| sample.resident_bytes <= bytes)?;
        Some((first.at_us - from_us) as f64 / 1e6)
    }

    /// The last sample at or before this time, if there was one after it, too: else it
    /// is not known what was then.
    pub fn at(&self, at_us: u64) -> Option<&Sample> {
        let after = self.samples.partition_point(|sample| sample.at_us <= at_us);
        self.samples.get(after)?;
        self.samples.get(after.checked_sub(1)?)
    }

    /// The samples of a time: from the first to the last microsecond.
    pub fn within(&self, (start_us, end_us): (u64, u64)) -> &[Sample] {
        let start = self.samples.partition_point(|sample| sample.at_us < start_us);
        let end = self.samples.partition_point(|sample| sample.at_us <= end_us);
        self.samples.get(start..end).unwrap_or_default()
    }

    /// CPU time within a time, in percent of one CPU: in the kernel, and altogether.
    pub fn cpu_percent(&self, time: (u64, u64)) -> Option<(f64, f64)> {
        let samples = self.within(time);
        let (first, last) = (samples.first()?, samples.last()?);
        let elapsed = last.at_us - first.at_us;
        let percent = |us: u64| 100.0 * us as f64 / elapsed as f64;
        (elapsed > 0).then(|| {
            (percent(last.system_us - first.system_us), percent(last.cpu_us - first.cpu_us))
        })
    }

    /// The mean over all samples, which are equally far apart; `None` without any.
    pub fn mean(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        let sum: f64 = self.samples.iter().map(|sample| of(sample) as f64).sum();
        (!self.samples.is_empty()).then(|| sum / self.samples.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_series(resident: &[(u64, u64)]) -> TimeSeries {
        let sample = |&(at_us, resident_bytes): &(u64, u64)| Sample {
            at_us,
            resident_bytes,
            system_us: at_us / 10,
            cpu_us: at_us / 2,
            ..Sample::default()
        };
        TimeSeries { samples: resident.iter().map(sample).collect() }
    }

    #[test]
    fn the_time_to_a_threshold() {
        let time_series =
            time_series(&[(0, 50), (1_000_000, 900), (3_000_000, 150), (4_000_000, 200)]);
        assert_eq!(time_series.seconds_until_at_most(150, 500_000), Some(2.5));
        assert_eq!(time_series.seconds_until_at_most(149, 500_000), None);
        assert_eq!(time_series.seconds_until_at_most(50, 0), Some(0.0));
        assert_eq!(TimeSeries::default().seconds_until_at_most(50, 0), None);
    }

    #[test]
    fn the_mean_of_all() {
        let time_series = time_series(&[(10, 1), (20, 2), (30, 6)]);
        assert_eq!(time_series.mean(|sample| sample.resident_bytes), Some(3.0));
        assert_eq!(TimeSeries::default().mean(|sample| sample.resident_bytes), None);
    }

    #[test]
    fn what_was_at_a_time() {
        let time_series = time_series(&[(10, 1), (20, 2), (30, 3)]);
        assert_eq!(time_series.at(25).unwrap().resident_bytes, 2);
        assert_eq!(time_series.at(20).unwrap().resident_bytes, 2);
        assert_eq!((time_series.at(9), time_series.at(30)), (None, None), "not known");
        assert_eq!(time_series.within((20, 30)).len(), 2);
        assert_eq!(time_series.within((31, 40)).len(), 0);
        assert_eq!(time_series.within((40, 31)).len(), 0);
    }

    #[test]
    fn cpu_time_is_of_the_time_between_samples() {
        let time_series = time_series(&[(0, 0), (100, 0), (200, 0), (900, 0)]);
        assert_eq!(time_series.cpu_percent((50, 250)), Some((10.0, 50.0)));
        assert_eq!(time_series.cpu_percent((150, 250)), None);
    }
}
