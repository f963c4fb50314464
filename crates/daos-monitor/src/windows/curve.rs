//! How many pages are accessed within which time.
//!
//! Where pages of a table are accessed at rates that differ, no one rate tells how many are
//! accessed within a tenth of a second and how many within ten. But that can be counted: all
//! are armed at once, and each reading says how many were accessed since. The same goes for the few
//! pages that stand for a subregion: over many subregions, the mean tells how many are accessed in
//! all.
//!
//! A page *comes* when it is found accessed for the first time since all were armed.

use super::evidence::{Look, chance, mean_wait};
use daos_core::WITHIN_US;
use daos_core::pages::Pages;

/// How many times there are in [`WITHIN_US`].
const TIMES: usize = WITHIN_US.len();
/// What a count leaves of those before it, as a share. Chosen: half, since use changes.
const KEEP: f32 = 0.5;
/// Readings of one count that are kept, to work out a rate. Chosen: readings come at four times the
/// time of the one before, up to one a second, so eight reach some seconds.
const READINGS: usize = 8;
/// Pages that must have come for a rate to be told. Chosen.
const ENOUGH: u32 = 4;
/// Most pages came before the last reading if no more than one in this many of them came in it.
/// Chosen.
const LAST_PART: u32 = 4;
/// Pages that must have come before the last reading for a rate to be told while most are still to
/// come. Chosen.
const EARLY: u32 = 2;
/// A rate of which only a lower bound is known, or which other page tables tell, counts as resting
/// on this many pages. Chosen: looks at a few pages decide.
pub(super) const LEAST_TOLD: f64 = 2.0;
/// What was known of a rate before weighs as much as this many pages. Chosen.
const FEW: f64 = 0.5;
/// Bounds on the rates that pages may have, in accesses a second. Chosen.
const RATES: (f64, f64) = (0.01, 1000.0);
/// Steps of the bisection that finds a rate between them. Chosen: each halves what is left, and
/// twelve leave less than a hundredth.
const STEPS: usize = 12;
/// Pages that came so late that most should still be to come have at least this part of the rate at
/// which they were seen to come. Chosen: what is swept comes all at once, at some time.
const LEAST_PART: f64 = 0.125;
/// A share that differs by more than this from what was counted before belongs to another use.
/// Chosen: what was counted of longer times then does not hold either.
const OTHER: f32 = 0.25;
/// A time is counted from a reading that comes too soon by up to one part in this many of it.
/// Chosen: what is armed for a sampling interval is read a little sooner or later.
const NEARLY: u64 = 4;
/// Index in [`WITHIN_US`] of the time within which half of the pages come that are used often.
/// Chosen: a third of a second.
const OFTEN: usize = 3;
/// A count that began no longer ago than this holds although use changed meanwhile, in
/// microseconds. Chosen.
const A_MOMENT_US: u64 = 2_000_000;
/// Time after which hardly any page in use can have been left alone, in microseconds. Chosen: of
/// what is used five times a second, half was accessed.
const A_WHILE_US: u64 = 150_000;
/// The share of pages left alone from which on hardly any was accessed. Chosen.
const ALL: f32 = 0.95;

/// The shares of pages, 0 to 1, that are accessed within each of [`WITHIN_US`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Curve {
    pub shares: [f32; TIMES],
}

impl Curve {
    /// The curve of pages of which a share `used` is accessed so many times a second each, and the
    /// rest never.
    pub fn of_rate(rate: f64, used: f64) -> Self {
        if rate <= 0.0 {
            return Self::default();
        }
        Self { shares: WITHIN_US.map(|us| (used * chance(rate, us as f64 / 1e6)) as f32) }
    }

    /// The share within so many microseconds: between two of the times, it grows evenly.
    pub fn within(&self, us: u64) -> f32 {
        let above = WITHIN_US.partition_point(|time_us| *time_us < us);
        let Some(&high_us) = WITHIN_US.get(above) else { return self.used() };
        let below = above.checked_sub(1);
        let (low_us, low) = below.map_or((0, 0.0), |at| (WITHIN_US[at], self.shares[at]));
        low + (self.shares[above] - low) * (us - low_us) as f32 / (high_us - low_us) as f32
    }

    /// The share that is accessed at all.
    pub fn used(&self) -> f32 {
        self.shares[TIMES - 1]
    }

    /// The part of the used pages that is accessed within so many microseconds.
    pub fn of_used(&self, us: u64) -> f32 {
        self.within(us) / self.used().max(f32::MIN_POSITIVE)
    }
}

