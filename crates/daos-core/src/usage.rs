//! How much of a target's memory is accessed within a time, and how much is idle for it.

use crate::snapshot::{Part, Snapshot, TargetSnapshot};

/// After so long most of a target's memory was looked at, in microseconds. Chosen.
const ALL_SEEN_US: u64 = 10_000_000;

/// What of a target's memory is accessed within a time, and what is not, in bytes.
///
/// What is said of a part of it is what its access rate and its age say: of memory with accesses,
/// the share that is expected to have had one within the time; memory without any is as old as
/// it says. Where the monitor counted pages, what is accessed is what it counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    observed: f64,
    /// As access rates say.
    accessed: f64,
    /// As the monitor counted; and what it found there that can't be observed.
    counted: Option<f64>,
    hidden: f64,
    /// Without accesses, but not for so long.
    left: f64,
    /// The same, of what was not watched for long either.
    new: f64,
    idle: f64,
}

impl Usage {
    /// What `snapshot` says of `target`, which is one of its targets, for each of the times
    /// `within_us`, in microseconds.
    pub fn of<const N: usize>(
        snapshot: &Snapshot,
        target: &TargetSnapshot,
        within_us: [u64; N],
    ) -> [Self; N] {
        let mut usages = [Self::default(); N];
        for part in target.parts() {
            for (usage, us) in usages.iter_mut().zip(within_us) {
                usage.add(&part, snapshot.share_accessed(part.access_rate, us), us);
            }
        }
        if let Some(sets) = &target.working_sets {
            for (usage, us) in usages.iter_mut().zip(within_us) {
                usage.hidden = sets.hidden();
                if us <= sets.longest_us() {
                    usage.counted = Some(sets.within(us));
                }
            }
        }
        usages
    }

    fn add(&mut self, part: &Part, share: f64, within_us: u64) {
        let bytes = part.range.len() as f64 * (1.0 - part.unobserved);
        self.observed += bytes;
        if part.access_rate > 0.0 {
            self.accessed += bytes * share;
            self.idle += bytes * (1.0 - share);
        } else if part.age_us >= within_us {
            self.idle += bytes;
        } else if part.age_us < ALL_SEEN_US {
            self.new += bytes;
        } else {
            self.left += bytes;
        }
    }

    /// What was accessed, or may have been.
    pub fn accessed(&self) -> f64 {
        self.counted.unwrap_or(self.accessed + self.left + self.new)
    }

    /// How much of `resident` bytes was observed: all but the bytes in memory that can't be, and no
    /// more than was observed of what is mapped.
    pub fn observed_of(&self, resident: u64) -> f64 {
        self.observed.min((resident as f64 - self.hidden).max(0.0))
    }

    /// What is idle of `resident` bytes: what is not there of all that is mapped is taken off
    /// that which was watched for the time, and off that which was not yet, by how much there is
    /// of each, for memory that is not there is not older than other.
    pub fn idle_of(&self, resident: u64) -> f64 {
        let accessed = self.counted.unwrap_or(self.accessed);
        let cold = (self.observed_of(resident) - accessed - self.left).max(0.0);
        // What was accessed a moment ago has no access rate any more, but was counted.
        let new = (self.new - (accessed - self.accessed).max(0.0)).max(0.0);
        cold * self.idle / (self.idle + new).max(1.0)
    }
}
