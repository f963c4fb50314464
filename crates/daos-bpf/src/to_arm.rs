//! What of some windows is to be armed, and how.

use crate::entry::{Entry, FRAME_MASK};
use crate::folio::{Arming, Young, arming};
use crate::programs::FrameFacts;
use crate::reader::{Answer, WindowPart, huge_page, page_of};
use daos_core::pages::{Pages, page_range};
use daos_core::{AddrRange, PAGE_SIZE};

/// A large folio that page by page maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FolioToArm {
    /// A young page of it.
    pub(crate) page: u64,
    /// Where all of it is mapped, if these are its frames from the first one on.
    pub(crate) range: AddrRange,
    pub(crate) first: u64,
}

/// What decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// This kernel takes large folios whole without splitting them.
    pub(crate) whole_folios: bool,
    /// So many pages between two that are armed are passed over, at most.
    pub(crate) most_gap: u32,
}

/// Young pages, by what can be done with them.
#[derive(Debug, Default)]
pub(crate) struct ToArm {
    /// Runs of pages and huge pages that are armed as they are, and pages between two of them that
    /// can be passed over.
    pub(crate) ranges: Vec<AddrRange>,
    pub(crate) bridges: Vec<AddrRange>,
    pub(crate) folios: Vec<FolioToArm>,
    /// Pages and huge pages that can't be armed, by address.
    pub(crate) left: Vec<u64>,
}

impl ToArm {
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.bridges.clear();
        self.folios.clear();
        self.left.clear();
    }

    /// Adds the young pages of a part of a window. `refused`: mappings that the kernel does not
    /// arm. Returns those of its pages that are armed as they are, or its first one for a huge
    /// page: that has one bit.
    pub(crate) fn add(
        &mut self,
        part: &WindowPart,
        answer: Answer<'_>,
        refused: &[AddrRange],
        rules: Rules,
    ) -> Pages {
        match answer {
            // Clearing bits there would cost its user, and tell nothing.
            _ if part.is_opaque => Pages::default(),
            Answer::Huge(entry, level, facts) if entry.is_young() => {
                let range = huge_page(part.range.start, level);
                let young = Young { range, frame: entry.frame(level, FRAME_MASK), level };
                self.add_huge_page(&young, facts, refused, rules)
            }
            Answer::Pages(entries, facts, plain) => {
                self.add_pages(part, entries, facts, plain, refused, rules)
            }
            _ => Pages::default(),
        }
    }

    fn add_huge_page(
        &mut self,
        young: &Young,
        facts: &FrameFacts,
        refused: &[AddrRange],
        rules: Rules,
    ) -> Pages {
        let is_refused = refused.iter().any(|mapping| mapping.contains(young.range.start));
        match arming(young, facts, rules.whole_folios) {
            Arming::Advise(range) if !is_refused => {
                self.ranges.push(range);
                Pages::range(0, 1)
            }
            _ => {
                self.left.push(young.range.start);
                Pages::default()
            }
        }
    }

    /// `plain`: a bit for each page of which that is all there is to know: it is small and, if it
    /// is young, can be armed by itself. Of the other young ones, `facts` tell.
    fn add_pages(
        &mut self,
        part: &WindowPart,
        entries: &[u64],
        facts: &[FrameFacts],
        plain: &[u64],
        refused: &[AddrRange],
        rules: Rules,
    ) -> Pages {
        let (present, young) = young_pages(entries);
        let mut is_plain = Pages::default();
        is_plain.0.iter_mut().zip(plain).for_each(|(word, plain)| *word = *plain);
        let refused = refused_pages(part, refused);
        let mut armed = young.and(&is_plain).without(&refused);
        for page in young.without(&armed).iter() {
            let range = page_of(part, page as usize);
            let frame = Entry(entries[page as usize]).frame(1, FRAME_MASK);
            let young = Young { range, frame, level: 1 };
            match arming(&young, &facts[page as usize], rules.whole_folios) {
                _ if refused.has(page) => self.left.push(range.start),
                Arming::Advise(_) => armed = armed.or(&Pages::range(page, page + 1)),
                Arming::WholeFolio(range, first) => {
                    let page = young.range.start;
                    self.folios.push(FolioToArm { page, range, first });
                }
                Arming::Leave => self.left.push(range.start),
            }
        }
        self.add_runs(part.range.start, &armed, &present.without(&is_plain), rules);
        armed
    }

    /// Adds the runs of `armed`, and what lies between two of them, if it is short and none of it
    /// is in `blocked`: it might be part of a large folio, which would be split.
    fn add_runs(&mut self, start: u64, armed: &Pages, blocked: &Pages, rules: Rules) {
        let mut end = None;
        for (from, to) in armed.ranges() {
            if let Some(end) = end.filter(|end| from - end <= rules.most_gap)
                && Pages::range(end, from).and(blocked).is_empty()
            {
                self.bridges.push(page_range(start, end, from));
            }
            self.ranges.push(page_range(start, from, to));
            end = Some(to);
        }
    }
}

