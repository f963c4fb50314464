//! The overhead as data.

use super::Overhead;
use crate::csv;
use crate::distribution::Distribution;
use crate::format::RenderError;
use daos_record::json::six_decimals;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Json {
    ticks: u64,
    late_ticks: u64,
    missed_ticks: u64,
    checks_per_tick: Checks,
    regions: Regions,
    cpu_percent: Option<f64>,
    elapsed_us: u64,
    setup_cpu_us: Option<u64>,
    peak_rss_bytes: Option<u64>,
    pages_per_tick: Option<f64>,
    armed_per_tick: Option<f64>,
    target_percent: Option<f64>,
    total_percent: Option<f64>,
    worst_10s_percent: Option<f64>,
    max_overhead_percent: Option<f64>,
    bound_kept: Option<bool>,
}

#[derive(Serialize)]
struct Checks {
    min: Option<u64>,
    p50: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

#[derive(Serialize)]
struct Regions {
    min: Option<u64>,
    p50: Option<u64>,
    max: Option<u64>,
}

impl Checks {
    fn of(all: &Distribution) -> Self {
        let [min, p50, p99, max] = [0.0, 50.0, 99.0, 100.0].map(|p| all.percentile(p));
        Self { min, p50, p99, max }
    }
}

impl Regions {
    fn of(all: &Distribution) -> Self {
        let [min, p50, max] = [0.0, 50.0, 100.0].map(|p| all.percentile(p));
        Self { min, p50, max }
    }
}

/// Writes one object; what is not known is null.
pub fn json(overhead: &Overhead, out: &mut impl Write) -> Result<(), RenderError> {
    let json = Json {
        ticks: overhead.checks_per_tick.count(),
        late_ticks: overhead.late_ticks,
        missed_ticks: overhead.missed_ticks,
        checks_per_tick: Checks::of(&overhead.checks_per_tick),
        regions: Regions::of(&overhead.regions),
        cpu_percent: overhead.cpu_percent().map(six_decimals),
        elapsed_us: overhead.elapsed_us(),
        setup_cpu_us: overhead.options.setup_cpu_us,
        peak_rss_bytes: overhead.options.peak_rss_bytes,
        pages_per_tick: overhead.pages_per_tick().map(|(pages, _)| six_decimals(pages)),
        armed_per_tick: overhead.pages_per_tick().map(|(_, armed)| six_decimals(armed)),
        target_percent: overhead.target_percent().map(six_decimals),
        total_percent: overhead.total_percent().map(six_decimals),
        worst_10s_percent: overhead.worst_10s_percent().map(six_decimals),
        max_overhead_percent: overhead.options.max_overhead_percent,
        bound_kept: overhead.bound_kept(),
    };
    serde_json::to_writer(&mut *out, &json).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each snapshot.
pub fn csv(overhead: &Overhead, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(
        out,
        "end_us,ticks,checks,checks_per_tick,regions,cpu_us,cpu_percent,pages,armed,target_us,target_percent"
    )?;
    for moment in &overhead.timeline {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{}",
            moment.end_us,
            moment.ticks,
            moment.checks,
            csv::optional(moment.checks_per_tick().map(six_decimals)),
            moment.regions,
            moment.cpu_us,
            csv::optional(moment.cpu_percent().map(six_decimals)),
            moment.pages,
            moment.armed,
            moment.target_us,
            csv::optional(moment.target_percent().map(six_decimals))
        )?;
    }
    Ok(())
}
