//! What schemes did, in a terminal.

use super::{Scheme, Schemes};
use crate::format::RenderError;
use crate::names;
use crate::terminal::{Style, bars};
use daos_core::units::display;
use daos_core::{Refusal, SchemeStats};
use std::io::Write;

/// Writes a row for each scheme, a row of its counters if there are any, and when it acted.
pub fn write(schemes: &Schemes, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "{}\n{}", schemes.headline(), schemes.summary())?;
    if schemes.schemes.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:>6}  {:10} {:>7} {:>9} {:>9} {:>9}",
        "scheme", "action", "times", "bytes", "first", "last"
    )?;
    for scheme in &schemes.schemes {
        let action = scheme.action.map_or("", |action| action.name());
        let bytes = display::bytes(scheme.bytes);
        let [first, last] = [scheme.first_us(), scheme.last_us()].map(moment);
        let row = format!(
            "{:>6}  {action:10} {:>7} {bytes:>9} {first:>9} {last:>9}  {}",
            scheme.number,
            scheme.times,
            names::printable(&scheme.label)
        );
        writeln!(out, "{}", row.trim_end())?;
    }
    write_stats(schemes, out)?;
    for scheme in schemes.schemes.iter().filter(|scheme| scheme.times > 0) {
        let name = format!("\n{}", scheme.name());
        let events = &scheme.timeline;
        write!(out, "{}", bars::bytes_by_time(&name, events, schemes.time, style))?;
    }
    Ok(())
}

/// A moment in seconds, or nothing.
fn moment(us: Option<u64>) -> String {
    us.map_or(String::new(), |us| format!("{} s", display::seconds(us)))
}

/// The counters, and why what was refused was.
fn write_stats(schemes: &Schemes, out: &mut impl Write) -> Result<(), RenderError> {
    let with = |scheme: &Scheme| Some((scheme.number, scheme.stats.clone()?));
    let all: Vec<(u32, SchemeStats)> = schemes.schemes.iter().filter_map(with).collect();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nover the whole record\n{:>6}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7}",
        "scheme",
        "tried",
        "applied",
        "back",
        "refused",
        "in use",
        "bloat",
        "quota",
        "slept",
        "spent"
    )?;
    for (number, stats) in &all {
        let refused = Scheme::refused_bytes(stats);
        let SchemeStats { tried_bytes, applied_bytes, refault_bytes, spared_bytes, .. } = *stats;
        let [tried, applied, back, refused, spared] =
            [tried_bytes, applied_bytes, refault_bytes, refused, spared_bytes].map(display::bytes);
        let sign = if stats.bloat_bytes < 0 { "-" } else { "" };
        let bloat = format!("{sign}{}", display::bytes(stats.bloat_bytes.unsigned_abs()));
        let quota = format!("{} x", stats.quota_exceeded);
        let slept = format!("{} x", stats.slept);
        let spent = display::duration(stats.spent_us.round() as u64);
        writeln!(
            out,
            "{number:>6}  {tried:>9} {applied:>9} {back:>9} {refused:>9} {spared:>9} {bloat:>9} {quota:>7} {slept:>7} {spent:>7}"
        )?;
    }
    for (number, stats) in all.iter().filter(|(_, stats)| stats.page_cache_bytes > 0) {
        let bytes = display::bytes(stats.page_cache_bytes);
        writeln!(out, "{number:>6}  applied to page cache that nobody maps: {bytes}")?;
    }
    for (number, stats) in all.iter().filter(|(_, stats)| !stats.refused_bytes.is_empty()) {
        let reason =
            |(why, &bytes): (&Refusal, &u64)| format!("{} {}", display::bytes(bytes), why.name());
        let reasons: Vec<_> = stats.refused_bytes.iter().map(reason).collect();
        writeln!(out, "{number:>6}  refused: {}", reasons.join(", "))?;
    }
    Ok(())
}
