//! What it may cost to keep up with targets: their mappings and their children.
//!
//! A target decides how many mappings and children it has, and with them what it costs to
//! look at them: a million mappings are a second of CPU time. So what is dear is done
//! seldom. It is all charged to the monitor, too; but that can only sample less for it.

/// The share of a CPU that goes into looking at the targets that were named, at most, and the
/// same again into looking at their children. Chosen: a tenth of the bound on the whole that
/// holds unless one is given.
const LOOKING: f64 = 0.0005;
/// The share of a CPU that goes into taking on children, at most. Chosen: two fifths of that
/// bound, some ten children a second.
const ADOPTING: f64 = 0.002;
/// CPU time in microseconds that may go into children who come all at once. Chosen: a hundred
/// children and more; as much as is earned in ten seconds.
const MOST_AT_ONCE_US: f64 = 20_000.0;

/// CPU time that may go into taking on children.
#[derive(Debug)]
pub(crate) struct Upkeep {
    left_us: f64,
    filled_us: u64,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { left_us: MOST_AT_ONCE_US, filled_us: 0 }
    }
}

impl Upkeep {
    /// Lets time pass.
    pub(crate) fn fill(&mut self, now_us: u64) {
        let earned_us = now_us.saturating_sub(self.filled_us) as f64 * ADOPTING;
        self.filled_us = now_us;
        self.left_us = (self.left_us + earned_us).min(MOST_AT_ONCE_US);
    }

    /// Whether another child may be taken on.
    pub(crate) fn allows(&self) -> bool {
        self.left_us > 0.0
    }

    pub(crate) fn spend(&mut self, us: u64) {
        self.left_us -= us as f64;
    }
}

/// How long not to look at a target again when that took so long, one of `targets` that share
/// evenly in what may be spent: so a dear one does not keep others from being looked at.
pub(crate) fn pause_us(took_us: u64, targets: usize) -> u64 {
    (took_us as f64 * targets as f64 / LOOKING) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_taken_on_as_time_allows() {
        let mut upkeep = Upkeep::default();
        upkeep.fill(60_000_000);
        assert!(upkeep.allows());
        upkeep.spend(30_000);
        assert!(!upkeep.allows());
        upkeep.fill(64_000_000);
        assert!(!upkeep.allows(), "2 ms are owed");
        upkeep.fill(66_000_000);
        assert!(upkeep.allows());
    }

    #[test]
    fn all_looks_together_take_their_share() {
        for targets in [1, 11, 1000] {
            // One of them is dear.
            let costs_us = (0..targets).map(|at| if at == 0 { 1_000_000 } else { 1000 });
            let shares = costs_us.map(|us| us as f64 / pause_us(us, targets) as f64);
            let share: f64 = shares.sum();
            assert!((0.9 * LOOKING..1.1 * LOOKING).contains(&share), "{share}");
        }
        assert_eq!(pause_us(100, 2), 400_000, "an ordinary one is looked at at each update");
    }
}
