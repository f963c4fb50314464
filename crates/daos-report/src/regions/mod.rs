//! The snapshots themselves, region by region.
//!
//! Written while they are read, so that a record of any length fits: nothing is
//! kept but, where only the last snapshot is wanted, that one.

mod text;

use crate::format::Format;
use crate::format::StreamError;
use crate::terminal::Style;
use crate::{csv, names};
use daos_core::{Interval, Snapshot, TargetId, TargetInfo};
use daos_record::json::{RegionJson, SnapshotJson};
use std::io::{self, Write};

/// The formats of regions.
pub const FORMATS: &[Format] = &[Format::Text, Format::Json, Format::Csv];

/// Which snapshots to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegionsOptions {
    /// Only snapshots that overlap the time from the first to the second moment,
    /// in microseconds since the record began.
    pub time: Option<(u64, u64)>,
    /// Only this target; else all.
    pub target: Option<TargetId>,
    /// Only the last of these snapshots. If not said, text without a time shows
    /// only the last, and everything else shows all.
    pub last: Option<bool>,
}

/// Writes snapshots as they come.
///
/// The JSON is a list with one [`SnapshotJson`] for each target of each snapshot.
///
/// # Errors
///
/// [`StreamError::Source`] if `snapshots` fails: what came before is written
/// then, and the JSON is a whole list. [`RenderError::Unsupported`](crate::RenderError)
/// for a picture, [`RenderError::Write`](crate::RenderError) if `out` fails.
pub fn render<E>(
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
    targets: &[TargetInfo],
    options: &RegionsOptions,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), StreamError<E>> {
    let mut list: Box<dyn List> = match format {
        Format::Text => Box::new(text::Tables::new(targets, *style)),
        Format::Json => Box::new(JsonList { first: true }),
        Format::Csv => Box::new(CsvRows { targets }),
        Format::Svg | Format::Png => return Err(format.refused("regions", FORMATS).into()),
    };
    let only_last = options.last.unwrap_or(format == Format::Text && options.time.is_none());
    let mut last = None;
    list.begin(out)?;
    let mut failed = None;
    for interval in intervals {
        match interval {
            Ok(interval) if !options.shows(&interval.snapshot) => {}
            Ok(interval) if only_last => last = Some(interval),
            Ok(interval) => write_one(&mut *list, interval, options, out)?,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if let Some(interval) = last {
        write_one(&mut *list, interval, options, out)?;
    }
    list.end(out)?;
    failed.map_or(Ok(()), |error| Err(StreamError::Source(error)))
}

impl RegionsOptions {
    fn shows(&self, snapshot: &Snapshot) -> bool {
        self.time.is_none_or(|(from, to)| from < snapshot.end_us && snapshot.start_us < to)
    }
}

fn write_one(
    list: &mut dyn List,
    mut interval: Interval,
    options: &RegionsOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    interval
        .snapshot
        .targets
        .retain(|target| options.target.is_none_or(|wanted| wanted == target.id));
    list.interval(&interval, out)
}

/// A list of snapshots in one format.
trait List {
    /// Writes what comes before the first snapshot.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// Writes one snapshot.
    fn interval(&mut self, interval: &Interval, out: &mut dyn Write) -> io::Result<()>;
    /// Writes what comes after the last snapshot.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// One JSON list, an element a line.
struct JsonList {
    first: bool,
}

impl List for JsonList {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "[")
    }

    fn interval(&mut self, interval: &Interval, out: &mut dyn Write) -> io::Result<()> {
        for target in &interval.snapshot.targets {
            write!(out, "{}", if self.first { "\n" } else { ",\n" })?;
            self.first = false;
            serde_json::to_writer(&mut *out, &SnapshotJson::new(interval, target))?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n]")
    }
}

/// A row for each region. Of its page runs, how many there are and the bytes in use.
struct CsvRows<'a> {
    targets: &'a [TargetInfo],
}

impl List for CsvRows<'_> {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "start_us,end_us,target,start,end,access_rate,age_us,unobserved,mapping,page_runs,page_bytes_used"
        )
    }

    fn interval(&mut self, interval: &Interval, out: &mut dyn Write) -> io::Result<()> {
        for target in &interval.snapshot.targets {
            let info = self.targets.iter().find(|info| info.id == target.id);
            for region in &target.regions {
                let RegionJson { start, end, access_rate, age_us, unobserved, pages } =
                    RegionJson::new(target, region);
                let used = target.used_bytes(region.range);
                let mapping = names::mapping(info, &region.range);
                writeln!(
                    out,
                    "{},{},{},{start},{end},{},{age_us},{},{},{},{used}",
                    interval.snapshot.start_us,
                    interval.snapshot.end_us,
                    target.id.0,
                    access_rate,
                    unobserved,
                    csv::field(&mapping),
                    pages.len()
                )?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
