//! What it costs to arm all of a target at once, for each of its pages: measured as it is done.

/// CPU time in microseconds that it takes for each page in memory, until it was measured here.
/// Measured with a gigabyte: 0.05 to 0.08 on an AMD EPYC, 0.05 to 0.07 on an Intel Xeon.
pub(crate) const PAGE_US: f64 = 0.07;
/// The weight of a new measurement of that in its running mean. Chosen: it differs with what the
/// caches hold.
const NEWS: f64 = 0.3;
/// The part of what that mean has above [`PAGE_US`] that is taken off at each regions update.
/// Chosen: one bad measurement, which makes this look too dear to be done and measured again, is
/// half forgotten after 35 updates.
const FADES: f64 = 0.02;
/// Pages that a target must have for its arming to be such a measurement. Chosen: of fewer, what it
/// takes for the target as a whole counts too much.
const ENOUGH: u64 = 8192;

/// Takes in that it took so long, in microseconds of CPU time, with so many pages in memory.
pub(crate) fn note(price: &mut f64, pages: u64, took_us: f64) {
    if pages >= ENOUGH {
        *price += (took_us / pages as f64 - *price) * NEWS;
    }
}

/// Lets what a page is taken to cost come back to what it usually does.
pub(crate) fn let_fade(price: &mut f64) {
    *price -= (*price - PAGE_US).max(0.0) * FADES;
}
