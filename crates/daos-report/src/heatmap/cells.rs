//! The filling of the cells: how often they were accessed, and where schemes acted.
//!
//! A scheme acts at one moment, the end of an interval. So it is in the column that this
//! moment is in or ends, however long the interval was.

use super::layout::Row;
use super::{Heatmap, Scale, Segment};
use crate::names;
use daos_core::{Action, Interval, TargetInfo, TargetSnapshot};
use std::collections::BTreeMap;

/// What was seen, in a cell or in a row of one snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Bytes, or bytes times microseconds, that were monitored.
    monitored: f64,
    /// The same, times the access rate.
    accessed: f64,
}

/// Cells as they fill.
#[derive(Debug)]
pub struct Cells {
    times: Vec<u64>,
    rows: Vec<Row>,
    /// Row by row.
    cells: Vec<Seen>,
    /// What the snapshot at hand saw in each row: kept to be used again.
    profile: Vec<Seen>,
    /// Where schemes acted, if that is to be shown.
    acted: Option<Acted>,
    /// The sampling interval that rates are told for: that of the first snapshot that is shown.
    sample_us: u64,
}

impl Cells {
    /// Empty cells between the edges of columns and for rows by target and address.
    pub fn new(times: Vec<u64>, rows: Vec<Row>, actions: bool) -> Self {
        let cells = vec![Seen::default(); rows.len() * times.len().saturating_sub(1)];
        let profile = vec![Seen::default(); rows.len()];
        let acted = actions.then(|| Acted::new(times.len().saturating_sub(1)));
        Self { times, rows, cells, profile, acted, sample_us: 0 }
    }

    /// Takes in a snapshot: first how much of each row it saw, then for how long
    /// in each column.
    pub fn add(&mut self, interval: &Interval) {
        let snapshot = &interval.snapshot;
        self.profile.fill(Seen::default());
        let ends = self.times.first().zip(self.times.last());
        let is_shown =
            ends.is_some_and(|(&from, &to)| snapshot.end_us > from && snapshot.start_us < to);
        if is_shown && self.sample_us == 0 {
            self.sample_us = snapshot.sample_us;
        }
        for target in &snapshot.targets {
            self.add_target(target, snapshot.sample_us);
        }
        if let Some(acted) = &mut self.acted {
            acted.add(interval, &self.times, &self.rows);
        }
        let columns = self.times.len().saturating_sub(1);
        let first = self.times.partition_point(|&edge| edge <= snapshot.start_us);
        for column in first.saturating_sub(1)..columns {
            let start = self.times[column].max(snapshot.start_us);
            let end = self.times[column + 1].min(snapshot.end_us);
            if start >= end {
                break;
            }
            let time = (end - start) as f64;
            for (row, seen) in self.profile.iter().enumerate() {
                let cell = &mut self.cells[row * columns + column];
                cell.monitored += seen.monitored * time;
                cell.accessed += seen.accessed * time;
            }
        }
    }

    /// Both rows and regions are sorted, so one walk along both finds what they
    /// share. Runs of pages count in place of the part of the region that they are.
    /// What could not be observed at all counts as not monitored.
    fn add_target(&mut self, target: &TargetSnapshot, sample_us: u64) {
        // The chance of an access in a sampling interval of another length, where that was tuned.
        let power = self.sample_us as f64 / sample_us.max(1) as f64;
        let is_other = sample_us > 0 && self.sample_us > 0 && sample_us != self.sample_us;
        let told = |rate: f64| if is_other { 1.0 - (1.0 - rate).powf(power) } else { rate };
        let mut first = self.rows.partition_point(|row| row.target < target.id);
        let behind = self.rows.partition_point(|row| row.target <= target.id);
        for part in target.parts().filter(|part| part.unobserved < 1.0) {
            while first < behind && self.rows[first].range.end <= part.range.start {
                first += 1;
            }
            for index in first..behind {
                let Some(shared) = self.rows[index].range.intersect(&part.range) else { break };
                let bytes = shared.len() as f64;
                self.profile[index].monitored += bytes;
                self.profile[index].accessed += bytes * told(part.access_rate);
            }
        }
    }

    /// The heat map.
    pub fn finish(self, targets: &[TargetInfo]) -> Heatmap {
        let columns = self.times.len().saturating_sub(1).max(1);
        let mut segments: Vec<Segment> = Vec::new();
        for (row, cells) in self.rows.iter().zip(self.cells.chunks(columns)) {
            if row.segment == segments.len() {
                let name = names::target(targets, row.target);
                let addresses = vec![row.range.start];
                let (rates, acted) = (Vec::new(), BTreeMap::new());
                segments.push(Segment {
                    target: row.target,
                    name,
                    addresses,
                    rates,
                    acted,
                    owned: Vec::new(),
                });
            }
            let segment = &mut segments[row.segment];
            let rate = |seen: &Seen| (seen.monitored > 0.0).then(|| seen.accessed / seen.monitored);
            segment.addresses.push(row.range.end);
            segment.rates.push(cells.iter().map(rate).collect());
        }
        if let Some(acted) = self.acted {
            let mut behind = 0;
            for segment in &mut segments {
                let first = behind;
                behind += segment.rates.len();
                segment.acted = acted.of(first..behind);
            }
        }
        let title = super::title(targets, &segments);
        Heatmap {
            title,
            times: self.times,
            segments,
            left_out: super::LeftOut::default(),
            owners: Vec::new(),
            scale: Scale::default(),
            sample_us: self.sample_us,
        }
    }
}

/// Bytes that each action was done to, by cell, as they come in.
#[derive(Debug)]
struct Acted {
    columns: usize,
    /// Row by row.
    bytes: BTreeMap<Action, Vec<u64>>,
}

impl Acted {
    /// Nothing yet, in so many columns.
    fn new(columns: usize) -> Self {
        Self { columns, bytes: BTreeMap::new() }
    }

    /// Takes in what schemes did at the end of `snapshot`.
    fn add(&mut self, interval: &Interval, times: &[u64], rows: &[Row]) {
        let behind = times.partition_point(|&edge| edge < interval.snapshot.end_us);
        let Some(column) = behind.checked_sub(1).filter(|&column| column < self.columns) else {
            return;
        };
        for done in &interval.done {
            let first = rows.partition_point(|row| {
                (row.target, row.range.end) <= (done.target, done.range.start)
            });
            for (index, row) in rows.iter().enumerate().skip(first) {
                if row.target != done.target || row.range.start >= done.range.end {
                    break;
                }
                let Some(shared) = row.range.intersect(&done.range) else { continue };
                let cells = || vec![0; rows.len() * self.columns];
                let cells = self.bytes.entry(done.action).or_insert_with(cells);
                let cell = &mut cells[index * self.columns + column];
                *cell = cell.saturating_add(shared.len());
            }
        }
    }

    /// By action, the bytes in each cell of these rows, row by row; without actions that
    /// were not done there.
    fn of(&self, rows: std::ops::Range<usize>) -> BTreeMap<Action, Vec<Vec<u64>>> {
        let cells = rows.start * self.columns..rows.end * self.columns;
        let within = |(&action, bytes): (&Action, &Vec<u64>)| {
            let cells = &bytes[cells.clone()];
            let rows = || cells.chunks(self.columns).map(<[u64]>::to_vec).collect();
            cells.iter().any(|&bytes| bytes > 0).then(|| (action, rows()))
        };
        self.bytes.iter().filter_map(within).collect()
    }
}