/// A rate that was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountedRate {
    /// Accesses a second, of each page that is in use.
    pub rate: f64,
    /// Pages that it rests on, or as many as tell as much.
    pub pages: f64,
    /// Most pages came before the last reading. Otherwise the rate may well be too low.
    pub most_came: bool,
    /// Pages that came by the last reading.
    pub came: u32,
    /// Seconds from when all were armed until the last reading.
    pub within: f64,
}

/// A reading of all pages.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Reading {
    /// Pages that came since the reading before.
    came: u32,
    /// Microseconds since all were armed.
    us: u64,
    /// The share of pages that had not come by then.
    left: f32,
}

impl Reading {
    /// When all were armed, as if they had been read then.
    const ARMED: Self = Self { came: 0, us: 0, left: 1.0 };
}

/// Counts of the pages of a page table, or of a probe: the present count, and what was counted
/// before.
///
/// Some pages are armed again in between, and whether they had been accessed is not known any more.
/// They leave the count, as those do that are lost to a study: what is counted is which share of
/// those that are left is accessed in each step (Kaplan and Meier's estimate, 1958).
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Counts {
    /// When all were armed; `None` before, and after their use changed.
    begun_us: Option<u64>,
    /// Pages that came since then, or left the count.
    out: Pages,
    /// Pages that came since all were read last.
    fresh: u32,
    /// That reading of all.
    last: Reading,
    curve: Curve,
    /// What was counted before.
    before: Curve,
    /// Of how many of the times that was counted.
    counted_before: usize,
    /// The first readings of all in the present count, `nr_readings` of them.
    readings: [Reading; READINGS],
    nr_readings: usize,
    /// The rate was told for good in the present count.
    is_told: bool,
    /// How many of the times are counted in the present count.
    present: usize,
    /// Use has ended: nothing came since.
    is_over: bool,
}

impl Counts {
    /// Begins a new count: all pages are armed now.
    pub fn begin(&mut self, now_us: u64) {
        (self.before, self.counted_before) = (self.curve, self.counted());
        self.begun_us = Some(now_us);
        (self.out, self.fresh, self.last) = (Pages::default(), 0, Reading::ARMED);
        (self.present, self.nr_readings, self.is_told) = (0, 0, false);
    }

    /// Ends the count. Other pages are counted from the next beginning on.
    pub fn end(&mut self) {
        self.begun_us = None;
    }

    /// How many of the times are counted.
    fn counted(&self) -> usize {
        self.present.max(self.counted_before)
    }

    /// The readings of the present count that are kept.
    fn readings(&self) -> &[Reading] {
        &self.readings[..self.nr_readings]
    }

    /// Pages that came by these readings.
    fn came(&self) -> u32 {
        self.readings().iter().map(|reading| reading.came).sum()
    }

    /// Rate of pages in use, by maximum likelihood for random accesses; `None` until enough pages
    /// came. Final once most came before the last reading.
    pub fn new_rate(&mut self) -> Option<CountedRate> {
        let (readings, all) = (self.readings(), self.came());
        let &Reading { came: last, us: over_us, .. } = readings.last()?;
        let most_came = last * LAST_PART <= all;
        // Until then the pages that came before the last reading tell the rate, though less well.
        let pages = if most_came { all } else { all - last };
        if self.is_told || all < ENOUGH || pages < EARLY {
            return None;
        }
        let seconds = |us: u64| us as f64 / 1e6;
        let counted =
            CountedRate { rate: 0.0, pages: 0.0, most_came, came: all, within: seconds(over_us) };
        // Where all came by the first reading, it is only known how often at least they are
        // accessed.
        let first = readings[0];
        if first.came == all {
            self.is_told = true;
            let rate = libm::log(2.0 * f64::from(all).cbrt()) / seconds(first.us);
            return Some(CountedRate { rate, pages: LEAST_TOLD, ..counted });
        }
        if last == all {
            return None;
        }
        // The mean time at which pages came; at a rate of 0, each in the middle between two
        // readings.
        let mean = |rate: f64| {
            let mut from_us = 0;
            let waits = readings.iter().map(|&Reading { came, us, .. }| {
                let from = std::mem::replace(&mut from_us, us);
                f64::from(came) * (seconds(from) + mean_wait(rate, seconds(us - from)))
            });
            waits.sum::<f64>() / f64::from(all)
        };
        // Pages may come later than the last reading: what the mean lacks for that.
        let late = |rate: f64| seconds(over_us) / libm::expm1(rate * seconds(over_us));
        let (least, mut high) = RATES;
        let mut low = (LEAST_PART / mean(0.0)).clamp(least, high);
        for _ in 0..STEPS {
            let rate = (low * high).sqrt();
            *(if rate * (mean(rate) + late(rate)) < 1.0 { &mut low } else { &mut high }) = rate;
        }
        let rate = (low * high).sqrt();
        self.is_told = most_came;
        self.recount(rate);
        // While most are still to come, the times of the first say little of the rate: the
        // information of an exponential time that is known to be below one.
        let told = (rate * seconds(over_us)).powi(2) / 12.0 * f64::from(all);
        Some(CountedRate { rate, pages: f64::from(pages).min(told), ..counted })
    }

