//! What windows of page frames hold, in batches.

use crate::BpfError;
use crate::programs::{FrameKind, FrameRequest, FrameRun, MAX_FRAME_REQUESTS, MAX_FRAMES, Wanted};
use crate::reader::Reader;
use daos_core::{HUGE_PAGE_SIZE, PAGE_SIZE, Window};

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
    use std::time::Instant;
    use test_tag::tag;

    const PAGES: u64 = 4096;

    /// The frames of our own pages from `start` on.
    fn frames(reader: &mut Reader, start: u64) -> Vec<u64> {
        let me = reader.myself().unwrap();
        let window =
            |n| Window { target: TargetId(0), start: start + n * 512 * PAGE_SIZE, pages: 512 };
        let mut frames = Vec::new();
        let all = (0..PAGES / 512).map(window);
        reader
            .read(&me, all, Facts::None, |_, answer| {
                let Answer::Pages(entries, _) = answer else { panic!("no pages") };
                frames.extend(entries.iter().map(|&entry| Entry(entry).frame(1, FRAME_MASK)));
            })
            .unwrap();
        frames
    }

    #[tag(root)]
    #[test]
    fn pages_of_our_own_come_back_with_their_addresses() {
        let mut reader = Reader::with_frames().unwrap();
        let own = ScratchMemory::map(PAGES * PAGE_SIZE).unwrap();
        let start = own.start();
        (0..PAGES).for_each(|page| own.write(start + page * PAGE_SIZE));
        let frames = frames(&mut reader, start);
        let windows: Vec<_> = frames
            .iter()
            .map(|frame| Window { target: TargetId(0), start: frame * PAGE_SIZE, pages: 1 })
            .collect();
        let mut found = 0;
        for _ in 0..5 {
            let began = Instant::now();
            found = 0;
            read(
                &mut reader,
                0,
                &windows,
                Wanted::WANT_OWNER,
                |_, _| {},
                |run| {
                    let us = run.is_mapped()
                        && run.found.tgid == std::process::id()
                        && run.found.va == start + run.window as u64 * PAGE_SIZE;
                    found += u64::from(us);
                },
            )
            .unwrap();
            println!("{} us a page", began.elapsed().as_secs_f64() * 1e6 / PAGES as f64);
        }
        assert!(found >= PAGES * 99 / 100, "{found} of {PAGES}");
        let all = |start: u64, n: u64| -> Vec<_> {
            (0..n)
                .map(|i| Window {
                    target: TargetId(0),
                    start: start + i * HUGE_PAGE_SIZE,
                    pages: 512,
                })
                .collect()
        };
        for (start, n) in [
            (1 << 32, 10240u64),
            (0, 1536),
            (frames[0] / 512 * HUGE_PAGE_SIZE, 1),
            (frames[2000] / 512 * HUGE_PAGE_SIZE, 1),
        ] {
            for want in [Wanted::WANT_NO_OWNER, Wanted::WANT_OWNER] {
                let mut kinds = [0u32; 10];
                let mut free = 0;
                read(&mut reader, 0, &all(start, n), want, |_, _| {}, |_| {}).unwrap();
                let began = Instant::now();
                read(
                    &mut reader,
                    0,
                    &all(start, n),
                    want,
                    |_, b| free += b,
                    |r| kinds[r.found.kind.0 as usize] += r.found.nr,
                )
                .unwrap();
                println!(
                    "{start:x} {n} windows: {} us each, {kinds:?} {free}",
                    began.elapsed().as_secs_f64() * 1e6 / n as f64
                );
            }
        }
        let mut lost = Vec::new();
        read(
            &mut reader,
            0,
            &all(0, 12800),
            Wanted::WANT_NO_OWNER,
            |_, _| {},
            |r| {
                if r.found.kind == FrameKind::FRAME_LOST && r.found.nr > 20 {
                    lost.push((r.frame, r.found.nr));
                }
            },
        )
        .unwrap();
        println!("{} {:x?} .. {:x?}", lost.len(), &lost[..8.min(lost.len())], lost.last());
        for (frame, _) in lost.iter().step_by(lost.len() / 5 + 1) {
            let at = reader.layout.page_array + frame * 64;
            let words: Vec<_> =
                (0..8).map(|w| reader.programs.read_word(at + w * 8).unwrap()).collect();
            println!("{frame:x} {words:x?}");
        }
        let own_pgd = reader.myself().unwrap().pgd;
        read(
            &mut reader,
            own_pgd,
            &windows,
            Wanted::WANT_OWNER,
            |_, _| {},
            |run| {
                assert!(!run.is_mapped());
            },
        )
        .unwrap();
    }
}
