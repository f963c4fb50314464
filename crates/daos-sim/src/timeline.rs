//! When which phase runs. After the last, the first begins again, without end:
//! a simulation may last as long as it likes.

use daos_workload::Config;

/// The phases of a configuration, laid out in time from 0.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    /// When each phase starts in a cycle, and, at the end, how long a cycle is.
    starts_us: Vec<u64>,
}

/// A point in time, as seen by the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// How often all phases have run before.
    pub cycle: u64,
    /// The phase that is running.
    pub phase: usize,
    /// How long it has been running, in microseconds.
    pub offset_us: u64,
}

impl Timeline {
    pub fn new(config: &Config) -> Self {
        let mut end_us = 0;
        let mut starts_us = vec![0];
        for phase in &config.phases {
            end_us += phase.duration_us();
            starts_us.push(end_us);
        }
        Self { starts_us }
    }

    pub fn at(&self, time_us: u64) -> Moment {
        let cycle_us = self.starts_us[self.starts_us.len() - 1];
        let in_cycle_us = time_us % cycle_us;
        let phase = self.starts_us.partition_point(|start| *start <= in_cycle_us) - 1;
        let offset_us = in_cycle_us - self.starts_us[phase];
        Moment { cycle: time_us / cycle_us, phase, offset_us }
    }

    pub fn duration_us(&self, phase: usize) -> u64 {
        self.starts_us[phase + 1] - self.starts_us[phase]
    }

    /// How long `phase` ran from `from` to `to`, in microseconds.
    pub fn time_in(&self, phase: usize, from: Moment, to: Moment) -> u64 {
        let until = |m: Moment| {
            let this_cycle = match phase.cmp(&m.phase) {
                std::cmp::Ordering::Less => self.duration_us(phase),
                std::cmp::Ordering::Equal => m.offset_us,
                std::cmp::Ordering::Greater => 0,
            };
            m.cycle * self.duration_us(phase) + this_cycle
        };
        until(to).saturating_sub(until(from))
    }

    /// The parts of `phase`'s runs that lie between `from` and `to`, as times
    /// since the start of that run. When several whole runs do, one stands for
    /// all of them: they are the same.
    pub fn runs(&self, phase: usize, from: Moment, to: Moment) -> impl Iterator<Item = (u64, u64)> {
        let end_us = self.duration_us(phase);
        let cycles = [
            Some(from.cycle),
            (from.cycle + 1 < to.cycle).then_some(from.cycle + 1),
            (from.cycle < to.cycle).then_some(to.cycle),
        ];
        cycles.into_iter().flatten().filter_map(move |cycle| {
            let clip = |m: Moment| match (cycle, phase).cmp(&(m.cycle, m.phase)) {
                std::cmp::Ordering::Less => end_us,
                std::cmp::Ordering::Equal => m.offset_us,
                std::cmp::Ordering::Greater => 0,
            };
            let (start, end) = (clip(from), clip(to));
            (start < end).then_some((start, end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        Timeline::new(&Config::parse("t", "a, 1M\n\none\n10\n\ntwo\n20\n").unwrap())
    }

    #[test]
    fn phases_come_round_again() {
        let t = timeline();
        assert_eq!(t.at(0), Moment { cycle: 0, phase: 0, offset_us: 0 });
        assert_eq!(t.at(9_999), Moment { cycle: 0, phase: 0, offset_us: 9_999 });
        assert_eq!(t.at(10_000), Moment { cycle: 0, phase: 1, offset_us: 0 });
        assert_eq!(t.at(65_000), Moment { cycle: 2, phase: 0, offset_us: 5_000 });
    }

    #[test]
    fn time_is_shared_out_between_the_phases() {
        let t = timeline();
        let (from, to) = (t.at(5_000), t.at(95_000));
        assert_eq!((t.time_in(0, from, to), t.time_in(1, from, to)), (30_000, 60_000));
    }

    #[test]
    fn runs_are_the_parts_between_two_moments() {
        let t = timeline();
        let runs = |phase, from, to| t.runs(phase, t.at(from), t.at(to)).collect::<Vec<_>>();
        assert_eq!(runs(0, 2_000, 3_000), [(2_000, 3_000)]);
        assert_eq!(runs(0, 2_000, 20_000), [(2_000, 10_000)]);
        assert_eq!(runs(0, 12_000, 20_000), []);
        assert_eq!(runs(1, 2_000, 20_000), [(0, 10_000)]);
        assert_eq!(runs(0, 5_000, 95_000), [(5_000, 10_000), (0, 10_000), (0, 5_000)]);
        assert_eq!(runs(1, 5_000, 35_000), [(0, 20_000)]);
    }
}
