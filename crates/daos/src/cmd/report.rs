//! `daos report`: opens a record, and has `daos-report` compute and draw.

pub mod output;
mod source;

use crate::cli::{self, Common, Report};
use anyhow::Result;
use daos_cli::Usage;
use daos_report::{RenderError, heatmap, info, overhead, owners, regions, schemes, wss};
use output::Output;
use source::Source;

/// Shows one report. Exit status 1 when the record is corrupt: what could be read
/// is shown all the same.
pub fn run(report: &Report) -> Result<i32> {
    match report {
        Report::Heatmap(args) => show_heatmap(args),
        Report::Wss(args) => show_wss(args),
        Report::Owners(args) => show_owners(args),
        Report::Regions(args) => show_regions(args),
        Report::Schemes(args) => show_schemes(args),
        Report::Overhead(args) => show_overhead(args),
        Report::Info(args) => show_info(args),
    }
    .map_err(|err| match err.downcast_ref() {
        Some(RenderError::Unsupported { .. }) => Usage(err.to_string()).into(),
        _ => err,
    })
}

/// Opens what is read and what is written, in this order. `time`: the part that is asked for.
fn open(common: &Common, time: Option<(u64, u64)>) -> Result<(Source, Output)> {
    let source = Source::open(&common.record)?;
    source.tell_if_behind_the_end(time);
    Ok((source, Output::open(common.format, common.output.as_ref())?))
}

/// Most cells of a heat map that are asked for. Chosen: they take some hundred mebibytes.
const MOST_CELLS: u64 = 4_000_000;

fn show_heatmap(args: &cli::Heatmap) -> Result<i32> {
    let cells = u64::from(args.width.unwrap_or(1)) * u64::from(args.height.unwrap_or(1));
    if cells > MOST_CELLS {
        let why = format!(
            "--width times --height is {cells}, of {MOST_CELLS} cells at most: make one of them smaller"
        );
        return Err(Usage(why).into());
    }
    let (source, mut output) = open(&args.common, args.zoom.time)?;
    let style = output.style(&args.color);
    let fitting = heatmap::HeatmapOptions::new(output.format, &style, &source.targets());
    let options = heatmap::HeatmapOptions {
        address: args.zoom.address,
        time: args.zoom.time,
        target: source.target(args.zoom.target)?,
        columns: args.width.map_or(fitting.columns, |n| n as usize),
        rows: args.height.map_or(fitting.rows, |n| n as usize),
        page_rows: args.height.map_or(fitting.page_rows, |n| n as usize),
        most_segments: fitting.most_segments,
        small_targets: fitting.small_targets,
        actions: !args.no_actions,
        scale: match args.scale {
            cli::HeatScale::PerSecond => heatmap::Scale::PerSecond,
            cli::HeatScale::Share => heatmap::Scale::Share,
        },
    };
    let map = heatmap::compute(|| Ok(source.intervals()), &source.targets(), &options)?;
    heatmap::render(&map, output.format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

fn show_wss(args: &cli::Wss) -> Result<i32> {
    let (source, mut output) = open(&args.common, args.zoom.time)?;
    let options = wss::WssOptions {
        within_us: args.within.or(source.aggregation_us()),
        min_rate: args.min_rate,
        time: args.zoom.time,
        target: source.target(args.zoom.target)?,
        percentiles: args.percentiles.clone(),
        timeline: args.timeline,
    };
    let intervals = source.intervals_in(args.zoom.address);
    let wss = wss::compute(intervals, &source.targets(), &options)?;
    let format = output.format;
    let style = output.style(&args.color);
    wss::render(&wss, format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

fn show_owners(args: &cli::ReportOwners) -> Result<i32> {
    let source = Source::open(&args.common.record)?;
    if source.is_by_physical_address() {
        let name = args.common.record.display();
        let why = "is of physical addresses, and `report owners` is for records of processes";
        return Err(Usage(format!("{name} {why}: `report heatmap` shows who has which addresses, and `report wss` how much is in use")).into());
    }
    source.tell_if_behind_the_end(args.time);
    let mut output = Output::open(args.common.format, args.common.output.as_ref())?;
    let options = owners::OwnersOptions { by: args.by.into(), time: args.time };
    let mut bill = owners::compute(source.intervals(), &source.targets(), &options)?;
    bill.page_cache = source.record.page_cache().filter(|_| bill.is_latest);
    let format = output.format;
    let style = output.style(&args.color);
    owners::render(&bill, format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

impl From<cli::By> for owners::OwnersBy {
    fn from(by: cli::By) -> Self {
        match by {
            cli::By::Process => Self::Process,
            cli::By::Cgroup => Self::Cgroup,
            cli::By::Name => Self::Name,
        }
    }
}

fn show_regions(args: &cli::Regions) -> Result<i32> {
    let (source, mut output) = open(&args.common, args.zoom.time)?;
    let options = regions::RegionsOptions {
        time: args.zoom.time,
        target: source.target(args.zoom.target)?,
        last: args.all.then_some(false),
    };
    let intervals = source.intervals_in(args.zoom.address);
    let style = output.style(&args.color);
    let format = output.format;
    regions::render(intervals, &source.targets(), &options, format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

fn show_schemes(args: &cli::Schemes) -> Result<i32> {
    let (source, mut output) = open(&args.common, args.zoom.time)?;
    let target = source.target(args.zoom.target)?;
    let options = schemes::SchemesOptions { time: args.zoom.time, target };
    let intervals = source.intervals_in(args.zoom.address);
    let done = schemes::compute(intervals, &source.targets(), source.schemes(), &options)?;
    let format = output.format;
    let style = output.style(&args.color);
    schemes::render(&done, format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

fn show_overhead(args: &cli::Overhead) -> Result<i32> {
    let (source, mut output) = open(&args.common, None)?;
    let (header, end) = (source.record.header(), source.record.end());
    let options = overhead::OverheadOptions {
        max_regions: Some(header.attrs.max_regions),
        max_overhead_percent: header.max_overhead_percent,
        setup_cpu_us: end.map(|end| end.setup_cpu_us),
        peak_rss_bytes: end.map(|end| end.peak_rss_bytes),
    };
    let cost = overhead::compute(source.intervals(), &source.targets(), &options)?;
    let format = output.format;
    let style = output.style(&args.color);
    overhead::render(&cost, format, &style, &mut output)?;
    output.finish()?;
    Ok(source.status())
}

fn show_info(args: &cli::Info) -> Result<i32> {
    let (source, mut output) = open(&args.common, None)?;
    let format = output.format;
    info::render(&source.info(), format, &mut output)?;
    output.finish()?;
    Ok(source.status())
}
