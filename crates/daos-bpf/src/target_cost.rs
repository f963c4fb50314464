//! What arming cost the targets, estimated.
//!
//! Two things cost a target: the interrupt of each flush of the TLB, if it did not
//! happen on the target's own CPU, and to set the accessed bit of an armed page anew.
//! The second is counted when a check finds the bit set. A bit that is set later than
//! the last check that looks at it is not seen, and one that nobody armed is counted
//! only while there are armed ones that were not found set.

use crate::prices::MeasuredPrices;
use daos_core::{AddrRange, PAGE_SIZE};

/// What the targets were charged, and what that is derived from.
#[derive(Debug, Default)]
pub(crate) struct TargetCost {
    interrupt_us: f64,
    set_again_us: f64,
    /// Pages that were armed and not found accessed since.
    armed: u64,
    due_us: f64,
}

impl TargetCost {
    pub(crate) fn new(measured: &MeasuredPrices) -> Self {
        Self {
            interrupt_us: measured.interrupt_us,
            set_again_us: measured.prices.set_again,
            ..Self::default()
        }
    }

    /// These ranges are being armed, each with a flush, which interrupts the target or not.
    pub(crate) fn arms(&mut self, ranges: &[AddrRange], interrupts: bool) {
        self.armed += ranges.iter().map(|r| r.len() / PAGE_SIZE).sum::<u64>();
        if interrupts {
            self.due_us += ranges.len() as f64 * self.interrupt_us;
        }
    }

    /// A check found this many bits set.
    pub(crate) fn found_set(&mut self, bits: u32) {
        let bits = u64::from(bits).min(self.armed);
        self.armed -= bits;
        self.due_us += bits as f64 * self.set_again_us;
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
    fn interrupts_and_bits_set_anew_are_charged_once() {
        let mut cost =
            TargetCost { interrupt_us: 10.0, set_again_us: 0.5, ..TargetCost::default() };
        cost.found_set(5);
        assert_eq!(cost.take(), 0.0, "nothing was armed");
        let ranges = [AddrRange::new(0, 4 * PAGE_SIZE), AddrRange::new(1 << 20, (1 << 20) + 4096)];
        cost.arms(&ranges, false);
        assert_eq!(cost.take(), 0.0);
        cost.found_set(3);
        cost.found_set(3);
        assert_eq!(cost.take(), 2.5);
        cost.arms(&ranges, true);
        assert_eq!(cost.take(), 20.0);
        assert_eq!(cost.take(), 0.0);
    }
}
