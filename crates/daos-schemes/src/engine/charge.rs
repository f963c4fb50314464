//! What a quota has left, and where feedback sets it.

use crate::goal::Goal;
use crate::quota::Quota;
use daos_core::addr::PAGE_SIZE;
use daos_core::metrics::{Metric, Metrics};

/// Bytes of the first reset interval of a quota that feedback sets.
const FIRST_BYTES: f64 = (4 << 20) as f64;
/// Most that feedback sets a quota to, unless the scheme says less.
const MOST_BYTES: f64 = (1u64 << 40) as f64;

/// What was used of a quota in the reset interval.
#[derive(Debug, Clone, Default)]
pub(super) struct Charge {
    /// When the reset interval began; `None` before the first.
    since_us: Option<u64>,
    bytes: u64,
    time_us: f64,
    /// What feedback has set.
    goal_bytes: Option<f64>,
    /// Whether it was said already that nothing is left.
    told: bool,
}

impl Charge {
    /// Begins a new reset interval if the last one is over.
    pub(super) fn begin(
        &mut self,
        quota: &Quota,
        goal: Option<Goal>,
        now_us: u64,
        metrics: &mut dyn Metrics,
    ) {
        if self.since_us.is_some_and(|since_us| now_us < since_us.saturating_add(quota.reset_us)) {
            return;
        }
        self.goal_bytes = goal.map(|goal| {
            let most = quota.bytes.map_or(MOST_BYTES, |bytes| bytes as f64);
            let last = self.goal_bytes.unwrap_or(FIRST_BYTES);
            let reached = metrics.read(goal.metric).map(|value| reached(goal, value));
            adjusted(last, reached).clamp(PAGE_SIZE as f64, most)
        });
        *self = Self { since_us: Some(now_us), goal_bytes: self.goal_bytes, ..Self::default() };
    }

    /// Takes what was done from what is left.
    pub(super) fn add(&mut self, bytes: u64, time_us: f64) {
        self.bytes += bytes;
        self.time_us += time_us;
    }

    /// Bytes left, in whole pages.
    pub(super) fn bytes_left(&self, quota: &Quota) -> u64 {
        let most = match (quota.bytes, self.goal_bytes) {
            (limit, Some(goal)) => limit.unwrap_or(u64::MAX).min(goal as u64),
            (limit, None) => limit.unwrap_or(u64::MAX),
        };
        most.saturating_sub(self.bytes) / PAGE_SIZE * PAGE_SIZE
    }

    /// Microseconds left.
    pub(super) fn time_left_us(&self, quota: &Quota) -> f64 {
        quota.time_us.map_or(f64::INFINITY, |most| most as f64 - self.time_us)
    }

    /// Whether nothing is left, for the first time in this reset interval.
    pub(super) fn is_news(&mut self, quota: &Quota) -> bool {
        let over = self.bytes_left(quota) == 0 || self.time_left_us(quota) <= 0.0;
        over && !std::mem::replace(&mut self.told, true)
    }
}

/// How near the goal is: 1 when it is reached, more when there was too much of it.
fn reached(goal: Goal, value: f64) -> f64 {
    let ratio = |value: f64, target: f64| value / target.max(1e-9);
    match goal.metric {
        Metric::FreeMemory | Metric::MemoryPressure => ratio(value, goal.target),
        // The less of it the better.
        Metric::Resident => ratio(1.0 - value, 1.0 - goal.target),
    }
}

/// The kernel's feedback loop (`mm/damon`, "consist"): more by as much as is lacking, at
/// most twice; less by as much as there is too much of it. What can't be measured
/// changes nothing.
fn adjusted(last: f64, reached: Option<f64>) -> f64 {
    last * (2.0 - reached.unwrap_or(1.0)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(f64);

    impl Metrics for Fixed {
        fn read(&mut self, _: Metric) -> Option<f64> {
            Some(self.0)
        }
    }

    #[test]
    fn a_quota_is_full_again_in_the_next_interval() {
        let quota = Quota { bytes: Some(10 << 12), time_us: Some(500), ..Quota::default() };
        let mut charge = Charge::default();
        charge.begin(&quota, None, 7, &mut Fixed(0.0));
        assert!(!charge.is_news(&quota));
        charge.add(9 << 12, 100.0);
        assert_eq!((charge.bytes_left(&quota), charge.time_left_us(&quota)), (1 << 12, 400.0));
        charge.add(2 << 12, 0.0);
        assert_eq!(charge.bytes_left(&quota), 0);
        assert!(charge.is_news(&quota) && !charge.is_news(&quota), "told once");
        charge.begin(&quota, None, 999_999, &mut Fixed(0.0));
        assert_eq!(charge.bytes_left(&quota), 0);
        charge.begin(&quota, None, 1_000_007, &mut Fixed(0.0));
        assert_eq!(charge.bytes_left(&quota), 10 << 12);
    }

    #[test]
    fn feedback_does_more_until_the_goal_is_reached() {
        let goal = Some(Goal { metric: Metric::MemoryPressure, target: 0.001 });
        let quota = Quota::default();
        let mut charge = Charge::default();
        let mut left = |now_us: u64, pressure| {
            charge.begin(&quota, goal, now_us * 1_000_000, &mut Fixed(pressure));
            charge.bytes_left(&quota)
        };
        let first = left(1, 0.0);
        assert_eq!(left(2, 0.0), 2 * first);
        assert_eq!(left(3, 0.001), 2 * first, "reached: as it is");
        assert_eq!(left(4, 0.0015), first, "half as much again: half of it");
        assert_eq!(left(5, 0.9), PAGE_SIZE, "never nothing, or it would stay so");
    }

    #[test]
    fn less_resident_memory_is_nearer_the_goal() {
        let goal = Goal { metric: Metric::Resident, target: 0.6 };
        assert!(reached(goal, 1.0) < 1e-9);
        assert!((reached(goal, 0.6) - 1.0).abs() < 1e-9);
        assert!(reached(goal, 0.5) > 1.0);
    }
}
