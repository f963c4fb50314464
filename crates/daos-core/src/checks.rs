//! How many windows each tick checked.

/// Windows checked in each tick of an interval that looked, in order. Neighbouring ticks that
/// are alike, as most are, take the room of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<u32>", into = "Vec<u32>"))]
pub struct Checks {
    /// Windows, and the number of ticks that checked so many: not 0, and not as the one before.
    runs: Vec<(u32, u64)>,
}

impl Checks {
    /// One more tick.
    pub fn push(&mut self, windows: u32) {
        self.push_times(windows, 1);
    }

    /// So many more ticks.
    pub fn push_times(&mut self, windows: u32, ticks: u64) {
        match self.runs.last_mut() {
            _ if ticks == 0 => {}
            Some((last, before)) if *last == windows => *before = before.saturating_add(ticks),
            _ => self.runs.push((windows, ticks)),
        }
    }

    /// The windows of neighbouring ticks that are alike, and how many ticks these are.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (u32, u64)> + '_ {
        self.runs.iter().copied()
    }

    /// Number of ticks.
    pub fn ticks(&self) -> u64 {
        self.runs().map(|(_, ticks)| ticks).fold(0, u64::saturating_add)
    }

    /// Windows that all of them checked.
    pub fn windows(&self) -> u64 {
        let of_run = |(windows, ticks): (u32, u64)| u64::from(windows).saturating_mul(ticks);
        self.runs().map(of_run).fold(0, u64::saturating_add)
    }
}

impl FromIterator<u32> for Checks {
    fn from_iter<I: IntoIterator<Item = u32>>(ticks: I) -> Self {
        let mut checks = Self::default();
        ticks.into_iter().for_each(|windows| checks.push(windows));
        checks
    }
}

impl From<Vec<u32>> for Checks {
    fn from(ticks: Vec<u32>) -> Self {
        ticks.into_iter().collect()
    }
}

impl From<Checks> for Vec<u32> {
    fn from(checks: Checks) -> Self {
        let of_run = |(windows, ticks)| (0..ticks).map(move |_| windows);
        checks.runs().flat_map(of_run).collect()
    }
}

impl<const N: usize> PartialEq<[u32; N]> for Checks {
    fn eq(&self, ticks: &[u32; N]) -> bool {
        *self == ticks.iter().copied().collect::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_that_are_alike_are_one_run() {
        let mut checks = Checks::from(vec![3, 3, 0, 0, 3]);
        assert_eq!(checks.runs().collect::<Vec<_>>(), [(3, 2), (0, 2), (3, 1)]);
        checks.push_times(3, u64::MAX);
        checks.push_times(9, 0);
        assert_eq!(checks.runs().count(), 3);
        assert_eq!((checks.ticks(), checks.windows()), (u64::MAX, u64::MAX));
        assert_eq!(Vec::from(Checks::from(vec![1, 1, 2])), [1, 1, 2]);
        assert_eq!(Checks::from(vec![7; 20]), [7; 20]);
        assert_eq!(Checks::default(), []);
    }
}
