//! How often pages are accessed, from looks at their accessed bits.
//!
//! Accesses to a page are taken to come at random times, so many a second (a Poisson
//! process). A look at a page that was armed says whether the first access came within its
//! exposure: survival data, censored where it did not. The maximum likelihood estimate of
//! the rate is then accesses divided by the time for which pages were waiting for one. Of a
//! page that was accessed at some time within the exposure, both are worked out at the rate
//! estimated so far, so that looks can be added up (a step of Newton's method on the
//! likelihood with each).

use super::together::{LookAtAll, Together};

/// Looks contradict a rate if a likelihood ratio test gives more than this: one in a thousand does
/// by chance (chi-squared, one degree of freedom).
const DIFFERENT: f64 = 10.8;
/// Use has ended if the same test of the time since the last access gives more than this: one in
/// fifty does by chance. Chosen: a page that is wrongly taken for idle is noticed as soon as it is
/// accessed.
const OVER: f64 = 5.4;
/// Looks are odd if the same test gives more than this: one in ten does by chance.
const ODD: f64 = 2.7;
/// Most surprise that one look adds in which more was accessed than expected. Chosen: two in a row
/// say that the rate is another one.
const AT_ONCE: f64 = 8.0;
/// What each look leaves of the surprise of those before it, as a share. Chosen: some five count.
const KEEP_SURPRISE: f64 = 0.8;
/// Most accesses that an estimate rests on. Chosen: a rate is known to a tenth then, and follows
/// slow changes.
const MOST_ACCESSES: f64 = 100.0;
/// Most waiting time that an estimate rests on, in page-seconds. Chosen: eight pages for five
/// minutes.
const MOST_PAGE_SECONDS: f64 = 2400.0;
/// When pages are accessed again, at most this many seconds of each without an access count before
/// that. Chosen: a rate that these alone tell is still one of use.
const MOST_QUIET: f64 = 10.0;
/// Accesses from which on a rate is more than a guess. Chosen.
const SOME_ACCESSES: f64 = 2.0;
/// Rates that differ by less than this factor are not worth a border. Chosen.
const ALIKE_FACTOR: f64 = 1.25;
/// This many pages that are accessed all at once tell as much as one page. Chosen: probes have four
/// to sixteen.
pub(super) const AS_ONE: f64 = 8.0;
/// A look that found more than this share of its pages accessed gives only a lower bound of the
/// rate. Chosen.
pub(super) const SATURATED: f64 = 0.8;
/// The chance of an access that is due is taken to be no more than this. Chosen.
const ALMOST_SURE: f64 = 0.95;
/// The least part of the accesses that a rate rests on to which a standard deviation may reduce
/// them. Chosen.
const LEAST_BOUND: f64 = 0.3;

/// Looks at pages that were waiting for an access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// Pages, or huge pages, whose bits were clear when the exposure began.
    pub waiting: f64,
    /// Those of them that were found accessed.
    pub accessed: f64,
    /// Seconds from when they began to wait until they were read.
    pub exposure: f64,
}

/// Accesses, and the time for which pages waited for them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Evidence {
    pub accesses: f64,
    /// In page-seconds: seconds, summed over pages.
    pub waited: f64,
}

impl Evidence {
    /// What a look tells if the rate is about `rate`; 0 if it is not known.
    fn of(look: Look, rate: f64) -> Self {
        let Look { waiting, accessed, exposure } = look;
        let rate = if rate > 0.0 { rate } else { look.rate() };
        let (worth, wait) = first_access(rate, exposure);
        Self {
            accesses: accessed * worth,
            waited: (waiting - accessed) * exposure + accessed * wait,
        }
    }

    pub fn rate(self) -> f64 {
        if self.waited > 0.0 { self.accesses / self.waited } else { 0.0 }
    }

    /// The same rate, resting on this share of the evidence.
    pub fn part(self, keep: f64) -> Self {
        Self { accesses: keep * self.accesses, waited: keep * self.waited }
    }

    /// Both together.
    pub fn with(self, other: Self) -> Self {
        Self { accesses: self.accesses + other.accesses, waited: self.waited + other.waited }
    }

    /// Rates that it might be, at a standard deviation from what it is most likely.
    fn bounds(self) -> (f64, f64) {
        let off = self.accesses.sqrt();
        let least = (self.accesses - off).max(LEAST_BOUND * self.accesses);
        let waited = self.waited.max(1e-12);
        (least / waited, (self.accesses + off + 0.5) / waited)
    }

