//! What page tables tell of others that were armed with them and accessed as they were.
//!
//! Once all of a target was armed at once, each page table is read twice, and then not again for some seconds: that
//! took what there is. Where all pages of a table had come by the first reading, that hardly tells how often they are
//! accessed: thirty times a second or five hundred. But some were read sooner, and how many of their pages had come
//! by then tells it of those near by, too.
//!
//! Memory that is gone over comes table by table. Then some of those that were read sooner had come whole and the
//! others not at all, and of those that came later the same is true.

use super::estimate::Look;
use super::subregion::{IDLE_RATE, Subregion};
use super::target::TargetSubregions;
use daos_core::pages::Pages;

/// Accesses from which on a table tells for itself. Chosen: where all came by one reading its rate rests on two.
const ENOUGH: f64 = 4.0;
/// How many of the nearest tell of a table. Chosen: of blocks that are used more or less often, most are larger.
const NEAREST: usize = 16;
/// The part of the variance of shares that are all or none from which on pages are taken to come together. Chosen: of 50
/// pages that come at random times it is a fiftieth.
const TOGETHER: f64 = 0.5;
/// So many times as many accesses as in another moment are of one in which all was used. Chosen: several hundred pages tell.
const UNUSUAL: f64 = 2.0;

/// What page tables that were armed with all others tell of them.
#[derive(Debug, Default)]
pub(super) struct Peers {
    /// Those that were read soon, by rising index, and what these readings were.
    soon: Vec<(usize, Look)>,
    /// Those that may learn, and whether all of theirs had come by the first reading.
    learning: Vec<(usize, bool)>,
    /// The longest time to that, in seconds.
    first_wait: f64,
}

impl Peers {
    /// Those that tell of others, by index, where some learn.
    pub fn telling(&self) -> impl Iterator<Item = usize> {
        let learns = !self.learning.is_empty();
        self.soon.iter().map(|(at, _)| *at).filter(move |_| learns)
    }
}

impl TargetSubregions {
    /// The page tables of which all had been armed at `armed_us`. Some were read within `soon_us` microseconds, all for
    /// the first time within `first_us`.
    pub fn peers(&self, armed_us: u64, soon_us: u64, first_us: u64) -> Peers {
        let has_counts = |s: &Subregion| {
            s.table.is_some() && s.counts.are_since(armed_us) && s.estimate.rate() >= IDLE_RATE
        };
        let mut peers = Peers::default();
        for (at, s) in self.subregions.iter().enumerate().filter(|(_, s)| has_counts(s)) {
            let is_first = s.counts.all_came_by(first_us);
            // Where most had come they may not have been read with all others.
            let tells = |look: &Look| is_first == Some(true) || 2.0 * look.accessed > look.waiting;
            peers.soon.extend(s.counts.look_by(soon_us).filter(tells).map(|look| (at, look)));
            if is_first == Some(true) {
                let wait = s.counts.look_by(first_us).map(|look| look.exposure);
                peers.first_wait = peers.first_wait.max(wait.unwrap_or(0.0));
            }
            let may_learn = !s.estimate.rests_on(ENOUGH);
            peers.learning.extend(is_first.filter(|_| may_learn).map(|is_first| (at, is_first)));
        }
        peers
    }

    /// Lets page tables learn from each other. Those that tell of others were armed in part at `again_us` once more, and
    /// read; 0 if they were not.
    pub fn learn_from_peers(&mut self, peers: &Peers, again_us: u64) {
        let soon = &peers.soon;
        if soon.is_empty() {
            return;
        }
        let again = soon.iter().filter_map(|(at, _)| {
            let subregion = &self.subregions[*at];
            let is_again = again_us > 0 && subregion.armed.at_us >= again_us;
            Some((*at, is_again.then(|| subregion.last_look())??))
        });
        let again: Vec<_> = again.collect();
        // All came within that.
        let passes = passes(soon).filter(|_| peers.first_wait > 0.0);
        let passes = passes.map(|rate| rate.max(1.0 / peers.first_wait));
        let is_usual = is_usual(soon, &again);
        for &(at, is_first) in &peers.learning {
            let at_random = || (is_first && is_usual).then(|| rate_of(nearest(soon, at)));
            if let Some(rate) = passes.or_else(at_random).filter(|rate| *rate >= IDLE_RATE) {
                self.subregions[at].learn(rate);
            }
        }
    }
}

impl Subregion {
    /// What is known of the pages in use that were armed last.
    fn last_look(&self) -> Option<Look> {
        let in_use = Pages::range(self.armed.from, self.armed.to).and(self.table.as_ref()?.used());
        let (waiting, wait) = (in_use.len(), in_use.and(&self.waiting).len());
        let exposure = self.armed.read_us.saturating_sub(self.armed.at_us) as f64 / 1e6;
        let accessed = f64::from(waiting - wait);
        (waiting > 0 && exposure > 0.0).then_some(Look {
            waiting: f64::from(waiting),
            accessed,
            exposure,
        })
    }
}

/// Whether as much was accessed in a moment as in another one, or there was none.
fn is_usual(looks: &[(usize, Look)], again: &[(usize, Look)]) -> bool {
    again.is_empty() || rate_of(looks) < UNUSUAL * rate_of(again)
}

/// How often a second they are gone over, if they are.
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

/// Accesses a second, if they come at random times.
fn rate_of(looks: &[(usize, Look)]) -> f64 {
    let sum = |of: fn(&Look) -> f64| looks.iter().map(|(_, look)| of(look)).sum::<f64>();
    let waiting = sum(|look| look.waiting);
    let exposure = sum(|look| look.waiting * look.exposure) / waiting;
    Look { waiting, accessed: sum(|look| look.accessed), exposure }.rate()
}

/// Those nearest to an index; `looks` are by rising ones.
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
    fn a_moment_in_which_all_is_used_is_told_from_what_is_used_all_the_time() {
        let (many, as_many, few) = (looks(|_| 30.0), looks(|_| 25.0), looks(|_| 4.0));
        assert!(is_usual(&many, &as_many) && is_usual(&few, &many) && is_usual(&many, &[]));
        assert!(!is_usual(&many, &few) && !is_usual(&many, &looks(|_| 0.0)));
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
