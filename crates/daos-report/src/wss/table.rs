//! The working set as data.

use super::Wss;
use crate::format::RenderError;
use serde::{Serialize, Serializer};
use std::io::Write;

#[derive(Serialize)]
struct Json<'a> {
    unit: &'static str,
    snapshots: u64,
    #[serde(serialize_with = "as_map")]
    percentiles: Vec<(f64, Option<u64>)>,
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<&'a [(u64, u64)]>,
}

/// As an object, in the order asked for.
fn as_map<S: Serializer>(
    percentiles: &[(f64, Option<u64>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(percentiles.iter().map(|(percent, bytes)| (percent.to_string(), bytes)))
}

/// Writes `{"unit":"bytes","snapshots":…,"percentiles":{"0":…,…},"mean":…}`, with
/// `"timeline":[[end_us,bytes],…]` if asked for. Without snapshots, percentiles
/// and mean are null.
pub fn json(wss: &Wss, out: &mut impl Write) -> Result<(), RenderError> {
    let percentiles = wss.options.percentiles.iter();
    let json = Json {
        unit: "bytes",
        snapshots: wss.snapshots(),
        percentiles: percentiles.map(|&percent| (percent, wss.percentile(percent))).collect(),
        mean: wss.mean(),
        resident_bytes: wss.resident_bytes,
        timeline: wss.options.timeline.then_some(&wss.timeline),
    };
    serde_json::to_writer(&mut *out, &json).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each snapshot.
pub fn csv(wss: &Wss, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "end_us,bytes")?;
    for (end_us, bytes) in &wss.timeline {
        writeln!(out, "{end_us},{bytes}")?;
    }
    Ok(())
}
