//! What arming cost the targets, estimated.
//!
//! Two things cost a target: the interrupt of each flush of the TLB, unless we flush from the CPU
//! that the target runs on, and to set the accessed bit of an armed page again. Whether there was
//! an interrupt is told by how long the call took, since who flushes a TLB waits for the CPUs that
//! it interrupts. The second is counted at the first check that finds the bit of an armed page set.
//! A bit that is set after the last check of its page is not counted.

use crate::prices::MeasuredPrices;
use daos_core::Prices;

/// The weight that the running means of flushes keep with each new one. Chosen: some fifty count.
const KEEP: f64 = 0.98;

/// What the targets were charged, and what that is derived from.
#[derive(Debug, Default)]
pub(crate) struct TargetCost {
    interrupt_us: f64,
    prices: Prices,
    /// The share of recent flushes that interrupted a target; `None` before the first.
    interrupting: Option<f64>,
    /// How many CPUs a recent flush that did has interrupted, on average.
    cpus: f64,
    due_us: f64,
}

impl TargetCost {
    pub(crate) fn new(measured: &MeasuredPrices) -> Self {
        let (interrupt_us, prices) = (measured.interrupt_us, measured.prices);
        Self { interrupt_us, prices, cpus: 1.0, ..Self::default() }
    }

    /// Counts what arming so many ranges, with so many set bits, cost the target; each range took a
    /// flush of the TLB. `took_us`: the CPU time that it took us, which is much more where CPUs are
    /// interrupted, as we wait for all of them; `cpus`: how many may have been.
    pub(crate) fn armed(&mut self, ranges: u64, pages: u64, took_us: f64, cpus: u32) {
        if ranges == 0 {
            return;
        }
        let quiet_us = self.prices.arm_run * ranges as f64 + self.prices.arm_page * pages as f64;
        let waited_us = (took_us - quiet_us).max(0.0);
        let most_us = ranges as f64 * self.interrupt_us;
        let interrupts_us = if cpus > 0 { waited_us.min(most_us) } else { 0.0 };
        self.due_us += interrupts_us * f64::from(cpus);
        let keep = KEEP.powi(ranges.min(1000) as i32);
        let share = if most_us > 0.0 { interrupts_us / most_us } else { 0.0 };
        let before = self.interrupting.unwrap_or(share);
        self.interrupting = Some(before * keep + share * (1.0 - keep));
        if cpus > 0 {
            self.cpus = self.cpus * keep + f64::from(cpus) * (1.0 - keep);
        }
    }

    /// What a flush is expected to take, in microseconds: how long we wait for the CPUs that are
    /// interrupted, and what the interrupts cost the target. Before the first flush, each is taken
    /// to interrupt if it may: hundreds of them can be planned before one is measured.
    pub(crate) fn of_a_flush_us(&self, may_interrupt: bool) -> (f64, f64) {
        let share = self.interrupting.unwrap_or(if may_interrupt { 1.0 } else { 0.0 });
        (share * self.interrupt_us, share * self.interrupt_us * self.cpus)
    }

    /// What an interrupt costs a target where it comes, in microseconds.
    pub(crate) fn of_an_interrupt_us(&self) -> f64 {
        self.interrupt_us
    }

    /// The TLB of a target was flushed, wherever it runs.
    pub(crate) fn interrupted(&mut self) {
        self.due_us += self.interrupt_us * self.cpus;
    }

    /// A check found this many bits set that had been armed.
    pub(crate) fn found_set(&mut self, bits: u32) {
        self.due_us += f64::from(bits) * self.prices.set_again;
    }

    /// Microseconds since this was last asked.
    pub(crate) fn take(&mut self) -> f64 {
        std::mem::take(&mut self.due_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_bits_set_anew_are_charged() {
        let prices = Prices { arm_run: 1.0, arm_page: 0.1, set_again: 0.5, ..Prices::default() };
        let mut cost = TargetCost { interrupt_us: 10.0, prices, cpus: 1.0, ..Default::default() };
        cost.armed(2, 5, 50.0, 0);
        assert_eq!(cost.take(), 0.0);
        cost.found_set(3);
        cost.found_set(2);
        assert_eq!(cost.take(), 2.5);
        cost.armed(2, 0, 60.0, 1);
        assert_eq!(cost.take(), 20.0);
        assert_eq!(cost.take(), 0.0);
        cost.armed(1000, 0, 20_000.0, 3);
        assert_eq!(cost.take(), 30_000.0, "three wait, each of them");
        let (ours, targets) = cost.of_a_flush_us(true);
        assert!((9.0..=10.0).contains(&ours) && (29.0..=30.0).contains(&targets));
    }

    #[test]
    fn the_first_flush_is_taken_to_interrupt_if_it_may() {
        let cost = TargetCost { interrupt_us: 10.0, cpus: 1.0, ..TargetCost::default() };
        assert_eq!(cost.of_a_flush_us(true), (10.0, 10.0));
        assert_eq!(cost.of_a_flush_us(false), (0.0, 0.0));
    }

    #[test]
    fn who_did_not_wait_interrupted_nobody() {
        let prices = Prices { arm_run: 1.0, arm_page: 0.1, ..Prices::default() };
        let mut cost = TargetCost { interrupt_us: 10.0, prices, cpus: 1.0, ..Default::default() };
        cost.armed(100, 10, 80.0, 1);
        assert_eq!((cost.take(), cost.of_a_flush_us(true)), (0.0, (0.0, 0.0)));
        cost.armed(500, 0, 5500.0, 1);
        assert!(cost.of_a_flush_us(true).0 > 9.5);
        cost.armed(500, 0, 400.0, 1);
        assert!(cost.of_a_flush_us(true).0 < 0.5);
    }
}
