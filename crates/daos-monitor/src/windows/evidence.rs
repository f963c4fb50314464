//! What looks at accessed bits tell of how often pages are accessed.
//!
//! Accesses to a page are taken to come at random times, so many a second (a Poisson
//! process). A look at a page that was armed says whether the first access came within its
//! exposure: survival data, censored where it did not. The maximum likelihood estimate of
//! the rate is then accesses divided by the time for which pages were waiting for one. Of a
//! page that was accessed at some time within the exposure, both are worked out at the rate
//! estimated so far, so that looks can be added up (a step of Newton's method on the
//! likelihood with each).

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
    pub fn of(look: Look, rate: f64) -> Self {
        let Look { waiting, accessed, exposure } = look;
        let rate = if rate > 0.0 { rate } else { look.rate() };
        let (worth, wait) = first_access(rate, exposure);
        Self {
            accesses: accessed * worth,
            waited: (waiting - accessed) * exposure + accessed * wait,
        }
    }

    /// The rate at which that is most likely.
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
    pub fn bounds(self) -> (f64, f64) {
        let off = self.accesses.sqrt();
        let least = (self.accesses - off).max(LEAST_BOUND * self.accesses);
        let waited = self.waited.max(1e-12);
        (least / waited, (self.accesses + off + 0.5) / waited)
    }

    /// Twice the log of how much likelier both are with rates of their own than with one
    /// rate: a likelihood ratio test of Poisson rates.
    pub fn distance(self, other: Self) -> f64 {
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
    pub fn found_nearly_all(self) -> bool {
        self.accessed > SATURATED * self.waiting
    }

    /// How many pages are taken to have been left where all were accessed: half of one that tells
    /// something of its own.
    fn least_left(self) -> f64 {
        0.5 * self.waiting / self.independent()
    }

    /// How many pages tell as much: neighbours are often accessed together, or not at all.
    pub fn independent(self) -> f64 {
        self.waiting.powf(1.0 / 3.0).max(1.0).min(self.waiting)
    }

    /// How unlikely a look is at pages that are swept so many times a second, which are
    /// accessed all at once.
    pub fn surprise_of_one(self, rate: f64) -> f64 {
        let share = (self.accessed / self.waiting).clamp(0.0, 1.0);
        let chance = (rate * self.exposure).clamp(1e-12, ALMOST_SURE);
        let (all, none) = (-2.0 * libm::log(chance), 2.0 * libm::log1p(-chance));
        if share > 0.5 { all } else { none }
    }

    /// How unlikely it is at any rate between these: twice the log of how much likelier it is
    /// at its own rate. Below 0 where less was accessed.
    pub fn surprise(self, (least, most): (f64, f64)) -> f64 {
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
