//! The ten seconds in which monitoring cost the most: what a bound on it is held to.

use super::Moment;
use std::collections::VecDeque;

/// A bound holds over any span of this length, in microseconds.
pub const SPAN_US: u64 = 10_000_000;

/// Looks at every span of whole snapshots that is no shorter than ten seconds, and from its
/// beginning, or to its end, no longer than it has to be for that. Of a shorter record, at all
/// of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worst {
    /// Of the snapshots at hand: start, end and cost, in microseconds.
    span: VecDeque<(u64, u64, u64)>,
    cost_us: u64,
    /// Whether a span was long enough.
    complete: bool,
    share: Option<f64>,
}

impl Worst {
    /// Takes in the next snapshot.
    pub fn add(&mut self, moment: &Moment) {
        let cost_us = moment.cpu_us.saturating_add(moment.target_us);
        let start_us = moment.end_us.saturating_sub(moment.length_us);
        let before_us = self.span.back().map(|last| last.1.saturating_sub(self.span[0].0));
        self.span.push_back((start_us, moment.end_us, cost_us));
        self.cost_us = self.cost_us.saturating_add(cost_us);
        let mut is_new = before_us.is_none_or(|length_us| length_us < SPAN_US);
        while self
            .span
            .get(1)
            .is_some_and(|second| moment.end_us.saturating_sub(second.0) >= SPAN_US)
        {
            // For its end it is too long, but not for its beginning.
            if is_new {
                self.look(moment.end_us);
            }
            let first = self.span.pop_front();
            self.cost_us -= first.map_or(0, |first| first.2).min(self.cost_us);
            is_new = true;
        }
        self.look(moment.end_us);
    }

    /// Looks at the span at hand, which ends at `end_us`.
    fn look(&mut self, end_us: u64) {
        let length_us = end_us.saturating_sub(self.span[0].0);
        let complete = length_us >= SPAN_US;
        if length_us == 0 || (self.complete && !complete) {
            return;
        }
        let share = self.cost_us as f64 / length_us as f64;
        // A part of ten seconds says nothing once there are ten seconds.
        let before = self.share.filter(|_| complete == self.complete && complete);
        self.share = Some(before.map_or(share, |before| before.max(share)));
        self.complete = complete;
    }

    /// What monitoring cost then, its targets' side included, as a share of one CPU;
    /// `None` if no time went by.
    pub fn share(&self) -> Option<f64> {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Snapshots of these lengths and costs, one behind the other.
    fn moments(of: &[(u64, u64)]) -> Vec<Moment> {
        let mut end_us = 0;
        let moment = |&(length_us, cpu_us): &(u64, u64)| {
            end_us += length_us;
            Moment {
                end_us,
                length_us,
                cpu_us: cpu_us / 2,
                target_us: cpu_us - cpu_us / 2,
                ..Moment::default()
            }
        };
        of.iter().map(moment).collect()
    }

    fn worst(of: &[(u64, u64)]) -> Option<f64> {
        let mut worst = Worst::default();
        moments(of).iter().for_each(|moment| worst.add(moment));
        worst.share()
    }

    const S: u64 = 1_000_000;

    #[test]
    fn a_burst_counts_over_ten_seconds() {
        let mut of = vec![(S, 0); 40];
        assert_eq!(worst(&of), Some(0.0));
        of[17].1 = S;
        of[26].1 = S;
        of[27].1 = S;
        assert_eq!(worst(&of), Some(0.2));
        assert_eq!(worst(&of[17..19]), Some(0.5), "a short record counts whole");
        assert_eq!(worst(&of[17..28]), Some(0.2), "but not once it is long enough");
        assert_eq!(worst(&[]), None);
        assert_eq!(worst(&[(0, 5)]), None);
        assert_eq!(worst(&[(20 * S, S)]), Some(0.05));
        let mut short_first = vec![(S / 10, S)];
        short_first.extend([(4 * S, 0); 10]);
        assert_eq!(worst(&short_first), Some(1.0 / 12.1), "from the first on");
    }

    proptest! {
        #[test]
        fn it_is_the_worst_of_all_spans(of in prop::collection::vec((S..4 * S, 0..S), 10..40)) {
            let moments = moments(&of);
            let end = |at: usize| moments[at].end_us;
            let start = |at: usize| end(at) - moments[at].length_us;
            let is_long = |first, last| end(last) >= start(first) + SPAN_US;
            let share = |first: usize, last: usize| {
                let cost: u64 = of[first..=last].iter().map(|moment| moment.1).sum();
                cost as f64 / (end(last) - start(first)) as f64
            };
            let mut most = 0.0_f64;
            for first in 0..of.len() {
                if let Some(last) = (first..of.len()).find(|&last| is_long(first, last)) {
                    most = most.max(share(first, last));
                }
            }
            for last in 0..of.len() {
                if let Some(first) = (0..=last).rev().find(|&first| is_long(first, last)) {
                    most = most.max(share(first, last));
                }
            }
            prop_assert_eq!(worst(&of), Some(most));
        }
    }
}
