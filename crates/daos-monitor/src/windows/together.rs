//! Pages that are accessed all at once, again and again: memory that is swept.
//!
//! A look at pages that are accessed at random times finds a part of them accessed. A look at a
//! page table in a sweep finds all or none accessed, however long the exposure: the sweep passes
//! them within a moment. So it tells as much as one page would. And when they are armed at some
//! time, the sweep comes by at any time within its period with the same chance, but not later; at
//! random times, at the same rate, a third of the pages would be accessed later.
//!
//! Data records of many pages each, accessed at random times, look the same, page table by page
//! table. Their rate is then told a third too low, but how many are accessed within a time is
//! hardly off.

use super::evidence::{Evidence, chance};

/// Pages count as accessed together from this log likelihood ratio on: by the looks that found all
/// accessed, and by those that found none. Chosen: one in twenty is above it by chance.
const SURE: f64 = 3.0;
/// The same to count as settled: known for long. Chosen: two looks of each kind more.
const SETTLED: f64 = 6.0;
/// Most that one look adds to such a ratio, or takes off. Chosen: two looks of each kind decide.
const AT_ONCE: f64 = 2.0;
/// The largest such ratio that is kept. Chosen: as for [`AT_ONCE`].
const MOST: f64 = 8.0;
/// Where most memory of the target is swept, pages count as swept from this ratio on, by the looks
/// that found all accessed. Chosen: one look since the last that did not fit.
const FITS: f64 = 1.5;
/// What each look leaves of both ratios, as a share. Chosen: some fifty looks count.
const KEEP: f64 = 0.98;
/// The chance that a sweep passes pages while they are being armed or read, so that it is seen in
/// part. Chosen.
const PARTLY: f64 = 0.05;
/// A look found all pages accessed from this share on. Chosen.
const ALL: f64 = 0.9;
/// A look found no pages accessed up to this share. Chosen.
const NONE: f64 = 0.1;
/// Weight of the newest look in the running mean `MostlySwept::whole`. Chosen: some fifty looks
/// count.
const LATEST: f64 = 0.02;
/// Most memory in use is swept only if that mean is above this. Chosen: of memory that comes into
/// use and goes as a whole, by turns, it is less.
const MOSTLY_WHOLE: f64 = 0.9;
/// A look is short if it is read within this many seconds. Chosen: a sweep comes by in so short a
/// time by chance only.
const SHORT: f64 = 0.02;
/// Weight of the newest short look in the running mean `MostlySwept::short`. Chosen: some twenty
/// looks count.
const LATEST_SHORT: f64 = 0.05;
/// Most memory in use is swept only if that mean is below this: else it is not, or so often that it
/// makes no difference. Chosen.
const MOST_SHORT: f64 = 0.4;
/// Bounds on the chance that a sweep comes by in a look. Chosen: nothing is impossible.
const CHANCES: (f64, f64) = (1e-6, 1.0 - 1e-6);
/// Rate of a sweep over the rate estimated as if accesses were random: (1 − exp(−0.8)) / 0.8, since
/// looks last 0.8 mean times.
const IF_SWEPT: f64 = 0.69;
/// Most accesses that the rate of a sweep rests on. Chosen.
const MOST_ACCESSES: f64 = 32.0;
/// A look that finds none is taken to end within this share of a period: later it would hardly fit.
/// Chosen.
const MOST_OF_PERIOD: f64 = 0.8;

/// A look at all pages that were armed together, of which none had been accessed before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LookAtAll {
    /// How many pages.
    pub pages: f64,
    /// The share that was found accessed, 0 to 1.
    pub share: f64,
    /// Seconds from when they were armed until they were last read before this look.
    pub from: f64,
    /// Seconds from when they were armed until this look.
    pub to: f64,
}

/// Log likelihood ratios of pages being accessed together against at random times: by looks that
/// found all accessed, and by those that found none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Weights {
    by_all: f64,
    by_none: f64,
}

/// Whether pages are accessed together, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Together {
    weights: Weights,
    /// Most memory in use of the target is swept: less evidence is enough for these pages.
    is_usual: bool,
    /// Of the sweep's rate. `waited` is the summed time without access; pages count as one.
    evidence: Evidence,
}

impl Weights {
    fn are_sure(&self) -> bool {
        self.by_all.min(self.by_none) > SURE
    }

    /// Both ratios, but no more than those of `most`.
    fn at_most(&self, most: &Self) -> Self {
        Self { by_all: self.by_all.min(most.by_all), by_none: self.by_none.min(most.by_none) }
    }

