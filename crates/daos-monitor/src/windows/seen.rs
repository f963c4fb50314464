//! Which share of pages was accessed within a time, by what was seen of them.
//!
//! Of memory that is swept every few seconds no rate tells how much was accessed within the last
//! one: it depends on where the program is. But pages that waited for an access until they were
//! read had none, and pages that were found accessed had one since the reading before. Only for the
//! time in which nobody looked, use is taken to be as usual.

use super::curve::Curve;
use daos_core::WITHIN_US;

/// Of shorter times than this it is only told what is usual, and what the last accesses were; in
/// microseconds. Chosen: page tables are read once within it.
const SHORT_US: u64 = 1_000_000;
/// Accesses that are seen within this time after others came with those, in microseconds. Chosen:
/// as long as it takes to sweep a page table slowly.
const AT_ONCE_US: u64 = 320_000;
/// How soon the pages in use that are left after some time are accessed is only known if this share
/// of them is left. Chosen: half a page of a probe.
const LEAST_LEFT: f32 = 0.05;

/// The share of a subregion's pages that was accessed when any last were.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Accessed {
    /// 0 to 1.
    pub share: f32,
    /// Since when these pages had waited for the access, in microseconds.
    pub armed_us: u64,
    /// When they were last read before the access, in microseconds.
    pub from_us: u64,
    /// When they were read after it, in microseconds.
    pub to_us: u64,
}

impl Accessed {
    /// Together with what was accessed before, if that came at once with it. `most`: the share that
    /// both can be together, if they may be of different pages.
    pub fn after(mut self, before: Self, most: Option<f32>) -> Self {
        if self.to_us < before.to_us + AT_ONCE_US {
            let both = most.map_or(0.0, |most| (self.share + before.share).min(most));
            self.share = self.share.max(before.share).max(both);
            let earliest_us = self.to_us.saturating_sub(AT_ONCE_US).max(before.from_us);
            self.from_us = self.from_us.min(earliest_us);
        }
        self
    }

    /// The share that had an access in `us` of the time in which the accesses came: in proportion,
    /// or more if pages usually have several accesses in that time.
    fn in_part(&self, us: u64, usual: &Curve) -> f32 {
        let for_us = self.to_us.saturating_sub(self.from_us).max(1);
        let usually = usual.of_used(us) / usual.of_used(for_us).max(f32::MIN_POSITIVE);
        self.share * usually.max(us as f32 / for_us as f32).min(1.0)
    }
}

/// Pages in use of a subregion that wait for an access now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Waiting {
    /// Their part of those in use, 0 to 1.
    pub part: f32,
    /// Since when they wait, on average, in microseconds.
    pub since_us: u64,
    /// When they were last read, in microseconds.
    pub read_us: u64,
}

impl Waiting {
    /// The part of the waiting pages that had an access within `us` before they began to wait.
    /// Pages that were left alone for so long since may be the most seldom accessed ones; or they
    /// are due.
    fn had_before(&self, us: u64, usual: &Curve) -> f32 {
        let waits_us = self.read_us.saturating_sub(self.since_us);
        let left = 1.0 - usual.of_used(waits_us);
        let left_then = 1.0 - usual.of_used(waits_us + us);
        let of_those = (1.0 - left_then / left.max(f32::MIN_POSITIVE)).max(0.0);
        // If no page should be left any more, it is as for all pages in use.
        let is_known = (left / LEAST_LEFT).clamp(0.0, 1.0);
        of_those * is_known + usual.of_used(us) * (1.0 - is_known)
    }
}

/// What is known of a subregion's pages at some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub accessed: Accessed,
    /// When pages were armed last; 0 for never.
    pub armed_us: u64,
    /// The pages in use that wait: those that were armed last, with all that they stand for; and
    /// others.
    pub waiting: [Waiting; 2],
    /// The share of its pages that are in use, 0 to 1.
    pub in_use: f32,
    /// The shares that are usually accessed within which time.
    pub usual: Curve,
}

impl Seen {
    /// The shares that were accessed within each of [`WITHIN_US`]: as of now or, where pages wait,
    /// as of their last reading.
    pub fn shares_within(self, now_us: u64) -> impl Iterator<Item = f32> {
        WITHIN_US.into_iter().zip(self.usual.shares).map(move |(us, usual)| {
            let Accessed { share, from_us, to_us, .. } = self.accessed;
            if us >= SHORT_US {
                return self.share_within(us, now_us);
            }
            let is_within = u64::midpoint(from_us, to_us) + us >= now_us;
            let share = if is_within { share } else { 0.0 };
            usual.min(self.in_use).max(share)
        })
    }

