//! What a quota has left, where feedback sets it, and what comes first when it binds.

use crate::scheme::{Goal, Quota, Weights};
use daos_core::{HUGE_PAGE_SIZE, Metric, Metrics, PAGE_SIZE};

/// Bytes of the first reset interval of a quota that feedback sets. Chosen: little enough
/// to do no harm, from where a goal is reached by doubling in some seconds.
const FIRST_BYTES: f64 = (4 << 20) as f64;
/// Most that feedback sets a quota to, unless the scheme says less. Chosen: more than any
/// scheme can act on in a reset interval, so that the feedback stays finite.
const MOST_BYTES: f64 = (1u64 << 40) as f64;
/// Binary digits of the age in seconds from which on it counts no more. DAMOS's
/// `DAMON_MAX_AGE_IN_LOG`.
const MOST_AGE_LOG2: f64 = 32.0;
/// Binary digits of the size in pages from which on it counts no more. Chosen: larger than
/// any region is, 4 PiB.
const MOST_PAGES_LOG2: f64 = 40.0;

/// What was used of a quota in the reset interval.
#[derive(Debug, Clone, Default)]
pub(super) struct Charge {
    /// When the reset interval began; `None` before the first.
    since_us: Option<u64>,
    bytes: u64,
    time_us: f64,
    /// What feedback has set.
    goal_bytes: Option<f64>,
    /// How near the goal was when the interval began.
    reached: Option<f64>,
    /// How many bytes have to be acted on to get from nothing to the goal, as the last interval
    /// told.
    whole_way_bytes: Option<f64>,
    /// How many more bytes it takes from where it is.
    lacking_bytes: Option<f64>,
    /// Whether it was counted already that nothing is left.
    counted: bool,
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
        let mut next = Self {
            since_us: Some(now_us),
            goal_bytes: self.goal_bytes,
            reached: self.reached,
            whole_way_bytes: self.whole_way_bytes,
            // What was done since then is not lacking any more.
            lacking_bytes: self.lacking_bytes.map(|bytes| (bytes - self.bytes as f64).max(0.0)),
            ..Self::default()
        };
        if let Some(goal) = goal {
            let now = metrics.read(goal.metric).map(|value| reached(goal, value));
            let adds_up = adds_up(goal.metric);
            if let (Some(now), true) = (now, adds_up) {
                next.reached = Some(now);
                next.whole_way_bytes = self.whole_way(now);
                let left = (1.0 - now).max(0.0);
                let lacking = |bytes: f64| (bytes * left).max(HUGE_PAGE_SIZE as f64);
                next.lacking_bytes =
                    if left > 0.0 { next.whole_way_bytes.map(lacking) } else { Some(0.0) };
            }
            let most = quota.bytes.map_or(MOST_BYTES, |bytes| bytes as f64);
            let last = self.goal_bytes.unwrap_or(FIRST_BYTES);
            // For a metric that adds up, what was done stays. So the quota is not lowered below
            // what was done when the goal is exceeded, and not raised where less could be done than
            // it allowed.
            let near = if adds_up { now.map(|now| now.min(1.0)) } else { now };
            let done = if adds_up { self.bytes as f64 } else { last };
            let last = last.min(done.max(FIRST_BYTES));
            next.goal_bytes = Some(adjusted(last, near).clamp(PAGE_SIZE as f64, most));
        }
        *self = next;
    }

    /// How many bytes have to be acted on to get from nothing to the goal, by how much nearer it
    /// came in the last interval for what was done; as was known before if nothing was done. `None`
    /// if it came no nearer: others used up what was gained. `now`: how near it is, 1 if reached.
    fn whole_way(&self, now: f64) -> Option<f64> {
        let (Some(before), 1..) = (self.reached, self.bytes) else { return self.whole_way_bytes };
        let came = now - before;
        (came > 0.0).then(|| self.bytes as f64 / came)
    }

    /// Takes what was done from what is left.
    pub(super) fn add(&mut self, bytes: u64, time_us: f64) {
        self.bytes += bytes;
        self.time_us += time_us;
    }

    /// Bytes left, in whole pages.
    pub(super) fn bytes_left(&self, quota: &Quota) -> u64 {
        let by_goal = [self.goal_bytes, self.lacking_bytes].into_iter().flatten();
        let most = by_goal.map(|bytes| bytes as u64).chain(quota.bytes).min().unwrap_or(u64::MAX);
        most.saturating_sub(self.bytes) / PAGE_SIZE * PAGE_SIZE
    }

    /// Microseconds left.
    pub(super) fn time_left_us(&self, quota: &Quota) -> f64 {
        quota.time_us.map_or(f64::INFINITY, |most| most as f64 - self.time_us)
    }

    /// Whether nothing is left of it though its goal is not reached; true once in a reset interval,
    /// so that it is counted once.
    pub(super) fn newly_exhausted(&mut self, quota: &Quota) -> bool {
        let over = self.bytes_left(quota) == 0 || self.time_left_us(quota) <= 0.0;
        let is_reached = self.lacking_bytes == Some(0.0);
        over && !is_reached && !std::mem::replace(&mut self.counted, true)
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

/// Whether what is done for it adds up: it stays reached though no more is done.
fn adds_up(metric: Metric) -> bool {
    matches!(metric, Metric::Resident | Metric::FreeMemory)
}

/// The kernel's feedback loop (`mm/damon`, "consist"): more by as much as is lacking, at
/// most twice; less by as much as there is too much of it. What can't be measured
/// changes nothing.
fn adjusted(last: f64, reached: Option<f64>) -> f64 {
    last * (2.0 - reached.unwrap_or(1.0)).max(0.0)
}

/// The priority of some memory, 0 to 1: how much its size, access rate and age speak for
/// acting on it first. Like the kernel's DAMOS, an age counts by its logarithm, and for
/// memory that is not accessed as coldness; unlike there, the size counts as well.
pub(super) fn priority(
    weights: &Weights,
    hot_first: bool,
    bytes: u64,
    rate: f64,
    age_us: u64,
) -> f64 {
    let log2 = |value: u64| f64::from(u64::BITS - value.leading_zeros());
    let long = (log2(age_us / 1_000_000) / MOST_AGE_LOG2).min(1.0);
    let settled = if rate > 0.0 { 0.5 + long / 2.0 } else { 0.5 - long / 2.0 };
    let (by_rate, by_age) = if hot_first { (rate, settled) } else { (1.0 - rate, 1.0 - settled) };
    let by_size = (log2(bytes / PAGE_SIZE) / MOST_PAGES_LOG2).min(1.0);
    let Weights { size, rate, age } = *weights;
    let sum = size + rate + age;
    if sum > 0.0 { (size * by_size + rate * by_rate + age * by_age) / sum } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    struct Fixed(f64);

    impl Metrics for Fixed {
        fn read(&mut self, _: Metric) -> Option<f64> {
            (!self.0.is_nan()).then_some(self.0)
        }
    }

    #[test]
    fn a_quota_is_full_again_in_the_next_interval() {
        let quota = Quota { bytes: Some(10 << 12), time_us: Some(500), ..Quota::default() };
        let mut charge = Charge::default();
        charge.begin(&quota, None, 7, &mut Fixed(0.0));
        assert!(!charge.newly_exhausted(&quota));
        charge.add(9 << 12, 100.0);
        assert_eq!((charge.bytes_left(&quota), charge.time_left_us(&quota)), (1 << 12, 400.0));
        charge.add(2 << 12, 0.0);
        assert_eq!(charge.bytes_left(&quota), 0);
        assert!(charge.newly_exhausted(&quota) && !charge.newly_exhausted(&quota), "said once");
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

    /// What is paged out of a thousand mebibytes is taken from what is resident.
    #[test]
    fn what_adds_up_ends_where_the_goal_is_reached() {
        const ALL: u64 = 1000 << 20;
        for (target, most) in
            [(0.5, None), (0.9, None), (0.5, Some(64 << 20)), (0.8, Some(8 << 20))]
        {
            let goal = Some(Goal { metric: Metric::Resident, target });
            let quota = Quota { bytes: most, ..Quota::default() };
            let mut charge = Charge::default();
            // Nothing is idle for long enough at first.
            for second in 1..60 {
                charge.begin(&quota, goal, second * SECOND, &mut Fixed(1.0));
            }
            let mut after = |mut resident: u64, seconds: std::ops::Range<u64>| {
                for second in seconds {
                    let share = resident as f64 / ALL as f64;
                    charge.begin(&quota, goal, second * SECOND, &mut Fixed(share));
                    let bytes = charge.bytes_left(&quota);
                    charge.add(bytes, 0.0);
                    resident -= bytes;
                }
                let share = resident as f64 / ALL as f64;
                assert!((share - target).abs() < 0.01, "{share} of {target}, {most:?} at a time");
                resident
            };
            let resident = after(ALL, 60..200);
            // What comes back is paged out again.
            after(resident + (100 << 20), 200..300);
        }
    }

    #[test]
    fn a_goal_is_gone_on_with_whatever_others_do_to_the_metric() {
        let goal = Some(Goal { metric: Metric::FreeMemory, target: 0.5 });
        let quota = Quota::default();
        let mut charge = Charge::default();
        let mut left = |second: u64, free: f64, done: u64| {
            charge.begin(&quota, goal, second * SECOND, &mut Fixed(free));
            let left = charge.bytes_left(&quota);
            charge.add(done.min(left), 0.0);
            left
        };
        assert!(left(1, 0.1, PAGE_SIZE) > PAGE_SIZE);
        // Another program ends, and what was done seems to have brought half of the way.
        assert!(left(2, 0.4, PAGE_SIZE) >= PAGE_SIZE);
        // Others take all of it back.
        assert!(left(3, 0.1, PAGE_SIZE) > PAGE_SIZE);
        assert_eq!(left(4, 0.6, 0), 0);
        // It can't be measured for once, and then is as it was.
        assert_eq!(left(5, f64::NAN, 0), 0);
        assert!(left(6, 0.1, PAGE_SIZE) >= PAGE_SIZE);
        assert!(
            left(7, 0.1, PAGE_SIZE) > PAGE_SIZE,
            "what it took for little is not believed for long"
        );
    }

    #[test]
    fn less_resident_memory_is_nearer_the_goal() {
        let goal = Goal { metric: Metric::Resident, target: 0.6 };
        assert!(reached(goal, 1.0) < 1e-9);
        assert!((reached(goal, 0.6) - 1.0).abs() < 1e-9);
        assert!(reached(goal, 0.5) > 1.0);
    }

    #[test]
    fn the_coldest_or_the_hottest_first() {
        let cold = |rate, age| priority(&Weights::default(), false, PAGE_SIZE, rate, age);
        let hot = |rate, age| priority(&Weights::default(), true, PAGE_SIZE, rate, age);
        assert!(cold(0.0, 60 * SECOND) > cold(0.0, 5 * SECOND));
        assert!(cold(0.0, 5 * SECOND) > cold(0.1, 5 * SECOND));
        assert!(cold(0.1, SECOND) > cold(0.1, 60 * SECOND), "it has been in use for longer");
        assert!(hot(0.9, SECOND) > hot(0.5, SECOND));
        assert!(hot(0.5, 60 * SECOND) > hot(0.5, SECOND));
        assert!(hot(0.1, SECOND) > hot(0.0, SECOND));
        let large = Weights { size: 1.0, rate: 0.0, age: 0.0 };
        let sized = |bytes| priority(&large, false, bytes, 0.5, SECOND);
        assert!(sized(1 << 30) > sized(1 << 20));
        let none = Weights { size: 0.0, rate: 0.0, age: 0.0 };
        assert_eq!(priority(&none, true, 0, 0.3, 9), 1.0);
    }
}
