//! Looking at ranges: windows that lie inside one page of page table each.

use daos_core::access::{AccessCheck, Observation, Window};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE};
use daos_core::target::TargetId;

/// The windows of ranges.
pub(super) fn windows(target: TargetId, ranges: &[AddrRange]) -> Vec<Window> {
    let parts = ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
    let window = |part: AddrRange| Window { target, start: part.start, pages: part.pages() as u32 };
    parts.map(window).collect()
}

/// What `check` finds in the windows of ranges.
pub(super) fn look<C: AccessCheck>(
    check: &mut C,
    target: TargetId,
    ranges: &[AddrRange],
) -> Result<Vec<(Window, Observation)>, C::Error> {
    let (windows, mut found) = (windows(target, ranges), Vec::new());
    if !windows.is_empty() {
        check.check(&windows, &mut found)?;
    }
    Ok(windows.into_iter().zip(found).collect())
}
