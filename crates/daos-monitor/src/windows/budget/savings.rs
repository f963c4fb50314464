//! What is put by, or lent, to arm all of a target at once.
//!
//! *Lent* is what is spent before it is put by.

use super::{BOUND_OVER_S, Budget};

/// Largest share of 10 s of budget that may be spent within 10 s if some of it is lent. Chosen:
/// what a store of a gigabyte takes on an Intel host, and what two seconds take before.
pub(super) const LENT: f64 = 1.45;

impl Budget {
    /// Puts by this share of the income until `wanted_us` microseconds are put by.
    pub fn save_for(&mut self, wanted_us: f64, share: f64) {
        (self.wanted, self.put_by) = (wanted_us, share);
    }

    /// What both sides spent within the time over which the bound is promised.
    pub(super) fn spent_lately(&self) -> f64 {
        let second = self.filled_us / 1_000_000;
        let is_late = |(at, _): &&(u64, f64)| at + BOUND_OVER_S > second;
        self.spent.iter().filter(is_late).map(|(_, us)| us).sum()
    }

    /// Forgives what was lent as far as loan and debt together exceed what was spent within the
    /// time over which the bound is promised.
    pub(super) fn forgive(&mut self) {
        let lent = (-self.saved).max(0.0);
        self.saved += (lent + self.debt - self.spent_lately()).clamp(0.0, lent);
    }

    /// Whether `us` microseconds are put by or left, beside the share `kept` of a full bucket.
    pub fn has_saved(&self, us: f64, kept: f64) -> bool {
        self.saved + self.available(kept).max(0.0) >= us
    }

    /// Whether `us` microseconds may be spent before they are put by, since little was spent
    /// lately; so it is when monitoring begins.
    pub fn can_lend(&self, us: f64) -> bool {
        self.has_room(us, LENT)
    }

    /// Whether what was spent lately and `us` more are no more than the share `part` of 10 s of
    /// budget.
    pub fn has_room(&self, us: f64, part: f64) -> bool {
        self.part_of_all(self.spent_lately() + us) <= part
    }

    /// The share that `us` microseconds are of all that may be spent within the time over which the
    /// bound is promised.
    pub fn part_of_all(&self, us: f64) -> f64 {
        us / (BOUND_OVER_S as f64 * self.per_second())
    }

    /// Hands out what was saved or is lent: `us` in total, `targets_us` of it for the targets, the
    /// rest for this tick.
    pub fn spend_saved(&mut self, us: f64, targets_us: f64) {
        let left = self.available(0.0).max(0.0);
        let saved = if self.saved + left >= us { us.min(self.saved) } else { us };
        self.saved -= saved;
        self.left += saved - targets_us;
        self.prepaid = targets_us;
    }
}
