//! The overhead in a terminal.

use super::Overhead;
use crate::distribution::Distribution;
use crate::format::RenderError;
use crate::terminal::{Style, bars};
use daos_core::units::display;
use std::io::Write;

/// Spans of the histogram, about.
const SPANS: u64 = 10;

/// Characters of a row of the histogram before its bar.
const BEFORE_BAR: usize = 28;

/// Writes the numbers, the histogram of checks a tick, and the change over time.
pub fn write(overhead: &Overhead, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "Overhead of monitoring {}", overhead.title)?;
    if overhead.timeline.is_empty() {
        writeln!(out, "no snapshots")?;
        return Ok(());
    }
    writeln!(out)?;
    write_numbers(overhead, out)?;
    if overhead.checks_per_tick.count() > 0 {
        write_histogram(overhead, style, out)?;
    }
    let number = display::three_digits;
    let percent = |percent: f64| display::percent(percent / 100.0);
    let (time, checks, cpu) =
        (overhead.time, overhead.checks_over_time(), overhead.cpu_over_time());
    write!(out, "{}", bars::over_time("\nchecks a tick over time", &checks, time, number, style))?;
    let cpu_name = match overhead.target_us {
        0 => "\nCPU over time",
        _ => "\nCPU over time, the target's side included",
    };
    write!(out, "{}", bars::over_time(cpu_name, &cpu, time, percent, style))?;
    Ok(())
}

fn write_numbers(overhead: &Overhead, out: &mut impl Write) -> Result<(), RenderError> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:>14}  {value}");
    let options = &overhead.options;
    line(
        "ticks",
        format!(
            "{} in {}, {} late, {} missed",
            overhead.checks_per_tick.count(),
            display::duration(overhead.elapsed_us()),
            overhead.late_ticks,
            overhead.missed_ticks
        ),
    )?;
    let bound = options.max_regions.map_or(String::new(), |max| format!(", bound {max}"));
    line("checks a tick", spread(&overhead.checks_per_tick) + &bound)?;
    line("regions", spread(&overhead.regions) + &bound)?;
    if let Some((pages, armed)) = overhead.pages_per_tick() {
        let [pages, armed] = [pages, armed].map(display::three_digits);
        line("pages a tick", format!("{pages} read, {armed} armed, on average"))?;
    }
    write_shares(overhead, &mut line)?;
    if let Some(us) = options.setup_cpu_us {
        line("setup", format!("{} of CPU time before the first tick", display::duration(us)))?;
    }
    if let Some(bytes) = options.peak_rss_bytes {
        line("peak resident", display::bytes(bytes))?;
    }
    Ok(())
}

/// What the CPU time comes to, and how the bound on it was kept.
fn write_shares(
    overhead: &Overhead,
    line: &mut impl FnMut(&str, String) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let share = |percent: f64| display::percent(percent / 100.0);
    if let Some(percent) = overhead.cpu_percent() {
        line("CPU", format!("{} of one CPU", share(percent)))?;
    }
    let target = overhead.target_percent().filter(|percent| *percent > 0.0);
    if let (Some(target), Some(total)) = (target, overhead.total_percent()) {
        let value = format!("{} of one CPU, estimated; {} together", share(target), share(total));
        line("target's side", value)?;
    }
    if let Some(worst) = overhead.worst_10s_percent() {
        let length = match overhead.elapsed_us() {
            us if us < super::worst::SPAN_US => ", all there are",
            _ => "",
        };
        line("worst 10 s", format!("{} of one CPU{length}", share(worst)))?;
    }
    if let Some(bound) = overhead.options.max_overhead_percent {
        let kept = match overhead.bound_kept() {
            Some(true) => "kept over every ten seconds, to a tenth",
            Some(false) => "exceeded by more than a tenth",
            None => "over ten seconds, and there are less",
        };
        line("bound on CPU", format!("{} of one CPU, {kept}", share(bound)))?;
    }
    Ok(())
}

/// `min 10, median 231, p99 480, max 600`.
fn spread(all: &Distribution) -> String {
    let marks = [("min", 0.0), ("median", 50.0), ("p99", 99.0), ("max", 100.0)];
    let shown = marks.map(|(name, percent)| match all.percentile(percent) {
        Some(value) => format!("{name} {value}"),
        None => format!("{name} -"),
    });
    shown.join(", ")
}

fn write_histogram(
    overhead: &Overhead,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let (width, ticks) = overhead.histogram(SPANS);
    let all = overhead.checks_per_tick.count() as f64;
    let most = ticks.iter().max().map_or(1.0, |&most| most.max(1) as f64);
    writeln!(out, "\n{:>14}  {:>10}", "checks a tick", "ticks")?;
    for (span, &count) in ticks.iter().enumerate() {
        let last = (span as u64 + 1) * width;
        let checks = match span {
            0 => format!("0 to {last}"),
            _ if width == 1 => last.to_string(),
            _ => format!("{} to {last}", last - width + 1),
        };
        let bar = bars::bar(count as f64 / most, style.room(BEFORE_BAR + 8).min(50), style.unicode);
        let share = if count > 0 { display::percent(count as f64 / all) } else { String::new() };
        let row = format!("{checks:>14}  {count:>10}  {bar} {share}");
        writeln!(out, "{}", row.trim_end())?;
    }
    if let Some(bound) = overhead.options.max_regions {
        writeln!(out, "{bound:>14}  the bound")?;
    }
    Ok(())
}
