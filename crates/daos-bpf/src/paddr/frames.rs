//! What windows of page frames hold, in batches.

use crate::BpfError;
use crate::programs::{FrameKind, FrameRequest, FrameRun, MAX_FRAME_REQUESTS, MAX_FRAMES, Wanted};
use crate::reader::Reader;
use daos_core::pages::page_range;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Window};

/// Page frames that follow each other, and are alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    /// Index of their window in the batch.
    pub window: usize,
    /// The first of them, as a page of the window.
    pub page: u32,
    /// The number of its frame.
    pub frame: u64,
    /// What is known of them.
    pub found: &'a FrameRun,
}

/// Hands `each` what the windows of physical addresses hold, run by run, and `is_free` the size
/// in bytes of the aligned block around a window's first page that is free, if one is.
/// `own_pgd`: the page tables of this process, whose memory is not told.
pub(super) fn read(
    reader: &mut Reader,
    own_pgd: u64,
    windows: &[Window],
    want: Wanted,
    mut is_free: impl FnMut(usize, u64),
    mut each: impl FnMut(Run<'_>),
) -> Result<(), BpfError> {
    let parts = windows.iter().enumerate().flat_map(|(window, w)| {
        let parts = w.range().blocks(HUGE_PAGE_SIZE);
        parts.map(move |part| (window, ((part.start - w.start) / PAGE_SIZE) as u32, part))
    });
    let mut parts = parts.peekable();
    let mut batch = Vec::new();
    while parts.peek().is_some() {
        batch.clear();
        let mut room = MAX_FRAMES as u64;
        let requests = reader.programs.frame_requests();
        while batch.len() < MAX_FRAME_REQUESTS
            && let Some((window, page, part)) = parts.next_if(|(.., part)| part.pages() <= room)
        {
            room -= part.pages();
            let (frame, nr) = (part.start / PAGE_SIZE, part.pages() as u32);
            requests[batch.len()] = FrameRequest { frame, nr, ..FrameRequest::default() };
            batch.push((window, page));
        }
        if !reader.programs.read_frames(&reader.layout, own_pgd, want, batch.len())? {
            return Err(BpfError::Layout(
                "the owners of page frames (mm_struct.owner: CONFIG_MEMCG; a struct page of 64 bytes)",
            ));
        }
        let (requests, runs) = reader.programs.found_frames();
        let mut first = 0;
        for (&(window, first_page), request) in batch.iter().zip(requests) {
            if first_page == 0 && request.free > 0 {
                is_free(window, request.free * PAGE_SIZE);
            }
            let mut passed = 0;
            let these = runs.get(first..request.end as usize).unwrap_or_default();
            first = request.end as usize;
            for found in these {
                let frame = request.frame + u64::from(passed);
                each(Run { window, page: first_page + passed, frame, found });
                passed += found.nr;
            }
        }
    }
    Ok(())
}

impl Run<'_> {
    /// Their physical addresses, in one block of 2 MiB.
    pub fn range(&self) -> AddrRange {
        page_range(self.frame * PAGE_SIZE, 0, self.found.nr)
    }

    /// Whether they are mapped, by one who may be asked about it.
    pub fn is_mapped(&self) -> bool {
        matches!(self.found.kind, FrameKind::FRAME_OLD | FrameKind::FRAME_YOUNG)
    }

    /// Whether they are mapped and their accessed bit is set.
    pub fn is_young(&self) -> bool {
        self.found.kind == FrameKind::FRAME_YOUNG
    }

    /// Whether they are mapped, and nothing can be said of accesses to them.
    pub fn is_unobservable(&self) -> bool {
        use FrameKind as Kind;
        matches!(
            self.found.kind,
            Kind::FRAME_SHARED
                | Kind::FRAME_KSM
                | Kind::FRAME_OPAQUE
                | Kind::FRAME_OWN
                | Kind::FRAME_LOST
        )
    }

    /// Whether one entry maps all of them.
    pub fn is_huge(&self) -> bool {
        self.found.level == 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, FRAME_MASK};
    use crate::programs::Facts;
    use crate::reader::Answer;
    use crate::scratch::ScratchMemory;
    use daos_core::TargetId;
    use test_tag::tag;

    const PAGES: u64 = 512;

    fn window(start: u64, pages: u32) -> Window {
        Window { target: TargetId(0), start, pages }
    }

    /// Our own pages from `start` on, as windows of a frame each.
    fn frames_of(reader: &mut Reader, start: u64) -> Vec<Window> {
        let me = reader.myself().unwrap();
        let mut windows = Vec::new();
        let all = std::iter::once(window(start, PAGES as u32));
        let collect = |_, answer: Answer<'_>| {
            let Answer::Pages(entries, ..) = answer else { panic!("no pages") };
            let frames = entries.iter().map(|&entry| Entry(entry).frame(1, FRAME_MASK));
            windows.extend(frames.map(|frame| window(frame * PAGE_SIZE, 1)));
        };
        reader.read(&me, all, Facts::None, collect).unwrap();
        windows
    }

    fn read_all(reader: &mut Reader, own: u64, windows: &[Window], each: impl FnMut(Run<'_>)) {
        let want = Wanted::WANT_OWNER;
        read(reader, own, windows, want, |_, _| {}, each).unwrap();
    }

    #[tag(root)]
    #[test]
    fn pages_of_our_own_come_back_with_their_addresses_and_accesses() {
        let mut reader = Reader::with_frames().unwrap();
        let own = ScratchMemory::map(PAGES * PAGE_SIZE).unwrap();
        let addr = |page: u64| own.start() + page * PAGE_SIZE;
        (0..PAGES).for_each(|page| own.write(addr(page)));
        let windows = frames_of(&mut reader, own.start());
        let mut found = 0;
        read_all(&mut reader, 0, &windows, |run| {
            let is_ours = run.is_young() && run.found.tgid == std::process::id();
            found += u64::from(is_ours && run.found.va == addr(run.window as u64));
        });
        // The kernel may move some meanwhile.
        assert!(found >= PAGES * 9 / 10, "{found} of {PAGES}");
        let own_pgd = reader.myself().unwrap().pgd;
        read_all(&mut reader, own_pgd, &windows, |run| assert!(!run.is_mapped()));
    }

    #[tag(root)]
    #[test]
    fn all_of_a_window_is_told_and_what_is_no_ram_is_nobodys() {
        let mut reader = Reader::with_frames().unwrap();
        // Across blocks, at odd places; and far behind all RAM.
        let windows = [window(0x10_3000, 700), window(0x2ff_f000, 3), window(1 << 45, 512)];
        let mut pages = [0; 3];
        read_all(&mut reader, 0, &windows, |run| {
            assert_eq!(run.page, pages[run.window], "in their order");
            assert!(run.window < 2 || (!run.is_mapped() && !run.is_unobservable()));
            pages[run.window] += run.found.nr;
        });
        assert_eq!(pages, [700, 3, 512]);
    }

    #[tag(root)]
    #[test]
    fn most_mapped_memory_of_the_machine_is_found() {
        let mut reader = Reader::with_frames().unwrap();
        let ram = daos_linux::iomem::system_ram(std::path::Path::new("/")).unwrap();
        let blocks = ram.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
        let windows: Vec<_> = blocks.map(|b| window(b.start, b.pages() as u32)).collect();
        let (mut found, mut lost) = (0, 0);
        read_all(&mut reader, 0, &windows, |run| {
            let nr = u64::from(run.found.nr);
            found += if run.is_mapped() { nr } else { 0 };
            lost += if run.found.kind == FrameKind::FRAME_LOST { nr } else { 0 };
        });
        assert!(found > 10 * lost, "{found} found, {lost} lost");
    }
}
