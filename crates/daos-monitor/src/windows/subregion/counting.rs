//! How many pages of a subregion are accessed within which time, as counted.

use super::super::curve::{CountedRate, Curve, LEAST_TOLD};
use super::super::seen::{Accessed, Waiting};
use super::{Armed, Subregion};
use daos_core::WITHIN_US;
use daos_core::pages::Pages;

/// Rates that differ by no more than this part have one curve. Chosen.
const CURVES_ALIKE: f64 = 0.05;
/// Most accesses that a counted rate rests on. Chosen: some looks at other pages change it.
const MOST_COUNTED: f64 = 16.0;
/// A rate that may be too low replaces one that rests on more only if it is higher by this many
/// standard deviations. Chosen: one in fifty is by chance.
const CHANCE: f64 = 2.0;
/// Up to this rate, in accesses a second, pages that come all at once may be swept again and again:
/// what was counted holds. Chosen: of what is used more often, most would have come before.
const SELDOM: f64 = 1.0;

impl Subregion {
    /// Counts the `fresh` pages, and works out the curve anew where it may have changed. `changed`:
    /// the rate is another one, or higher than the lower bound that was known.
    pub(super) fn count(&mut self, changed: bool, fresh: &Pages, all_read: bool, now_us: u64) {
        let rate = self.rate_in_use();
        let is_other = (rate - self.curve_of).abs() > CURVES_ALIKE * rate.min(self.curve_of);
        let has_table = self.table.is_some();
        let (pages, used_share) = match has_table {
            true => (self.summary.known, self.summary.used_share()),
            false => (self.nr_pages(), 1.0),
        };
        // What is accessed seldom may be swept again and again.
        let is_new_use = (self.estimate.rate() > SELDOM || self.counts.are_of_idle())
            && match has_table {
                true => changed,
                // Other pages of it may be looked at now, used in another way though nothing
                // changed; and where use has begun, most of them are used.
                false => self.counts.has_use_begun() && fresh.len() * 2 > pages,
            };
        if changed && fresh.is_empty() {
            self.counts.end_use();
        } else if is_new_use {
            self.counts.outdate(now_us);
        }
        let was_over = self.counts.is_over();
        self.counts.take(fresh, all_read.then_some(pages), rate, now_us);
        // Only a reading of a whole table gives a counted rate; swept memory is excluded, since the
        // estimate assumes random access times.
        let is_at_random = !self.estimate.is_together();
        let may_tell = all_read && has_table && !self.counts.is_over() && is_at_random;
        let counted = if may_tell { self.counts.new_rate() } else { None };
        if let Some(CountedRate { rate, pages, most_came, came, within }) = counted {
            let accesses = pages.min(MOST_COUNTED);
            // A look by whose end all came tells only a lower bound. If few pages tell the rate,
            // more may have come by chance.
            let by_chance = libm::exp(CHANCE / accesses.sqrt());
            let is_more = !self.estimate.rests_on(accesses)
                || !most_came && rate > by_chance * self.estimate.rate();
            // While most pages are still to come, early ones raise the rate only if they are more
            // than it predicts.
            let (came, used) = (f64::from(came), f64::from(self.summary.used));
            let usual = used * self.estimate.chance(within);
            let is_usual = came <= usual + CHANCE * usual.sqrt();
            let is_chance = 2.0 * came < used && is_usual && rate > self.estimate.rate();
            if is_more && !is_chance {
                self.estimate.set_rate(rate, accesses);
            }
        }
        if has_table && self.summary.used == 0 {
            self.curve = Curve::default();
        } else if self.estimate.is_together() {
            let share = |us: u64| self.mean_chance(us as f64 / 1e6) as f32;
            (self.curve, self.curve_of) = (Curve { shares: WITHIN_US.map(share) }, rate);
        } else if all_read || changed || was_over || (self.counts.is_empty() && is_other) {
            (self.curve, self.curve_of) = (self.counts.curve(rate, used_share), rate);
        }
    }

    /// Takes over the rate that other page tables tell.
    pub fn learn(&mut self, rate: f64) {
        self.estimate.set_rate(rate, LEAST_TOLD);
        (self.curve, self.curve_of) = (self.counts.curve(rate, self.summary.used_share()), rate);
    }

    /// The pages in use that were armed last, and how many pages in use they stand for: all but the
    /// others that wait since before.
    pub(super) fn sample(&self) -> (Pages, u32) {
        let window = self.armed.pages();
        let Some(table) = &self.table else { return (window, self.nr_pages()) };
        let window = window.and(table.used());
        let others_wait = self.waiting.and(table.used()).without(&window);
        (window, table.used().len() - others_wait.len())
    }

    /// Notes that these pages were accessed at some time from `from_us` to `to_us`.
    pub(super) fn note_accessed(&mut self, pages: &Pages, from_us: u64, to_us: u64) {
        let (sample, stands_for) = self.sample();
        let all = self.nr_pages() as f32;
        let of_sample = pages.and(&sample).len();
        let each = stands_for as f32 / sample.len().max(1) as f32;
        let share = (of_sample as f32 * each + (pages.len() - of_sample) as f32) / all;
        let armed_us = self.armed.at_us.min(from_us);
        // Of a table these may be other pages than those before; of a probe they are the same.
        let most = self.table.as_ref().map(|table| table.used().len() as f32 / all);
        let now = Accessed { share, armed_us, from_us, to_us };
        self.accessed = now.after(self.accessed, most);
    }

    /// Counts the pages in use that wait, now that the table is in the cache.
    pub(super) fn count_waiting(&mut self) {
        let Armed { at_us, read_us, .. } = self.armed;
        let (sample, stands_for) = self.sample();
        let of_sample = self.waiting.and(&sample);
        let waits = of_sample.len() as f32 / sample.len().max(1) as f32;
        let mut armed = Waiting { part: waits, since_us: at_us, read_us };
        let mut others = Waiting::default();
        if let Some(table) = &self.table {
            let part = |pages: u32| pages as f32 / table.used().len().max(1) as f32;
            armed.part *= part(stands_for);
            armed.since_us = table.mean_since_us(&of_sample).unwrap_or(at_us);
            let of_others = self.waiting.and(table.used()).without(&sample);
            if let Some(since_us) = table.mean_since_us(&of_others) {
                let read_us = self.read_us.max(since_us);
                others = Waiting { part: part(of_others.len()), since_us, read_us };
            }
        }
        self.now_waiting = [armed, others];
    }
}
