//! What a recording adds up to: its last frame, and the lines on standard error.

mod intervals;

use crate::cli;
use daos_core::Snapshot;
use daos_core::units::display;
use daos_record::{End, SchemeEnd};
use intervals::Intervals;

/// Fewer snapshots of a command than this don't show what it did. Chosen.
const FEW: u64 = 5;
/// And it was over within so many microseconds. Chosen.
const SHORT_US: u64 = 2_000_000;
/// What to do about it.
const SHOWS_MORE: &str =
    "a shorter --aggr, as of 20ms, and a larger --max-overhead, as of 5, show more of it";

/// Sums over the snapshots of a recording.
#[derive(Debug, Default)]
pub struct Totals {
    intervals: Intervals,
    snapshots: u64,
    checks: u64,
    pages: u64,
    late_ticks: u64,
    missed_ticks: u64,
    cpu_us: u64,
    target_us: u64,
    elapsed_us: u64,
    regions: Option<(usize, usize)>,
    /// Bytes times checks: of everything, and of what could not be observed.
    watched: f64,
    unobserved: f64,
}

impl Totals {
    /// Of a recording that begins as `args` ask.
    pub fn new(args: &cli::Looking) -> Self {
        Self { intervals: Intervals::new(args), ..Self::default() }
    }

    /// Takes in one more snapshot.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.snapshots += 1;
        self.intervals.add(snapshot);
        self.pages += snapshot.cost.pages;
        self.target_us += snapshot.cost.target_us;
        self.checks += snapshot.cost.checks.windows();
        self.late_ticks += u64::from(snapshot.cost.late_ticks);
        self.missed_ticks += u64::from(snapshot.cost.missed_ticks);
        self.cpu_us += snapshot.cost.cpu_us;
        self.elapsed_us = snapshot.end_us;
        let nr = snapshot.nr_regions();
        self.regions = self.regions.map_or(Some((nr, nr)), |(l, h)| Some((l.min(nr), h.max(nr))));
        for region in snapshot.targets.iter().flat_map(|t| &t.regions) {
            self.watched += region.range.len() as f64;
            self.unobserved += region.range.len() as f64 * region.unobserved;
        }
    }

    /// The end of a record that ended for `reason`.
    pub fn end(
        &self,
        reason: &str,
        exit_status: Option<i32>,
        setup_cpu_us: u64,
        schemes: Vec<SchemeEnd>,
    ) -> End {
        End {
            reason: reason.to_owned(),
            exit_status,
            elapsed_us: self.elapsed_us,
            snapshots: self.snapshots,
            checks: self.checks,
            late_ticks: self.late_ticks,
            missed_ticks: self.missed_ticks,
            setup_cpu_us,
            cpu_us: self.cpu_us,
            peak_rss_bytes: daos_linux::host::my_peak_rss(),
            schemes,
        }
    }

    /// Whether there was never anything to watch.
    pub fn are_of_nothing(&self) -> bool {
        self.snapshots > 0 && self.regions.is_none_or(|(_, most)| most == 0)
    }

    /// Tells the user, on standard error. `output`: where the record is; `without_children`:
    /// whether it lacks what targets have started; `nothing`: why it is one of nothing, if it is.
    pub fn tell(&self, end: &End, output: &str, without_children: bool, nothing: Option<&str>) {
        if end.snapshots == 0 {
            daos_cli::say!(
                "daos: recorded no snapshot: it was over before the first aggregation interval was; \
                 {SHOWS_MORE}"
            );
            return;
        }
        daos_cli::say!(
            "daos: recorded {} s: {}, {}",
            display::seconds(end.elapsed_us),
            snapshots(end.snapshots, self.regions.unwrap_or_default()),
            checked(end.checks, self.pages)
        );
        let share = |us: u64| 100.0 * us as f64 / end.elapsed_us.max(1) as f64;
        daos_cli::say!(
            "daos: the monitor used {:.2} % of one CPU and {} of memory at most{}{}",
            share(end.cpu_us),
            display::bytes(end.peak_rss_bytes),
            match self.target_us {
                0 => String::new(),
                us =>
                    format!(", and took {:.2} % of one CPU from the target (estimated)", share(us)),
            },
            match (end.late_ticks, end.missed_ticks) {
                (0, 0) => String::new(),
                (late, missed) => format!("; {late} ticks came late, {missed} were missed"),
            }
        );
        if let Some(line) = self.intervals.tell() {
            daos_cli::say!("daos: {line}");
        }
        let unobserved = 100.0 * self.unobserved / self.watched.max(1.0);
        if unobserved >= 1.0 {
            daos_cli::say!(
                "daos: {unobserved:.0} % of the checks found memory that can't be observed (shared, locked or of a device)"
            );
        }
        let is_short = end.elapsed_us < SHORT_US && end.exit_status.is_some();
        if end.snapshots < FEW && is_short {
            daos_cli::say!("daos: it was over soon; {SHOWS_MORE}");
        }
        match (nothing, output) {
            (Some(nothing), _) => daos_cli::say!("daos: {nothing}"),
            (None, "-" | "/dev/null") => {}
            (None, _) => {
                let without = match without_children {
                    true => ", without what the target has started (--children)",
                    false => "",
                };
                daos_cli::say!("daos: in {output}{without}; try `daos report heatmap {output}`");
            }
        }
    }
}

/// How many snapshots there were, and how many regions they had, from the fewest to the most.
fn snapshots(count: u64, (fewest, most): (usize, usize)) -> String {
    let snapshots = if count == 1 { "snapshot" } else { "snapshots" };
    let regions = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    format!("{count} {snapshots} of {regions} regions")
}

/// What was checked, in words. A window of the reference monitor is a page.
fn checked(windows: u64, pages: u64) -> String {
    match pages {
        0 => format!("{windows} windows checked"),
        pages if pages == windows => format!("{pages} pages checked"),
        pages => format!("{windows} windows checked, {pages} pages in all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_counted_in_words() {
        assert_eq!(snapshots(1, (17, 17)), "1 snapshot of 17 regions");
        assert_eq!(snapshots(20, (11, 26)), "20 snapshots of 11 to 26 regions");
    }

    #[test]
    fn what_was_checked_is_told_for_either_monitor() {
        assert_eq!(checked(7, 7), "7 pages checked");
        assert_eq!(checked(7, 3584), "7 windows checked, 3584 pages in all");
        assert_eq!(checked(7, 0), "7 windows checked");
    }
}
