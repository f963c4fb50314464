//! The heat map: when which addresses were accessed how often.
//!
//! Time runs to the right, addresses upwards, as in the paper's Figure 6. Two
//! decisions shape it:
//!
//! * The address space of a process is mostly gaps. What no snapshot covers is
//!   left out where it is larger than a fiftieth of what is shown; what remains
//!   are [`Segment`]s, drawn with a visible break between them. Each gets rows by what
//!   is covered of it. Of several targets those that are small beside the largest, as the
//!   shells that it was started through, are left out of text and pictures.
//! * A cell is the exact mean over its bytes and its time. Nothing is resampled
//!   from a coarser grid, so zooming in shows the regions as they were recorded,
//!   and the runs of pages in them. Rows begin with pages; a close view has a row
//!   for each page if there is room, else rows that begin where rates differ.
//!
//! Where schemes acted is marked over the cells. Beside the rows of memory that several
//! processes share, as RAM by physical address, stands whose it is.
//!
//! Making one takes two passes over the snapshots: the first finds what is
//! covered, the second fills the cells.

mod cells;
mod coverage;
mod edges;
mod layout;
mod marks;
mod owned;
mod picture;
mod scale;
mod table;
mod text;

pub use layout::LeftOut;
pub use owned::{Shares, ShownOwner};
pub use scale::Scale;

use crate::format::Format;
use crate::format::RenderError;
use crate::names;
use crate::terminal::Style;
use daos_core::units::display;
use daos_core::{Action, AddrRange, Interval, TargetId, TargetInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The formats of a heat map: all.
pub const FORMATS: &[Format] = &Format::ALL;

/// Most segments of what is no picture: each takes a row at least. Chosen: more than anybody looks
/// at.
const MOST_SEGMENTS: usize = 1000;

/// What to show, and how finely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeatmapOptions {
    /// Only these addresses.
    pub address: Option<AddrRange>,
    /// Only from the first to the second moment, in microseconds since the
    /// record began.
    pub time: Option<(u64, u64)>,
    /// Only this target; else all, one above the other.
    pub target: Option<TargetId>,
    /// Cells from left to right, at least 1.
    pub columns: usize,
    /// Cells from bottom to top, at least 1. More are used if there are more
    /// segments than this.
    pub rows: usize,
    /// Pages, all together, up to which each has a row of its own.
    pub page_rows: usize,
    /// Most parts of the address space that are shown one above the other, at least 1: the largest.
    pub most_segments: usize,
    /// Whether targets are shown that are small beside the largest.
    pub small_targets: bool,
    /// Whether to show where schemes acted.
    pub actions: bool,
    /// What the colours of text and pictures stand for.
    pub scale: Scale,
}

impl HeatmapOptions {
    /// Everything of `targets`, as finely as `format` can show it.
    pub fn new(format: Format, style: &Style, targets: &[TargetInfo]) -> Self {
        let has_owners = targets.iter().any(|target| target.ownership.is_some());
        let in_text = text::cells(style, has_owners);
        let ((columns, rows), page_rows, most_segments) = match format {
            Format::Text => (in_text, in_text.1, MOST_SEGMENTS),
            Format::Svg | Format::Png => {
                (picture::CELLS, picture::PAGE_ROWS, picture::MOST_SEGMENTS)
            }
            Format::Json | Format::Csv => ((100, 100), 512, MOST_SEGMENTS),
        };
        Self {
            address: None,
            time: None,
            target: None,
            columns,
            rows,
            page_rows,
            most_segments,
            small_targets: matches!(format, Format::Json | Format::Csv),
            actions: true,
            scale: Scale::default(),
        }
    }
}

/// Access rates by time and address.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    /// What the targets shown are called.
    pub title: String,
    /// Where columns begin, in microseconds, and where the last one ends: one
    /// more than there are columns. Empty if there is nothing to show.
    pub times: Vec<u64>,
    /// By target, then by rising address.
    pub segments: Vec<Segment>,
    /// What is not here.
    pub left_out: LeftOut,
    /// Those who have the memory shown, where that is known: who has most comes first.
    pub owners: Vec<ShownOwner>,
    /// What colours stand for.
    pub scale: Scale,
    /// The sampling interval in microseconds that rates are of; 0 where it is not known.
    pub sample_us: u64,
}