    /// Counts anew how many pages came within each time, now that their rate between readings is
    /// known.
    fn recount(&mut self, rate: f64) {
        for (at, us) in WITHIN_US.into_iter().enumerate().take(self.present) {
            let next = self.readings().partition_point(|reading| reading.us < us);
            if next == self.nr_readings {
                break;
            }
            let before = if next == 0 { Reading::ARMED } else { self.readings[next - 1] };
            self.set(at, accessed_by(us, &before, &self.readings[next], rate));
        }
    }

    /// Notes the share of pages that came within a time.
    fn set(&mut self, at: usize, counted: f32) {
        let known = self.before.shares[at];
        if (counted - known).abs() > OTHER {
            self.counted_before = self.counted_before.min(at);
        }
        let was_counted = at < self.counted_before;
        self.curve.shares[at] =
            if was_counted { counted + (known - counted) * KEEP } else { counted };
    }

    /// How often pages are accessed that came before the last reading of all: from those, and from
    /// the `later` ones that came since. Where these are few, about as often as pages in use are,
    /// at this rate.
    fn rate_before(&self, later: u32, rate: f64) -> f64 {
        let readings = self.readings();
        let Some(&Reading { came, us: to_us, .. }) = readings.last() else { return rate };
        let from_us = if readings.len() > 1 { readings[readings.len() - 2].us } else { 0 };
        let waited = (f64::from(later) + 0.5 * f64::from(came)) * (to_us - from_us) as f64 / 1e6;
        (f64::from(came) + FEW) / (waited + FEW / rate)
    }

    /// Whether the present count began then or later.
    pub fn are_since(&self, us: u64) -> bool {
        self.begun_us.is_some_and(|begun_us| begun_us >= us)
    }

    /// Whether all pages that came did so within so many microseconds since all were armed (true),
    /// or none of them did (false). `None`: some did, or none came at all.
    pub fn all_came_by(&self, us: u64) -> Option<bool> {
        let came = |is_by: bool| {
            self.readings().iter().any(|reading| reading.came > 0 && (reading.us <= us) == is_by)
        };
        (came(true) != came(false)).then(|| came(true))
    }

    /// The first reading as a look at the pages that have come by now, if that reading was within
    /// so many microseconds.
    pub fn look_by(&self, us: u64) -> Option<Look> {
        let first = self.readings().first().filter(|first| first.us <= us)?;
        let exposure = first.us as f64 / 1e6;
        Some(Look { waiting: f64::from(self.came()), accessed: f64::from(first.came), exposure })
    }

    /// Corrects when the count began.
    pub fn begun(&mut self, at_us: u64) {
        if let Some(begun_us) = &mut self.begun_us {
            *begun_us = at_us;
        }
    }

    /// Notes that use has ended, as far as is known: until a page is accessed, none is accessed
    /// within any time. What was counted of pages that are accessed often is forgotten: it does not
    /// hold for when use begins again.
    pub fn end_use(&mut self) {
        let shares = &self.curve.shares;
        if 2.0 * shares[OFTEN] > shares[TIMES - 1] {
            *self = Self::default();
        }
        self.is_over = true;
    }

    /// Whether use has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Notes that pages are used in another way than was thought: what was counted does not hold.
    /// What is being counted since a moment ago does, unless use has begun since.
    pub fn outdate(&mut self, now_us: u64) {
        let is_old = self.begun_us.is_none_or(|begun_us| now_us > begun_us + A_MOMENT_US);
        if self.has_use_begun() || is_old {
            *self = Self::default();
        } else {
            self.counted_before = 0;
        }
    }

    /// Whether hardly any page was accessed for a while: pages that come now belong to a use that
    /// has just begun.
    pub fn has_use_begun(&self) -> bool {
        self.last.us > A_WHILE_US && self.last.left > ALL
    }

    /// Whether all times were counted, and no page came within any.
    pub fn are_of_idle(&self) -> bool {
        self.counted() == TIMES && self.curve.shares[TIMES - 1] <= 0.0
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counted() == 0
    }

