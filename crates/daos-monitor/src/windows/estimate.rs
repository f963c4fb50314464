//! The estimate of an access rate: trials, and what they found.
//!
//! A page armed and checked one sampling interval later is a trial. Old trials fade,
//! so that the rate follows the target; two memories of different length tell a change
//! from chance: when the short one contradicts the long one, the long one is dropped.
//! The tests are of proportions, in standard deviations squared.

use super::segment::{likelihood, ln};

/// What each sample leaves of the trials before it in the short memory. Chosen: two or three
/// samples count.
const KEEP_SHORT: f64 = 0.6;
/// The same in the long memory. Chosen: some thirty samples count.
const KEEP_LONG: f64 = 0.97;
/// Trials from which on the long memory is tested against. Chosen: with fewer, the tests'
/// normal approximation is poor.
const ENOUGH: f64 = 8.0;
/// Trials from which on an estimate tells used memory from idle when all of them agree.
/// Chosen: an even chance agrees five times in one of sixteen cases.
const ENOUGH_ALIKE: f64 = 5.0;
/// A sample that is this far off ends what was known at once: 5 sigma.
const BREAK: f64 = 25.0;
/// The short memory ends the long one when it is this far off: 3 sigma.
const DRIFT: f64 = 9.0;
/// So many misses in a row are no chance, as the negative log of their likelihood: one in
/// ten thousand.
const MISS_RUN: f64 = 9.2;
/// No rate is taken for so high that one miss would prove it wrong. Chosen.
const MAX_RATE: f64 = 0.97;
/// A rise takes more hits than this to be believed. Chosen: one stray page is none.
const STRAY_HITS: f64 = 1.5;
/// Hits, or misses, below this are none: what is left of old ones when they have faded.
/// Chosen.
const NONE: f64 = 1e-3;
/// Rates differ when that makes what was seen so much more likely: a G-test, chi-squared
/// with one degree of freedom; one in a thousand is by chance.
const DIFFER: f64 = 10.8;
/// Rates this far apart are not taken for the same for want of evidence. Chosen.
const FAR_APART: f64 = 0.4;

/// Trials, and how many of them found an access.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Trials {
    hits: f64,
    tries: f64,
}

impl Trials {
    fn rate(self) -> f64 {
        if self.tries > 0.0 { self.hits / self.tries } else { 0.0 }
    }

    /// Never quite 0 or 1, as few trials prove little: the mean under the Jeffreys prior.
    fn cautious_rate(self) -> f64 {
        ((self.hits + 0.5) / (self.tries + 1.0)).min(MAX_RATE)
    }

    fn add(&mut self, keep: f64, new: Trials) {
        self.hits = self.hits * keep + new.hits;
        self.tries = self.tries * keep + new.tries;
    }

    /// How far these are off a known rate.
    fn distance_from(self, rate: f64) -> f64 {
        let off = self.rate() - rate;
        off * off * self.tries / (rate * (1.0 - rate))
    }
}

/// Knowledge of one access rate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RateEstimate {
    short: Trials,
    long: Trials,
    /// Trials since the last hit.
    missed: f64,
}

impl RateEstimate {
    /// All that is known is one sample of `tries` pages.
    pub fn of(hits: f64, tries: f64) -> Self {
        let trials = Trials { hits, tries };
        Self { short: trials, long: trials, missed: if hits > 0.0 { 0.0 } else { tries } }
    }

    /// The chance that a page is accessed within one sampling interval, 0 to 1.
    pub fn rate(&self) -> f64 {
        self.long.rate()
    }

    /// Trials that it rests on.
    pub fn tries(&self) -> f64 {
        self.long.tries
    }

    /// Whether it tells hot from cold: all trials agree, or there are some more.
    pub fn is_enough(&self) -> bool {
        let Trials { hits, tries } = self.long;
        let agree = hits < NONE || tries - hits < NONE;
        tries >= if agree { ENOUGH_ALIKE } else { ENOUGH }
    }

    /// Whether no access was seen for as long as is remembered.
    pub fn saw_no_access(&self) -> bool {
        self.long.hits < NONE
    }

    /// Takes in a sample of `tries` pages of which `hits` were accessed. Returns
    /// whether the rate is another one now.
    pub fn add(&mut self, hits: f64, tries: f64) -> bool {
        if tries <= 0.0 {
            return false;
        }
        let new = Trials { hits, tries };
        let known = self.long.tries >= ENOUGH;
        let rate = self.rate();
        let rose_by_one_page = |t: Trials| t.hits < STRAY_HITS && t.rate() > rate;
        if known && !rose_by_one_page(new) && new.distance_from(self.long.cautious_rate()) > BREAK {
            *self = Self::of(hits, tries);
            return true;
        }
        self.missed = if hits > 0.0 { 0.0 } else { self.missed + tries };
        if known && self.missed * -ln(1.0 - self.long.rate().min(MAX_RATE)) > MISS_RUN {
            *self = Self::of(0.0, self.missed);
            return true;
        }
        self.short.add(KEEP_SHORT, new);
        self.long.add(KEEP_LONG, new);
        if known
            && !rose_by_one_page(self.short)
            && self.short.distance_from(self.long.cautious_rate()) > DRIFT
        {
            self.long = self.short;
            return true;
        }
        false
    }

