//! How a young page can be armed without harm, if it can.
//!
//! `MADV_COLD` splits a large folio of which it is given a part, skips pages that
//! several mappings share, and skips pages that are on no list of the kernel's. So
//! a folio is armed whole, or it is left alone and counted as unobservable.

use crate::programs::FrameFacts;
use daos_core::{AddrRange, PAGE_SIZE};

/// A page or a huge page that was found young.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Young {
    /// The page, or the whole huge page.
    pub(crate) range: AddrRange,
    /// Its first frame.
    pub(crate) frame: u64,
    /// Level of the entry that maps it: 1 for a page.
    pub(crate) level: u32,
}

/// What can be done with a young page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arming {
    /// It can be armed by advising this range.
    Advise(AddrRange),
    /// It is part of a large folio mapped page by page, which can be armed whole if
    /// this range maps the frames from this one on.
    WholeFolio(AddrRange, u64),
    /// It can't be armed: shared, on no list, or of a kind that would be harmed.
    Leave,
}

/// Decides by what the page frame says. `whole_folios`: this kernel takes large
/// folios whole without splitting them (6.10 and later).
pub(crate) fn arming(young: &Young, facts: &FrameFacts, whole_folios: bool) -> Arming {
    let exclusive = |pages: i32| facts.lru == 1 && facts.mapcount == pages;
    match (young.level, facts.large) {
        (1, 0) if exclusive(1) => Arming::Advise(young.range),
        (1, 1) if whole_folios && (1..=9).contains(&facts.order) && exclusive(1 << facts.order) => {
            let before = u64::from(facts.index_in_folio);
            match young.range.start.checked_sub(before * PAGE_SIZE) {
                Some(start) => Arming::WholeFolio(
                    AddrRange::new(start, start + (PAGE_SIZE << facts.order)),
                    young.frame - before,
                ),
                None => Arming::Leave,
            }
        }
        // A huge page of the page cache or of anonymous memory, of exactly this size.
        (2, 1) if facts.index_in_folio == 0 && exclusive(1) => Arming::Advise(young.range),
        _ => Arming::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Young =
        Young { range: AddrRange { start: 0x5000, end: 0x6000 }, frame: 77, level: 1 };
    const HUGE: Young =
        Young { range: AddrRange { start: 0x20_0000, end: 0x40_0000 }, frame: 512, level: 2 };

    fn facts(lru: u8, large: u8, order: u8, index_in_folio: u32, mapcount: i32) -> FrameFacts {
        FrameFacts { lru, large, order, index_in_folio, mapcount, ..Default::default() }
    }

    #[test]
    fn small_pages_must_be_on_a_list_and_ours_alone() {
        assert_eq!(arming(&PAGE, &facts(1, 0, 0, 0, 1), true), Arming::Advise(PAGE.range));
        assert_eq!(arming(&PAGE, &facts(1, 0, 0, 0, 2), true), Arming::Leave);
        assert_eq!(arming(&PAGE, &facts(0, 0, 0, 0, 1), true), Arming::Leave);
    }

    #[test]
    fn large_folios_are_armed_whole_or_left() {
        let whole = AddrRange::new(0x2000, 0x6000);
        let part = facts(1, 1, 2, 3, 4);
        assert_eq!(arming(&PAGE, &part, true), Arming::WholeFolio(whole, 74));
        assert_eq!(arming(&PAGE, &part, false), Arming::Leave, "an older kernel would split it");
        assert_eq!(arming(&PAGE, &facts(1, 1, 2, 3, 3), true), Arming::Leave, "one is not mapped");
        assert_eq!(arming(&PAGE, &facts(1, 1, 3, 6, 8), true), Arming::Leave, "starts below 0");
    }

    #[test]
    fn huge_pages_are_armed_when_nobody_shares_them() {
        assert_eq!(arming(&HUGE, &facts(1, 1, 9, 0, 1), false), Arming::Advise(HUGE.range));
        assert_eq!(arming(&HUGE, &facts(1, 1, 9, 0, 2), false), Arming::Leave);
        assert_eq!(arming(&HUGE, &facts(0, 1, 9, 0, 1), false), Arming::Leave, "hugetlbfs");
        let gib = Young { level: 3, ..HUGE };
        assert_eq!(arming(&gib, &facts(1, 1, 18, 0, 1), true), Arming::Leave);
    }
}
