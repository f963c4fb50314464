//! Snapshots as tables in a terminal.

use super::List;
use crate::names;
use crate::terminal::{Style, bars};
use daos_core::units::display;
use daos_core::{Interval, RegionSnapshot, TargetInfo, TargetSnapshot};
use std::io::{self, Write};

/// Characters of the bar of an access rate.
const BAR: usize = 10;

/// A table for each target of each snapshot.
pub struct Tables<'a> {
    targets: &'a [TargetInfo],
    style: Style,
    written: bool,
}

impl<'a> Tables<'a> {
    /// Tables of regions of `targets`.
    pub fn new(targets: &'a [TargetInfo], style: Style) -> Self {
        Self { targets, style, written: false }
    }

    fn row(&self, region: &RegionSnapshot, notes: &str) -> String {
        let rate = region.access_rate;
        let unobserved = match region.unobserved {
            share if share > 0.0 => format!("  ({} unobserved)", display::percent(share)),
            _ => String::new(),
        };
        format!(
            "{:>14} {:>14} {:>9} {:>7} {:BAR$} {:>8}  {notes}{unobserved}",
            format!("{:#x}", region.range.start),
            format!("{:#x}", region.range.end),
            display::bytes(region.range.len()),
            display::percent(rate),
            bars::bar(rate, BAR, self.style.unicode),
            display::duration(region.age_us),
        )
    }
}

/// What is known to the page, in words; nothing where nothing is.
fn page_runs(target: &TargetSnapshot, region: &RegionSnapshot) -> String {
    let used = display::bytes(target.used_bytes(region.range));
    match target.runs_in(region.range).count() {
        0 => String::new(),
        1 => format!("  (1 run of pages, {used} in use)"),
        count => format!("  ({count} runs of pages, {used} in use)"),
    }
}

impl List for Tables<'_> {
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, out: &mut dyn Write) -> io::Result<()> {
        let snapshot = &interval.snapshot;
        for target in &snapshot.targets {
            if self.written {
                writeln!(out)?;
            }
            self.written = true;
            let name = names::target(self.targets, target.id);
            let (from, to) = (snapshot.start_us as f64 / 1e6, snapshot.end_us as f64 / 1e6);
            let count = target.regions.len();
            writeln!(out, "{name}: {from:.3} to {to:.3} s, {count} regions")?;
            writeln!(
                out,
                "{:>14} {:>14} {:>9} {:>7} {:BAR$} {:>8}  mapping",
                "start", "end", "size", "rate", "", "age"
            )?;
            let info = self.targets.iter().find(|info| info.id == target.id);
            for region in &target.regions {
                let notes = names::mapping(info, &region.range) + &page_runs(target, region);
                let row = self.row(region, &notes);
                writeln!(out, "{}", row.trim_end())?;
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.written {
            writeln!(out, "no snapshots")?;
        }
        Ok(())
    }
}
