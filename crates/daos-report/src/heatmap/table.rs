//! The heat map as data.

use super::{Heatmap, Segment};
use crate::csv;
use crate::format::RenderError;
use daos_core::Action;
use daos_record::json::six_decimals;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Serialize)]
struct Matrix<'a> {
    times_us: &'a [u64],
    segments: Vec<SegmentMatrix<'a>>,
}

#[derive(Serialize)]
struct SegmentMatrix<'a> {
    target: u32,
    name: &'a str,
    addresses: &'a [u64],
    access_rates: Vec<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    acted_bytes: &'a BTreeMap<Action, Vec<Vec<u64>>>,
}

/// Writes `{"times_us":[…],"segments":[{"target":…,"name":…,"addresses":[…],
/// "access_rates":[[…],…]},…]}`: edges of columns and rows, one more than there
/// are of these; a list of rates for each row, the lowest address first; null
/// for what was not monitored. A segment in which schemes acted has
/// `"acted_bytes":{"pageout":[[…],…],…}`, too: in the same order, the bytes in each cell.
pub fn json(heatmap: &Heatmap, out: &mut impl Write) -> Result<(), RenderError> {
    let rounded = |rate: &Option<f64>| rate.map(six_decimals);
    let segment = |segment: &Segment| -> Vec<Vec<_>> {
        segment.rates.iter().map(|row| row.iter().map(rounded).collect()).collect()
    };
    let segments = heatmap.segments.iter().map(|s| SegmentMatrix {
        target: s.target.0,
        name: &s.name,
        addresses: &s.addresses,
        access_rates: segment(s),
        acted_bytes: &s.acted,
    });
    let matrix = Matrix { times_us: &heatmap.times, segments: segments.collect() };
    serde_json::to_writer(&mut *out, &matrix).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each cell; the rate of what was not monitored is empty. Where
/// schemes acted, the last columns have the bytes that each action was done to.
pub fn csv(heatmap: &Heatmap, out: &mut impl Write) -> Result<(), RenderError> {
    let actions = heatmap.actions();
    let columns: String = actions.iter().map(|action| format!(",{action}_bytes")).collect();
    writeln!(out, "time_start_us,time_end_us,addr_start,addr_end,access_rate,target{columns}")?;
    for segment in &heatmap.segments {
        let rows = segment.addresses.windows(2).zip(&segment.rates);
        for (row, (addresses, rates)) in rows.enumerate() {
            let cells = heatmap.times.windows(2).zip(rates);
            for (column, (times, rate)) in cells.enumerate() {
                let bytes = |action| segment.acted.get(action).map_or(0, |all| all[row][column]);
                let acted: String =
                    actions.iter().map(|action| format!(",{}", bytes(action))).collect();
                let rate = csv::optional(rate.map(six_decimals));
                let ([from, to], [start, end]) = (pair(times), pair(addresses));
                writeln!(out, "{from},{to},{start},{end},{rate},{}{acted}", segment.target.0)?;
            }
        }
    }
    Ok(())
}

fn pair(window: &[u64]) -> [u64; 2] {
    [window[0], window[1]]
}
