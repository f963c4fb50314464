//! What page tables say of windows.

use super::VirtualMemory;
use crate::BpfError;
use crate::entry::{Entry, bytes_mapped};
use crate::programs::Facts;
use crate::reader::{Answer, WindowPart, huge_page};
use daos_core::pages::{Pages, nr_in_table};
use daos_core::{Observation, PAGE_SIZE, PageBits, Window};

impl VirtualMemory {
    pub(super) fn check_space(
        &mut self,
        at: usize,
        windows: &[Window],
        found: &mut [Observation],
    ) -> Result<(), BpfError> {
        let id = self.spaces[at].id;
        let Some(task) = self.task(at)? else {
            if self.spaces[at].lookup_failed {
                windows.iter().zip(found).for_each(|(window, seen)| set_unknown(window, seen));
            }
            return Ok(());
        };
        let left = &mut self.left;
        let windows_of = windows.iter().copied();
        let there = self.reader.read(&task, windows_of, Facts::None, |part, answer| {
            let start = windows[part.window].start;
            let entry = match answer {
                Answer::Huge(_, level, _) => huge_page(part.range.start, level).start,
                _ => part.range.start,
            };
            note(&mut found[part.window], start, &part, answer, left.read(id, entry).as_ref());
        })?;
        if let Some(armed) = &mut self.armed_pages {
            let set = armed.take_found(id, windows, found);
            self.target_cost.found_set(set);
        }
        match there {
            Some(there) => self.spaces[at].is_opaque = there.has_secondary_tables,
            None => self.spaces[at].task = None,
        }
        Ok(())
    }
}

/// Nothing can be said of a window.
fn set_unknown(window: &Window, seen: &mut Observation) {
    seen.unobservable = window.pages;
    add(seen.unknown.get_or_insert_default(), 0, window.pages);
}

/// Adds the pages `from..to`.
fn add(bits: &mut PageBits, from: u32, to: u32) {
    *bits = Pages(*bits).or(&Pages::range(from, to)).0;
}

/// Adds what the tables say of a part of a window to the observation of the window, which
/// starts at `start`. `left`: those of its page table that could not be armed.
fn note(
    seen: &mut Observation,
    start: u64,
    part: &WindowPart,
    answer: Answer<'_>,
    left: Option<&Pages>,
) {
    let bits: &mut PageBits = seen.pages.get_or_insert_default();
    let first = ((part.range.start - start) / PAGE_SIZE) as usize;
    let pages = part.range.pages() as usize;
    let add_all = |bits: &mut PageBits| add(bits, first as u32, (first + pages) as u32);
    match answer {
        Answer::Empty(level) => {
            add_all(seen.absent.get_or_insert_default());
            // What is said is of the block around the window's first page.
            if first == 0 {
                seen.empty_bytes = bytes_mapped(level);
            }
        }
        Answer::Torn => {
            seen.unobservable += pages as u32;
            add_all(seen.unknown.get_or_insert_default());
        }
        // The huge page of zeros is no memory of the target's, nor is a device's.
        Answer::Huge(entry, ..) if entry.is_special() => {
            add_all(seen.absent.get_or_insert_default());
        }
        Answer::Huge(entry, ..) => {
            let is_left = entry.is_young() && left.is_some_and(|left| left.has(0));
            if part.is_opaque || is_left {
                seen.unobservable += pages as u32;
                add_all(seen.unknown.get_or_insert_default());
                return;
            }
            seen.present += pages as u32;
            seen.entries += 1;
            if entry.is_young() {
                seen.accessed += pages as u32;
                add_all(bits);
            }
        }
        Answer::Pages(ptes, ..) => {
            let from = nr_in_table(part.range.start);
            let left = left.map(|left| move |page: usize| left.has(from + page as u32));
            note_pages(seen, first, ptes, part.is_opaque, left);
        }
    }
}

