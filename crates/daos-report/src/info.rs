//! How a record came about.

use crate::format::Format;
use crate::format::RenderError;
use crate::names;
use chrono::DateTime;
use daos_core::text::safe;
use daos_core::units::display;
use daos_core::{MonitorAttrs, TargetId, TargetInfo};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// What is told of a record without an end.
pub const NO_END: &str = "none: it is still being recorded, or its recorder was killed";

/// The formats of the information on a record.
pub const FORMATS: &[Format] = &[Format::Text, Format::Json];

/// How a record came about: everything needed to understand it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// The intervals and bounds of the monitor.
    pub attributes: MonitorAttrs,
    /// The seed of its random generator.
    pub seed: u64,
    /// What was monitored.
    pub targets: Vec<InfoTarget>,
    /// What checked the accesses: `ebpf-vaddr`, `ebpf-paddr`, `sim`.
    pub backend: String,
    /// How it was monitored: `windows`, `reference`.
    pub monitor: String,
    /// The bound on what monitoring may cost, in percent of one CPU, if one was given.
    #[serde(default)]
    pub max_overhead_percent: Option<f64>,
    /// Whether the monitor chose its intervals; `attributes` has the first ones then.
    #[serde(default)]
    pub auto_intervals: bool,
    /// The schemes that acted on it, each by its name or its text.
    #[serde(default)]
    pub schemes: Vec<String>,
    /// The name of the machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// The version of `daos` that recorded.
    pub version: String,
    /// When recording began, in seconds since 1970 (UTC).
    #[serde(default)]
    pub created_unix_s: u64,
    /// The target as it was asked for, word by word.
    #[serde(default)]
    pub command: Vec<String>,
    /// Why recording ended; `None` where the record has no end: it is still being made, or its
    /// recorder was killed.
    #[serde(default)]
    pub end: Option<String>,
    /// The exit status of the command, where one was started and ended.
    #[serde(default)]
    pub exit_status: Option<i32>,
    /// From the first tick to the end of the last snapshot, in microseconds.
    pub duration_us: u64,
    /// Snapshots that can be read.
    pub snapshots: u64,
    /// What is wrong with the file, if something is.
    pub damage: Option<String>,
}

/// One thing that was monitored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InfoTarget {
    /// Its number in this record.
    pub id: TargetId,
    /// Its process number, where it is a process.
    pub pid: Option<u32>,
    /// Its command line, or the name of what is simulated.
    pub name: String,
    /// Bytes that it had mapped at some time.
    pub mapped_bytes: u64,
}

impl From<&TargetInfo> for InfoTarget {
    fn from(info: &TargetInfo) -> Self {
        Self {
            id: info.id,
            pid: info.pid,
            name: info.name.clone(),
            mapped_bytes: info
                .mappings
                .iter()
                .map(|mapping| mapping.range.len())
                .fold(0, u64::saturating_add),
        }
    }
}

/// Writes the information on a record.
///
/// # Errors
///
/// [`RenderError::Unsupported`] for CSV and pictures, [`RenderError::Write`] if
/// `out` fails.
pub fn render(info: &Info, format: Format, out: &mut impl Write) -> Result<(), RenderError> {
    match format {
        Format::Text => text(info, out),
        Format::Json => {
            serde_json::to_writer(&mut *out, info).map_err(std::io::Error::from)?;
            writeln!(out)?;
            Ok(())
        }
        _ => Err(format.refused("info", FORMATS)),
    }
}

