//! Whether aggregation intervals stayed as they were asked for.

use crate::cli;
use daos_core::Snapshot;
use daos_core::units::display;

/// Counts the aggregation intervals that differ from the one asked for.
#[derive(Debug, Default)]
pub struct Intervals {
    /// As asked for, in whole ticks, in microseconds.
    asked_us: u64,
    max_overhead: Option<f64>,
    automatic: bool,
    snapshots: u64,
    changed: u64,
    shortest_us: Option<u64>,
    longest_us: u64,
}

impl Intervals {
    /// Of a recording that begins as `args` ask.
    pub fn new(args: &cli::Looking) -> Self {
        Self {
            asked_us: args.attrs().in_whole_ticks().aggregation_us,
            max_overhead: args.max_overhead,
            automatic: args.auto_intervals,
            ..Self::default()
        }
    }

    /// Takes in one more snapshot.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let us = snapshot.aggregation_us;
        self.snapshots += 1;
        self.changed += u64::from(us != self.asked_us);
        self.shortest_us = Some(self.shortest_us.map_or(us, |shortest| shortest.min(us)));
        self.longest_us = self.longest_us.max(us);
    }

    /// What there is to tell; nothing if all were as asked for.
    pub fn tell(&self) -> Option<String> {
        let shortest_us = self.shortest_us.filter(|_| self.changed > 0)?;
        let [shortest, longest] = [shortest_us, self.longest_us].map(display::duration);
        if self.automatic {
            return Some(format!(
                "chose aggregation intervals of {shortest} to {longest} to fit the workload"
            ));
        }
        let bound = match self.max_overhead {
            Some(share) => format!("the bound of {} of one CPU", display::percent(share)),
            None => "the monitor's own bound on its cost".to_owned(),
        };
        Some(format!(
            "stretched {} of {} intervals to keep {bound}: to {longest} at most, instead of {}",
            self.changed,
            self.snapshots,
            display::duration(self.asked_us)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(start: Intervals, intervals_ms: &[u64]) -> Option<String> {
        let mut intervals = Intervals { asked_us: 100_000, ..start };
        for ms in intervals_ms {
            intervals.add(&Snapshot { aggregation_us: ms * 1000, ..Snapshot::default() });
        }
        intervals.tell()
    }

    #[test]
    fn intervals_as_asked_for_are_no_news() {
        assert_eq!(told(Intervals::default(), &[100, 100]), None);
        assert_eq!(told(Intervals::default(), &[]), None);
    }

    #[test]
    fn stretched_and_chosen_intervals_are_told() {
        let bound = Intervals { max_overhead: Some(0.005), ..Intervals::default() };
        assert_eq!(
            told(bound, &[100, 200, 400, 100]).unwrap(),
            "stretched 2 of 4 intervals to keep the bound of 0.5 % of one CPU: \
             to 400 ms at most, instead of 100 ms"
        );
        let own = told(Intervals::default(), &[200]).unwrap();
        assert!(own.contains("1 of 1 intervals to keep the monitor's own bound"), "{own}");
        let automatic = Intervals { automatic: true, ..Intervals::default() };
        assert_eq!(
            told(automatic, &[50, 1000]).unwrap(),
            "chose aggregation intervals of 50 ms to 1 s to fit the workload"
        );
    }
}
