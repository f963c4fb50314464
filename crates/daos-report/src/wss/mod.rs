//! The working set: how much memory was in use.
//!
//! The working set of a snapshot is the bytes that are accessed within a time, by default its
//! aggregation interval: of each region, and of each run of pages that is known by itself, so
//! many as its access rate says ([`WssOptions::within_us`]). What is used a little counts a
//! little. It never exceeds the resident set, where that is known.
//!
//! With a threshold on the access rate ([`WssOptions::min_rate`]) regions count whole from there
//! on, as the kernel's tool counts those that were accessed at all. Every snapshot counts, the
//! first ones too.

mod picture;
mod table;
mod text;

use crate::distribution::Distribution;
use crate::format::Format;
use crate::format::RenderError;
use crate::series::Series;
use crate::terminal::Style;
use crate::{names, png};
use daos_core::units::display;
use daos_core::{Interval, Snapshot, TargetId, TargetInfo, TargetSnapshot};
use std::collections::BTreeSet;
use std::io::Write;

/// The formats of a working set: all.
pub const FORMATS: &[Format] = &Format::ALL;

/// What to count, and what to say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WssOptions {
    /// The time in microseconds within which memory is accessed that counts; `None`: the
    /// aggregation interval of each snapshot.
    pub within_us: Option<u64>,
    /// Count whole regions, and runs of pages, whose access rate, 0 to 1, is at least this,
    /// whatever the time. With 0 those that were accessed at all; with [`daos_core::HOT_RATE`],
    /// hot memory.
    pub min_rate: Option<f64>,
    /// Only snapshots that overlap the time from the first to the second moment,
    /// in microseconds since the record began.
    pub time: Option<(u64, u64)>,
    /// Only this target; else all together.
    pub target: Option<TargetId>,
    /// Which percentiles of the distribution over snapshots to give, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Whether the JSON also lists the working set of each snapshot.
    pub timeline: bool,
}

impl Default for WssOptions {
    fn default() -> Self {
        Self {
            within_us: None,
            min_rate: None,
            time: None,
            target: None,
            percentiles: vec![0.0, 25.0, 50.0, 75.0, 100.0],
            timeline: false,
        }
    }
}

/// The working set over the snapshots of a record, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Wss {
    /// What the targets counted are called.
    pub title: String,
    /// What was asked for.
    pub options: WssOptions,
    /// From the start of the first to the end of the last snapshot, in
    /// microseconds since the record began; zero to zero without snapshots.
    pub time: (u64, u64),
    /// The end of each snapshot in microseconds, and its working set.
    pub timeline: Vec<(u64, u64)>,
    /// The largest resident set of the targets counted, in bytes, where the record
    /// knows it: what the working set is to be compared with.
    pub resident_bytes: Option<u64>,
    sizes: Distribution,
}

/// Counts the working set of each snapshot; what `snapshots` fails with is
/// passed through.
pub fn compute<E>(
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
    targets: &[TargetInfo],
    options: &WssOptions,
) -> Result<Wss, E> {
    let mut time = None;
    let mut timeline = Vec::new();
    let mut sizes = Distribution::default();
    let mut ids = BTreeSet::new();
    let mut resident_bytes = None;
    let (from, to) = options.time.unwrap_or((0, u64::MAX));
    for interval in intervals {
        let Interval { snapshot, .. } = interval?;
        if snapshot.end_us <= from || to <= snapshot.start_us {
            continue;
        }
        let bytes = working_set(&snapshot, options, &mut ids);
        time = Some((time.map_or(snapshot.start_us, |(start, _)| start), snapshot.end_us));
        timeline.push((snapshot.end_us, bytes));
        sizes.add(bytes);
        resident_bytes = resident_bytes.max(resident_set(&snapshot, options));
    }
    let ids: Vec<_> = ids.into_iter().collect();
    let title = names::targets(targets, &ids);
    let time = time.unwrap_or((0, 0));
    Ok(Wss { title, options: options.clone(), time, timeline, sizes, resident_bytes })
}

/// The resident set of the targets counted, where it is known.
fn resident_set(snapshot: &Snapshot, options: &WssOptions) -> Option<u64> {
    let counted = |target: &&TargetSnapshot| options.target.is_none_or(|id| id == target.id);
    let mut counted = snapshot.targets.iter().filter(counted).peekable();
    counted.peek()?;
    let mut bytes = 0u64;
    for target in counted {
        bytes = bytes.saturating_add(target.resident_bytes?);
    }
    Some(bytes)
}

/// The working set of one snapshot. Adds the targets that it counts to `ids`.
fn working_set(snapshot: &Snapshot, options: &WssOptions, ids: &mut BTreeSet<TargetId>) -> u64 {
    let wanted = |id| options.target.is_none_or(|target| target == id);
    let within_us = options.within_us.unwrap_or(snapshot.aggregation_us);
    let mut bytes = 0u64;
    for target in snapshot.targets.iter().filter(|target| wanted(target.id)) {
        ids.insert(target.id);
        let used = match options.min_rate {
            Some(least) => {
                let parts = target.parts().filter(|part| part.access_rate > 0.0);
                parts.filter(|part| part.access_rate >= least).map(|part| part.range.len()).sum()
            }
            None => snapshot.bytes_accessed(target, within_us).round() as u64,
        };
        bytes = bytes.saturating_add(used);
    }
    bytes
}

impl Wss {
    /// How many snapshots were counted.
    pub fn snapshots(&self) -> u64 {
        self.sizes.count()
    }

    /// The working set that `percent` (0 to 100) of the snapshots don't exceed,
    /// in bytes; one that occurred. `None` without snapshots.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.sizes.percentile(percent)
    }

    /// The mean over snapshots, in bytes; `None` without snapshots.
    pub fn mean(&self) -> Option<f64> {
        self.sizes.mean()
    }

    /// What a picture or a bar must have room for, in bytes.
    fn largest(&self) -> u64 {
        self.percentile(100.0).max(self.resident_bytes).unwrap_or(0)
    }

    fn series(&self) -> Series {
        Series::new(self.timeline.iter().map(|&(at, bytes)| (at, bytes as f64)))
    }

    /// What is counted, in words.
    fn meaning(&self) -> String {
        match (self.options.min_rate, self.options.within_us) {
            (Some(rate), _) if rate > 0.0 => {
                format!("regions accessed at a rate of at least {}", display::percent(rate))
            }
            (Some(_), _) => "regions accessed at all".to_owned(),
            (None, Some(us)) => format!("memory accessed within {}", display::duration(us)),
            (None, None) => "memory accessed within an aggregation interval".to_owned(),
        }
    }
}

/// Writes a working set.
///
/// # Errors
///
/// [`RenderError::Write`] if `out` fails, [`RenderError::Picture`] if a PNG can't
/// be made.
pub fn render(
    wss: &Wss,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    match format {
        Format::Text => text::write(wss, style, out),
        Format::Json => table::json(wss, out),
        Format::Csv => table::csv(wss, out),
        Format::Svg | Format::Png => png::write(picture::draw(wss), format, out),
    }
}

#[cfg(test)]
mod tests;
