//! What accessed bits tell of ranges, block by block.

use daos_core::{AccessCheck, AddrRange, HUGE_PAGE_SIZE, Observation, TargetId, Window};

/// The windows of ranges, each inside one page of page table.
pub(super) fn windows(target: TargetId, ranges: &[AddrRange]) -> Vec<Window> {
    let parts = ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
    parts.map(|part| Window::over(target, part)).collect()
}

/// What `check` finds in the windows of ranges.
pub(super) fn sample<C: AccessCheck>(
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