/// Which entries map a page, and which of those are young.
pub(crate) fn young_pages(entries: &[u64]) -> (Pages, Pages) {
    let (mut present, mut young) = (Pages::default(), Pages::default());
    for (word, entries) in entries.chunks(64).enumerate() {
        for (page, entry) in entries.iter().enumerate() {
            present.0[word] |= u64::from(Entry(*entry).is_present()) << page;
            young.0[word] |= u64::from(Entry(*entry).is_young()) << page;
        }
    }
    (present, young)
}

/// Pages of a part of a window in mappings that are refused.
fn refused_pages(part: &WindowPart, refused: &[AddrRange]) -> Pages {
    let number = |addr: u64| ((addr - part.range.start) / PAGE_SIZE) as u32;
    let inside = refused.iter().filter_map(|mapping| mapping.intersect(&part.range));
    inside
        .fold(Pages::default(), |pages, r| pages.or(&Pages::range(number(r.start), number(r.end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: u64 = 2 << 20;
    const YOUNG: u64 = 0x21;
    const OLD: u64 = 0x01;

    fn part(pages: u64, is_opaque: bool) -> WindowPart {
        let range = AddrRange::new(TABLE, TABLE + pages * PAGE_SIZE);
        WindowPart { window: 0, range, is_opaque }
    }

    fn add(entries: &[u64], plain: u64, refused: &[AddrRange], most_gap: u32) -> (ToArm, Pages) {
        let facts = vec![FrameFacts::default(); entries.len()];
        let mut to_arm = ToArm::default();
        let part = part(entries.len() as u64, false);
        let rules = Rules { whole_folios: true, most_gap };
        let armed = to_arm.add(&part, Answer::Pages(entries, &facts, &[plain]), refused, rules);
        (to_arm, armed)
    }

    fn pages(from: u32, to: u32) -> AddrRange {
        page_range(TABLE, from, to)
    }

    #[test]
    fn plain_young_pages_are_armed_and_others_left() {
        let (to_arm, armed) = add(&[YOUNG, YOUNG, OLD, YOUNG, 0, YOUNG], 0b10_0111, &[], 0);
        assert_eq!(to_arm.ranges, [pages(0, 2), pages(5, 6)]);
        assert_eq!(to_arm.left, [pages(3, 4).start]);
        assert_eq!((to_arm.bridges.len(), armed.0[0]), (0, 0b10_0011));
    }

    #[test]
    fn what_may_be_part_of_a_folio_is_no_bridge() {
        // A page between that is plain, one that is not there, one that may be part of a folio.
        let (to_arm, _) = add(&[YOUNG, OLD, YOUNG, 0, YOUNG, OLD, YOUNG], 0b101_0111, &[], 1);
        assert_eq!(to_arm.bridges, [pages(1, 2), pages(3, 4)]);
        assert_eq!(to_arm.ranges.len(), 4);
        let (to_arm, _) = add(&[YOUNG, OLD, OLD, YOUNG], 0b1111, &[], 1);
        assert_eq!(to_arm.bridges, [], "too long");
    }

    #[test]
    fn what_was_refused_is_left() {
        let (to_arm, armed) = add(&[YOUNG, YOUNG, YOUNG], 0b111, &[pages(1, 9)], 0);
        assert_eq!((to_arm.ranges, to_arm.left.len(), armed.len()), (vec![pages(0, 1)], 2, 1));
    }

    #[test]
    fn large_folios_are_for_a_closer_look() {
        let facts = FrameFacts {
            lru: 1,
            large: 1,
            order: 2,
            index_in_folio: 1,
            mapcount: 4,
            ..Default::default()
        };
        let entries = [OLD, YOUNG | 9 << 12, OLD, OLD];
        let mut to_arm = ToArm::default();
        let rules = Rules { whole_folios: true, most_gap: 0 };
        to_arm.add(&part(4, false), Answer::Pages(&entries, &[facts; 4], &[0]), &[], rules);
        let page = pages(1, 2).start;
        assert_eq!(to_arm.folios, [FolioToArm { page, range: pages(0, 4), first: 8 }]);
    }

    #[test]
    fn what_others_access_by_tables_of_their_own_is_not_armed() {
        let facts = FrameFacts { lru: 1, large: 1, order: 9, mapcount: 1, ..Default::default() };
        let (entry, rules) = (Entry(0xa1), Rules { whole_folios: true, most_gap: 0 });
        let armed = |is_opaque| {
            let mut to_arm = ToArm::default();
            to_arm.add(&part(4, is_opaque), Answer::Huge(entry, 2, &facts), &[], rules);
            to_arm.ranges
        };
        assert_eq!(armed(true), []);
        assert_eq!(armed(false), [AddrRange::new(TABLE, 2 * TABLE)]);
    }
}
