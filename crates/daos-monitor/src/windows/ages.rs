//! Whether memory has been idle for about as long.

/// Ages that differ by no more than this are alike, in microseconds. Chosen: one regions update
/// interval by default.
pub(super) const AGES_ALIKE_US: u64 = 1_000_000;

/// Whether memory that is idle since these times is of about the same age.
pub(super) fn are_as_old(one_us: u64, other_us: u64, now_us: u64) -> bool {
    let young = now_us.saturating_sub(one_us.max(other_us));
    let old = now_us.saturating_sub(one_us.min(other_us));
    old <= 2 * young + AGES_ALIKE_US
}
