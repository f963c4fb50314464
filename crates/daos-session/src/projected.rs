//! What is known of processes, projected onto page frames as far as a part of the bound allows.

use daos_core::{AddrRange, MonitorAttrs, PageFrames, Snapshot, TargetId};
use daos_linux::allowance::Allowance;
use daos_monitor::Projection;
use daos_monitor::projection::Stepped;

/// The part of the bound on what watching costs that goes into it. Chosen: three gigabytes of
/// scattered pages are gone over in half a minute with a bound of one percent, and most is
/// left to see with.
const SHARE: f64 = 0.2;
/// The same until the first round is over: before, nothing is told at all. Chosen: with half, the
/// bound was passed with hundreds of processes.
const FIRST_SHARE: f64 = 0.4;
/// Microseconds from the beginning of a round to that of the next at least. Chosen: what changes
/// is seen within two seconds where rounds are cheap.
const BETWEEN_ROUNDS_US: u64 = 1_000_000;
/// Microseconds that it takes to record a run of pages, about.
pub(crate) const RECORD_US: f64 = 0.1;

/// Memory by page frame, from what is known of those who have it.
#[derive(Debug)]
pub(crate) struct Projected {
    projection: Projection,
    max_overhead: f64,
    allowance: Allowance,
    /// When the next round begins, on the clock of snapshots.
    next_us: u64,
    is_in_round: bool,
}

impl Projected {
    /// Of `ram`, in as many regions as `attrs` say. `max_overhead`: the bound on what watching
    /// costs in all, as a share of one CPU.
    pub(crate) fn new(attrs: &MonitorAttrs, ram: &[AddrRange], max_overhead: f64) -> Self {
        Self {
            projection: Projection::new(attrs, ram),
            max_overhead,
            allowance: Allowance::new(FIRST_SHARE * max_overhead),
            next_us: 0,
            is_in_round: false,
        }
    }

    /// Goes on as far as is allowed at `now_us`, on any clock, but for no more than a round, with
    /// what the last snapshot of the owners says. `took_us`: what the last step took.
    pub(crate) fn go_on<F: PageFrames>(
        &mut self,
        snapshot: &Snapshot,
        frames: &mut F,
        now_us: u64,
        mut took_us: impl FnMut(&mut F, Stepped) -> u64,
    ) -> Result<(), F::Error> {
        self.allowance.fill(now_us);
        if !self.is_in_round {
            if snapshot.end_us < self.next_us {
                return Ok(());
            }
            self.next_us = snapshot.end_us + BETWEEN_ROUNDS_US;
            self.is_in_round = true;
        }
        while self.allowance.allows() {
            let stepped = self.projection.step(snapshot, frames)?;
            self.allowance.spend(took_us(frames, stepped));
            if stepped.is_over {
                self.is_in_round = false;
                if self.projection.rounds() == 1 {
                    let owed_us = (-self.allowance.left_us()).max(0.0) as u64;
                    self.allowance = Allowance::new(SHARE * self.max_overhead);
                    self.allowance.fill(now_us);
                    self.allowance.spend(self.allowance.left_us() as u64 + owed_us);
                }
                break;
            }
        }
        Ok(())
    }

    /// That memory at the end of a snapshot of its owners, as one target.
    pub(crate) fn of(
        &self,
        snapshot: Snapshot,
        id: TargetId,
        resident_bytes: Option<u64>,
    ) -> Snapshot {
        self.projection.project(snapshot, id, resident_bytes)
    }
}