/// Addresses of one target without a gap worth leaving out.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Whose addresses.
    pub target: TargetId,
    /// What that target is called.
    pub name: String,
    /// Where rows begin, in bytes, and where the last one ends: one more than
    /// there are rows, of which there is at least one.
    pub addresses: Vec<u64>,
    /// Row by row, the lowest address first, in each the cells by rising time:
    /// the mean access rate, 0 to 1, over those of its bytes and of its time
    /// that were monitored, or `None` if none were.
    pub rates: Vec<Vec<Option<f64>>>,
    /// For each action that was done here the bytes in each cell that it was done to, in
    /// the order of `rates`.
    pub acted: BTreeMap<Action, Vec<Vec<u64>>>,
    /// Whose each row is; empty where that is not known of any.
    pub owned: Vec<Shares>,
}

impl Segment {
    /// Its addresses.
    pub fn range(&self) -> AddrRange {
        AddrRange::new(self.addresses[0], self.addresses[self.addresses.len() - 1])
    }

    /// Whether it is so small that addresses are labelled as they are, and not as
    /// distances from where it starts.
    fn is_close(&self) -> bool {
        self.range().len() <= 16 << 20
    }
}

impl Heatmap {
    /// From when to when, in microseconds; `None` if there is nothing to show.
    pub fn time(&self) -> Option<(u64, u64)> {
        Some((*self.times.first()?, *self.times.last()?))
    }

    /// Bytes from the lowest to the highest address of each segment, together.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.range().len()).fold(0, u64::saturating_add)
    }

    /// The actions that schemes did here.
    pub fn actions(&self) -> BTreeSet<Action> {
        self.segments.iter().flat_map(|segment| segment.acted.keys()).copied().collect()
    }

    /// The break above a segment: what lies between it and the next one.
    fn break_above(&self, index: usize) -> Option<Break> {
        let (below, above) = (&self.segments[index], self.segments.get(index + 1)?);
        Some(match below.target == above.target {
            true => Break::Gap(above.range().start - below.range().end),
            false => Break::Target,
        })
    }

    /// Whether the segments belong to more than one target.
    fn has_many_targets(&self) -> bool {
        self.segments.windows(2).any(|pair| pair[0].target != pair[1].target)
    }

    /// The colours of its rates.
    fn ramp(&self) -> scale::Ramp {
        scale::Ramp::new(self.scale, self.sample_us)
    }

    /// What stands over it: whose memory it shows.
    fn headline(&self) -> String {
        format!("Memory accesses of {}", self.title)
    }

    /// What stands below that: how long and how much; or that there is nothing.
    fn summary(&self) -> String {
        let Some((from, to)) = self.time() else { return "nothing was monitored here".to_owned() };
        let (from, to) = (display::seconds(from), display::seconds(to));
        let without = |count, what| match count {
            0 => String::new(),
            count => format!(", without {count} smaller {what}"),
        };
        let LeftOut { parts, targets } = self.left_out;
        let left_out = without(parts, "parts") + &without(targets, "targets (--target shows one)");
        format!("{from} to {to} s, {} of addresses{left_out}", display::bytes(self.bytes()))
    }
}

/// What lies between two segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// So many bytes that were not monitored.
    Gap(u64),
    /// Above it, another target begins.
    Target,
}

/// Makes a heat map. `snapshots` is called twice and gives the same snapshots
/// each time; what it or its items fail with is passed through.
pub fn compute<I, E>(
    mut intervals: impl FnMut() -> Result<I, E>,
    targets: &[TargetInfo],
    options: &HeatmapOptions,
) -> Result<Heatmap, E>
where
    I: Iterator<Item = Result<Interval, E>>,
{
    let mut extent = layout::Extent::new(options, targets);
    for interval in intervals()? {
        extent.add(&interval?.snapshot);
    }
    let (times, rows, left_out) = extent.lay_out(options);
    let mut cells = cells::Cells::new(times, rows, options.actions);
    for interval in intervals()? {
        cells.add(&interval?);
    }
    let mut heatmap = Heatmap { left_out, scale: options.scale, ..cells.finish(targets) };
    heatmap.add_owners(targets);
    Ok(heatmap)
}

/// Writes a heat map.
///
/// # Errors
///
/// [`RenderError::Write`] if `out` fails, [`RenderError::Picture`] if a PNG can't
/// be made.
pub fn render(
    heatmap: &Heatmap,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    match format {
        Format::Text => text::write(heatmap, style, out),
        Format::Json => table::json(heatmap, out),
        Format::Csv => table::csv(heatmap, out),
        Format::Svg | Format::Png => crate::png::write(picture::draw(heatmap), format, out),
    }
}

/// The title of a heat map of `segments`.
fn title(targets: &[TargetInfo], segments: &[Segment]) -> String {
    let mut ids: Vec<_> = segments.iter().map(|segment| segment.target).collect();
    ids.dedup();
    names::targets(targets, &ids)
}

#[cfg(test)]
mod tests;
