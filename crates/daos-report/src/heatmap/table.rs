//! The heat map as data.

use super::{Heatmap, Segment, Shares};
use crate::csv;
use crate::format::RenderError;
use daos_core::{Action, Owner};
use daos_record::json::six_decimals;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Characters of an owner's name in CSV.
const LONGEST_NAME: usize = 60;

#[derive(Serialize)]
struct Matrix<'a> {
    times_us: &'a [u64],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    owners: Vec<OwnerJson<'a>>,
    segments: Vec<SegmentMatrix<'a>>,
}

#[derive(Serialize)]
struct OwnerJson<'a> {
    #[serde(flatten)]
    owner: &'a Owner,
    bytes: u64,
}

#[derive(Serialize)]
struct SegmentMatrix<'a> {
    target: u32,
    name: &'a str,
    addresses: &'a [u64],
    access_rates: Vec<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    acted_bytes: &'a BTreeMap<Action, Vec<Vec<u64>>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    owned_bytes: &'a [Shares],
}

/// Writes `{"times_us":[…],"segments":[{"target":…,"name":…,"addresses":[…],
/// "access_rates":[[…],…]},…]}`: edges of columns and rows, one more than there
/// are of these; a list of rates for each row, the lowest address first; null
/// for what was not monitored. A segment in which schemes acted has
/// `"acted_bytes":{"pageout":[[…],…],…}`, too: in the same order, the bytes in each cell. Where
/// it is known whose memory it is, there are `"owners":[{"pid":…,"name":…,"bytes":…},…]` and in
/// a segment `"owned_bytes":[[[owner,bytes],…],…]`, for each row, an owner being a place in the
/// list.
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
        owned_bytes: &s.owned,
    });
    let owners = heatmap.owners.iter().map(|o| OwnerJson { owner: &o.owner, bytes: o.bytes });
    let (owners, segments) = (owners.collect(), segments.collect());
    let matrix = Matrix { times_us: &heatmap.times, owners, segments };
    serde_json::to_writer(&mut *out, &matrix).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each cell; the rate of what was not monitored is empty. Where
/// schemes acted, columns behind it have the bytes that each action was done to; where it is
/// known whose memory it is, the last two say which process has most of the row, and how many
/// bytes.
pub fn csv(heatmap: &Heatmap, out: &mut impl Write) -> Result<(), RenderError> {
    let actions = heatmap.actions();
    let columns: String = actions.iter().map(|action| format!(",{action}_bytes")).collect();
    let owned = if heatmap.owners.is_empty() { "" } else { ",owner,owner_bytes" };
    let head = "time_start_us,time_end_us,addr_start,addr_end,access_rate,target";
    writeln!(out, "{head}{columns}{owned}")?;
    for segment in &heatmap.segments {
        let rows = segment.addresses.windows(2).zip(&segment.rates);
        for (row, (addresses, rates)) in rows.enumerate() {
            let owner = owner(heatmap, segment, row);
            let cells = heatmap.times.windows(2).zip(rates);
            for (column, (times, rate)) in cells.enumerate() {
                let bytes = |action| segment.acted.get(action).map_or(0, |all| all[row][column]);
                let acted: String =
                    actions.iter().map(|action| format!(",{}", bytes(action))).collect();
                let rate = csv::optional(rate.map(six_decimals));
                let ([from, to], [start, end]) = (pair(times), pair(addresses));
                writeln!(
                    out,
                    "{from},{to},{start},{end},{rate},{}{acted}{owner}",
                    segment.target.0
                )?;
            }
        }
    }
    Ok(())
}

/// Which process has most of a row, and how many bytes, as the last fields of its lines.
fn owner(heatmap: &Heatmap, segment: &Segment, row: usize) -> String {
    if heatmap.owners.is_empty() {
        return String::new();
    }
    let most = segment.owned.get(row).and_then(|shares| heatmap.owner_of(shares));
    let named = most.and_then(|(at, bytes)| Some((heatmap.owners.get(at)?, bytes)));
    named.map_or(",,".to_owned(), |(owner, bytes)| {
        format!(",{},{bytes}", csv::field(&owner.title(LONGEST_NAME)))
    })
}

fn pair(window: &[u64]) -> [u64; 2] {
    [window[0], window[1]]
}