    /// Twice the log of how much likelier both are with rates of their own than with one
    /// rate: a likelihood ratio test of Poisson rates.
    fn distance(self, other: Self) -> f64 {
        let log_likelihood = |e: Self| {
            if e.accesses > 0.0 {
                e.accesses * libm::log(e.accesses / e.waited.max(1e-12))
            } else {
                0.0
            }
        };
        2.0 * (log_likelihood(self) + log_likelihood(other) - log_likelihood(self.with(other)))
    }
}

impl Look {
    /// The rate at which what was seen is most likely. Where all were accessed it is only
    /// known to be high: half a page is taken to have been left.
    pub fn rate(self) -> f64 {
        if self.accessed <= 0.0 || self.exposure <= 0.0 {
            return 0.0;
        }
        let left = (self.waiting - self.accessed).max(self.least_left());
        -libm::log(left / self.waiting) / self.exposure
    }

    /// Whether nearly all pages were accessed: their accesses may have come at any time of the
    /// exposure.
    fn found_nearly_all(self) -> bool {
        self.accessed > SATURATED * self.waiting
    }

    /// How many pages are taken to have been left where all were accessed: half of one that tells
    /// something of its own.
    fn least_left(self) -> f64 {
        0.5 * self.waiting / self.independent()
    }

    /// How many pages tell as much: neighbours are often accessed together, or not at all.
    fn independent(self) -> f64 {
        self.waiting.powf(1.0 / 3.0).max(1.0).min(self.waiting)
    }

    /// How unlikely a look is at pages that are swept so many times a second, which are
    /// accessed all at once.
    fn surprise_of_one(self, rate: f64) -> f64 {
        let share = (self.accessed / self.waiting).clamp(0.0, 1.0);
        let chance = (rate * self.exposure).clamp(1e-12, ALMOST_SURE);
        let (all, none) = (-2.0 * libm::log(chance), 2.0 * libm::log1p(-chance));
        if share > 0.5 { all } else { none }
    }

    /// How unlikely it is at any rate between these: twice the log of how much likelier it is
    /// at its own rate. Below 0 where less was accessed.
    fn surprise(self, (least, most): (f64, f64)) -> f64 {
        let Self { waiting, accessed, exposure } = self;
        let share = (accessed / waiting).clamp(0.0, 1.0);
        let (low, high) = (chance(least, exposure), chance(most, exposure));
        let (expected, sign) = match share {
            share if share > high => (high, 1.0),
            share if share < low => (low, -1.0),
            _ => return 0.0,
        };
        let expected = expected.clamp(1e-12, 1.0 - 1e-12);
        let part = |share: f64, expected: f64| {
            if share > 0.0 { share * libm::log(share / expected) } else { 0.0 }
        };
        sign * 2.0
            * self.independent()
            * (part(share, expected) + part(1.0 - share, 1.0 - expected))
    }
}

/// What it is worth that a page was accessed at some time within `exposure`: in accesses
/// whose time is known, and in the seconds for which it waited for one.
///
/// Within a short exposure it is worth an access, in the middle of it; within one that is
/// many times the mean time between accesses it says nothing: it was to be expected. In
/// between they are such that the score and the observed information of the likelihood are
/// what they are for the censored time.
fn first_access(rate: f64, exposure: f64) -> (f64, f64) {
    let x = rate * exposure;
    if x < 1e-3 {
        return (1.0, exposure / 2.0);
    }
    let mean = mean_wait(rate, exposure);
    let root = x / 2.0 / libm::sinh((x / 2.0).min(300.0));
    let worth = root * root;
    (worth, (mean - (1.0 - worth) / rate).max(0.0))
}

/// What is known of the access rate of pages that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Estimate {
    evidence: Evidence,
    /// How far the last looks were off, as twice a log likelihood ratio: above 0 where more was
    /// accessed than expected, below 0 where less was.
    surprise: f64,
    /// The waiting time since the last look in which any page was accessed, in page-seconds.
    quiet: f64,
    /// The rate is only a lower bound: every look it rests on found (nearly) all pages accessed.
    is_least: bool,
    /// Whether the pages are accessed all at once, and if so how often.
    together: Together,
}

impl Estimate {
    /// An estimate from one look.
    pub fn of(look: Look) -> Self {
        let quiet = if look.accessed > 0.0 { 0.0 } else { look.waiting * look.exposure };
        let is_least = look.found_nearly_all();
        Self { evidence: Evidence::of(look, 0.0), quiet, is_least, ..Self::default() }
    }