    /// Whether the estimate says that two rates differ.
    pub fn differs(&self, other: &Self) -> bool {
        let (a, b) = (self.long, other.long);
        if a.tries <= 0.0 || b.tries <= 0.0 || (self.saw_no_access() && other.saw_no_access()) {
            return false;
        }
        // Most are clear by the cheaper test of proportions.
        let both = Trials { hits: a.hits + b.hits, tries: a.tries + b.tries }.cautious_rate();
        let off = a.rate() - b.rate();
        if off * off < 2.0 * both * (1.0 - both) * (1.0 / a.tries + 1.0 / b.tries) {
            return false;
        }
        let apart = likelihood(a.hits, a.tries) + likelihood(b.hits, b.tries);
        2.0 * (apart - likelihood(a.hits + b.hits, a.tries + b.tries)) > DIFFER
    }

    /// Whether two rates may well be the same: they don't differ by what is known, and
    /// not by much either way.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.rate() - other.rate()).abs() < FAR_APART && !self.differs(other)
    }

    /// What is known of two that are taken for one, the other being the share `share` of
    /// both: the mean rate, whoever was tried more often.
    pub fn with(&self, other: &Self, share: f64) -> Self {
        let mean = |a: Trials, b: Trials| {
            let tries = a.tries + b.tries;
            let rate = match (a.tries > 0.0, b.tries > 0.0) {
                (true, true) => a.rate() + (b.rate() - a.rate()) * share,
                (true, false) => a.rate(),
                _ => b.rate(),
            };
            Trials { hits: rate * tries, tries }
        };
        let missed = self.missed.min(other.missed);
        Self { short: mean(self.short, other.short), long: mean(self.long, other.long), missed }
    }

    /// The same rate, resting on at most `tries`: for a part of what this was of.
    pub fn resting_on_at_most(&self, tries: f64) -> Self {
        let fade = |t: Trials| {
            let keep = if t.tries > tries { tries / t.tries } else { 1.0 };
            Trials { hits: t.hits * keep, tries: t.tries * keep }
        };
        let missed = self.missed.min(tries);
        Self { short: fade(self.short), long: fade(self.long), missed }
    }

    /// The same accesses, in terms of a sampling interval `factor` times as long.
    pub fn rescaled(&self, factor: f64) -> Self {
        let rescale = |t: Trials| {
            let rate = rate_in(t.rate(), factor);
            Trials { hits: rate * t.tries, tries: t.tries }
        };
        Self { short: rescale(self.short), long: rescale(self.long), missed: self.missed }
    }
}

/// The chance of an access within `factor` times the time in which it is `rate`, if
/// accesses come at random. Exact for small chances; up to 0.03 off for large ones.
pub(super) fn rate_in(rate: f64, factor: f64) -> f64 {
    let mean = -ln(1.0 - rate.min(0.98)) * factor;
    // 1 - e^-x by a rational function, which is the same on every machine.
    let x = mean.min(12.0);
    let denominator = 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)));
    1.0 - 1.0 / denominator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_believed_at_once_and_chance_is_not() {
        let mut hot = RateEstimate::default();
        for _ in 0..20 {
            hot.add(4.0, 4.0);
        }
        assert!(!hot.add(3.0, 4.0), "one page of four missed is chance");
        assert!(hot.rate() > 0.95);
        assert!(hot.add(0.0, 4.0), "four of four is a change");
        assert_eq!(hot.rate(), 0.0);

        let mut cold = RateEstimate::of(0.0, 64.0);
        assert!(!cold.add(1.0, 8.0), "one page alone");
        assert!(cold.rate() < 0.05);
        assert!(cold.add(6.0, 8.0));
        assert_eq!(cold.rate(), 0.75);
    }

    #[test]
    fn a_drift_is_followed() {
        let mut estimate = RateEstimate::default();
        for _ in 0..50 {
            estimate.add(2.0, 8.0);
        }
        assert_eq!(estimate.rate(), 0.25);
        let changes = (0..12).filter(|_| estimate.add(6.0, 8.0)).count();
        assert!(changes >= 1 && (estimate.rate() - 0.75).abs() < 0.08, "{}", estimate.rate());
    }

    #[test]
    fn differences_need_evidence() {
        let known = RateEstimate::of(58.0, 64.0);
        assert!(!known.differs(&RateEstimate::of(7.0, 8.0)));
        assert!(known.differs(&RateEstimate::of(0.0, 8.0)));
        assert!(!known.differs(&RateEstimate::default()), "nothing is known of the other");
        assert!(!RateEstimate::of(0.0, 500.0).differs(&RateEstimate::of(0.0, 1.0)));
        assert!(!RateEstimate::of(1.0, 4.0).differs(&RateEstimate::of(3.0, 4.0)), "too few trials");
    }

    #[test]
    fn rates_follow_the_interval() {
        for (rate, factor, want) in
            [(0.5, 2.0, 0.75), (0.75, 0.5, 0.5), (0.01, 3.0, 0.0297), (0.2, 1.0, 0.2)]
        {
            assert!((rate_in(rate, factor) - want).abs() < 0.01, "{rate} x {factor}");
        }
        assert!(rate_in(1.0, 5.0) > 0.99 && rate_in(0.0, 5.0) == 0.0);
    }
}
