//! What page tables tell of others that were armed with them and accessed as they were.
//!
//! Once all of a target was armed at once, each page table is read twice, and then not again for
//! some seconds: the budget is used up. If all pages of a table had *come* (been accessed) by the
//! first reading, this hardly tells how often they are accessed: thirty times a second or five
//! hundred. But some tables were read sooner. How many of their pages had come by then tells how
//! often those of tables near by are accessed, too.
//!
//! Swept memory comes table by table. Then some of the tables that were read sooner had come as a
//! whole and the others not at all, and the same holds for tables that came later.

use super::evidence::Look;
use super::subregion::{IDLE_RATE, Subregion};
use super::target::TargetSubregions;

/// Accesses from which on a table's own estimate is enough. Chosen: where all pages came by one
/// reading, the rate rests on two.
const ENOUGH: f64 = 4.0;
/// How many of the nearest tables tell of a table. Chosen: most blocks that are used more or less
/// often are larger.
const NEAREST: usize = 16;
/// Memory is swept if the variance of the shares of pages that came is more than this part of what
/// it would be if each share were all or none. Chosen: of 50 pages that come at random times it is
/// a fiftieth.
const TOGETHER: f64 = 0.5;

impl TargetSubregions {
    /// Lets page tables that were all armed at `armed_us` learn from each other. Some were read
    /// within `soon_us` microseconds, all for the first time within `first_us`.
    pub fn learn_from_peers(&mut self, armed_us: u64, soon_us: u64, first_us: u64) {
        let has_counts = |s: &Subregion| {
            s.table.is_some() && s.counts.are_since(armed_us) && s.estimate.rate() >= IDLE_RATE
        };
        let all_came_first =
            |s: &Subregion| if has_counts(s) { s.counts.all_came_by(first_us) } else { None };
        let came_soon = |s: &Subregion| {
            let look = s.counts.look_by(soon_us).filter(|_| has_counts(s))?;
            // If most had come, this look tells although the table may have missed the first
            // reading of all.
            let is_first = all_came_first(s) == Some(true) || 2.0 * look.accessed > look.waiting;
            is_first.then_some(look)
        };
        let subregions = || self.subregions.iter().enumerate();
        let soon: Vec<_> = subregions().filter_map(|(at, s)| Some((at, came_soon(s)?))).collect();
        if soon.is_empty() {
            return;
        }
        let first = subregions().filter(|(_, s)| all_came_first(s) == Some(true));
        let waits = first.filter_map(|(_, s)| s.counts.look_by(first_us)).map(|look| look.exposure);
        // All came within the longest wait: a lower bound on how often a sweep comes by.
        let once = waits.max_by(f64::total_cmp).map(|wait| 1.0 / wait);
        let passes = passes(&soon).zip(once).map(|(rate, once)| rate.max(once));
        for (at, subregion) in self.subregions.iter_mut().enumerate() {
            let Some(is_first) = all_came_first(subregion) else { continue };
            if subregion.estimate.rests_on(ENOUGH) {
                continue;
            }
            let at_random = || is_first.then(|| rate_of(nearest(&soon, at)));
            if let Some(rate) = passes.or_else(at_random).filter(|rate| *rate >= IDLE_RATE) {
                subregion.learn(rate);
            }
        }
    }
}

/// How often a second a sweep comes by these tables, if they are swept.
fn passes(looks: &[(usize, Look)]) -> Option<f64> {
    let mean_of = |of: &dyn Fn(&Look) -> f64| {
        looks.iter().map(|(_, look)| of(look)).sum::<f64>() / looks.len() as f64
    };
    let share = |look: &Look| look.accessed / look.waiting;
    let mean = mean_of(&share);
    let variance = mean_of(&|look| (share(look) - mean).powi(2));
    let exposure = mean_of(&|look| look.exposure);
    (variance > TOGETHER * mean * (1.0 - mean)).then_some(mean / exposure)
}

/// Accesses a second of these tables' pages, if they come at random times.
fn rate_of(looks: &[(usize, Look)]) -> f64 {
    let sum = |of: fn(&Look) -> f64| looks.iter().map(|(_, look)| of(look)).sum::<f64>();
    let waiting = sum(|look| look.waiting);
    let exposure = sum(|look| look.waiting * look.exposure) / waiting;
    Look { waiting, accessed: sum(|look| look.accessed), exposure }.rate()
}

/// The looks at the tables nearest to an index. `looks` are sorted by index.
fn nearest(looks: &[(usize, Look)], to: usize) -> &[(usize, Look)] {
    let next = looks.partition_point(|(at, _)| *at < to);
    let from = next.saturating_sub(NEAREST / 2).min(looks.len().saturating_sub(NEAREST));
    &looks[from..looks.len().min(from + NEAREST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(accessed: impl Fn(usize) -> f64) -> Vec<(usize, Look)> {
        let look = |at| Look { waiting: 50.0, accessed: accessed(at), exposure: 0.005 };
        (0..100).map(|at| (3 * at, look(at))).collect()
    }

    fn is_near(rate: f64, expected: f64) -> bool {
        (rate / expected - 1.0).abs() < 0.05
    }

    #[test]
    fn those_nearest_tell() {
        // Hardly any came by then below, most above.
        let looks = looks(|at| if at < 40 { 2.0 } else { 45.0 });
        let told = |at: usize| rate_of(nearest(&looks, at));
        assert!(is_near(told(10), 8.2) && is_near(told(250), 460.0), "{}, {}", told(10), told(250));
        assert!(is_near(rate_of(nearest(&looks[..1], 300)), 8.2));
    }

    #[test]
    fn memory_that_is_gone_over_is_told_from_what_is_used_at_random_times() {
        // One in ten came whole within five milliseconds.
        let swept = passes(&looks(|at| if (20..30).contains(&at) { 50.0 } else { 0.0 }));
        assert!(is_near(swept.unwrap(), 20.0), "{swept:?}");
        assert_eq!(passes(&looks(|at| [3.0, 5.0, 9.0, 4.0, 6.0][at % 5])), None);
        assert_eq!(passes(&looks(|_| 0.0)), None);
    }
}
