//! What a bound on the overhead buys, by the price list: how close any monitor could come.

use daos_core::Prices;
use serde::Serialize;

/// Pages that a page table maps.
const TABLE_PAGES: f64 = 512.0;

/// What can be done in a second if it is all that is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// The bound, as a share of one CPU.
    pub share: f64,
    /// Page tables that can be read.
    pub reads_per_sec: f64,
    /// Single pages in use that can be armed and set again.
    pub armings_per_sec: f64,
    /// Page tables that the space has.
    pub tables: f64,
}

impl Budget {
    /// What `share` of one CPU buys in a space of `bytes`, in pages of `page` bytes.
    pub fn new(share: f64, prices: &Prices, bytes: u64, page: u64) -> Self {
        let us = share * 1e6;
        // What a page table of small pages maps is one entry if the page is huge.
        let entries = (TABLE_PAGES * 4096.0 / page as f64).max(1.0);
        let read = prices.read_window + entries * prices.read_page;
        let arm = prices.arm_run + prices.interrupt + prices.arm_page + prices.set_again;
        Self {
            share,
            reads_per_sec: us / read,
            armings_per_sec: us / arm,
            tables: bytes as f64 / (TABLE_PAGES * 4096.0),
        }
    }

    /// In words.
    pub fn line(&self) -> String {
        let seconds = self.tables / self.reads_per_sec;
        format!(
            "{:.3} % of a CPU allows {:.0} table reads or {:.0} armings of a page in use a \
             second; the space has {:.0} tables, read once in {seconds:.2} s",
            100.0 * self.share,
            self.reads_per_sec,
            self.armings_per_sec,
            self.tables,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_buys_what_the_prices_say() {
        let prices = Prices {
            wake: 30.0,
            read_window: 0.25,
            read_page: 0.75 / 512.0,
            arm_run: 1.0,
            interrupt: 0.5,
            arm_page: 0.1,
            arm_gap: 0.1,
            set_again: 0.4,
            arm_target_page: 0.08,
        };
        let small = Budget::new(0.01, &prices, 1 << 30, 4096);
        assert!((small.reads_per_sec - 10_000.0).abs() < 1e-6, "{small:?}");
        assert!((small.armings_per_sec - 5_000.0).abs() < 1e-6 && small.tables == 512.0);
        let huge = Budget::new(0.01, &prices, 1 << 30, 2 << 20);
        assert!(huge.reads_per_sec > 39_000.0, "{huge:?}");
        assert!(small.line().contains("512 tables, read once in 0.05 s"), "{}", small.line());
    }
}
