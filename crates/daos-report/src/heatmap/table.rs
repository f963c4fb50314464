//! The heat map as data.

use super::{Heatmap, Segment};
use crate::error::RenderError;
use crate::{csv, units};
use serde::Serialize;
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
}

/// Writes `{"times_us":[…],"segments":[{"target":…,"name":…,"addresses":[…],
/// "access_rates":[[…],…]},…]}`: edges of columns and rows, one more than there
/// are of these; a list of rates for each row, the lowest address first; null
/// for what was not monitored.
pub fn json(heatmap: &Heatmap, out: &mut impl Write) -> Result<(), RenderError> {
    let rounded = |rate: &Option<f64>| rate.map(units::six_decimals);
    let segment = |segment: &Segment| -> Vec<Vec<_>> {
        segment.rates.iter().map(|row| row.iter().map(rounded).collect()).collect()
    };
    let segments = heatmap.segments.iter().map(|s| SegmentMatrix {
        target: s.target.0,
        name: &s.name,
        addresses: &s.addresses,
        access_rates: segment(s),
    });
    let matrix = Matrix { times_us: &heatmap.times, segments: segments.collect() };
    serde_json::to_writer(&mut *out, &matrix).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each cell; the rate of what was not monitored is empty.
pub fn csv(heatmap: &Heatmap, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "time_start_us,time_end_us,addr_start,addr_end,access_rate,target")?;
    for segment in &heatmap.segments {
        for (addresses, rates) in segment.addresses.windows(2).zip(&segment.rates) {
            for (times, rate) in heatmap.times.windows(2).zip(rates) {
                let rate = csv::optional(rate.map(units::six_decimals));
                let ([from, to], [start, end]) = (pair(times), pair(addresses));
                writeln!(out, "{from},{to},{start},{end},{rate},{}", segment.target.0)?;
            }
        }
    }
    Ok(())
}

fn pair(window: &[u64]) -> [u64; 2] {
    [window[0], window[1]]
}
