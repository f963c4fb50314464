//! What the monitoring cost.
//!
//! The monitor promises a bound: no tick checks more windows than there may be
//! regions. So the report shows not one mean but how the checks a tick are
//! distributed, against that bound, and how they and the CPU time went over time.
//! A window is a page or up to 512 of them, so pages read and armed stand beside it,
//! and only ticks that looked count. A bound on the CPU time, the targets' side
//! included, holds for any ten seconds: the worst are shown against it.

mod picture;
mod table;
mod text;
mod worst;

use crate::distribution::Distribution;
use crate::format::Format;
use crate::format::RenderError;
use crate::series::Series;
use crate::terminal::Style;
use crate::{names, png};
use daos_core::{Interval, Snapshot, TargetInfo};
use std::collections::BTreeSet;
use std::io::Write;
use worst::Worst;

/// The formats of the overhead: all.
pub const FORMATS: &[Format] = &Format::ALL;

/// What the snapshots don't say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OverheadOptions {
    /// The bound on regions, and so on the checks of a tick.
    pub max_regions: Option<u32>,
    /// The bound on what monitoring costs, in percent of one CPU, where it is known.
    pub max_overhead_percent: Option<f64>,
    /// CPU time that the monitor took before its first tick, in microseconds.
    pub setup_cpu_us: Option<u64>,
    /// The most memory that the monitor ever had resident, in bytes.
    pub peak_rss_bytes: Option<u64>,
}

/// What the monitoring cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// What the targets are called.
    pub title: String,
    /// What was given.
    pub options: OverheadOptions,
    /// From the start of the first to the end of the last snapshot, in
    /// microseconds since the record began; zero to zero without snapshots.
    pub time: (u64, u64),
    /// Windows checked, by tick that looked.
    pub checks_per_tick: Distribution,
    /// Number of regions, by snapshot.
    pub regions: Distribution,
    /// Ticks that came late.
    pub late_ticks: u64,
    /// Ticks that were left out.
    pub missed_ticks: u64,
    /// Pages of the windows checked; 0 where the record doesn't know.
    pub pages: u64,
    /// Pages armed.
    pub armed: u64,
    /// CPU time of the monitor, in microseconds.
    pub cpu_us: u64,
    /// CPU time that it took from the targets, estimated, in microseconds.
    pub target_us: u64,
    worst: Worst,
    /// What each snapshot cost.
    pub timeline: Vec<Moment>,
}

/// What one snapshot cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// When it ended, in microseconds since the record began.
    pub end_us: u64,
    /// How long it took, in microseconds.
    pub length_us: u64,
    /// Its ticks that looked.
    pub ticks: u64,
    /// Windows checked in all of them.
    pub checks: u64,
    /// Pages of these windows.
    pub pages: u64,
    /// Pages armed.
    pub armed: u64,
    /// Its regions.
    pub regions: u64,
    /// CPU time of the monitor in it, in microseconds.
    pub cpu_us: u64,
    /// CPU time that it took from the targets, estimated, in microseconds.
    pub target_us: u64,
}

impl Moment {
    /// Mean windows checked in a tick; `None` without ticks.
    pub fn checks_per_tick(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.checks as f64 / self.ticks as f64)
    }

    /// CPU time in percent of one CPU; `None` if it took no time.
    pub fn cpu_percent(&self) -> Option<f64> {
        percent_of(self.cpu_us, self.length_us)
    }

    /// CPU time taken from the targets in percent of one CPU; `None` if it took no time.
    pub fn target_percent(&self) -> Option<f64> {
        percent_of(self.target_us, self.length_us)
    }
}

/// Adds up the cost of snapshots; what `snapshots` fails with is passed through.
pub fn compute<E>(
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
    targets: &[TargetInfo],
    options: &OverheadOptions,
) -> Result<Overhead, E> {
    let mut overhead = Overhead::new(*options);
    let mut ids = BTreeSet::new();
    for interval in intervals {
        let Interval { snapshot, .. } = interval?;
        ids.extend(snapshot.targets.iter().map(|target| target.id));
        overhead.add(&snapshot);
    }
    overhead.title = names::targets(targets, &ids.into_iter().collect::<Vec<_>>());
    Ok(overhead)
}

impl Overhead {
    fn new(options: OverheadOptions) -> Self {
        Self {
            title: String::new(),
            options,
            time: (0, 0),
            checks_per_tick: Distribution::default(),
            regions: Distribution::default(),
            late_ticks: 0,
            missed_ticks: 0,
            pages: 0,
            armed: 0,
            cpu_us: 0,
            target_us: 0,
            worst: Worst::default(),
            timeline: Vec::new(),
        }
    }