/// The same for a part with small pages. `first`: how many pages behind the start of the window
/// its first entry is; `left`: whether the page of this entry could not be armed; `None` if all
/// could.
fn note_pages(
    seen: &mut Observation,
    first: usize,
    ptes: &[u64],
    is_opaque: bool,
    left: Option<impl Fn(usize) -> bool>,
) {
    let (mut entries, mut at) = (ptes, first);
    while !entries.is_empty() {
        // The entries whose bits are in one word of the results.
        let (these, rest) = entries.split_at(entries.len().min(64 - at % 64));
        let (mut present, mut young, mut gone) = (0u64, 0u64, 0u64);
        for (page, pte) in these.iter().enumerate() {
            let entry = Entry(*pte);
            // The page of zeros is no memory of the target's, nor is a device's.
            let is_other = entry.is_present() && entry.is_special();
            present |= u64::from(entry.is_present() && !is_other) << page;
            young |= u64::from(entry.is_young() && !is_other) << page;
            // What is neither is being migrated, or the like: it is not said to be absent.
            gone |= u64::from(entry.is_empty() || entry.is_swapped() || is_other) << page;
        }
        if gone != 0 {
            seen.absent.get_or_insert_default()[at / 64] |= gone << (at % 64);
        }
        let hidden = match (is_opaque, &left) {
            (true, _) => present,
            (false, Some(left)) => (0..these.len())
                .filter(|page| young >> page & 1 == 1 && left(at - first + page))
                .fold(0, |hidden, page| hidden | 1 << page),
            (false, None) => 0,
        };
        if hidden != 0 {
            seen.unobservable += hidden.count_ones();
            seen.unknown.get_or_insert_default()[at / 64] |= hidden << (at % 64);
        }
        let (present, young) = (present & !hidden, young & !hidden);
        seen.pages.get_or_insert_default()[at / 64] |= young << (at % 64);
        seen.present += present.count_ones();
        seen.entries += present.count_ones();
        seen.accessed += young.count_ones();
        (entries, at) = (rest, at + these.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::FrameFacts;
    use daos_core::AddrRange;

    const TABLE: u64 = 2 << 20;

    fn noted(start: u64, part: AddrRange, answer: Answer<'_>) -> Observation {
        let mut seen = Observation::default();
        let part = WindowPart { window: 0, range: part, is_opaque: false };
        note(&mut seen, start, &part, answer, None);
        seen
    }

    #[test]
    fn a_hole_is_as_large_as_the_entry_that_is_empty() {
        let part = AddrRange::new(TABLE - PAGE_SIZE, TABLE);
        let empty = |start, level| noted(start, part, Answer::Empty(level)).empty_bytes;
        assert_eq!(empty(part.start, 2), TABLE);
        assert_eq!(empty(part.start, 3), 1 << 30);
        assert_eq!(empty(part.start, 4), 1 << 39);
        assert_eq!(empty(part.start - PAGE_SIZE, 2), 0, "its first page lies before");
    }

    #[test]
    fn what_others_access_by_tables_of_their_own_is_not_observed() {
        let range = AddrRange::new(TABLE, TABLE + 4 * PAGE_SIZE);
        let part = WindowPart { window: 0, range, is_opaque: true };
        let mut seen = Observation::default();
        let ptes = [0x21, 0x01, 0, 0];
        note(&mut seen, TABLE, &part, Answer::Pages(&ptes, &[], &[]), None);
        assert_eq!((seen.present, seen.unobservable, seen.accessed), (0, 2, 0));
        assert_eq!(seen.unknown.unwrap()[0], 0b0011);
        let facts = FrameFacts::default();
        note(&mut seen, TABLE, &part, Answer::Huge(Entry(0xa1), 2, &facts), None);
        assert_eq!((seen.present, seen.unobservable), (0, 6));
    }

    #[test]
    fn entries_are_counted_beside_pages() {
        let part = AddrRange::new(TABLE, TABLE + 4 * PAGE_SIZE);
        let facts = FrameFacts::default();
        let seen = noted(TABLE, part, Answer::Huge(Entry(0xa1), 2, &facts));
        assert_eq!((seen.present, seen.accessed, seen.entries), (4, 4, 1));
        assert_eq!(seen.absent, None);
        let ptes = [0x21, 0x01, 0, 0x21];
        let seen = noted(TABLE - PAGE_SIZE, part, Answer::Pages(&ptes, &[], &[]));
        assert_eq!((seen.present, seen.accessed, seen.entries), (3, 2, 3));
        assert_eq!((seen.absent.unwrap()[0], seen.pages.unwrap()[0]), (0b01000, 0b10010));
        let none = AddrRange::new(TABLE + 10 * PAGE_SIZE, TABLE + 200 * PAGE_SIZE);
        let absent = noted(TABLE, none, Answer::Empty(2)).absent.unwrap();
        let is_absent = |page: usize| absent[page / 64] >> (page % 64) & 1 == 1;
        assert!((0..512).all(|page| is_absent(page) == (10..200).contains(&page)));
        // The page of zeros.
        let zeros = noted(TABLE, part, Answer::Pages(&[0x225, 0x25, 0x225, 0x225], &[], &[]));
        assert_eq!((zeros.present, zeros.accessed, zeros.absent.unwrap()[0]), (1, 1, 0b1101));
        let huge_zeros = noted(TABLE, part, Answer::Huge(Entry(0x2a5), 2, &facts));
        assert_eq!((huge_zeros.present, huge_zeros.absent.unwrap()[0]), (0, 0b1111));
        // May not be accessed now; in swap; being moved.
        let three = AddrRange::new(TABLE, TABLE + 3 * PAGE_SIZE);
        let others = noted(TABLE, three, Answer::Pages(&[0x100, 0x400, 30 << 59], &[], &[]));
        assert_eq!((others.present, others.absent.unwrap()[0]), (1, 0b10));
    }
}