    fn share_within(&self, us: u64, now_us: u64) -> f32 {
        let Self { accessed: last, armed_us, waiting, in_use, usual } = self;
        if usual.used() <= 0.0 && now_us > last.to_us + us {
            // Most memory of most targets is so: it is not worth the rest.
            return 0.0;
        }
        let waits: f32 = waiting.iter().map(|waiting| waiting.part).sum();
        // Of waiting pages it is known until they were read.
        let read_us = waiting.iter().map(|waiting| waiting.read_us).fold(last.to_us, u64::max);
        let end_us = if waits > 0.5 { read_us } else { now_us };
        let begin_us = end_us.saturating_sub(us);
        let seen_us =
            |from_us: u64, to_us: u64| to_us.min(end_us).saturating_sub(from_us.max(begin_us));
        let accessed = last.in_part(seen_us(last.from_us, last.to_us), usual);
        if *armed_us == 0 {
            // Nothing is known yet of the pages that are looked at now.
            return usual.within(us).min(*in_use).max(accessed);
        }
        let unseen_us = us.saturating_sub(seen_us(last.armed_us, last.to_us));
        let had_before = |waiting: &Waiting| {
            let Waiting { since_us, read_us, .. } = *waiting;
            // They may have waited in some of the time that was seen.
            let both_us = seen_us(last.armed_us.max(since_us), last.to_us.min(read_us));
            let waited_us = seen_us(since_us, read_us) - both_us;
            waiting.had_before(unseen_us.saturating_sub(waited_us), usual)
        };
        let had_before = match waits > 0.0 {
            true => waiting.iter().map(|of| of.part / waits * had_before(of)).sum(),
            false => had_before(&waiting[0]),
        };

        let had_one = (in_use * (1.0 - waits)).max(accessed);
        // Of pages that had an access in an earlier reading nobody saw whether they had others.
        let earlier = (had_one - last.share).max(0.0);
        let share = accessed
            + earlier * usual.of_used(us)
            + (had_one - earlier - accessed).max(0.0) * usual.of_used(unseen_us)
            + (usual.used() - had_one).max(0.0) * had_before;
        share.min(in_use.max(accessed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    fn within(seen: Seen, us: u64, now_us: u64) -> f32 {
        let at = WITHIN_US.iter().position(|time_us| *time_us == us).unwrap();
        seen.shares_within(now_us).nth(at).unwrap()
    }

    fn all_wait(since_us: u64, read_us: u64) -> [Waiting; 2] {
        [Waiting { part: 1.0, since_us, read_us }, Waiting::default()]
    }

    /// Gone over every four seconds: accessed between the fourth and the fifth second, armed anew
    /// in the sixth.
    fn swept() -> Seen {
        Seen {
            accessed: Accessed { share: 1.0, armed_us: 2 * S, from_us: 4 * S, to_us: 5 * S },
            armed_us: 6 * S,
            waiting: all_wait(6 * S, 6 * S),
            in_use: 1.0,
            usual: Curve::of_rate(0.25, 1.0),
        }
    }

    #[test]
    fn pages_that_wait_were_not_accessed_meanwhile() {
        let waits = Seen { waiting: all_wait(6 * S, 9 * S), ..swept() };
        assert!(within(waits, 1_000_000, 10 * S) < 0.01, "but for the moment before");
        assert!(within(waits, 5_000_000, 10 * S) > 0.99, "they were accessed before that");
        assert!(within(swept(), 1_000_000, 10 * S) > 0.2, "nobody looked");
    }

    #[test]
    fn where_nobody_looks_it_is_as_usual() {
        let seen = Seen { waiting: [Waiting::default(); 2], ..swept() };
        let usual = seen.usual.within(1_000_000);
        assert!((within(seen, 1_000_000, 60 * S) - usual).abs() < 0.01);
        let unused = Seen { usual: Curve::default(), ..seen };
        assert_eq!(within(unused, 1_000_000, 60 * S), 0.0);
    }

    #[test]
    fn what_was_accessed_a_moment_ago_counts_though_it_is_over() {
        let waiting = all_wait(5_700_000, 5_700_000);
        let over = Seen { usual: Curve::default(), in_use: 0.0, waiting, ..swept() };
        assert!(
            within(over, 1_000_000, 5_700_000) > 0.2,
            "from a part of the second before the fifth"
        );
        assert_eq!(within(over, 5_000_000, 6 * S), 1.0);
        assert_eq!(within(Seen { waiting: all_wait(6 * S, 7 * S), ..over }, 1_000_000, 7 * S), 0.0);
    }

    #[test]
    fn pages_that_wait_since_long_were_not_accessed_though_others_are_armed_anew() {
        let few = Waiting { part: 0.1, since_us: 20 * S, read_us: 20 * S };
        let since_long = Waiting { part: 0.9, since_us: 6 * S, read_us: 19 * S };
        let seen = Seen { armed_us: 20 * S, waiting: [few, since_long], ..swept() };
        let of_few = 0.1 * seen.usual.within(5 * S);
        let told = within(seen, 5 * S, 20 * S);
        assert!((of_few..of_few + 0.25).contains(&told), "{told}, {of_few} of the few");
        let all_few = Seen { waiting: [Waiting { part: 1.0, ..few }, Waiting::default()], ..seen };
        assert!(within(all_few, 5 * S, 20 * S) > 0.6);
    }

    #[test]
    fn pages_that_were_left_so_long_are_those_that_are_accessed_seldom() {
        let (often, seldom) = (Curve::of_rate(100.0, 0.5), Curve::of_rate(0.1, 0.5));
        let both = |at: usize| often.shares[at] + seldom.shares[at];
        let seen = Seen {
            accessed: Accessed { share: 0.5, armed_us: 6 * S, from_us: 7 * S, to_us: 8 * S },
            armed_us: 6 * S,
            waiting: [Waiting { part: 0.5, since_us: 6 * S, read_us: 8 * S }, Waiting::default()],
            in_use: 1.0,
            usual: Curve { shares: std::array::from_fn(both) },
        };
        // Of those that wait, a quarter had one in the three seconds before.
        assert!(
            (0.58..0.66).contains(&within(seen, 5 * S, 8 * S)),
            "{}",
            within(seen, 5 * S, 8 * S)
        );
    }

    #[test]
    fn accesses_that_follow_at_once_came_together() {
        let first = Accessed { share: 0.25, armed_us: 0, from_us: S, to_us: 2 * S };
        let soon = Accessed { to_us: 2 * S + 100_000, from_us: 2 * S, ..first };
        assert_eq!(soon.after(first, None).share, 0.25);
        assert_eq!(soon.after(first, Some(1.0)).share, 0.5);
        assert_eq!(soon.after(first, Some(0.3)).share, 0.3);
        let later = Accessed { to_us: 3 * S, from_us: 2 * S, ..first };
        assert_eq!(later.after(first, Some(1.0)), later);
    }
}
