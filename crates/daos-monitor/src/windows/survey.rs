//! How much of a target is accessed, from an even sample of all its memory.
//!
//! What is known of subregions, added up, tells that best where each is alike. Where used pages lie
//! singly among others it tells too little: the few pages that stand for a subregion may have none
//! in use, and once that is so, they are only read. Places that are drawn evenly, and looked at for
//! the same time whatever is found, tell in proportion what they are drawn from (Cochran, "Sampling
//! Techniques", 1977, chapter 9: clusters of equal size). A few places tell little, so they only
//! tell how much is accessed at least.

use daos_core::{WITHIN_US, part_come};

/// How long each place is looked at, in microseconds. Chosen: the longest of [`WITHIN_US`] after
/// which what happened meanwhile still holds.
pub(super) const SURVEYED_US: u64 = 1_000_000;
/// Further places after which a place counts for `1/e`. Chosen: with so many, a share of a tenth is
/// known to an eighth of itself.
const COUNTS_FOR: f64 = 300.0;
/// Microseconds after which a place counts for `1/e`. Chosen: what was longer ago may not hold.
const COUNTS_FOR_US: f64 = 10_000_000.0;
/// The fewest places that tell anything. Chosen: with fewer, too much depends on chance.
const FEWEST: f64 = 30.0;
/// The fewest places with an access that tell anything. Chosen: of what is in a few places, too
/// much depends on chance.
const FEWEST_USED: f64 = 10.0;
/// Standard errors that are taken off what the places say. Chosen: by chance, the true share is
/// still lower one time in forty.
const ERRORS: f64 = 2.0;

/// How many of [`WITHIN_US`] places tell of.
const TIMES: usize = {
    let mut times = 0;
    while times < WITHIN_US.len() && WITHIN_US[times] <= SURVEYED_US {
        times += 1;
    }
    times
};

/// The shares of the pages of a place, 0 to 1, that were accessed within each of these times.
pub(super) type Shares = [f64; TIMES];

/// What was seen at a place, all pages of which were armed at once: which share had been accessed
/// after so many microseconds, by reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Visit(Vec<(u64, f64)>);

impl Visit {
    pub fn add(&mut self, us: u64, share: f64) {
        // Others may have armed some of the pages anew.
        let before = self.0.last().map_or(0.0, |(_, share)| *share);
        self.0.push((us, share.max(before)));
    }

    /// How many microseconds after arming the next reading is, if the last was after `us`.
    pub fn next_us(us: u64) -> u64 {
        WITHIN_US.into_iter().find(|next_us| *next_us > us).unwrap_or(SURVEYED_US)
    }

    /// The shares of its `pages` pages accessed within each time. Between two readings, pages are
    /// taken to have come at a constant rate.
    pub fn shares(&self, pages: u32) -> Shares {
        let all = self.0.last().map_or(0.0, |(_, share)| *share);
        // The share that was left after a reading by which `share` had come; if all had, half a
        // page.
        let left = |share: f64| all - share + 0.5 / f64::from(pages);
        std::array::from_fn(|at| {
            let us = WITHIN_US[at];
            let next = self.0.partition_point(|(by_us, _)| *by_us < us);
            let Some(&(to_us, to)) = self.0.get(next) else { return all };
            let (from_us, from) = next.checked_sub(1).map_or((0, 0.0), |before| self.0[before]);
            let passed = (us - from_us) as f64 / (to_us - from_us) as f64;
            from + (to - from) * part_come(passed, left(to) / left(from))
        })
    }
}

/// Places that were looked at of late.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    /// When the last one was added.
    at_us: u64,
    /// How many there are; those from longer ago count less.
    places: f64,
    /// Sums of the shares of their pages that were accessed within each time.
    shares: Shares,
    /// Sums of the squares of these shares.
    squares: Shares,
    /// How many had an access within the longest of the times.
    used: f64,
}

impl Survey {
    /// Takes in what was seen at one more place.
    pub fn add(&mut self, seen: Shares, now_us: u64) {
        let keep = self.keep(now_us) * (1.0 - 1.0 / COUNTS_FOR);
        self.at_us = now_us;
        self.places = keep * self.places + 1.0;
        self.used = keep * self.used + if seen[TIMES - 1] > 0.0 { 1.0 } else { 0.0 };
        let sums = self.shares.iter_mut().zip(&mut self.squares);
        for ((sum, square), share) in sums.zip(seen) {
            (*sum, *square) = (keep * *sum + share, keep * *square + share * share);
        }
    }

    /// What the time since the last place leaves of those before, as a share.
    fn keep(&self, now_us: u64) -> f64 {
        libm::exp(-(now_us.saturating_sub(self.at_us) as f64) / COUNTS_FOR_US)
    }

    /// The shares of all memory, 0 to 1, that are accessed within each time at least, from the
    /// shortest time on; nothing if too few places are known.
    pub fn at_least(&self, now_us: u64) -> impl Iterator<Item = f64> {
        let keep = self.keep(now_us);
        let (places, used) = (keep * self.places, keep * self.used);
        let of_each = self.shares.into_iter().zip(self.squares).map(move |(sum, square)| {
            let (mean, square) = (sum / self.places, square / self.places);
            let error = ((square - mean * mean).max(0.0) / places).sqrt();
            (mean - ERRORS * error).max(0.0)
        });
        let is_known = places >= FEWEST && used >= FEWEST_USED;
        of_each.take(if is_known { TIMES } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Rng;

    const S: u64 = 1_000_000;

    /// A place of 16 pages, of which some are used so that this is accessed within each time.
    fn place(rng: &mut Rng, used: f64) -> Shares {
        let pages = (0..16).filter(|_| (rng.below(1000) as f64) < 1000.0 * used).count();
        [pages as f64 / 16.0; TIMES]
    }

    #[test]
    fn what_came_between_two_readings_came_at_a_rate() {
        let mut seen = Visit::default();
        assert_eq!(seen.shares(16), [0.0; TIMES]);
        // A quarter of the pages is used, ten times a second.
        let within = |us: u64| -0.25 * libm::expm1(-10.0 * us as f64 / 1e6);
        for us in [6_000, 135_000, 400_000, 1_010_000] {
            seen.add(us, within(us));
        }
        for (share, us) in seen.shares(1600).into_iter().zip(WITHIN_US) {
            assert!((share - within(us)).abs() < 0.01, "{share} within {us} us");
        }
    }

    #[test]
    fn it_tells_what_the_places_were_drawn_from() {
        let mut rng = Rng::new(3);
        for used in [0.05, 0.1, 0.5] {
            let mut survey = Survey::default();
            assert_eq!(survey.at_least(0).count(), 0);
            for nr in 0..400 {
                survey.add(place(&mut rng, used), nr * S / 100);
            }
            let least: Vec<_> = survey.at_least(4 * S).collect();
            assert_eq!(least.len(), TIMES);
            assert!(
                least.iter().all(|least| (0.7 * used..used).contains(least)),
                "{least:?} of {used}"
            );
        }
    }

    #[test]
    fn what_was_long_ago_does_not_count() {
        let (mut rng, mut survey) = (Rng::new(3), Survey::default());
        (0..400).for_each(|nr| survey.add(place(&mut rng, 0.5), nr * S / 100));
        assert!(survey.at_least(4 * S).all(|least| least > 0.4));
        (400..1400).for_each(|nr| survey.add([0.0; TIMES], nr * S / 100));
        assert!(survey.at_least(14 * S).all(|least| least < 0.01));
        assert_eq!(survey.at_least(60 * S).count(), 0);
    }
}
