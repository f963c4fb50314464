//! What lock keeps resident of a process: how much that may be, and what is due to be looked at.

use super::recent_pages::RecentPages;
use daos_core::{ActionReport, AddrRange, Refusal};
use std::path::PathBuf;

/// Microseconds after which a page is looked at again. Measured: under the worst pressure
/// that was tried, a page took longer from the active list to being paged out.
const CHECK_AGAIN_US: u64 = 190_000;
/// What is paged out is brought back by parts of that, one in the time after which pages
/// are looked at again: all at once would take memory from what is in use, and where
/// something cold is taken for hot, it goes on and on. Chosen.
const BROUGHT_AT_ONCE: u64 = 8;

/// What is kept resident of a process.
#[derive(Debug)]
pub(crate) struct Locked {
    /// Pages that were looked at.
    seen: RecentPages,
    /// When it was last found out how much memory there is.
    since_us: u64,
    /// Most bytes to be kept, together with others of the same limit.
    most_bytes: u64,
    /// The cgroup whose limit that is a part of; `None`: it is of all memory.
    pub(super) limited_by: Option<PathBuf>,
    /// Bytes that may still be brought back before it is found out again.
    pub(super) room_bytes: u64,
}

impl Locked {
    pub(crate) fn new() -> Self {
        let seen = RecentPages::new(CHECK_AGAIN_US);
        Self { seen, since_us: 0, most_bytes: 0, limited_by: None, room_bytes: 0 }
    }

    /// Takes what `most_bytes` says for the time until pages are looked at again.
    pub(super) fn renew(
        &mut self,
        now_us: u64,
        most_bytes: impl FnOnce() -> (u64, Option<PathBuf>),
    ) {
        self.seen.clear_away(now_us);
        if now_us.saturating_sub(self.since_us) >= CHECK_AGAIN_US {
            self.since_us = now_us;
            (self.most_bytes, self.limited_by) = most_bytes();
            self.room_bytes = self.most_bytes / BROUGHT_AT_ONCE;
        }
    }

    /// What is kept at `now_us`: nothing if it was not asked for lately.
    pub(super) fn kept_bytes(&self, now_us: u64) -> u64 {
        let is_over = now_us.saturating_sub(self.since_us) >= 2 * CHECK_AGAIN_US;
        if is_over { 0 } else { self.seen.bytes() }
    }

    /// Those of `ranges` that have to be looked at. What is too much, with the `others_bytes` that
    /// are kept of others, is refused.
    pub(super) fn due(
        &mut self,
        ranges: &[AddrRange],
        others_bytes: u64,
        now_us: u64,
        report: &mut ActionReport,
    ) -> Vec<AddrRange> {
        let mut due = Vec::new();
        for range in ranges {
            if others_bytes + self.seen.bytes() >= self.most_bytes {
                report.refuse(Refusal::NoRoom, range.len());
            } else if self.seen.add_range(*range, now_us) {
                due.push(*range);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::HUGE_PAGE_SIZE;

    #[test]
    fn no_more_is_kept_than_was_found_to_fit() {
        let block = |n: u64| AddrRange::new(n * HUGE_PAGE_SIZE, (n + 1) * HUGE_PAGE_SIZE);
        let blocks = [block(0), block(1), block(2)];
        let mut locked = Locked::new();
        let mut due = |now_us, most, others| {
            let mut report = ActionReport::default();
            locked.renew(now_us, || (most * HUGE_PAGE_SIZE, None));
            let due = locked.due(&blocks, others * HUGE_PAGE_SIZE, now_us, &mut report);
            (due.len(), report.refused)
        };
        let refused = |blocks| vec![(Refusal::NoRoom, blocks * HUGE_PAGE_SIZE)];
        let start = 10 * CHECK_AGAIN_US;
        assert_eq!(due(start, 2, 0), (2, refused(1)));
        assert_eq!(due(start + CHECK_AGAIN_US - 1, 3, 0), (0, refused(3)), "known as it was");
        assert_eq!(due(start + CHECK_AGAIN_US, 3, 0), (3, vec![]));
        let later = start + 2 * CHECK_AGAIN_US;
        assert_eq!(due(later, 3, 2), (1, refused(2)), "others of the same limit have some");
        assert_eq!(locked.kept_bytes(later + CHECK_AGAIN_US), HUGE_PAGE_SIZE);
        assert_eq!(locked.kept_bytes(later + 2 * CHECK_AGAIN_US), 0, "nobody asks for it any more");
    }

    #[test]
    fn some_may_be_brought_back_each_time() {
        let mut locked = Locked::new();
        let start = 10 * CHECK_AGAIN_US;
        locked.renew(start, || (8000, None));
        assert_eq!(locked.room_bytes, 1000);
        locked.room_bytes -= 900;
        locked.renew(start + CHECK_AGAIN_US / 2, || (8000, None));
        assert_eq!(locked.room_bytes, 100);
        locked.renew(start + CHECK_AGAIN_US, || (16_000, None));
        assert_eq!(locked.room_bytes, 2000);
    }
}
