//! What is told of a subregion: how much of it is accessed how often, and since when.

use super::super::ages::are_as_old;
use super::super::curve::Curve;
use super::super::seen::Seen;
use super::runs::Told;
use super::{IDLE_RATE, Subregion};
use daos_core::RunBlock;

/// The share of a probe's pages that were accessed at once from which on all are taken to be in
/// use. Chosen: all but one of eight.
const MOST: f32 = 0.85;
/// Memory is told to be idle for at most this many times as long as it was seen to be. Chosen: idle
/// memory is read when four times as much time has passed, if the budget allows.
const HOLDS_FOR: u64 = 4;

impl Subregion {
    /// The shares of its pages that were accessed within each of [`daos_core::WITHIN_US`] and are
    /// still in memory.
    pub fn shares_within(&self, now_us: u64) -> impl Iterator<Item = f32> {
        self.shares_if(self.curve, now_us)
    }

    /// The same if use is usually as this curve says.
    pub fn shares_if(&self, usual: Curve, now_us: u64) -> impl Iterator<Item = f32> {
        // A few pages are not all.
        let in_use = if self.table.is_some() { self.summary.used_share() as f32 } else { 1.0 };
        // Other pages may have come since all were last read.
        let most = if self.absent { 0.0 } else { self.present.max(in_use) };
        let (armed_us, waiting) = (self.armed.at_us, self.now_waiting);
        let accessed = self.accessed;
        let seen = Seen { accessed, armed_us, waiting, in_use, usual };
        seen.shares_within(now_us).map(move |share| share.min(most))
    }

    /// Accesses a second of a page in use; 0 if memory is idle.
    pub(super) fn rate_in_use(&self) -> f64 {
        let rate = self.estimate.rate();
        if rate < IDLE_RATE { 0.0 } else { rate }
    }

    /// Accesses a second of a page, on average over its pages.
    pub fn mean_rate(&self) -> f64 {
        let rate = self.rate_in_use();
        if self.table.is_some() { rate * self.summary.used_share() } else { rate }
    }

    /// Whether some pages of its probe were accessed since they were armed while most others still
    /// wait.
    pub fn is_probe_mixed(&self) -> bool {
        self.table.is_none() && self.is_waiting() && self.accessed.to_us > self.armed.at_us
    }

    /// Whether some of its pages were accessed and others not.
    pub fn is_seen_mixed(&self) -> bool {
        match self.table {
            Some(_) => self.is_mixed(),
            None => self.accessed.share > 0.0 && self.accessed.share < MOST,
        }
    }

    /// Whether its pages may differ one by one, as far as is known. Where they don't, as in swept
    /// memory, a few tell as much as all.
    pub fn may_differ(&self) -> bool {
        match self.table {
            Some(_) => self.summary.parts().next().is_none(),
            None => self.estimate.rate() < IDLE_RATE || self.accessed.share < MOST,
        }
    }

    /// The chance that a page is accessed within so many seconds, on average over its pages.
    pub fn mean_chance(&self, seconds: f64) -> f64 {
        let is_idle = self.estimate.rate() < IDLE_RATE;
        let one = if is_idle { 0.0 } else { self.estimate.chance(seconds) };
        if self.table.is_some() { one * self.summary.used_share() } else { one }
    }

    /// Since when it is as it is. Where pages are known one by one and all are idle: since all are.
    pub fn settled_us(&self) -> u64 {
        if self.table.is_some() && self.summary.used == 0 {
            self.summary.youngest_us.max(self.since_us)
        } else {
            self.since_us
        }
    }

    /// Since when pages are told to be idle that are idle since `since_us`. A look proves that they
    /// were until then; that is taken to hold until the next look is due, but no longer.
    pub fn told_since_us(&self, since_us: u64, now_us: u64) -> u64 {
        if self.absent {
            return since_us;
        }
        let proven_us = self.read_us.max(self.armed.read_us).saturating_sub(since_us);
        since_us.max(now_us.saturating_sub(HOLDS_FOR * proven_us))
    }

    /// Whether the memory at its end (`end`), or at its beginning, is in use; `None` if that is not
    /// known.
    pub fn is_used_at(&self, end: bool) -> Option<bool> {
        if self.table.is_some() {
            let mut parts = self.summary.parts();
            let part = if end { parts.last() } else { parts.next() };
            return part.map(|part| part.is_used);
        }
        (!self.estimate.is_empty()).then(|| self.mean_rate() > 0.0)
    }

    /// Whether its pages differ, so that they are told one by one.
    pub fn is_mixed(&self) -> bool {
        !self.huge && self.summary.is_mixed()
    }

    /// Whether its pages are told by runs: they differ, and are more than a few parts.
    pub fn is_told_by_pages(&self) -> bool {
        self.is_mixed() && self.summary.parts().next().is_none()
    }

    /// Notes that something new is known of its pages: their runs are to be found again, if they
    /// are still told by runs.
    pub fn outdate_runs(&mut self) {
        let told = self.told.take().filter(|_| self.is_told_by_pages());
        self.told = told.map(|told| Told { holds: false, ..told });
    }

    /// Finds the runs of its pages. `sample_s`: the sampling interval, in seconds. Returns how many
    /// there are.
    pub fn find_runs(&mut self, sample_s: f64, now_us: u64) -> usize {
        let Some(table) = self.table.as_deref() else { return 0 };
        let chance = self.estimate.chance(sample_s);
        let mut runs = Vec::new();
        table.runs(self.range.start, chance, now_us, &mut runs);
        let block = RunBlock::new(&runs).with_used_rate(chance);
        self.told = Some(Told { runs: block, at_us: now_us, holds: true });
        runs.len()
    }

    /// Whether both are idle, but one has been so for much longer: what turned cold a moment ago is
    /// not as old as the cold memory around it.
    pub fn is_of_another_age(&self, other: &Self, now_us: u64) -> bool {
        let idle = self.mean_rate() == 0.0 && other.mean_rate() == 0.0;
        idle && !are_as_old(self.settled_us(), other.settled_us(), now_us)
    }
}
