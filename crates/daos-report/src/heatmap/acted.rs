//! Where schemes acted, laid over the cells.
//!
//! A scheme acts at one moment, the end of an interval. So it is in the column that this
//! moment is in or ends, however long the interval was.

use super::layout::Row;
use daos_core::{Action, Interval};
use std::collections::BTreeMap;

/// Bytes that each action was done to, by cell, as they come in.
#[derive(Debug)]
pub struct Acted {
    columns: usize,
    /// Row by row.
    bytes: BTreeMap<Action, Vec<u64>>,
}

impl Acted {
    /// Nothing yet, in so many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, bytes: BTreeMap::new() }
    }

    /// Takes in what schemes did at the end of `snapshot`.
    pub fn add(&mut self, interval: &Interval, times: &[u64], rows: &[Row]) {
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
                cells[index * self.columns + column] += shared.len();
            }
        }
    }

    /// By action, the bytes in each cell of these rows, row by row; without actions that
    /// were not done there.
    pub fn of(&self, rows: std::ops::Range<usize>) -> BTreeMap<Action, Vec<Vec<u64>>> {
        let cells = rows.start * self.columns..rows.end * self.columns;
        let within = |(&action, bytes): (&Action, &Vec<u64>)| {
            let cells = &bytes[cells.clone()];
            let rows = || cells.chunks(self.columns).map(<[u64]>::to_vec).collect();
            cells.iter().any(|&bytes| bytes > 0).then(|| (action, rows()))
        };
        self.bytes.iter().filter_map(within).collect()
    }
}