    /// Takes pages out of the count: whether they had been accessed is not known any more.
    pub fn lose(&mut self, pages: &Pages) {
        self.out = self.out.or(pages);
    }

    /// Takes in a reading: the `fresh` pages were accessed. If `pages` is given, all were read now,
    /// and so many of them are known. `rate`: of pages in use, as far as is known.
    pub fn take(&mut self, fresh: &Pages, pages: Option<u32>, rate: f64, now_us: u64) {
        self.is_over &= fresh.is_empty();
        let Some(begun_us) = self.begun_us else { return };
        let new = fresh.without(&self.out);
        self.fresh += new.len();
        self.out = self.out.or(&new);
        let since_us = now_us.saturating_sub(begun_us);
        let Some(pages) = pages.filter(|_| since_us > self.last.us) else { return };
        let there = (pages + self.fresh).saturating_sub(self.out.len()).max(self.fresh);
        // Pages that came since the last reading came at the rate at which others came before it.
        let rate = self.rate_before(self.fresh, rate.max(1e-3));
        let mut left = self.last.left;
        if there > 0 {
            left *= 1.0 - self.fresh as f32 / there as f32;
        }
        let now = Reading { came: std::mem::take(&mut self.fresh), us: since_us, left };
        let before = std::mem::replace(&mut self.last, now);
        if self.nr_readings < READINGS {
            self.readings[self.nr_readings] = now;
            self.nr_readings += 1;
        }
        while self.present < TIMES && WITHIN_US[self.present] <= since_us + since_us / NEARLY {
            self.set(self.present, accessed_by(WITHIN_US[self.present], &before, &now, rate));
            self.present += 1;
        }
    }

    /// The curve as far as it is counted. For longer times, the pages in use that did not come yet
    /// come at this rate. `used`: the share of all pages in use, with those that came.
    pub fn curve(&self, rate: f64, used: f64) -> Curve {
        if self.is_over {
            return Curve::default();
        }
        let mut curve = self.curve;
        let counted = self.counted();
        if counted == 0 {
            return Curve::of_rate(rate, used);
        }
        let (last_us, last) = (WITHIN_US[counted - 1], f64::from(curve.shares[counted - 1]));
        for (share, us) in curve.shares.iter_mut().zip(WITHIN_US).skip(counted) {
            let later = chance(rate, (us - last_us) as f64 / 1e6);
            *share = (last + (used - last).max(0.0) * later) as f32;
        }
        // Times that were counted later than others may say less.
        let mut least = 0.0f32;
        for share in &mut curve.shares {
            least = least.max(*share);
            *share = least;
        }
        curve
    }
}

