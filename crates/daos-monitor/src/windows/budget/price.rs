//! What samples are expected to cost: by the primitive's prices, and by what they cost so far.

use super::Budget;
use daos_core::Prices;
use daos_core::pages::Pages;

/// Microseconds that it takes us to plan a window and to make something of what was read. Measured,
/// with cold caches.
const WINDOW_US: f64 = 0.5;
/// The same of each page of a window. Measured, with cold caches.
const PAGE_US: f64 = 0.01;

/// What something costs: microseconds of CPU time, and wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in super::super) struct Price {
    /// What the monitor reads in this tick, by the prices.
    pub reading: f64,
    /// What it reads later on, by the prices.
    pub reading_later: f64,
    /// What it arms, by the prices.
    pub arming: f64,
    /// What the target pays.
    pub target: f64,
    /// Wake-ups, as a number.
    pub wakes: f64,
}

impl Price {
    /// All that it costs the monitor, without wake-ups.
    pub fn monitor(&self) -> f64 {
        self.reading + self.reading_later + self.arming
    }
}

impl Budget {
    /// What something will really cost both sides, in microseconds.
    pub fn real(&self, price: Price) -> f64 {
        let reading = self.factor_of_reading() * (price.reading + price.reading_later);
        reading + self.factor_of_arming() * price.arming + price.target + price.wakes * self.wake
    }

    /// To arm so many pages of a target at once, in microseconds.
    pub fn clearing_at_once(&self, pages: u64) -> f64 {
        self.prices.arm_target_page * pages as f64
    }

    /// What it costs the target to set the bits of so many pages anew, in microseconds.
    pub fn setting_again(&self, pages: f64) -> f64 {
        self.prices.set_again * pages
    }

    /// To be woken.
    pub fn wake(&self) -> Price {
        Price { wakes: 1.0, ..Price::default() }
    }

    /// To read a window of so many pages.
    pub fn reading(&self, pages: u64) -> Price {
        let Prices { read_window, read_page, .. } = self.prices;
        let reading = read_window + WINDOW_US + (read_page + PAGE_US) * pages as f64;
        Price { reading, ..Price::default() }
    }

    /// To arm a window of so many pages, and to read it later; `rate` of its pages are
    /// accessed in between.
    pub fn sampling(&self, pages: u64, rate: f64) -> Price {
        let Prices { arm_run, interrupt, arm_page, set_again, .. } = self.prices;
        // An arming reads first.
        let Price { reading, .. } = self.reading(pages);
        Price {
            reading,
            reading_later: reading,
            arming: arm_run + arm_page * pages as f64,
            target: interrupt + set_again * rate * pages as f64,
            wakes: 0.0,
        }
    }

    /// To arm the pages of `set` in a window of `pages`, and to read the window later; `rate`
    /// of those armed are accessed in between.
    pub fn arming(&self, set: &Pages, pages: u64, rate: f64) -> Price {
        let Prices { arm_run, interrupt, arm_page, arm_gap, set_again, .. } = self.prices;
        let Price { reading, .. } = self.reading(pages);
        let (runs, gaps) = set.bridged(self.prices.most_gap());
        let nr = f64::from(set.len());
        let arming = arm_run * f64::from(runs) + arm_gap * f64::from(gaps) + arm_page * nr;
        let target = interrupt * f64::from(runs) + set_again * rate * nr;
        Price { reading, reading_later: reading, arming, target, wakes: 0.0 }
    }
}