    /// An estimate from pages that came within a time, of which it is not known when they came, nor
    /// whether others are in use that did not come.
    pub fn of_first_in_use(look: Look) -> Self {
        let mut first = Self::of(look);
        first.doubt(1.0, f64::MAX);
        first.is_least = true;
        first
    }

    /// Takes over a rate that is known otherwise, and rests on so many accesses.
    pub fn set_rate(&mut self, rate: f64, accesses: f64) {
        let evidence = Evidence { accesses, waited: accesses / rate };
        *self = Self { evidence, together: self.together, ..Self::default() };
    }

    /// Forgets the rate, but not that the pages were looked at.
    pub fn forget_rate(&mut self) {
        let waited = self.evidence.waited.min(f64::MIN_POSITIVE);
        *self = Self { evidence: Evidence { accesses: 0.0, waited }, ..Self::default() };
    }

    /// Whether it rests on so many accesses.
    pub fn rests_on(&self, accesses: f64) -> bool {
        self.evidence.accesses >= accesses
    }

    /// Accesses a second and page.
    pub fn rate(&self) -> f64 {
        self.together.rate().unwrap_or(self.evidence.rate())
    }

    /// The chance that a page is accessed at least once within so many seconds that begin at some
    /// time.
    pub fn chance(&self, seconds: f64) -> f64 {
        match self.together.rate() {
            Some(rate) => (rate * seconds).min(1.0),
            None => chance(self.evidence.rate(), seconds),
        }
    }

    /// Whether pages are accessed all at once, as in a sweep.
    pub fn is_together(&self) -> bool {
        self.together.rate().is_some()
    }

    /// Whether they have been accessed all at once for long.
    pub fn is_settled_together(&self) -> bool {
        self.together.is_settled()
    }

    /// Takes in what a look says of all pages together, beside what it says of each. `is_usual`:
    /// most memory in use of the target is swept.
    pub fn add_at_all(&mut self, look: LookAtAll, is_usual: bool) {
        self.together.add(look, self.evidence.rate(), is_usual);
    }

    /// Whether the last looks were odd, though not so much that they must be of another rate.
    pub fn is_odd(&self) -> bool {
        self.surprise.abs() > ODD
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.evidence.waited <= 0.0
    }

    /// Takes in a look that says that memory is accessed more often than a lower bound: the bound
    /// says nothing any more then. Returns whether it was so.
    pub fn raise(&mut self, look: Look) -> bool {
        let raises = self.is_least && !self.is_together() && look.rate() > self.rate();
        if !raises {
            return false;
        }
        *self = Self { together: self.together, ..Self::of(look) };
        true
    }

    /// Takes in a look. Returns whether it says that the rate is another one now.
    pub fn add(&mut self, look: Look) -> bool {
        if look.waiting <= 0.0 || look.exposure <= 0.0 {
            return false;
        }
        if self.is_empty() {
            *self = Self::of(look);
            return false;
        }
        let mut new = match self.together.rate() {
            Some(rate) => look.surprise_of_one(rate),
            None => look.surprise(self.evidence.bounds()),
        };
        if self.evidence.accesses > 0.0 {
            // Pages that are swept are accessed all at once, and not again for long.
            new = new.min(AT_ONCE);
        }
        let same_way = new * self.surprise >= 0.0;
        self.surprise = new + if same_way { KEEP_SURPRISE * self.surprise } else { 0.0 };
        if self.surprise.abs() > DIFFERENT {
            let is_back = self.evidence.accesses == 0.0 && look.accessed > 0.0;
            let quiet = if is_back { self.quiet.min(MOST_QUIET * look.waiting) } else { 0.0 };
            *self = Self::of(look);
            // Whether it is accessed more often than once in all that time, the next look tells.
            self.evidence.waited += quiet;
            return true;
        }
        let is_first = self.evidence.accesses == 0.0;
        let new = Evidence::of(look, self.evidence.rate());
        self.evidence.accesses += new.accesses;
        self.evidence.waited += new.waited;
        if look.accessed > 0.0 {
            self.quiet = 0.0;
            // A moment without an access before the first one says little.
            self.is_least = (self.is_least || is_first) && look.found_nearly_all();
        } else {
            self.quiet += new.waited;
            // That there was no access says nothing until one was to be expected.
            let Evidence { accesses, waited } = self.evidence;
            self.is_least &= self.quiet * accesses < waited - self.quiet;
        }
        self.rest_on_at_most(MOST_ACCESSES, MOST_PAGE_SECONDS);
        false
    }

