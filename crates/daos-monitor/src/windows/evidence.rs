//! What is known of an access rate: trials, and what they found.
//!
//! A page armed and checked one sampling interval later is a trial. Old trials fade,
//! so that the rate follows the target; two memories of different length tell a change
//! from chance: when the short one contradicts the long one, the long one is dropped.
//! The tests are of proportions, in standard deviations squared.

use super::segment::{likelihood, ln};

/// What each look leaves of the trials before it.
const KEEP_SHORT: f64 = 0.6;
const KEEP_LONG: f64 = 0.97;
/// Trials from which on the long memory has something to say.
const ENOUGH: f64 = 8.0;
/// A look that is this far off ends what was known at once (5 sigma).
const BREAK: f64 = 25.0;
/// The short memory ends the long one when it is this far off (3 sigma).
const DRIFT: f64 = 9.0;
/// So many misses in a row are no chance, in terms of the log of their likelihood.
const IN_VAIN: f64 = 9.2;
/// No rate is taken for so high that one miss would prove it wrong.
const SURE: f64 = 0.97;
/// A rise takes more hits than this to be believed: one stray page is none.
const ONE_PAGE: f64 = 1.5;
/// Rates differ when that makes what was seen so much more likely (a G-test; one in
/// a thousand is by chance).
const DIFFER: f64 = 10.8;
/// Rates this far apart are not taken for the same for want of evidence.
const UNLIKE: f64 = 0.4;

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

    /// Never quite 0 or 1, as few trials prove little.
    fn cautious_rate(self) -> f64 {
        ((self.hits + 0.5) / (self.tries + 1.0)).min(SURE)
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
pub(super) struct Evidence {
    short: Trials,
    long: Trials,
    /// Trials since the last hit.
    missed: f64,
}

impl Evidence {
    /// All that is known is one look at `tries` pages.
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
        let agree = hits < 1e-3 || tries - hits < 1e-3;
        tries >= if agree { 5.0 } else { 8.0 }
    }

    /// Whether no access was seen for as long as is remembered.
    pub fn is_quiet(&self) -> bool {
        self.long.hits < 1e-3
    }

    /// Takes in a look at `tries` pages of which `hits` were accessed. Returns
    /// whether the rate is another one now.
    pub fn add(&mut self, hits: f64, tries: f64) -> bool {
        if tries <= 0.0 {
            return false;
        }
        let new = Trials { hits, tries };
        let known = self.long.tries >= ENOUGH;
        let rate = self.rate();
        let rose_by_one_page = |t: Trials| t.hits < ONE_PAGE && t.rate() > rate;
        if known && !rose_by_one_page(new) && new.distance_from(self.long.cautious_rate()) > BREAK {
            *self = Self::of(hits, tries);
            return true;
        }
        self.missed = if hits > 0.0 { 0.0 } else { self.missed + tries };
        if known && self.missed * -ln(1.0 - self.long.rate().min(SURE)) > IN_VAIN {
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

    /// Whether the evidence says that two rates differ.
    pub fn differs(&self, other: &Self) -> bool {
        let (a, b) = (self.long, other.long);
        if a.tries <= 0.0 || b.tries <= 0.0 || (self.is_quiet() && other.is_quiet()) {
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
        (self.rate() - other.rate()).abs() < UNLIKE && !self.differs(other)
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
    pub fn faded(&self, tries: f64) -> Self {
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
        let mut hot = Evidence::default();
        for _ in 0..20 {
            hot.add(4.0, 4.0);
        }
        assert!(!hot.add(3.0, 4.0), "one page of four missed is chance");
        assert!(hot.rate() > 0.95);
        assert!(hot.add(0.0, 4.0), "four of four is a change");
        assert_eq!(hot.rate(), 0.0);

        let mut cold = Evidence::of(0.0, 64.0);
        assert!(!cold.add(1.0, 8.0), "one page alone");
        assert!(cold.rate() < 0.05);
        assert!(cold.add(6.0, 8.0));
        assert_eq!(cold.rate(), 0.75);
    }

    #[test]
    fn a_drift_is_followed() {
        let mut evidence = Evidence::default();
        for _ in 0..50 {
            evidence.add(2.0, 8.0);
        }
        assert_eq!(evidence.rate(), 0.25);
        let changes = (0..12).filter(|_| evidence.add(6.0, 8.0)).count();
        assert!(changes >= 1 && (evidence.rate() - 0.75).abs() < 0.08, "{}", evidence.rate());
    }

    #[test]
    fn differences_need_evidence() {
        let known = Evidence::of(58.0, 64.0);
        assert!(!known.differs(&Evidence::of(7.0, 8.0)));
        assert!(known.differs(&Evidence::of(0.0, 8.0)));
        assert!(!known.differs(&Evidence::default()), "nothing is known of the other");
        assert!(!Evidence::of(0.0, 500.0).differs(&Evidence::of(0.0, 1.0)));
        assert!(!Evidence::of(1.0, 4.0).differs(&Evidence::of(3.0, 4.0)), "too few trials");
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