    /// Takes in a look in which a sweep comes by with the chance `comes`. `rate`: accesses a second
    /// if they come at random times. Returns whether the look tells anything.
    fn add(&mut self, look: LookAtAll, rate: f64, comes: f64) -> bool {
        let LookAtAll { pages, share, from, to } = look;
        // The chance that a page is accessed in it, at random times.
        let chance = chance(rate, to - from);
        if pages < 2.0 || !(chance > 0.0 && chance < 1.0) {
            return false;
        }
        let comes = comes.clamp(CHANCES.0, CHANCES.1);
        (self.by_all, self.by_none) = (KEEP * self.by_all, KEEP * self.by_none);
        let so_far =
            |by: &mut f64, more: f64| *by = (*by + more.clamp(-AT_ONCE, AT_ONCE)).clamp(0.0, MOST);
        if share >= ALL {
            so_far(&mut self.by_all, libm::log(comes) - pages * libm::log(chance));
        } else if share <= NONE {
            so_far(&mut self.by_none, libm::log1p(-comes) - pages * libm::log1p(-chance));
        } else {
            let random = share * libm::log(share / chance)
                + (1.0 - share) * libm::log((1.0 - share) / (1.0 - chance));
            let less = (pages * random + libm::log(PARTLY / pages)).min(0.0);
            so_far(&mut self.by_all, less);
            so_far(&mut self.by_none, less);
        }
        true
    }
}

impl Together {
    /// How often a second the pages are swept, if they are.
    pub fn rate(&self) -> Option<f64> {
        // Only looks that found all: what is used seldom is mostly found unused.
        let fits = self.is_usual && self.weights.by_all > FITS;
        (self.weights.are_sure() || fits).then(|| self.evidence.rate())
    }

    /// Whether they have been swept for so long that a few looks that don't fit decide nothing.
    pub fn is_settled(&self) -> bool {
        self.weights.by_all.min(self.weights.by_none) > SETTLED
    }

    /// From now on it is about other pages, or fewer of the same: one look decides whether it still
    /// holds.
    pub fn doubt(&mut self) {
        let most = SURE + 0.5 * AT_ONCE;
        self.weights = self.weights.at_most(&Weights { by_all: most, by_none: most });
        self.rest_on_at_most(1.0);
    }

    /// Both together: if either is not swept, both are not.
    pub fn with(&self, other: &Self) -> Self {
        let mut both = Self {
            weights: self.weights.at_most(&other.weights),
            is_usual: self.is_usual && other.is_usual,
            evidence: self.evidence.with(other.evidence),
        };
        both.rest_on_at_most(MOST_ACCESSES);
        both
    }

    fn rest_on_at_most(&mut self, accesses: f64) {
        let keep = (accesses / self.evidence.accesses.max(1e-9)).min(1.0);
        self.evidence = self.evidence.part(keep);
    }

    /// Takes in a look. `rate`: accesses a second if they come at random times; `is_usual`: most
    /// memory in use of the target is swept.
    pub fn add(&mut self, look: LookAtAll, rate: f64, is_usual: bool) {
        self.is_usual = is_usual;
        // The chance that the sweep comes by in it.
        let comes = match self.evidence == Evidence::default() {
            true => chance(rate, look.to - look.from),
            false => self.evidence.rate() * (look.to - look.from),
        };
        let is_whole = look.share >= ALL || look.share <= NONE;
        if self.weights.add(look, rate, comes) && is_whole {
            self.count(look, rate);
        }
    }

    /// Works the look into the most likely period, if a look begins at any time of a period with
    /// the same chance. A look that found none by a time `t` counts for a time of `t / (1 - t /
    /// period)`. One that found all before a period was over counts for one access. One that found
    /// all later only says that there was no access before it.
    fn count(&mut self, look: LookAtAll, known: f64) {
        if self.evidence == Evidence::default() {
            self.evidence = Evidence { accesses: 1.0, waited: 1.0 / (IF_SWEPT * known) };
            return;
        }
        let rate = self.evidence.rate();
        let Evidence { accesses, waited } = &mut self.evidence;
        let none_until = |seconds: f64| seconds / (1.0 - (seconds * rate).min(MOST_OF_PERIOD));
        if look.share <= NONE {
            *waited += none_until(look.to) - none_until(look.from);
        } else if look.to * rate < 1.0 {
            *accesses += 1.0;
            *waited = (*waited - none_until(look.from)).max(0.5 * *waited);
        }
        self.rest_on_at_most(MOST_ACCESSES);
    }
}

/// Whether most memory in use of a target is swept, from looks at any of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct MostlySwept {
    weights: Weights,
    /// Running mean over looks that found any accessed: the share that found all, 0 to 1. It is
    /// less for pages that are accessed at random times.
    whole: f64,
    /// Running mean over short looks: the share that found all, 0 to 1.
    short: f64,
}

