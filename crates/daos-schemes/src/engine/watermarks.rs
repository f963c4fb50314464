//! Whether a scheme is active, by its watermarks.

use crate::scheme::Watermarks;
use daos_core::Metrics;

/// Whether a scheme is active, and when the metric was read last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WatermarkState {
    active: bool,
    read_us: Option<u64>,
}

impl WatermarkState {
    /// Reads the metric again if it is time to, and says whether the scheme is active. It is
    /// where the metric can't be read.
    pub(super) fn is_active(
        &mut self,
        marks: &Watermarks,
        now_us: u64,
        metrics: &mut dyn Metrics,
    ) -> bool {
        let is_due =
            self.read_us.is_none_or(|read_us| now_us >= read_us.saturating_add(marks.interval_us));
        if is_due {
            self.read_us = Some(now_us);
            self.active = match metrics.read(marks.metric) {
                None => true,
                Some(value) if value > marks.high || value < marks.low => false,
                Some(value) => self.active || value <= marks.mid,
            };
        }
        self.active
    }

    /// Whether it was not, when that was last asked.
    pub(super) fn sleeps(&self) -> bool {
        self.read_us.is_some() && !self.active
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Metric;

    struct Fixed(Option<f64>);

    impl Metrics for Fixed {
        fn read(&mut self, _: Metric) -> Option<f64> {
            self.0
        }
    }

    #[test]
    fn active_between_the_marks_once_it_was_at_the_middle() {
        let marks = Watermarks {
            metric: Metric::FreeMemory,
            interval_us: 10,
            high: 0.5,
            mid: 0.4,
            low: 0.2,
        };
        let mut state = WatermarkState::default();
        let mut at = |now_us, value| state.is_active(&marks, now_us, &mut Fixed(Some(value)));
        assert!(!at(0, 0.6));
        assert!(!at(10, 0.45), "not yet at the middle");
        assert!(at(20, 0.4));
        assert!(at(30, 0.45), "still at it");
        assert!(at(35, 0.9), "it is not time to read it");
        assert!(!at(40, 0.9));
        assert!(at(50, 0.3));
        assert!(!at(60, 0.1));
        assert!(WatermarkState::default().is_active(&marks, 0, &mut Fixed(None)));
    }
}
