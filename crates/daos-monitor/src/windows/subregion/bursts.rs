//! Use that comes in bursts: memory that is used for a moment, again and again, is in use, though
//! mostly nobody accesses it at a given moment.

/// Bursts that begin further apart than this count each by itself, in microseconds. Chosen: as long
/// as memory has to be idle for the seeds' reclaim scheme.
const MOST_APART_US: u64 = 5_000_000;
/// Of bursts that begin closer together than this some are missed between two looks, so it is not
/// known how often they come; in microseconds. Chosen: three rounds, as a rule.
pub(super) const LEAST_APART_US: u64 = 300_000;
/// A burst takes no more than one part in this many of the time to the next one. Chosen.
const PART: u64 = 2;
/// Use begins where memory turns out to be accessed more than this many times as often as it was.
/// Chosen.
const TIMES_AS_OFTEN: f64 = 4.0;

/// When use began and ended, and how far apart such bursts are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in super::super) struct Bursts {
    /// When the last burst began; 0 if there was none.
    begun_us: u64,
    /// When it ended; 0 while it goes on.
    ended_us: u64,
    /// From the beginning of the burst before to that of the last; 0 if that was the first.
    apart_us: u64,
}

impl Bursts {
    /// Whether a burst goes on.
    fn go_on(&self) -> bool {
        self.begun_us > 0 && self.ended_us == 0
    }

    /// Takes in the rate before a look and the rate by it. `quiet_since_us`: since when nothing is
    /// accessed, or 0. If a burst is over that was not the first, returns how often a second they
    /// come.
    pub fn note(
        &mut self,
        before: f64,
        rate: f64,
        quiet_since_us: u64,
        now_us: u64,
    ) -> Option<f64> {
        if !self.go_on() && rate > TIMES_AS_OFTEN * before {
            let apart_us = now_us.saturating_sub(self.begun_us);
            let is_first = self.begun_us == 0 || apart_us > MOST_APART_US;
            *self = Self {
                begun_us: now_us,
                ended_us: 0,
                apart_us: if is_first { 0 } else { apart_us },
            };
        }
        if before == 0.0 || rate > 0.0 || !self.go_on() {
            return None;
        }
        let over_us = if quiet_since_us > 0 { quiet_since_us } else { now_us };
        self.ended_us = over_us.max(self.begun_us);
        let is_short = PART * (self.ended_us - self.begun_us) < self.apart_us;
        (is_short && self.apart_us >= LEAST_APART_US).then(|| 1e6 / self.apart_us as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    /// What is known once use has ended that began at these times, and lasted for so long each.
    fn known(begins: &[u64], lasts_us: u64) -> Option<f64> {
        let mut bursts = Bursts::default();
        let ended = |begun_us: &u64| {
            let over_us = begun_us + lasts_us;
            assert_eq!(bursts.note(0.0, 5.0, 0, *begun_us), None);
            // More of it while it goes on is not another.
            assert_eq!(bursts.note(5.0, 500.0, 0, begun_us + 1), None);
            bursts.note(500.0, 0.0, over_us, over_us + 5_000)
        };
        begins.iter().map(ended).last().expect("there are some")
    }

    #[test]
    fn the_second_burst_tells_how_often_they_come() {
        assert_eq!(known(&[S], S / 20), None);
        assert_eq!(known(&[S, 2 * S], S / 20), Some(1.0));
        assert_eq!(known(&[S, 2 * S, 5 * S], S / 20), Some(1.0 / 3.0));
    }

    #[test]
    fn a_burst_is_over_once() {
        let mut bursts = Bursts::default();
        for begun_us in [S, 2 * S] {
            bursts.note(0.0, 500.0, 0, begun_us);
            bursts.note(500.0, 0.0, begun_us + S / 20, begun_us + S / 10);
        }
        // Nothing came any more.
        assert_eq!(bursts.note(1.0, 0.0, 2 * S + S / 20, 6 * S), None);
    }

    #[test]
    fn what_ends_while_something_else_is_accessed_lasted_until_then() {
        let mut bursts = Bursts::default();
        bursts.note(0.0, 500.0, 0, S);
        bursts.note(500.0, 0.0, S + S / 20, S + S / 10);
        bursts.note(0.0, 500.0, 0, 2 * S);
        assert_eq!(bursts.note(500.0, 0.0, 0, 60 * S), None);
    }

    #[test]
    fn phases_are_no_bursts() {
        assert_eq!(known(&[S, 8 * S], S / 20), None, "seldom");
        assert_eq!(known(&[S, 3 * S], S), None, "half of the time");
        assert_eq!(known(&[S, S + S / 10], S / 100), None, "closer together than looks");
    }
}
