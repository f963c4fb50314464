//! The working set in a terminal.

use super::Wss;
use crate::format::RenderError;
use crate::terminal::{Style, bars};
use daos_core::units::display;
use std::io::Write;

/// Characters of a row before its bar.
const BEFORE_BAR: usize = 26;

/// Writes a row with a bar for each percentile, then the change over time.
pub fn write(wss: &Wss, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "Working set of {}: {}", wss.title, wss.meaning())?;
    if wss.snapshots() == 0 {
        writeln!(out, "no snapshots")?;
        return Ok(());
    }
    writeln!(out, "\n{:>12}  {:>10}", "percentile", "size")?;
    for &percent in &wss.options.percentiles {
        row(wss, &percent.to_string(), wss.percentile(percent), style, out)?;
    }
    row(wss, "mean", wss.mean().map(|mean| mean.round() as u64), style, out)?;
    if wss.resident_bytes.is_some() {
        row(wss, "resident", wss.resident_bytes, style, out)?;
    }
    let name = format!("\nover time, {} snapshots", wss.snapshots());
    let size = |bytes: f64| display::bytes(bytes as u64);
    write!(out, "{}", bars::over_time(&name, &wss.series(), wss.time, size, style))?;
    Ok(())
}

fn row(
    wss: &Wss,
    name: &str,
    bytes: Option<u64>,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let bytes = bytes.unwrap_or(0);
    let share = bytes as f64 / wss.largest().max(1) as f64;
    let bar = bars::bar(share, style.room(BEFORE_BAR).min(60), style.unicode);
    writeln!(out, "{}", format!("{name:>12}  {:>10}  {bar}", display::bytes(bytes)).trim_end())?;
    Ok(())
}
