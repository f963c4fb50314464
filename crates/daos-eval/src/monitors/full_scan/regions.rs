//! From what is known of each page to regions, and to runs of pages where those are too
//! coarse.

use super::table::Table;
use super::{HIGHEST, SAMPLES};
use daos_core::{AddrRange, PAGE_SIZE, PageRun, RegionSnapshot};

/// A table is cut at its edges if it has no more of them than this. Chosen: of those with
/// more, runs of pages say where they are.
const MOST_EDGES: usize = 8;

/// Neighbouring pages that may become a region.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    range: AddrRange,
    /// The sum of their access frequencies.
    accesses: u64,
    /// The sum of pages that could not be observed.
    unobserved: u64,
    age: u32,
}

impl Candidate {
    fn mean(&self) -> u32 {
        mean(self.accesses, self.range)
    }

    fn merge(&mut self, behind: &Candidate) {
        self.range.end = behind.range.end;
        self.accesses += behind.accesses;
        self.unobserved += behind.unobserved;
        self.age = self.age.min(behind.age);
    }
}

/// An access frequency as an access rate, 0 to 1.
fn rate(frequency: u32) -> f64 {
    f64::from(frequency) / f64::from(HIGHEST)
}

/// A mean over pages that is 0 only if all of them are.
fn mean(sum: u64, range: AddrRange) -> u32 {
    let rounded = (sum as f64 / range.pages().max(1) as f64).round() as u32;
    if sum > 0 { rounded.max(1) } else { 0 }
}

/// At most `most` regions of tables, more only if there are more mappings, and the pages
/// that differ from them.
pub(super) fn regions_of(
    tables: &[Table],
    most: usize,
    aggregation_us: u64,
) -> (Vec<RegionSnapshot>, Vec<PageRun>) {
    let mut candidates: Vec<Candidate> = Vec::new();
    for table in tables {
        add_candidates(table, &mut candidates);
    }
    let mut tolerance = 0;
    merge(&mut candidates, tolerance);
    while candidates.len() > most && tolerance < HIGHEST {
        tolerance = (tolerance * 2).max(1);
        merge(&mut candidates, tolerance);
    }
    let regions: Vec<RegionSnapshot> = candidates
        .iter()
        .map(|candidate| RegionSnapshot {
            range: candidate.range,
            access_rate: rate(candidate.mean()),
            unobserved: candidate.unobserved as f64 / candidate.range.pages().max(1) as f64,
            age_us: u64::from(candidate.age) * aggregation_us,
        })
        .collect();
    let runs = different(tables, &regions, aggregation_us);
    (regions, runs)
}

/// The parts of a table between its edges from pages in use to others.
fn add_candidates(table: &Table, candidates: &mut Vec<Candidate>) {
    let candidate = |first: u32, end: u32, accesses: u64| {
        let at = |page: u32| table.start + u64::from(page) * PAGE_SIZE;
        let share = u64::from(table.unobservable) * u64::from(end - first);
        Candidate {
            range: AddrRange::new(at(first), at(end)),
            accesses,
            unobserved: share / u64::from(table.pages),
            age: table.age,
        }
    };
    if table.is_idle() {
        candidates.push(candidate(0, table.pages, 0));
        return;
    }
    let before = candidates.len();
    let (mut first, mut sum, mut total) = (0, 0, 0);
    let mut last = table.frequency(0);
    for page in 0..table.pages {
        let frequency = table.frequency(page);
        if (frequency > 0) != (last > 0) {
            candidates.push(candidate(first, page, sum));
            (first, sum) = (page, 0);
        }
        sum += u64::from(frequency);
        total += u64::from(frequency);
        last = frequency;
    }
    candidates.push(candidate(first, table.pages, sum));
    if candidates.len() - before > MOST_EDGES + 1 {
        candidates.truncate(before);
        candidates.push(candidate(0, table.pages, total));
    }
}

/// Merges neighbours that touch and whose means differ by no more than `tolerance`.
fn merge(candidates: &mut Vec<Candidate>, tolerance: u32) {
    candidates.dedup_by(|behind, before| {
        let alike = behind.mean().abs_diff(before.mean()) <= tolerance;
        let touch = before.range.end == behind.range.start;
        if touch && alike {
            before.merge(behind);
        }
        touch && alike
    });
}

/// Runs of pages that are in use where their region is not, or the other way round, or are
/// used much more or less than it.
fn different(tables: &[Table], regions: &[RegionSnapshot], aggregation_us: u64) -> Vec<PageRun> {
    let mut runs: Vec<PageRun> = Vec::new();
    let mut regions = regions.iter();
    let Some(mut region) = regions.next() else { return runs };
    for table in tables {
        // Regions end at tables' ends or within them.
        let range = table.range();
        while region.range.end <= range.start {
            let Some(next) = regions.next() else { return runs };
            region = next;
        }
        if table.is_idle() && region.access_rate == 0.0 && region.range.end >= range.end {
            continue;
        }
        for page in 0..table.pages {
            let start = range.start + u64::from(page) * PAGE_SIZE;
            if region.range.end <= start {
                let Some(next) = regions.next() else { return runs };
                region = next;
            }
            let frequency = table.frequency(page);
            let access_rate = rate(frequency);
            let far = (access_rate - region.access_rate).abs() > 0.5;
            if !far && (frequency == 0) == (region.access_rate == 0.0) {
                continue;
            }
            let range = AddrRange::new(start, start + PAGE_SIZE);
            // How long ago a page was in use is known as far as its samples reach.
            let age_us = if frequency == 0 { SAMPLES as u64 * aggregation_us } else { 0 };
            match runs.last_mut() {
                Some(run) if run.range.end == start && run.access_rate == access_rate => {
                    run.range.end = range.end;
                }
                _ => runs.push(PageRun { range, access_rate, age_us }),
            }
        }
    }
    runs
}
