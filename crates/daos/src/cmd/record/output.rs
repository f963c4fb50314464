//! Where a recording goes: a record file, or JSON lines on standard output.

use crate::cli::DEFAULT_RECORD;
use anyhow::{Context, Result};
use daos_core::{Interval, TargetInfo};
use daos_linux::user::give_to_caller;
use daos_record::{Destination, End, Header, JsonLines, Writer};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Stdout, stdout};
use std::path::Path;

/// How names of files end that are no records.
const OF_REPORTS: [&str; 6] = ["json", "jsonl", "csv", "txt", "svg", "png"];

/// Found writable, nothing written yet.
#[derive(Debug)]
pub enum Output {
    File(Destination),
    Stdout,
}

impl Output {
    /// A file, or standard output for `-`.
    pub fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") { Ok(Self::Stdout) } else { Ok(Self::File(open_file(path)?)) }
    }

    /// Says so if its name makes one expect something else than a record.
    pub fn tell_of_its_name(&self) {
        let Self::File(destination) = self else { return };
        let ending = destination.path().extension().and_then(OsStr::to_str);
        if ending.is_some_and(|ending| OF_REPORTS.contains(&ending)) {
            let path = destination.path().display();
            daos_cli::say!(
                "daos: {path} will be a record, whatever its name: `daos report` shows it, as JSON \
                 with --format json; `-o -` writes JSON lines at once"
            );
        }
    }

    /// Whether standard output is taken.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Begins the recording. What was recorded before under the usual name is kept under another.
    pub fn begin(self, header: &Header) -> Result<Recording> {
        Ok(match self {
            Self::File(destination) => Recording::File(without_former(destination)?.begin(header)?),
            Self::Stdout => {
                let mut recording = Recording::Lines(JsonLines::new(stdout()));
                if !header.schemes.is_empty() {
                    recording.schemes(&header.schemes)?;
                }
                recording
            }
        })
    }
}

fn open_file(path: &Path) -> Result<Destination> {
    let destination = Destination::open(path)?;
    destination.new_file().map(give_to_caller);
    Ok(destination)
}

/// The same place, once the record that is there was moved out of the way, if it has the usual
/// name.
fn without_former(destination: Destination) -> Result<Destination> {
    let path = Path::new(DEFAULT_RECORD);
    if destination.path() != path || !destination.holds_record() {
        return Ok(destination);
    }
    drop(destination);
    let kept = format!("{DEFAULT_RECORD}.old");
    let moved = fs::rename(path, &kept);
    moved.with_context(|| format!("cannot rename {DEFAULT_RECORD} to {kept}"))?;
    open_file(path)
}

/// A recording under way.
#[derive(Debug)]
pub enum Recording {
    File(Writer<File>),
    Lines(JsonLines<Stdout>),
}

impl Recording {
    /// Targets that are new or changed, then the interval that they hold for.
    pub fn interval(&mut self, targets: &[TargetInfo], interval: &Interval) -> Result<()> {
        match self {
            Self::File(writer) => {
                for target in targets {
                    writer.target(target)?;
                }
                writer.interval(interval)?;
            }
            Self::Lines(lines) => {
                lines.interval(targets, interval).context("cannot write to standard output")?;
            }
        }
        Ok(())
    }

    /// From here on, these schemes are in force.
    pub fn schemes(&mut self, schemes: &[String]) -> Result<()> {
        match self {
            Self::File(writer) => writer.schemes(schemes)?,
            Self::Lines(lines) => lines.schemes(schemes)?,
        }
        Ok(())
    }

    /// Ends it.
    pub fn finish(self, end: &End) -> Result<()> {
        if let Self::File(writer) = self {
            writer.finish(end)?;
        }
        Ok(())
    }
}
