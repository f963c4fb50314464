//! What looking at page frames costs on this machine, measured on memory of our own.
//!
//! That it is found, under the addresses where we have it, also proves that frames can be
//! followed to their owners here.

use super::frames;
use crate::BpfError;
use crate::entry::{Entry, FRAME_MASK};
use crate::programs::{Facts, Wanted};
use crate::reader::{Answer, Reader};
use crate::scratch::ScratchMemory;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Prices, TargetId, Window, median};
use std::time::Instant;

/// Pages of our own that are looked at. Chosen: a few windows of frames, found in a millisecond.
const PAGES: u64 = 2048;
/// Pages that are looked at by themselves, one in so many: neighbours of none.
const STRIDE: usize = 8;
/// Blocks of mapped memory that are looked at. Chosen: they take a millisecond or two.
const BLOCKS: usize = 64;
/// Measurements of which the median is taken.
const REPEATS: usize = 5;
/// The part of our own pages that has to be found. Chosen: some may be moved meanwhile.
const FOUND: f64 = 0.9;

/// Microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    /// To look at a window of one frame.
    window: f64,
    /// To look at one frame more.
    page: f64,
}

/// Measures them, where memory is `mapped`, and checks that owners are found.
pub(super) fn measure_looks(reader: &mut Reader, mapped: &[AddrRange]) -> Result<Looks, BpfError> {
    let missing = || BpfError::Layout("the owners of pages of daos itself");
    let own = ScratchMemory::map(PAGES * PAGE_SIZE).ok_or_else(missing)?;
    (0..PAGES).for_each(|page| own.write(own.start() + page * PAGE_SIZE));
    let pages = own_frames(reader, own.start())?;
    if !are_found(reader, &pages, own.start())? {
        return Err(missing());
    }
    let one = |&frame: &u64| Window { target: TargetId(0), start: frame * PAGE_SIZE, pages: 1 };
    let scattered: Vec<_> = pages.iter().step_by(STRIDE).map(one).collect();
    let window = time(reader, &scattered)?;
    let page = of_mapped(reader, mapped)?.max(0.001);
    Ok(Looks { window: (window - page).max(0.05), page })
}

/// Prices of frames, by those of virtual addresses: what is armed is found first, and then it
/// is armed as any memory.
pub(super) fn with(looks: Looks, virtual_: Prices) -> Prices {
    Prices {
        read_window: looks.window,
        read_page: looks.page,
        arm_run: virtual_.arm_run + looks.window,
        arm_page: virtual_.arm_page + looks.page,
        ..virtual_
    }
}

/// Microseconds to look at a frame, as the frames of `ranges` are: of some blocks the mean, once,
/// since the caches are as cold then as they will be.
fn of_mapped(reader: &mut Reader, ranges: &[AddrRange]) -> Result<f64, BpfError> {
    let blocks: Vec<_> = ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)).collect();
    let step = (blocks.len() / BLOCKS).max(1);
    let some = blocks.iter().step_by(step).map(|block| Window::over(TargetId(0), *block));
    let some: Vec<_> = some.collect();
    let frames: u32 = some.iter().map(|window| window.pages).sum();
    let began = Instant::now();
    frames::read(reader, 0, &some, Wanted::WANT_NO_OWNER, |_, _| {}, |_| {})?;
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(frames.max(1)))
}

/// Microseconds for a window, the median.
fn time(reader: &mut Reader, windows: &[Window]) -> Result<f64, BpfError> {
    let mut all = Vec::new();
    for _ in 0..REPEATS {
        let began = Instant::now();
        frames::read(reader, 0, windows, Wanted::WANT_NO_OWNER, |_, _| {}, |_| {})?;
        all.push(began.elapsed().as_secs_f64() * 1e6 / windows.len() as f64);
    }
    Ok(median(all).unwrap_or_default())
}

/// The frames of our own pages from `start` on, in their order.
fn own_frames(reader: &mut Reader, start: u64) -> Result<Vec<u64>, BpfError> {
    let me = reader.myself()?;
    let first = Window { target: TargetId(0), start, pages: PAGES as u32 };
    let mut frames = Vec::new();
    reader.read(&me, std::iter::once(first), Facts::None, |_, answer| {
        if let Answer::Pages(entries, ..) = answer {
            frames.extend(entries.iter().map(|&entry| Entry(entry).frame(1, FRAME_MASK)));
        }
    })?;
    Ok(frames)
}

/// Whether our own pages are found to be ours, at their addresses.
fn are_found(reader: &mut Reader, pages: &[u64], start: u64) -> Result<bool, BpfError> {
    let window = |&frame: &u64| Window { target: TargetId(0), start: frame * PAGE_SIZE, pages: 1 };
    let windows: Vec<_> = pages.iter().map(window).collect();
    let mut found = 0;
    frames::read(
        reader,
        0,
        &windows,
        Wanted::WANT_OWNER,
        |_, _| {},
        |run| {
            let is_there = run.found.va == start + run.window as u64 * PAGE_SIZE;
            found += u32::from(is_there && run.found.tgid == std::process::id());
        },
    )?;
    Ok(f64::from(found) >= FOUND * PAGES as f64)
}