fn text(info: &Info, out: &mut impl Write) -> Result<(), RenderError> {
    let mut line = |name: &str, value: &str| writeln!(out, "{name:>12}  {}", safe(value));
    let attrs = &info.attributes;
    let [sample, aggregation, update] =
        [attrs.sample_us, attrs.aggregation_us, attrs.update_us].map(display::duration);
    for (index, target) in info.targets.iter().enumerate() {
        let pid = target.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
        let mapped = display::bytes(target.mapped_bytes);
        let name = names::printable(&target.name);
        let value = format!("{}: {name}{pid}, {mapped} mapped", target.id.0);
        line(if index == 0 { "targets" } else { "" }, &value)?;
    }
    if !info.command.is_empty() {
        line("asked for", &names::printable(&info.command.join(" ")))?;
    }
    line("begun", &date(info.created_unix_s))?;
    line("duration", &display::duration(info.duration_us))?;
    let status = info.exit_status.map_or(String::new(), |status| match status {
        // As a shell gives it.
        129..=192 => format!(", exit status {status} (as of signal {})", status - 128),
        _ => format!(", exit status {status}"),
    });
    line("end", &format!("{}{status}", info.end.as_deref().unwrap_or(NO_END)))?;
    line("snapshots", &info.snapshots.to_string())?;
    let chosen = if info.auto_intervals { " at first, then as it fits" } else { "" };
    let intervals =
        format!("sampling {sample}, aggregation {aggregation}, update {update}{chosen}");
    line("intervals", &intervals)?;
    line("regions", &format!("{} to {}", attrs.min_regions, attrs.max_regions))?;
    line("monitor", &info.monitor)?;
    if let Some(percent) = info.max_overhead_percent {
        line("bound", &format!("{} of one CPU", display::percent(percent / 100.0)))?;
    }
    for (number, scheme) in info.schemes.iter().enumerate() {
        let value = format!("{number}: {}", names::printable(scheme));
        line(if number == 0 { "schemes" } else { "" }, &value)?;
    }
    line("backend", &info.backend)?;
    line("seed", &info.seed.to_string())?;
    line("host", &info.host)?;
    line("kernel", &info.kernel)?;
    line("recorded by", &format!("daos {}", info.version))?;
    if let Some(damage) = &info.damage {
        line("damage", damage)?;
    }
    Ok(())
}

/// A moment, to the second.
fn date(unix_s: u64) -> String {
    let date = i64::try_from(unix_s).ok().and_then(|s| DateTime::from_timestamp(s, 0));
    date.map_or_else(|| "?".to_owned(), |date| date.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SCHEMES, targets, written};

    fn info() -> Info {
        Info {
            attributes: MonitorAttrs::default(),
            seed: 42,
            targets: targets().iter().map(InfoTarget::from).collect(),
            backend: "ebpf-vaddr".to_owned(),
            monitor: "windows".to_owned(),
            max_overhead_percent: Some(0.5),
            auto_intervals: true,
            schemes: SCHEMES.map(str::to_owned).into(),
            host: "box".to_owned(),
            kernel: "6.18.0".to_owned(),
            version: "0.1.0".to_owned(),
            created_unix_s: 1_790_000_000,
            command: ["redis-server", "--port", "6379"].map(str::to_owned).into(),
            end: Some("the target ended".to_owned()),
            exit_status: Some(0),
            duration_us: 2_000_000,
            snapshots: 20,
            damage: Some("the last frame is cut off after 12 of 80 bytes".to_owned()),
        }
    }

    #[test]
    fn text_and_json() {
        insta::assert_snapshot!("text", written(|out| render(&info(), Format::Text, out)));
        insta::assert_snapshot!("json", written(|out| render(&info(), Format::Json, out)));
        let killed = Info { exit_status: Some(139), ..info() };
        let text = written(|out| render(&killed, Format::Text, out));
        assert!(text.contains("the target ended, exit status 139 (as of signal 11)\n"), "{text}");
        let schemes = Vec::new();
        let (max_overhead_percent, end, exit_status) = (None, None, None);
        let plain = Info {
            max_overhead_percent,
            auto_intervals: false,
            schemes,
            end,
            exit_status,
            ..info()
        };
        let text = written(|out| render(&plain, Format::Text, out));
        assert!(
            !text.contains("bound") && !text.contains("schemes") && !text.contains("as it fits"),
            "{text}"
        );
        assert!(text.contains("none: it is still being recorded"), "{text}");
    }

    #[test]
    fn information_is_no_table() {
        let error = render(&info(), Format::Csv, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "info can be text or json, not csv");
    }
}
