//! What schemes did, as data.

use super::{Scheme, Schemes};
use crate::csv;
use crate::format::RenderError;
use daos_core::{Action, SchemeStats};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Json<'a> {
    start_us: u64,
    end_us: u64,
    schemes: Vec<SchemeJson<'a>>,
}

#[derive(Serialize)]
struct SchemeJson<'a> {
    scheme: u32,
    label: &'a str,
    action: Option<Action>,
    times: u64,
    bytes: u64,
    first_us: Option<u64>,
    last_us: Option<u64>,
    timeline: &'a [(u64, u64)],
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<&'a SchemeStats>,
}

impl<'a> SchemeJson<'a> {
    fn new(scheme: &'a Scheme) -> Self {
        Self {
            scheme: scheme.number,
            label: &scheme.label,
            action: scheme.action,
            times: scheme.times,
            bytes: scheme.bytes,
            first_us: scheme.first_us(),
            last_us: scheme.last_us(),
            timeline: &scheme.timeline,
            stats: scheme.stats.as_ref(),
        }
    }
}

/// Writes `{"start_us":…,"end_us":…,"schemes":[{"scheme":…,"label":…,"action":…,"times":…,
/// "bytes":…,"first_us":…,"last_us":…,"timeline":[[at_us,bytes],…],"stats":{…}},…]}`.
/// Without counters there is no `stats`, and what never happened is null.
pub fn json(schemes: &Schemes, out: &mut impl Write) -> Result<(), RenderError> {
    let (start_us, end_us) = schemes.time;
    let json =
        Json { start_us, end_us, schemes: schemes.schemes.iter().map(SchemeJson::new).collect() };
    serde_json::to_writer(&mut *out, &json).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each scheme; what is not known is empty.
pub fn csv(schemes: &Schemes, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(
        out,
        "scheme,label,action,times,bytes,first_us,last_us,tried_bytes,applied_bytes,refused_bytes,spared_bytes,refault_bytes,bloat_bytes,quota_exceeded,slept,spent_us,page_cache_bytes"
    )?;
    for scheme in &schemes.schemes {
        let stats = scheme.stats.as_ref();
        let count = |of: fn(&SchemeStats) -> u64| csv::optional(stats.map(of));
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            scheme.number,
            csv::field(&daos_core::text::safe(&scheme.label)),
            csv::optional(scheme.action),
            scheme.times,
            scheme.bytes,
            csv::optional(scheme.first_us()),
            csv::optional(scheme.last_us()),
            count(|stats| stats.tried_bytes),
            count(|stats| stats.applied_bytes),
            count(Scheme::refused_bytes),
            count(|stats| stats.spared_bytes),
            count(|stats| stats.refault_bytes),
            csv::optional(stats.map(|stats| stats.bloat_bytes)),
            count(|stats| stats.quota_exceeded),
            count(|stats| stats.slept),
            csv::optional(stats.map(|stats| stats.spent_us)),
            count(|stats| stats.page_cache_bytes),
        )?;
    }
    Ok(())
}
