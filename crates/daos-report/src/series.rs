//! A number that changes over time.

/// A number at rising moments, in microseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    points: Vec<(u64, f64)>,
}

/// What a series did in one of several spans of equal length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The middle of the span, in microseconds.
    pub at: f64,
    /// The smallest number in it.
    pub min: f64,
    /// The mean of the numbers in it.
    pub mean: f64,
    /// The largest number in it.
    pub max: f64,
}

impl Series {
    /// A number at each end of a snapshot.
    pub fn new(points: impl IntoIterator<Item = (u64, f64)>) -> Self {
        Self { points: points.into_iter().collect() }
    }

    /// The largest number; 0 of none.
    pub fn max(&self) -> f64 {
        self.points.iter().map(|&(_, value)| value).fold(0.0, f64::max)
    }

    /// The spans of `time` cut into `count`; `None` behind the last number. A
    /// number stands for the snapshot that ends with it, so a span in which no
    /// snapshot ends has the number that comes next.
    pub fn bins(&self, time: (u64, u64), count: usize) -> Vec<Option<Bin>> {
        let length = time.1.saturating_sub(time.0) as f64 / count as f64;
        let mut bins: Vec<Option<(Bin, f64)>> = vec![None; count];
        for &(at, value) in self.points.iter().filter(|(at, _)| (time.0..=time.1).contains(at)) {
            let index = (at.saturating_sub(time.0.saturating_add(1)) as f64 / length) as usize;
            let Some(slot) = bins.get_mut(index) else { continue };
            let empty = Bin { at: 0.0, min: value, mean: 0.0, max: value };
            let (bin, numbers) = slot.get_or_insert((empty, 0.0));
            *numbers += 1.0;
            bin.min = bin.min.min(value);
            bin.max = bin.max.max(value);
            bin.mean += (value - bin.mean) / *numbers;
        }
        let mut next = None;
        let mut filled: Vec<_> = bins
            .into_iter()
            .enumerate()
            .rev()
            .map(|(index, slot)| {
                next = slot.map(|(bin, _)| bin).or(next);
                next.map(|bin| Bin { at: time.0 as f64 + (index as f64 + 0.5) * length, ..bin })
            })
            .collect();
        filled.reverse();
        filled
    }
}

/// The sums of what happened at rising moments, in microseconds, in each of the spans of
/// `time` cut into `count`. What happened at the end of a span belongs to it.
pub fn sums(events: &[(u64, u64)], time: (u64, u64), count: usize) -> Vec<u64> {
    let length = time.1.saturating_sub(time.0) as f64 / count as f64;
    let mut sums = vec![0u64; count];
    for &(at, amount) in events.iter().filter(|(at, _)| time.0 < *at && *at <= time.1) {
        let index = (at.saturating_sub(time.0.saturating_add(1)) as f64 / length) as usize;
        if let Some(sum) = sums.get_mut(index) {
            *sum = sum.saturating_add(amount);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_belongs_to_the_span_that_ends_with_it() {
        let series = Series::new([(10, 1.0), (20, 2.0), (30, 6.0), (40, 9.0)]);
        let bins = series.bins((0, 40), 2);
        assert_eq!(bins[0], Some(Bin { at: 10.0, min: 1.0, mean: 1.5, max: 2.0 }));
        assert_eq!(bins[1], Some(Bin { at: 30.0, min: 6.0, mean: 7.5, max: 9.0 }));
    }

    #[test]
    fn sums_have_all_that_happened() {
        let events = [(1, 1), (20, 2), (21, 4), (40, 8), (41, 16)];
        assert_eq!(sums(&events, (0, 40), 2), [3, 12]);
        assert_eq!(sums(&events, (20, 41), 1), [4 + 8 + 16]);
        assert_eq!(sums(&events, (9, 9), 2), [0, 0]);
    }

    #[test]
    fn a_number_stands_for_the_time_before_it() {
        let series = Series::new([(100, 5.0)]);
        let mean = |bin: Option<Bin>| bin.map(|bin| bin.mean);
        let means = |time| series.bins(time, 3).into_iter().map(mean).collect::<Vec<_>>();
        assert_eq!(means((0, 100)), [Some(5.0), Some(5.0), Some(5.0)]);
        assert_eq!(means((0, 200)), [Some(5.0), Some(5.0), None]);
        assert_eq!(Series::default().bins((0, 0), 2), [None, None]);
        assert_eq!(series.max(), 5.0);
    }
}
