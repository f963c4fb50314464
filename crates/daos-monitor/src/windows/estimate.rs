//! How often pages are accessed, as far as looks at them tell.
//!
//! Looks are added up as evidence for a rate. A look that contradicts the rate is noticed: the rate
//! is another one then, or the pages are not in use any more.

use super::evidence::{Evidence, Look, chance};
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
