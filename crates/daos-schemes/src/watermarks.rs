//! When a scheme sleeps: by the state of the system.

use daos_core::metrics::{Metric, Metrics};

/// The scheme sleeps while the metric is above `high` or below `low`, and until it has
/// come back to `mid` or below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watermarks {
    /// What is looked at.
    pub metric: Metric,
    /// How often, in microseconds.
    pub interval_us: u64,
    /// Above: nothing to be done.
    pub high: f64,
    /// At or below: begin.
    pub mid: f64,
    /// Below: too late for this, leave it to others.
    pub low: f64,
}

/// Whether a scheme is awake, and when that was looked at last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Watch {
    awake: bool,
    looked_us: Option<u64>,
}

impl Watch {
    /// Looks again if it is time to. A metric that can't be read keeps nobody from work.
    pub(super) fn is_awake(
        &mut self,
        marks: &Watermarks,
        now_us: u64,
        metrics: &mut dyn Metrics,
    ) -> bool {
        let due = self
            .looked_us
            .is_none_or(|looked_us| now_us >= looked_us.saturating_add(marks.interval_us));
        if due {
            self.looked_us = Some(now_us);
            self.awake = match metrics.read(marks.metric) {
                None => true,
                Some(value) if value > marks.high || value < marks.low => false,
                Some(value) => self.awake || value <= marks.mid,
            };
        }
        self.awake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Option<f64>);

    impl Metrics for Fixed {
        fn read(&mut self, _: Metric) -> Option<f64> {
            self.0
        }
    }

    #[test]
    fn awake_between_the_marks_once_it_was_at_the_middle() {
        let marks = Watermarks {
            metric: Metric::FreeMemory,
            interval_us: 10,
            high: 0.5,
            mid: 0.4,
            low: 0.2,
        };
        let mut watch = Watch::default();
        let mut at = |now_us, value| watch.is_awake(&marks, now_us, &mut Fixed(Some(value)));
        assert!(!at(0, 0.6));
        assert!(!at(10, 0.45), "not yet at the middle");
        assert!(at(20, 0.4));
        assert!(at(30, 0.45), "still at it");
        assert!(at(35, 0.9), "it is not time to look");
        assert!(!at(40, 0.9));
        assert!(at(50, 0.3));
        assert!(!at(60, 0.1));
        assert!(Watch::default().is_awake(&marks, 0, &mut Fixed(None)));
    }
}