    fn add(&mut self, snapshot: &Snapshot) {
        if self.timeline.is_empty() {
            self.time.0 = snapshot.start_us;
        }
        self.time.1 = snapshot.end_us;
        let cost = &snapshot.cost;
        for (windows, ticks) in cost.checks.runs() {
            self.checks_per_tick.add_times(windows.into(), ticks);
        }
        self.regions.add(snapshot.nr_regions() as u64);
        self.late_ticks += u64::from(cost.late_ticks);
        self.missed_ticks += u64::from(cost.missed_ticks);
        self.pages = self.pages.saturating_add(cost.pages);
        self.armed = self.armed.saturating_add(cost.armed);
        self.cpu_us = self.cpu_us.saturating_add(cost.cpu_us);
        self.target_us = self.target_us.saturating_add(cost.target_us);
        let moment = Moment {
            end_us: snapshot.end_us,
            length_us: snapshot.end_us.saturating_sub(snapshot.start_us),
            ticks: cost.checks.ticks(),
            checks: cost.checks.windows(),
            pages: cost.pages,
            armed: cost.armed,
            regions: snapshot.nr_regions() as u64,
            cpu_us: cost.cpu_us,
            target_us: cost.target_us,
        };
        self.worst.add(&moment);
        self.timeline.push(moment);
    }

    /// From the first to the last moment, in microseconds.
    pub fn elapsed_us(&self) -> u64 {
        self.time.1.saturating_sub(self.time.0)
    }

    /// CPU time of the monitor in percent of one CPU; `None` if no time went by.
    pub fn cpu_percent(&self) -> Option<f64> {
        percent_of(self.cpu_us, self.elapsed_us())
    }

    /// CPU time taken from the targets in percent of one CPU, estimated; `None` if no
    /// time went by.
    pub fn target_percent(&self) -> Option<f64> {
        percent_of(self.target_us, self.elapsed_us())
    }

    /// Both together.
    pub fn total_percent(&self) -> Option<f64> {
        percent_of(self.cpu_us.saturating_add(self.target_us), self.elapsed_us())
    }

    /// The most of both together over ten seconds, in percent of one CPU: of any whole
    /// snapshots that make up ten seconds, or of a shorter record. `None` if no time
    /// went by.
    pub fn worst_10s_percent(&self) -> Option<f64> {
        Some(self.worst.share()? * 100.0)
    }

    /// Whether the bound was exceeded by no more than a tenth over any ten seconds; `None`
    /// without a bound, and where more was spent in less than ten seconds: the rest of them
    /// could have made up for it.
    pub fn bound_kept(&self) -> Option<bool> {
        let bound = self.options.max_overhead_percent?;
        let kept = self.worst_10s_percent()? <= bound * 1.1 + 1e-9;
        (kept || self.elapsed_us() >= worst::SPAN_US).then_some(kept)
    }

    /// Pages of the windows checked, and pages armed, in a tick that looked: means;
    /// `None` where the record doesn't know.
    pub fn pages_per_tick(&self) -> Option<(f64, f64)> {
        let ticks = self.checks_per_tick.count() as f64;
        (self.pages > 0 && ticks > 0.0)
            .then(|| (self.pages as f64 / ticks, self.armed as f64 / ticks))
    }

    fn checks_over_time(&self) -> Series {
        Series::new(self.timeline.iter().filter_map(|m| Some((m.end_us, m.checks_per_tick()?))))
    }

    /// CPU time, the targets' side included, in percent of one CPU.
    fn cpu_over_time(&self) -> Series {
        Series::new(
            self.timeline
                .iter()
                .filter_map(|m| Some((m.end_us, m.cpu_percent()? + m.target_percent()?))),
        )
    }

    /// The most checks that a histogram must have room for.
    fn most_checks(&self) -> u64 {
        let bound = self.options.max_regions.map(u64::from);
        self.checks_per_tick.percentile(100.0).max(bound).unwrap_or(0)
    }

    /// How many ticks checked how many windows, in about `count` spans of equal
    /// width: that width, and the ticks in each. A span ends with a multiple of
    /// the width, so that the bound, a round number, ends one too; the first also
    /// holds the ticks that checked nothing.
    fn histogram(&self, count: u64) -> (u64, Vec<u64>) {
        let width = round_up(self.most_checks().div_ceil(count));
        let spans = self.most_checks().div_ceil(width).max(1);
        let mut ticks = vec![0; spans as usize];
        for (checks, times) in self.checks_per_tick.iter() {
            ticks[(checks.saturating_sub(1) / width) as usize] += times;
        }
        (width, ticks)
    }
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `number`.
fn round_up(number: u64) -> u64 {
    let powers = (0..19).map(|power| 10u64.pow(power));
    let round = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    round.into_iter().find(|&round| round >= number).unwrap_or(number)
}

fn percent_of(part_us: u64, whole_us: u64) -> Option<f64> {
    (whole_us > 0).then(|| part_us as f64 / whole_us as f64 * 100.0)
}

/// Writes the overhead.
///
/// # Errors
///
/// [`RenderError::Write`] if `out` fails, [`RenderError::Picture`] if a PNG can't
/// be made.
pub fn render(
    overhead: &Overhead,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    match format {
        Format::Text => text::write(overhead, style, out),
        Format::Json => table::json(overhead, out),
        Format::Csv => table::csv(overhead, out),
        Format::Svg | Format::Png => png::write(picture::draw(overhead), format, out),
    }
}

#[cfg(test)]
mod tests;
