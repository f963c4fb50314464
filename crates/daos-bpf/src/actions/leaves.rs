//! Pages and huge pages in ranges, one by one, as the tables have them.

use crate::BpfError;
use crate::entry::Entry;
use crate::programs::{Facts, FrameFacts, Task};
use crate::reader::{Answer, Reader, huge_page, page_of};
use daos_core::{AddrRange, TargetId, Window};

/// An entry that maps memory, or could.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'a> {
    /// What of it lies in the range that was asked about: a page, or part of a huge page
    /// or of a block in which nothing is mapped.
    pub(crate) range: AddrRange,
    /// 1 for a page.
    pub(crate) level: u32,
    pub(crate) entry: Entry,
    /// What its frame is, if it is present and facts were asked for.
    pub(crate) facts: &'a FrameFacts,
}

impl Leaf<'_> {
    /// Whether all of what it maps was asked about.
    pub(crate) fn is_whole(&self) -> bool {
        self.level == 1 || huge_page(self.range.start, self.level) == self.range
    }

    /// Whether it maps memory that belongs to somebody, and can be given back: neither
    /// nothing, nor the kernel's page of zeros, nor a device.
    pub(crate) fn is_memory(&self) -> bool {
        self.entry.is_present() && self.facts.mapcount > 0
    }

    /// Whether others map the page, or part of the folio, too.
    ///
    /// Of a large folio mapped page by page the count does not always tell; the kernel
    /// looks again before it acts.
    pub(crate) fn is_shared(&self) -> bool {
        // What has no such order is not what it was when it was looked at.
        let all = 1i32.checked_shl(self.facts.order.into()).unwrap_or(0);
        self.facts.mapcount > if self.level == 1 { all } else { 1 }
    }
}

/// Calls `each` for the leaves of sorted `ranges`, in their order. What changed while it
/// was read is left out. Returns whether the process still had an address space.
pub(crate) fn for_each(
    reader: &mut Reader,
    task: &Task,
    ranges: &[AddrRange],
    with: Facts,
    mut each: impl FnMut(Leaf<'_>),
) -> Result<bool, BpfError> {
    let window = |range: &AddrRange| Window::over(TargetId::default(), *range);
    let no_facts = FrameFacts::default();
    let there = reader.read(task, ranges.iter().map(window), with, |part, answer| {
        let whole = |entry, level, facts| Leaf { range: part.range, level, entry, facts };
        match answer {
            Answer::Torn => {}
            Answer::Empty(level) => each(whole(Entry(0), level, &no_facts)),
            Answer::Huge(entry, level, facts) => each(whole(entry, level, facts)),
            Answer::Pages(entries, facts, _) => {
                for (page, &entry) in entries.iter().enumerate() {
                    let facts = facts.get(page).unwrap_or(&no_facts);
                    let range = page_of(&part, page);
                    each(Leaf { range, level: 1, entry: Entry(entry), facts });
                }
            }
        }
    })?;
    Ok(there.is_some() || ranges.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_maps_a_page_besides_us() {
        let leaf = |level, mapcount, order| {
            let facts = FrameFacts { mapcount, order, ..Default::default() };
            let range = AddrRange::new(0x20_0000, 0x20_1000);
            let leaf = Leaf { range, level, entry: Entry(1), facts: &facts };
            (leaf.is_memory(), leaf.is_shared())
        };
        assert_eq!(leaf(1, 1, 64), (true, true), "it is being split");
        assert_eq!(leaf(1, 0, 0), (false, false), "the page of zeros");
        assert_eq!(leaf(1, 1, 0), (true, false));
        assert_eq!(leaf(1, 2, 0), (true, true));
        assert_eq!(leaf(1, 16, 4), (true, false), "all of a folio of 16");
        assert_eq!(leaf(1, 17, 4), (true, true));
        assert_eq!(leaf(2, 1, 9), (true, false));
        assert_eq!(leaf(2, 2, 9), (true, true), "mapped as a whole by two");
    }

    #[test]
    fn part_of_a_huge_page_is_not_whole() {
        let facts = FrameFacts::default();
        let whole = |start, end| {
            let range = AddrRange::new(start, end);
            Leaf { range, level: 2, entry: Entry(1), facts: &facts }.is_whole()
        };
        assert!(whole(0x20_0000, 0x40_0000));
        assert!(!whole(0x20_0000, 0x3f_f000));
        assert!(!whole(0x20_1000, 0x40_0000));
    }
}
