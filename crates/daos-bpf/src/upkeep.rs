//! What it may cost to keep up with targets: their mappings and their children.
//!
//! A target decides how many mappings and children it has, and with them what it costs to
//! look at them: a million mappings are a second of CPU time. So all of it, the first look
//! too, is done in small steps, and only as many as a part of the bound on the whole allows.
//! It is charged to the monitor besides, which samples less for it.

use daos_linux::allowance::Allowance;

/// The part of the bound that may go into all of it. Chosen: as much is left to see with.
const UPKEEP: f64 = 0.5;
/// The same where targets are found among all processes. Chosen: those that come first are the
/// largest, and they are to be seen before all the small ones are known, also where a busy host
/// makes everything twice as dear.
const UPKEEP_OF_ALL: f64 = 0.2;
/// The most that may, as a share of one CPU. Chosen: some twenty children a second; what a
/// larger bound allows is to see with.
const MOST: f64 = 0.005;
/// The part of the bound that goes into looking again at the targets that were named, at
/// most, and the same again into looking at their children, or at those that were found among
/// all processes. Chosen: small, as what is mapped seldom changes; the rest is for first looks.
const LOOKING: f64 = 0.05;
/// The part of the bound that goes into going over all processes. Chosen: with the usual bound
/// some hundred in a second.
const COUNTING: f64 = 0.2;

/// CPU time that may go into keeping up with targets.
#[derive(Debug, Clone)]
pub(crate) struct Upkeep {
    pub(crate) allowance: Allowance,
    /// The share of a CPU that goes into looking again.
    looking: f64,
    /// The same into going over all processes.
    counting: f64,
}

impl Upkeep {
    /// `max_overhead`: the bound on the whole, as a share of one CPU.
    pub(crate) fn new(max_overhead: f64) -> Self {
        let allowance = Allowance::new((UPKEEP * max_overhead).min(MOST));
        Self { allowance, looking: LOOKING * max_overhead, counting: COUNTING * max_overhead }
    }

    /// The same where targets are found among all processes.
    pub(crate) fn of_everyone(self) -> Self {
        let max_overhead = self.looking / LOOKING;
        let allowance = Allowance::new((UPKEEP_OF_ALL * max_overhead).min(MOST));
        Self { allowance, ..self }
    }

    /// How long not to look at a target again when that took so long, and it has this share, 0
    /// to 1, of what may be spent: so a dear one does not keep others from being looked at.
    pub(crate) fn pause_us(&self, took_us: u64, share: f64) -> u64 {
        (took_us as f64 / share / self.looking) as u64
    }

    /// How long not to go over all processes again when that took so long.
    pub(crate) fn pause_of_census_us(&self, took_us: u64) -> u64 {
        (took_us as f64 / self.counting) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_take_their_share() {
        let upkeep = Upkeep::new(0.005);
        let looking = upkeep.looking;
        for targets in [1, 11, 1000] {
            // One of them is dear.
            let costs_us = (0..targets).map(|at| if at == 0 { 1_000_000 } else { 1000 });
            let shares =
                costs_us.map(|us| us as f64 / upkeep.pause_us(us, 1.0 / targets as f64) as f64);
            let share: f64 = shares.sum();
            assert!((0.9 * looking..1.1 * looking).contains(&share), "{share}");
        }
        let pause_us = upkeep.pause_us(100, 0.5);
        assert!((799_000..801_000).contains(&pause_us), "an ordinary one at each update");
    }
}
