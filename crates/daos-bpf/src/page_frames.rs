//! In which page frames processes have their memory, as their page tables say.

use crate::BpfError;
use crate::entry::{Entry, bytes_mapped};
use crate::programs::Facts;
use crate::reader::{Answer, WindowPart};
use crate::vaddr::VirtualMemory;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, MappedFrames, PAGE_SIZE, PageFrames, TargetId, Window};

/// Windows that are read at once. Chosen: of a large hole, no more than these are read in vain.
const IN_A_BATCH: usize = 64;

impl PageFrames for VirtualMemory {
    type Error = BpfError;

    fn frames(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        mut each: impl FnMut(MappedFrames),
    ) -> Result<(), BpfError> {
        let Some(at) = self.place_of(target) else { return Ok(()) };
        let Some(task) = self.task(at)? else { return Ok(()) };
        let frame_mask = self.reader.layout.frame_mask;
        let parts = ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
        let mut windows = parts.map(|part| Window::over(target, part)).peekable();
        debug_assert_eq!(u64::from(MAX_WINDOW_PAGES) * PAGE_SIZE, HUGE_PAGE_SIZE);
        while windows.peek().is_some() {
            let mut hole_end = 0;
            let batch = windows.by_ref().take(IN_A_BATCH);
            let there = self.reader.read(&task, batch, Facts::None, |part, answer| {
                if let Answer::Empty(level) = answer {
                    let bytes = bytes_mapped(level);
                    hole_end = part.range.start / bytes * bytes + bytes;
                }
                told(&part, answer, frame_mask, &mut each);
            })?;
            if there.is_none() {
                self.spaces[at].task = None;
                return Ok(());
            }
            while windows.next_if(|window| window.range().end <= hole_end).is_some() {}
        }
        Ok(())
    }
}

/// The frames of a part of a window.
fn told(
    part: &WindowPart,
    answer: Answer<'_>,
    frame_mask: u64,
    each: &mut impl FnMut(MappedFrames),
) {
    match answer {
        Answer::Huge(entry, level, _) => {
            let inside = part.range.start % bytes_mapped(level);
            let physical = entry.frame(level, frame_mask) * PAGE_SIZE + inside;
            each(MappedFrames { pages: part.range, physical });
        }
        Answer::Pages(entries, ..) => {
            let mut last: Option<MappedFrames> = None;
            for (&entry, start) in
                entries.iter().zip((part.range.start..).step_by(PAGE_SIZE as usize))
            {
                let entry = Entry(entry);
                if !entry.is_present() {
                    continue;
                }
                let physical = entry.frame(1, frame_mask) * PAGE_SIZE;
                match &mut last {
                    Some(run) if run.pages.end == start && run.frames().end == physical => {
                        run.pages.end += PAGE_SIZE;
                    }
                    _ => {
                        let pages = AddrRange::new(start, start + PAGE_SIZE);
                        last.replace(MappedFrames { pages, physical })
                            .into_iter()
                            .for_each(&mut *each);
                    }
                }
            }
            last.into_iter().for_each(each);
        }
        Answer::Empty(_) | Answer::Torn => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Making, Target};
    use crate::entry::FRAME_MASK;
    use crate::programs::FrameFacts;
    use std::collections::HashMap;
    use test_tag::tag;

    fn frames(start: u64, pages: u64, answer: Answer<'_>) -> Vec<(u64, u64, u64)> {
        let start = start * PAGE_SIZE;
        let range = AddrRange::new(start, start + pages * PAGE_SIZE);
        let part = WindowPart { window: 0, range, is_opaque: false };
        let mut found = Vec::new();
        told(&part, answer, FRAME_MASK, &mut |run| {
            let first = run.pages.start / PAGE_SIZE;
            found.push((first, run.pages.pages(), run.physical / PAGE_SIZE));
        });
        found
    }

    #[test]
    fn pages_in_frames_that_follow_each_other_are_told_at_once() {
        let entry = |frame: u64| frame << 12 | 0x63;
        let swapped = 0x07ff_ffff_ff00_0000;
        let entries = [entry(7), entry(8), swapped, entry(9), entry(10), entry(5), 0];
        let found = frames(100, 7, Answer::Pages(&entries, &[], &[]));
        assert_eq!(found, [(100, 2, 7), (103, 2, 9), (105, 1, 5)]);
        let facts = FrameFacts::default();
        let found = frames(512 + 16, 8, Answer::Huge(Entry(0x8000_0001_2360_10e7), 2, &facts));
        assert_eq!(found, [(528, 8, 0x12_3600 + 16)]);
        assert_eq!(frames(0, 8, Answer::Empty(2)), []);
    }

    #[tag(root)]
    #[test]
    fn pages_are_where_the_pagemap_says() {
        let half = |page| page % 2 == 0;
        let child = Target::start(Making { fills: half, ..Making::pages(3 * HUGE_PAGE_SIZE) });
        let mut memory = VirtualMemory::new().unwrap();
        let target = memory.add(child.process()).unwrap();
        let mut found = HashMap::new();
        memory
            .frames(target, &[child.memory], |run| {
                let pages = run.pages.start / PAGE_SIZE..run.pages.end / PAGE_SIZE;
                found.extend(pages.zip(run.physical / PAGE_SIZE..));
            })
            .unwrap();
        let said = (child.memory.start / PAGE_SIZE..).zip(child.frames());
        let same = said.filter(|(page, frame)| *frame == found.get(page).copied()).count() as u64;
        // The kernel may move some meanwhile.
        let pages = child.memory.pages();
        assert!(found.len() as u64 == pages / 2 && same >= pages * 9 / 10, "{same} of {pages}");
    }
}