impl MostlySwept {
    /// Takes in a look. `rate`: accesses a second, as far as is known. Returns whether most memory
    /// in use is swept.
    pub fn add(&mut self, look: LookAtAll, rate: f64) -> bool {
        // Memory is accessed more or less often: each look counts by its own rate.
        self.weights.add(look, rate, chance(rate, look.to - look.from));
        let is_whole = if look.share >= ALL { 1.0 } else { 0.0 };
        if look.to <= SHORT {
            self.short += (is_whole - self.short) * LATEST_SHORT;
        }
        if look.share > NONE {
            self.whole += (is_whole - self.whole) * LATEST;
        }
        self.weights.are_sure() && self.whole > MOSTLY_WHOLE && self.short < MOST_SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Rng;

    fn fraction(rng: &mut Rng) -> f64 {
        rng.below(1 << 20) as f64 / f64::from(1 << 20)
    }

    /// Arms 16 pages and reads them after each of some times until some were accessed; `came`: when
    /// each was.
    fn watch(random: f64, mut came: impl FnMut(&mut Rng) -> [f64; 16]) -> Together {
        let (mut rng, mut together) = (Rng::new(7), Together::default());
        for _ in 0..60 {
            let (came, mut from) = (came(&mut rng), 0.0);
            for to in [0.005, 0.1 + 0.2 * fraction(&mut rng), 0.8] {
                let share = came.iter().filter(|came| **came < to).count() as f64 / 16.0;
                let look = LookAtAll { pages: 16.0, share, from, to };
                let rate = together.rate().unwrap_or(random);
                together.add(look, rate, false);
                from = to;
                if share > 0.0 {
                    break;
                }
            }
        }
        together
    }

    #[test]
    fn how_often_memory_is_gone_over_is_found() {
        for period in [0.1, 0.5, 1.0] {
            for guess in [0.5, 1.0, 2.5] {
                let together = watch(guess / period, |rng| [period * fraction(rng); 16]);
                let rate =
                    together.rate().unwrap_or_else(|| panic!("{period} {guess} {together:?}"));
                assert!((rate * period - 1.0).abs() < 0.4, "{rate} of {}", 1.0 / period);
            }
        }
    }

    fn sweep(rng: &mut Rng) -> [f64; 16] {
        [0.5 * fraction(rng); 16]
    }

    #[test]
    fn what_is_known_of_a_sweep_holds_for_both_of_its_parts() {
        let swept = watch(2.0, sweep);
        let rate = swept.with(&swept).rate().expect("both are gone over");
        assert!((rate / swept.rate().unwrap() - 1.0).abs() < 0.01);
        let unknown = Together { is_usual: true, ..Together::default() };
        for both in [swept.with(&unknown), unknown.with(&swept)] {
            assert_eq!(both.rate(), None, "the other may not be");
        }
    }

    #[test]
    fn where_most_memory_is_gone_over_a_look_that_fits_is_enough() {
        let looks = |shares: &[f64], is_usual: bool| {
            let mut together = Together::default();
            for share in shares {
                let look = LookAtAll { pages: 16.0, share: *share, from: 0.0, to: 0.2 };
                together.add(look, 2.0, is_usual);
            }
            together.rate()
        };
        assert!(looks(&[1.0], true).is_some() && looks(&[0.0, 1.0, 0.0], true).is_some());
        assert_eq!(looks(&[1.0], false), None);
        assert_eq!(looks(&[0.0; 20], true), None, "what is used seldom at random times may be so");
        assert_eq!(looks(&[1.0, 0.4], true), None, "some came and others did not");
    }

    #[test]
    fn memory_that_comes_into_use_and_goes_as_a_whole_is_not_gone_over() {
        let mut mostly = MostlySwept::default();
        let mut told = Vec::new();
        for _ in 0..40 {
            // Found in use after seconds, used whenever it is looked at again, and then not at all.
            let look = |share, to| LookAtAll { pages: 16.0, share, from: 0.0, to };
            told.push(mostly.add(look(1.0, 3.0), 0.2));
            (0..4).for_each(|_| told.push(mostly.add(look(1.0, 0.005), 300.0)));
            told.push(mostly.add(look(0.0, 0.005), 300.0));
        }
        assert!(!told[120..].contains(&true));
    }

    #[test]
    fn a_look_that_a_sweep_would_hardly_come_by_in_speaks_against_one() {
        let mut together = watch(2.0, sweep);
        assert!(together.rate().is_some());
        let again = LookAtAll { pages: 4.0, share: 1.0, from: 0.0, to: 0.005 };
        (0..4).for_each(|_| together.add(again, 300.0, false));
        assert_eq!(together.rate(), None);
    }

    #[test]
    fn pages_at_random_times_are_not_together() {
        for rate in [0.5, 2.0, 10.0, 50.0, 500.0] {
            for guess in [0.2, 1.0, 5.0] {
                let together = watch(guess * rate, |rng| {
                    std::array::from_fn(|_| -libm::log(1.0 - fraction(rng)) / rate)
                });
                assert_eq!(together.rate(), None, "{rate} {guess} {together:?}");
            }
        }
    }
}
