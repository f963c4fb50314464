//! What monitoring would cost on a real machine.
//!
//! The simulator counts what was asked of it; a model puts a price on it. The
//! prices were measured with eBPF and `process_madvise` on one virtual machine
//! (x86-64, two CPUs, kernel 6.18): a yardstick between monitors, not a promise.

use daos_core::Prices;
use std::ops::{Add, Sub};

/// What was asked of a simulated space. An *entry* is one of a page table: a
/// page, or a huge page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Ticks that the monitor was woken for.
    pub wakes: u64,
    /// Windows whose accessed bits were read.
    pub windows_read: u64,
    /// Entries in them.
    pub entries_read: u64,
    /// Ranges armed: the runs of neighbouring entries to clear in each window, or the
    /// window itself if there are none.
    pub ranges_armed: u64,
    /// Entries whose accessed bit was set, and had to be cleared.
    pub entries_cleared: u64,
    /// Entries passed over between them.
    pub entries_passed: u64,
    /// Flushes of the TLB: one for each range with entries to clear.
    pub flushes: u64,
    /// Armed entries that the target accessed, and so set anew. Counted when
    /// that comes to light: when the page or one near it is armed or checked.
    pub entries_set_again: u64,
    /// Entries gone over where all of the space was armed at once.
    pub entries_at_once: u64,
}

impl Add for Counters {
    type Output = Self;

    /// What was asked at both times together.
    fn add(self, other: Self) -> Self {
        Self {
            wakes: self.wakes + other.wakes,
            windows_read: self.windows_read + other.windows_read,
            entries_read: self.entries_read + other.entries_read,
            ranges_armed: self.ranges_armed + other.ranges_armed,
            entries_cleared: self.entries_cleared + other.entries_cleared,
            entries_passed: self.entries_passed + other.entries_passed,
            flushes: self.flushes + other.flushes,
            entries_set_again: self.entries_set_again + other.entries_set_again,
            entries_at_once: self.entries_at_once + other.entries_at_once,
        }
    }
}

impl Sub for Counters {
    type Output = Self;

    /// What was asked since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            wakes: self.wakes - earlier.wakes,
            windows_read: self.windows_read - earlier.windows_read,
            entries_read: self.entries_read - earlier.entries_read,
            ranges_armed: self.ranges_armed - earlier.ranges_armed,
            entries_cleared: self.entries_cleared - earlier.entries_cleared,
            entries_passed: self.entries_passed - earlier.entries_passed,
            flushes: self.flushes - earlier.flushes,
            entries_set_again: self.entries_set_again - earlier.entries_set_again,
            entries_at_once: self.entries_at_once - earlier.entries_at_once,
        }
    }
}

/// Prices, in microseconds of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostModel {
    /// To be woken for a tick, for the monitor.
    pub wake_us: f64,
    /// To walk to a window, for the monitor.
    pub read_window_us: f64,
    /// To read one entry there.
    pub read_entry_us: f64,
    /// To arm a range, even if there is nothing to clear.
    pub arm_range_us: f64,
    /// To clear one entry.
    pub clear_entry_us: f64,
    /// To pass over an entry between two that are cleared.
    pub pass_entry_us: f64,
    /// To flush the TLB, for the monitor.
    pub flush_us: f64,
    /// The same for the target, when that interrupts it.
    pub interrupt_us: f64,
    /// To set a cleared bit again, for the target.
    pub set_again_us: f64,
    /// To go over an entry where all of the space is armed at once.
    pub at_once_us: f64,
}

impl CostModel {
    /// The monitor clears bits where a target of one thread runs: no interrupts.
    ///
    /// As measured next to a busy target, whose accesses push the page tables out of the
    /// caches (`docs/performance.md`): 40 µs to wake up, 0.4 µs for a walk, 1.2 µs for a
    /// whole page of page table; to arm a page the look at it, its page frame and the
    /// call: 0.4 µs if its bit was clear, 1.1 µs if it was set, and 0.13 µs for each of
    /// its neighbours. To set a bit again was measured at 0.15 to 0.4 µs. To clear the bits of all
    /// pages at once (`clear_refs`): 0.038 to 0.05 µs a page.
    pub const SAME_CPU: Self = Self {
        wake_us: 40.0,
        read_window_us: 0.4,
        read_entry_us: 0.8 / 512.0,
        arm_range_us: 0.4,
        clear_entry_us: 0.13,
        pass_entry_us: 0.06,
        flush_us: 0.54,
        interrupt_us: 0.0,
        set_again_us: 0.38,
        at_once_us: 0.045,
    };

    /// The target runs on another CPU, which each flush interrupts: 11 µs for the monitor,
    /// 6 µs for the target.
    pub const OTHER_CPU: Self = Self { flush_us: 11.0, interrupt_us: 6.0, ..Self::SAME_CPU };

    /// The same as a monitor is told it. It can't know which runs will interrupt the
    /// target, so each counts as if it did.
    pub fn prices(&self) -> Prices {
        Prices {
            wake: self.wake_us,
            read_window: self.read_window_us,
            read_page: self.read_entry_us,
            arm_run: self.arm_range_us + self.flush_us,
            interrupt: self.interrupt_us,
            arm_page: self.clear_entry_us,
            arm_gap: self.pass_entry_us,
            set_again: self.set_again_us,
            arm_target_page: self.at_once_us,
        }
    }

    /// CPU time of the monitor in microseconds.
    pub fn monitor_us(&self, c: &Counters) -> f64 {
        self.wake_us * c.wakes as f64
            + self.read_window_us * c.windows_read as f64
            + self.read_entry_us * c.entries_read as f64
            + self.arm_range_us * c.ranges_armed as f64
            + self.clear_entry_us * c.entries_cleared as f64
            + self.pass_entry_us * c.entries_passed as f64
            + self.flush_us * c.flushes as f64
            + self.at_once_us * c.entries_at_once as f64
    }

    /// CPU time that it takes from the target, in microseconds.
    pub fn target_us(&self, c: &Counters) -> f64 {
        self.interrupt_us * c.flushes as f64 + self.set_again_us * c.entries_set_again as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prices_are_the_measured_ones() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.05 * b, "{a} is not {b}");
        let read = Counters { windows_read: 1, entries_read: 512, ..Counters::default() };
        near(CostModel::SAME_CPU.monitor_us(&read), 1.2);
        let arm = |entries| Counters {
            ranges_armed: 1,
            entries_cleared: entries,
            flushes: entries.min(1),
            ..Counters::default()
        };
        near(CostModel::SAME_CPU.monitor_us(&arm(0)), 0.4);
        near(CostModel::SAME_CPU.monitor_us(&arm(1)), 1.07);
        near(CostModel::SAME_CPU.monitor_us(&arm(512)), 67.5);
        near(CostModel::OTHER_CPU.monitor_us(&arm(1)), 11.5);
        let again = Counters { entries_set_again: 100, ..Counters::default() };
        near(CostModel::SAME_CPU.target_us(&again), 38.0);
    }
}