    /// Gives the rate up if the time since the last access is too long for it, and keeps that time:
    /// what was used once, a minute ago, is not used every minute since. `look`: the last one.
    /// Returns whether it did.
    pub fn give_up(&mut self, look: Look) -> bool {
        let Evidence { accesses, waited } = self.evidence;
        let before = waited - self.quiet;
        if accesses <= 0.0 || before <= 0.0 || look.waiting <= 0.0 {
            return false;
        }
        // How much likelier two rates are than one, of which the second is 0.
        let is_over = match self.together.rate() {
            // All pages are one.
            Some(rate) => 2.0 * rate * self.quiet / look.waiting,
            None => {
                let independent = accesses * look.independent() / look.waiting;
                2.0 * independent.max(accesses.min(1.0)) * libm::log(waited / before)
            }
        } > OVER;
        if is_over {
            let evidence = Evidence { accesses: 0.0, waited: self.quiet };
            *self = Self { evidence, quiet: self.quiet, ..Self::default() };
        }
        is_over
    }

    /// Whether both may be of one rate.
    pub fn is_like(&self, other: &Self) -> bool {
        self.is_near(other) || self.distance(other) <= DIFFERENT
    }

    /// Whether nothing says that both are of two rates. Between this and [`Self::is_like`] all is
    /// left as it is: what was taken apart for good reason, resting on little, is not put together
    /// because little is known.
    pub fn is_as_good_as(&self, other: &Self) -> bool {
        self.is_near(other) || self.distance(other) <= ODD
    }

    fn is_near(&self, other: &Self) -> bool {
        let (a, b) = (self.rate(), other.rate());
        a.max(b) <= a.min(b) * ALIKE_FACTOR
    }

    /// How far it is from another, as twice a log likelihood ratio.
    pub fn distance(&self, other: &Self) -> f64 {
        let part = if self.is_together() || other.is_together() { 1.0 / AS_ONE } else { 1.0 };
        self.evidence.part(part).distance(other.evidence.part(part))
    }

    /// Whether it rests on enough to be told from other rates: on some accesses, or on none for so
    /// long that pages in use at `rate` would have had some.
    pub fn is_enough(&self, rate: f64) -> bool {
        self.evidence.accesses >= SOME_ACCESSES || self.evidence.waited * rate >= 3.0
    }

    /// Both together.
    pub fn with(&self, other: &Self) -> Self {
        let evidence = self.evidence.with(other.evidence);
        let together = self.together.with(&other.together);
        let are_quiet = self.quiet > 0.0 && other.quiet > 0.0;
        let quiet = if are_quiet { self.quiet + other.quiet } else { 0.0 };
        let is_least = self.is_least && other.is_least;
        let mut both = Self { evidence, quiet, is_least, together, ..Self::default() };
        both.rest_on_at_most(MOST_ACCESSES, MOST_PAGE_SECONDS);
        both
    }

    /// From now on it is about other pages, or fewer of the same: it rests on no more than so many
    /// accesses and page-seconds.
    pub fn doubt(&mut self, accesses: f64, waited: f64) {
        self.rest_on_at_most(accesses, waited);
        self.together.doubt();
    }

    /// Keeps the rate, resting on no more than so many accesses and page-seconds.
    fn rest_on_at_most(&mut self, accesses: f64, waited: f64) {
        let Evidence { accesses: known, waited: for_long } = self.evidence;
        let keep = (accesses / known.max(1e-9)).min(waited / for_long.max(1e-9)).min(1.0);
        self.evidence = self.evidence.part(keep);
        self.quiet *= keep;
    }
}

/// The mean time in seconds after which a page is accessed that is known to be accessed within
/// `seconds`.
pub(super) fn mean_wait(rate: f64, seconds: f64) -> f64 {
    let x = rate * seconds;
    if x < 1e-3 { seconds / 2.0 } else { 1.0 / rate - seconds / libm::expm1(x) }
}

