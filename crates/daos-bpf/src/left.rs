//! Pages whose accessed bits the kernel would not clear when they were to be armed.
//!
//! That is so of what is shared, locked or of a device. Such a bit stays set whether or not the
//! page is accessed again, and must not pass for an access.

use daos_core::pages::{Pages, nr_in_table};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, TargetId, Window, huge_page_start};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long the pages of a page table are remembered after they were last read or left. Chosen:
/// what is watched at all is read every eight seconds or, where there are thousands of page tables,
/// every few minutes.
const FOR: Duration = Duration::from_secs(240);

/// What was left, by page table. The first page of one stands for a huge page, too.
#[derive(Debug)]
pub(crate) struct Left {
    tables: BTreeMap<(TargetId, u64), OfTable>,
    forget_at: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
struct OfTable {
    pages: Pages,
    /// Whether some were read or left since tables were last forgotten.
    is_asked_for: bool,
}

impl Left {
    pub(crate) fn new() -> Self {
        Self { tables: BTreeMap::new(), forget_at: Instant::now() + FOR }
    }

    /// The page at `addr` had to be left.
    pub(crate) fn leave(&mut self, target: TargetId, addr: u64) {
        self.leave_all(target, AddrRange::new(addr, addr + PAGE_SIZE));
    }

    /// All of `range` had to be.
    pub(crate) fn leave_all(&mut self, target: TargetId, range: AddrRange) {
        for part in range.blocks(HUGE_PAGE_SIZE) {
            let of = self.tables.entry((target, huge_page_start(part.start))).or_default();
            *of = OfTable { pages: of.pages.or(&pages(part)), is_asked_for: true };
        }
    }

    /// Whether the page or huge page at `addr` had to be.
    pub(crate) fn has(&self, target: TargetId, addr: u64) -> bool {
        let of = self.tables.get(&(target, huge_page_start(addr)));
        of.is_some_and(|of| of.pages.has(nr_in_table(addr)))
    }

    /// Those of the page table around `addr`, which is read; `None` if there are none.
    pub(crate) fn read(&mut self, target: TargetId, addr: u64) -> Option<Pages> {
        let of = self.tables.get_mut(&(target, huge_page_start(addr)))?;
        of.is_asked_for = true;
        Some(of.pages)
    }

    /// What is armed now may be observable again.
    pub(crate) fn arm(&mut self, windows: &[Window]) {
        for window in windows {
            // It may begin inside a huge page.
            let huge = huge_page_start(window.start);
            self.take(window.target, AddrRange::new(huge, huge + PAGE_SIZE));
            self.take(window.target, window.range());
        }
    }

    /// The same of `range`, in which no huge page begins that is not meant.
    pub(crate) fn take(&mut self, target: TargetId, range: AddrRange) {
        if self.tables.is_empty() {
            return;
        }
        for part in range.blocks(HUGE_PAGE_SIZE) {
            let key = (target, huge_page_start(part.start));
            let Some(of) = self.tables.get_mut(&key) else { continue };
            of.pages = of.pages.without(&pages(part));
            if of.pages.is_empty() {
                self.tables.remove(&key);
            }
        }
    }

    /// Nothing is left of this target.
    pub(crate) fn arm_target(&mut self, target: TargetId) {
        self.tables.retain(|(of, _), _| *of != target);
    }

    /// Forgets from time to time what nobody asks for any more.
    pub(crate) fn forget_some(&mut self) {
        let now = Instant::now();
        if now >= self.forget_at {
            self.forget_at = now + FOR;
            self.forget_unread();
        }
    }

    pub(crate) fn forget_unread(&mut self) {
        self.tables.retain(|_, of| std::mem::take(&mut of.is_asked_for));
    }
}

/// The pages of a range that lies in one page table.
fn pages(part: AddrRange) -> Pages {
    let from = nr_in_table(part.start);
    Pages::range(from, from + part.pages() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 64 * HUGE_PAGE_SIZE;
    const IDS: [TargetId; 2] = [TargetId(1), TargetId(2)];

    fn page(nr: u64) -> u64 {
        START + nr * PAGE_SIZE
    }

    fn window(target: TargetId, from: u64, pages: u32) -> Window {
        Window { target, start: page(from), pages }
    }

    /// Two page tables and a half of both targets.
    fn left() -> Left {
        let mut left = Left::new();
        IDS.into_iter().for_each(|id| left.leave_all(id, AddrRange::new(page(0), page(1280))));
        left
    }

    #[test]
    fn what_is_armed_is_left_no_more() {
        let mut left = left();
        left.leave(IDS[0], page(2000));
        left.arm(&[window(IDS[0], 510, 4), window(IDS[0], 1279, 10)]);
        let armed = [510, 511, 512, 513, 1279];
        // A huge page that a window begins in is armed with it.
        let as_huge = [0, 1024];
        for nr in 0..1280 {
            let is_left = !armed.contains(&nr) && !as_huge.contains(&nr);
            assert_eq!(left.has(IDS[0], page(nr)), is_left, "{nr}");
            assert!(left.has(IDS[1], page(nr)));
        }
        assert!(left.has(IDS[0], page(2000)) && !left.has(IDS[0], page(2001)));
        left.arm_target(IDS[0]);
        assert!(!left.has(IDS[0], page(2000)) && left.has(IDS[1], page(1)));
        left.arm(&[window(IDS[1], 0, 1280)]);
        assert!(left.tables.is_empty(), "what is empty takes no room");
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let mut left = left();
        left.forget_unread();
        assert_eq!(left.read(IDS[0], page(700)).map(|pages| pages.len()), Some(512));
        assert_eq!(left.read(IDS[0], page(1400)).map(|pages| pages.len()), Some(256));
        assert_eq!(left.read(IDS[0], page(2000)), None);
        left.leave(IDS[1], page(3));
        left.forget_unread();
        let is_left = |id: usize, nr| left.has(IDS[id], page(nr));
        assert!(is_left(0, 512) && is_left(0, 1279) && is_left(1, 0));
        assert!(!is_left(0, 0) && !is_left(1, 512));
        left.forget_unread();
        assert!(left.tables.is_empty());
    }
}