/// The share of pages that came by a time between two readings, where those that came between them
/// did so at this rate.
fn accessed_by(us: u64, before: &Reading, now: &Reading, rate: f64) -> f32 {
    let seconds = |us: u64| us.saturating_sub(before.us) as f64 / 1e6;
    let part = (chance(rate, seconds(us)) / chance(rate, seconds(now.us))) as f32;
    1.0 - (before.left + (now.left - before.left) * part).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(curve: &Curve, expected: [f32; TIMES]) {
        for (share, expected) in curve.shares.iter().zip(expected) {
            assert!((share - expected).abs() < 0.02, "{curve:?}");
        }
    }

    #[test]
    fn pages_of_two_rates_are_counted_as_they_come() {
        let mut counts = Counts::default();
        counts.begin(0);
        counts.begun(1_000);
        // Half of them at once, a quarter within a second, none of the others.
        for (us, from, to) in [(5_000, 0, 256), (80_000, 0, 256), (1_000_000, 256, 384)] {
            counts.take(&Pages::range(from, to), Some(512), 0.0, us + 1_000);
        }
        near(&counts.curve(0.0, 0.75), [0.5, 0.5, 0.5, 0.55, 0.75, 0.75, 0.75]);
        near(&counts.curve(0.1, 1.0), [0.5, 0.5, 0.5, 0.55, 0.75, 0.83, 0.96]);
    }

    #[test]
    fn how_often_pages_come_is_known_once_most_have_come() {
        for rate in [1.0, 10.0, 100.0] {
            let mut counts = Counts::default();
            counts.begin(0);
            let mut known = None;
            let mut before = 0;
            for us in [5_000, 20_000, 80_000, 320_000, 1_000_000, 5_000_000, 20_000_000] {
                let came = (200.0 * chance(rate, us as f64 / 1e6)).round() as u32;
                counts.take(&Pages::range(before, came), Some(512), 0.0, us);
                before = came;
                known = known.or(counts.new_rate().filter(|counted| counted.most_came));
            }
            let CountedRate { rate: found, pages, .. } = known.unwrap();
            assert!(
                (found / rate - 1.0).abs() < 0.15 && pages > 150.0,
                "{found} of {rate}, {pages}"
            );
        }
    }

    #[test]
    fn those_that_came_at_once_tell_before_it_is_known_that_most_have_come() {
        let mut counts = Counts::default();
        counts.begin(0);
        for (us, from, to) in [(5_000, 0, 10), (400_000, 10, 200)] {
            counts.take(&Pages::range(from, to), Some(512), 0.0, us);
        }
        let early = counts.new_rate().unwrap();
        assert!(
            (early.rate - 10.0).abs() < 2.0
                && early.pages > 5.0
                && early.pages <= 10.0
                && !early.most_came,
            "{early:?}"
        );
        counts.take(&Pages::range(200, 202), Some(512), 0.0, 1_600_000);
        let counted = counts.new_rate().unwrap();
        assert!((counted.rate - 10.0).abs() < 2.0 && counted.most_came, "{counted:?}");
        assert_eq!(counts.new_rate(), None);
    }

    #[test]
    fn how_many_came_between_readings_is_told_by_their_rate() {
        let mut counts = Counts::default();
        counts.begin(0);
        // Ten times a second, but nobody looked for a second.
        for (us, from, to) in [(4_800, 0, 5), (1_300_000, 5, 100), (2_600_000, 100, 100)] {
            counts.take(&Pages::range(from, to), Some(100), 0.1, us);
            counts.new_rate();
        }
        near(&counts.curve(0.0, 1.0), [0.05, 0.19, 0.56, 0.97, 1.0, 1.0, 1.0]);
        // What is looked at for a sampling interval at a time is not as it was.
        counts.begin(3_000_000);
        counts.take(&Pages::range(0, 70), Some(100), 200.0, 3_004_500);
        near(&counts.curve(200.0, 1.0), [0.75, 0.99, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn pages_that_are_lost_are_not_counted() {
        let mut counts = Counts::default();
        counts.begin(0);
        counts.take(&Pages::range(0, 128), Some(512), 0.0, 5_000);
        // As many of these were accessed as of the others.
        counts.lose(&Pages::range(128, 384));
        counts.take(&Pages::range(320, 448), Some(512), 0.0, 5_000_000);
        let shares = counts.curve(0.0, 1.0).shares;
        assert!((shares[0] - 0.25).abs() < 0.01 && (shares[5] - 0.625).abs() < 0.01, "{shares:?}");
    }

    #[test]
    fn the_last_count_weighs_most_and_what_changed_is_forgotten() {
        let mut counts = Counts::default();
        for share in [128, 200, 200] {
            counts.begin(0);
            counts.take(&Pages::range(0, share), Some(512), 0.0, 20_000_000);
        }
        // At no rate, as many come in each moment.
        near(&counts.curve(0.0, 1.0), [0.0, 0.0, 0.0, 0.01, 0.02, 0.09, 0.35]);
        counts.begin(0);
        counts.take(&Pages::range(0, 512), Some(512), 0.0, 20_000_000);
        near(&counts.curve(0.0, 1.0), [0.0, 0.0, 0.0, 0.01, 0.04, 0.17, 1.0]);
        counts.outdate(30_000_000);
        assert_eq!(counts.curve(0.0, 1.0), Curve::default());
        near(&counts.curve(1e9, 0.5), [0.5; TIMES]);
        counts.begin(31_000_000);
        counts.take(&Pages::range(0, 512), Some(512), 0.0, 31_005_000);
        counts.outdate(31_100_000);
        assert!(counts.curve(0.0, 1.0).shares[0] > 0.99);
        counts.end_use();
        assert_eq!(counts.curve(0.0, 1.0), Curve::default());
    }

    #[test]
    fn what_is_gone_over_seldom_was_not_over() {
        for (came_us, known) in [(3_000_000, 1.0), (5_000, 0.0)] {
            let mut counts = Counts::default();
            counts.begin(0);
            counts.take(&Pages::range(0, 512), Some(512), 0.0, came_us);
            counts.take(&Pages::default(), Some(512), 0.0, 20_000_000);
            counts.begin(21_000_000);
            counts.end_use();
            assert_eq!(counts.curve(1.0, 1.0), Curve::default());
            counts.take(&Pages::range(0, 1), None, 0.0, 31_200_000);
            let shares = counts.curve(0.0, 1.0).shares;
            assert!((shares[5] - known).abs() < 0.01, "{shares:?}");
        }
    }
}
