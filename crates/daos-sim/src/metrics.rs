//! What can be measured beside the accesses, simulated.

use daos_core::{Metric, Metrics};

/// Over how long the pressure is an average, in microseconds: the kernel's `avg10`.
const PRESSURE_US: f64 = 10e6;

/// The metrics of a simulated space at one time. They are values, so that a scheme can be
/// told them while it acts on the space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimMetrics {
    /// Free memory as a share of all, 0 to 1; `None` if the model has no size of it.
    pub free_memory: Option<f64>,
    /// Share of the time, 0 to 1, in which the target waited for memory lately.
    pub memory_pressure: f64,
    /// The resident set as a share, 0 to 1, of it and what is in swap.
    pub resident: Option<f64>,
}

impl Metrics for SimMetrics {
    fn read(&mut self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::FreeMemory => self.free_memory,
            Metric::MemoryPressure => Some(self.memory_pressure),
            Metric::Resident => self.resident,
        }
    }
}

/// Pressure as the kernel counts it: the share of time spent waiting, in which what was
/// ten seconds ago counts for a third (`avg10` in `/proc/pressure/memory`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pressure {
    share: f64,
    stall_us: f64,
    at_us: u64,
}

impl Pressure {
    /// Its value now, when the target has waited for `stall_us` microseconds in total.
    pub fn read(&mut self, stall_us: f64, now_us: u64) -> f64 {
        if now_us > self.at_us {
            let (past_us, waited_us) = ((now_us - self.at_us) as f64, stall_us - self.stall_us);
            // The workload does not wait while it is simulated, so that comes on top.
            let share = waited_us / (past_us + waited_us);
            let kept = (-past_us / PRESSURE_US).exp();
            self.share = kept * self.share + (1.0 - kept) * share;
            (self.stall_us, self.at_us) = (stall_us, now_us);
        }
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_rises_with_waiting_and_fades() {
        let mut pressure = Pressure::default();
        assert_eq!(pressure.read(0.0, 0), 0.0);
        let mut once = pressure;
        // Half of the time for a minute, however often it is asked for.
        for second in 1..=60 {
            pressure.read(f64::from(second) * 1e6, u64::from(second as u32) * 1_000_000);
        }
        let often = pressure.read(60e6, 60_000_000);
        assert!((0.49..=0.5).contains(&often), "{often}");
        assert!((once.read(60e6, 60_000_000) - often).abs() < 1e-9);
        let faded = pressure.read(60e6, 70_000_000);
        assert!((faded / often - (-1.0f64).exp()).abs() < 1e-9, "{faded}");
    }
}
