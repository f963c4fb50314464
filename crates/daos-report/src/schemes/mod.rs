//! What schemes did: how often, to how much memory, when.
//!
//! Two sources say that. A snapshot has the ranges that schemes acted on at its end: they
//! tell when and where, and can be narrowed. The end of a record has each scheme's counters
//! from start to end: they also tell what was not done, and why. Not every page of a range
//! need have been changed, so its bytes are at least the bytes applied.

mod picture;
mod table;
mod text;

use crate::format::Format;
use crate::format::RenderError;
use crate::terminal::Style;
use crate::{names, png};
use daos_core::units::display;
use daos_core::{Action, Interval, SchemeStats, TargetId, TargetInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The formats of what schemes did: all.
pub const FORMATS: &[Format] = &Format::ALL;

/// What to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemesOptions {
    /// Only what was done after the first and not after the second moment, in
    /// microseconds since the record began.
    pub time: Option<(u64, u64)>,
    /// Only what was done to this target; else to all together.
    pub target: Option<TargetId>,
}

/// What a record knows of a scheme beside its snapshots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedScheme {
    /// Its name or its text.
    pub label: String,
    /// Its counters at the end of the record, if it has an end.
    pub stats: Option<SchemeStats>,
}

/// What all schemes did.
#[derive(Debug, Clone, PartialEq)]
pub struct Schemes {
    /// What the targets are called.
    pub title: String,
    /// From the start of the first to the end of the last snapshot, in microseconds
    /// since the record began, narrowed as asked for; zero to zero without snapshots.
    pub time: (u64, u64),
    /// By their numbers.
    pub schemes: Vec<Scheme>,
}

/// What one scheme did.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// Its number in the record.
    pub number: u32,
    /// Its name or its text; empty if the record does not have it.
    pub label: String,
    /// What it did last. Of one that did nothing what its text says, if it has one.
    pub action: Option<Action>,
    /// Intervals at whose end it acted.
    pub times: u64,
    /// Bytes of the ranges that it acted on, each time that it did.
    pub bytes: u64,
    /// Each moment when it acted, in microseconds since the record began, and how many
    /// bytes it acted on.
    pub timeline: Vec<(u64, u64)>,
    /// Its counters over the whole record, whatever was asked for.
    pub stats: Option<SchemeStats>,
}

impl Scheme {
    fn new(number: u32, known: RecordedScheme) -> Self {
        let last_word = known.label.split_whitespace().next_back();
        let action = Action::ALL.iter().find(|action| Some(action.name()) == last_word);
        Self {
            number,
            action: action.copied(),
            label: known.label,
            times: 0,
            bytes: 0,
            timeline: Vec::new(),
            stats: known.stats,
        }
    }

    /// It acted on so many bytes at this moment, which is not before any other.
    fn add(&mut self, at: u64, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.timeline.last_mut() {
            Some((last, sum)) if *last == at => *sum = sum.saturating_add(bytes),
            _ => {
                self.times += 1;
                self.timeline.push((at, bytes));
            }
        }
    }

    /// Bytes that were refused, by its counters.
    fn refused_bytes(stats: &SchemeStats) -> u64 {
        stats.refused_bytes.values().copied().fold(0, u64::saturating_add)
    }

    /// When it acted first, in microseconds since the record began.
    pub fn first_us(&self) -> Option<u64> {
        self.timeline.first().map(|&(at, _)| at)
    }

    /// When it acted last, in microseconds since the record began.
    pub fn last_us(&self) -> Option<u64> {
        self.timeline.last().map(|&(at, _)| at)
    }

    /// What it is and does: `scheme 0, pageout`.
    fn name(&self) -> String {
        let action = self.action.map_or(String::new(), |action| format!(", {action}"));
        format!("scheme {}{action}", self.number)
    }
}

/// Counts what schemes did in `snapshots`; what these fail with is passed through. `known`
/// are the schemes of the record, by their numbers.
pub fn compute<E>(
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
    targets: &[TargetInfo],
    known: Vec<RecordedScheme>,
    options: &SchemesOptions,
) -> Result<Schemes, E> {
    let numbered = (0..).zip(known);
    let mut schemes: BTreeMap<u32, Scheme> =
        numbered.map(|(number, known)| (number, Scheme::new(number, known))).collect();
    let mut time = None;
    let mut ids = BTreeSet::new();
    let (from, to) = options.time.unwrap_or((0, u64::MAX));
    let wanted = |id| options.target.is_none_or(|target| target == id);
    for interval in intervals {
        let Interval { snapshot, done } = interval?;
        let (start, end) = (snapshot.start_us.max(from), snapshot.end_us.min(to));
        if start >= end {
            continue;
        }
        time = Some((time.map_or(start, |(first, _)| first), end));
        ids.extend(snapshot.targets.iter().map(|target| target.id).filter(|&id| wanted(id)));
        if snapshot.end_us > to {
            continue;
        }
        for done in done.iter().filter(|done| wanted(done.target)) {
            let new = || Scheme::new(done.scheme, RecordedScheme::default());
            let scheme = schemes.entry(done.scheme).or_insert_with(new);
            scheme.action = Some(done.action);
            scheme.add(snapshot.end_us, done.range.len());
        }
    }
    let ids: Vec<_> = ids.into_iter().collect();
    let title = names::targets(targets, &ids);
    Ok(Schemes { title, time: time.unwrap_or((0, 0)), schemes: schemes.into_values().collect() })
}

impl Schemes {
    /// What stands over it: to whose memory.
    fn headline(&self) -> String {
        format!("What schemes did to the memory of {}", self.title)
    }

    /// What stands below that: when, and what there is in all.
    fn summary(&self) -> String {
        let (from, to) = (display::seconds(self.time.0), display::seconds(self.time.1));
        match self.schemes.len() {
            0 => "the record has no schemes".to_owned(),
            1 => format!("{from} to {to} s, one scheme"),
            n => format!("{from} to {to} s, {n} schemes"),
        }
    }
}

/// Writes what schemes did.
///
/// # Errors
///
/// [`RenderError::Write`] if `out` fails, [`RenderError::Picture`] if a PNG can't
/// be made.
pub fn render(
    schemes: &Schemes,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    match format {
        Format::Text => text::write(schemes, style, out),
        Format::Json => table::json(schemes, out),
        Format::Csv => table::csv(schemes, out),
        Format::Svg | Format::Png => png::write(picture::draw(schemes), format, out),
    }
}

#[cfg(test)]
mod tests;
