//! When a subregion is looked at next, and at which pages.

use super::IDLE_PAGES;
use super::subregion::{IDLE_RATE, Subregion};
use super::table::Table;

/// Pages in use are left armed for this many mean times between accesses. A look then tells most
/// for the pages that it takes: the information about the log of a rate is greatest where four in
/// five pages were accessed, and hardly less where it is two in three.
const MEAN_TIMES: f64 = 0.8;
/// A look at pages in use is over after this many times that time. Chosen: one in ten pages in use
/// waits for so long, so memory that is not in use any more shows.
const OVER: u64 = 3;
/// Longest exposure that is planned, in microseconds. Chosen: what is accessed less often is read
/// meanwhile.
const LONGEST_US: u64 = 2_000_000;
/// Time from one look at the same memory to the next, in microseconds. Chosen: changes show within
/// two intervals, for half the cost of looking in each.
pub(super) const BETWEEN_LOOKS_US: u64 = 200_000;
/// The same for page tables that are known page by page, of which all pages that wait are read.
/// Chosen: within a second some of those that changed have been read, and then their neighbours
/// are.
pub(super) const BETWEEN_TABLES_US: u64 = 1_000_000;
/// The same for readings of whole page tables, with the pages that don't wait. Chosen: of these a
/// reading says only whether they are still there.
const BETWEEN_WHOLE_US: u64 = 8_000_000;
/// How much earlier than it is due what is unsure counts as due to be read, in microseconds.
/// Chosen: others have their turn, too.
const HEAD_START_US: u64 = 1_000_000;
/// How much earlier than it is due what is unsure counts as due to be armed, in microseconds.
/// Chosen: how often memory is used that has just come into use is worth more than another look at
/// what is known.
const HEAD_START_OF_UNSURE_US: u64 = 5_000_000;
/// How much earlier than they are due page tables, and memory in use, count as due to be read if
/// they were armed a moment ago, in microseconds. Chosen: most is learned of them by a reading,
/// which says nothing any more when it is late; others may wait for many seconds where there are
/// thousands.
const HEAD_START_OF_NEW_US: u64 = 30_000_000;

impl Subregion {
    /// The pages that are to be read next, by number; `None` if they have to be armed first.
    ///
    /// What waits is read before it is armed anew, however late that is: those that were accessed
    /// are read soon, so to forget the others would leave only looks in which all were accessed.
    pub fn next_look(&self, now_us: u64) -> Option<(u32, u32)> {
        let all = (0, self.nr_pages());
        let is_over = self.is_look_over(now_us) && self.armed.read_us >= now_us;
        let Some(table) = &self.table else {
            return (self.absent || self.is_waiting() && !is_over).then_some(all);
        };
        // Decide from the summary if possible: dereferencing the boxed table misses the cache.
        if self.summary.used == 0 || now_us >= self.whole_read_us + BETWEEN_WHOLE_US {
            return Some(all);
        }
        if now_us >= self.read_us + BETWEEN_TABLES_US && !self.waiting.is_empty() {
            return self.waiting.span();
        }
        let used = self.armed.pages().and(table.used());
        let waiting = self.waiting.and(&used).len();
        (waiting * 2 > used.len() && !is_over).then_some((self.armed.from, self.armed.to))
    }

    /// Whether pages in use were left armed for so long that other pages tell more. Those that
    /// still wait may be accessed less often than others: to go on with them alone would count
    /// those too often.
    fn is_look_over(&self, now_us: u64) -> bool {
        let armed_for_us = now_us.saturating_sub(self.armed.at_us);
        if self.table.is_none() {
            // How many are used within seconds, only a long look tells.
            return self.is_probe_mixed() && armed_for_us >= OVER * LONGEST_US;
        }
        let rate = self.estimate.rate();
        rate >= IDLE_RATE && armed_for_us >= OVER * wait_us(rate, BETWEEN_LOOKS_US)
    }

    /// When it is to be looked at next, after it was read.
    pub fn next_due_us(&self, sample_us: u64, between_us: u64, now_us: u64) -> u64 {
        let rate = self.estimate.rate();
        let wait_us = wait_us(rate, sample_us);
        let since_us = now_us.saturating_sub(self.armed.at_us);
        if let Some(table) = &self.table {
            if self.summary.used == 0 || self.next_look(now_us).is_some() {
                // When four times as much time has passed since arming, but no later than usual:
                // about at the times within which accesses are counted.
                return now_us + (3 * since_us).min(BETWEEN_TABLES_US).max(sample_us);
            }
            if self.unsure || table.suspect.is_some() {
                return now_us;
            }
            return now_us.max(self.armed.at_us + BETWEEN_LOOKS_US.max(wait_us));
        }
        if self.next_look(now_us).is_none() {
            let again = if self.unsure { 0 } else { BETWEEN_LOOKS_US };
            return now_us.max(self.armed.at_us + again);
        }
        if self.unsure {
            return now_us + since_us.min(between_us).max(sample_us);
        }
        if rate == 0.0 { now_us + between_us } else { now_us + wait_us.max(sample_us) }
    }

    /// Has its pages known one by one from now on.
    pub fn make_table(&mut self) {
        let is_mixed = self.is_probe_mixed();
        let is_idle = self.estimate.rate() == 0.0 && self.is_waiting();
        let since_us =
            if is_mixed { self.since_us.max(self.accessed.to_us) } else { self.since_us };
        let idle_since_us = is_idle.then_some(since_us);
        (self.probe, self.present) = (self.range, 1.0);
        (self.known, self.moved_from) = (self.range, None);
        (self.waiting, self.now_waiting) = Default::default();
        self.table = Some(Box::new(Table::new(idle_since_us)));
        self.counts.end();
        (self.arm_all_us, self.is_to_be_armed) = (0, false);
        if is_mixed {
            // Its rate was a mean over pages in use and others.
            self.estimate.forget_rate();
        } else {
            self.estimate.doubt(4.0, 8.0);
        }
        self.unsure = false;
    }

    /// Has a few pages stand for all from now on, if its pages are known one by one.
    pub fn leave_table(&mut self) {
        if self.table.is_some() {
            self.put_probe_near_middle(IDLE_PAGES);
            (self.unsure, self.due_us) = (true, 0);
        }
    }
}

/// The key by which subregions that are due are armed, the smallest first: those of which it is
/// least known how often they are accessed. Whether pages are still in use may show later.
pub(super) fn key_to_arm(subregion: &Subregion) -> u64 {
    let head_start_us =
        if subregion.unsure && !subregion.is_suspect() { HEAD_START_OF_UNSURE_US } else { 0 };
    subregion.due_us + HEAD_START_OF_UNSURE_US - head_start_us
}

/// The key by which subregions that are due are read, the smallest first; 0 if it is urgent.
pub(super) fn key(subregion: &Subregion) -> u64 {
    if subregion.due_us == 0 {
        return 0;
    }
    let may_be_used = subregion.table.is_some() || subregion.estimate.rate() > 0.0;
    let armed_for_us = subregion.due_us.saturating_sub(subregion.armed.at_us);
    let is_new = may_be_used && armed_for_us < 2 * BETWEEN_TABLES_US;
    let head_start_us = if is_new {
        HEAD_START_OF_NEW_US
    } else if subregion.unsure {
        HEAD_START_US
    } else {
        0
    };
    subregion.due_us + HEAD_START_OF_NEW_US - head_start_us
}

/// How long pages in use are left armed, in microseconds.
pub(super) fn wait_us(rate: f64, sample_us: u64) -> u64 {
    ((MEAN_TIMES / rate.max(1e-9) * 1e6) as u64).min(LONGEST_US).max(sample_us)
}