/// The chance that a page is accessed at least once within so many seconds.
pub(super) fn chance(rate: f64, seconds: f64) -> f64 {
    -libm::expm1(-rate * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_gone_over_a_probe_tells_as_much_as_a_page() {
        let look = |accessed, exposure| Look { waiting: 16.0, accessed, exposure };
        let mut swept = Estimate::of(look(16.0, 0.3));
        for (nth, share) in (0..20).zip([1.0, 0.0].into_iter().cycle()) {
            let exposure = if nth % 3 == 0 { 0.1 } else { 0.3 };
            swept.add_at_all(LookAtAll { pages: 16.0, share, from: 0.0, to: exposure }, false);
        }
        let mut random = Estimate::of(look(12.0, 0.5));
        (0..5).for_each(|_| assert!(!random.add(look(12.0, 0.5))));
        assert!(swept.is_together() && !random.is_together());
        // Where the sweep has just been, in passing.
        let passed = Estimate::of(look(16.0, 0.005));
        assert!(swept.is_like(&passed) && !random.is_like(&passed));
        assert!(!swept.add(look(16.0, 0.005)), "once is by chance");
        assert!((0..4).any(|_| swept.add(look(16.0, 0.005))), "again and again is another rate");
    }

    #[test]
    fn what_is_gone_over_is_given_up_when_it_missed_its_turn_more_than_once() {
        let look = |accessed, exposure| Look { waiting: 16.0, accessed, exposure };
        let mut swept = Estimate::of(look(16.0, 0.8));
        // Once a second.
        for (nth, share) in (0..40).zip([1.0, 0.0, 1.0, 1.0].into_iter().cycle()) {
            let exposure = if share > 0.0 { 0.8 } else { 0.4 };
            swept.add(look(16.0 * share, exposure));
            swept.add_at_all(LookAtAll { pages: 16.0, share, from: 0.0, to: exposure }, nth > 20);
        }
        assert!(swept.is_together() && (0.5..2.0).contains(&swept.rate()), "{swept:?}");
        let quiet_for = |tenths: u32| {
            let mut swept = swept;
            (0..tenths).any(|_| {
                assert!(!swept.add(look(0.0, 0.1)));
                swept.give_up(look(0.0, 0.1))
            })
        };
        let period = (10.0 / swept.rate()) as u32;
        assert!(!quiet_for(2 * period) && quiet_for(4 * period));
    }

    #[test]
    fn a_rate_that_is_only_known_to_be_so_high_is_raised_by_the_next_look() {
        let look = |accessed, exposure| Look { waiting: 16.0, accessed, exposure };
        let raised_by = |accessed: f64| {
            let mut found = Estimate::of(look(16.0, 5.0));
            found.raise(look(accessed, 0.005)).then(|| found.rate())
        };
        assert!(raised_by(16.0).is_some_and(|rate| rate > 140.0), "{:?}", raised_by(16.0));
        assert!(
            raised_by(1.0).is_some_and(|rate| (2.0..20.0).contains(&rate)),
            "{:?}",
            raised_by(1.0)
        );
        assert_eq!(raised_by(0.0), None);
        // Once some were left, it was no more often.
        let mut known = Estimate::of(look(16.0, 5.0));
        known.add(look(8.0, 2.0));
        assert!(!known.raise(look(16.0, 0.005)));
        // A moment without one says nothing of that, but a while does.
        let after_quiet = |exposure: f64| {
            let mut found = Estimate::of_first_in_use(look(16.0, 12.0));
            found.add(look(0.0, exposure));
            found.raise(look(11.0, 0.1)).then(|| found.rate())
        };
        let soon = after_quiet(0.005);
        assert!(soon.is_some_and(|rate| (8.0..15.0).contains(&rate)), "{soon:?}");
        assert_eq!(after_quiet(10.0), None);
        // That it took long until it was found says nothing of how often it is accessed since: a
        // hundred times a second.
        let mut late = Estimate::of(look(16.0, 15.0));
        assert!(late.raise(look(7.0, 0.005)));
        assert!((80.0..140.0).contains(&late.rate()), "{}", late.rate());
        // Nor does a moment without an access before it.
        let mut late = Estimate::of(look(0.0, 0.005));
        assert!(!late.add(look(16.0, 1.5)) && late.rate() < 5.0);
        assert!(late.raise(look(1.0, 0.005)));
    }

    #[test]
    fn what_was_taken_apart_is_not_put_together_since_little_is_known() {
        let looks =
            |waiting, accessed, exposure| Estimate::of(Look { waiting, accessed, exposure });
        let (used, idle) = (looks(16.0, 6.0, 0.6), looks(8.0, 0.0, 1.2));
        assert!(used.is_like(&idle) && !used.is_as_good_as(&idle));
        assert!(used.is_as_good_as(&looks(16.0, 4.0, 0.6)));
        assert!(idle.is_as_good_as(&looks(8.0, 0.0, 100.0)));
        assert!(!used.is_like(&looks(8.0, 0.0, 100.0)));
    }
}
