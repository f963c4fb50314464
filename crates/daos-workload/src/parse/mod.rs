//! Reads a configuration, or says where it is wrong and what belongs there.
//!
//! The format is `masim`'s, so that its configurations run unchanged: paragraphs
//! separated by blank lines. The first lists the regions, each further one is a
//! phase.
//!
//! ```text
//! # name, size
//! cold, 896MiB
//! hot,  128MiB
//!
//! the phase's name
//! 10s
//! # region, random|stride|singles (or 1|0 for the first two), bytes a step, weight[, ro|wo|rw]
//! hot, random, 1, 1
//! ```
//!
//! A `#` starts a comment anywhere in a line; a line that holds only a comment
//! separates nothing. `singles` is not `masim`'s: of each so many bytes, whole pages, one page
//! is accessed. `masim` can fill a region from a file; that is refused.

mod error;
mod field;

pub use error::{ConfigError, Problem};

use crate::config::{Config, Mode, Order, Pattern, Phase, Region};
use daos_core::PAGE_SIZE;
use field::{Field, Fields, Parsed, ProblemAt, clipped};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most regions: each takes two mappings while it is set up, of the 65,530 that
/// Linux grants a process.
const MAX_REGIONS: usize = 30_000;
/// Most bytes of text. Chosen: more than the most regions with names of usual length take, and
/// so few that no sum over phases can overflow.
const MAX_TEXT: usize = 2 << 20;
/// Most bytes in all regions: half of what a process can address.
const MAX_BYTES: u64 = 64 << 40;

impl Config {
    /// Reads the configuration in a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        // One byte more than can be: a device or a pipe may have no end.
        let mut text = String::new();
        let read = File::open(path)
            .and_then(|input| input.take(MAX_TEXT as u64 + 1).read_to_string(&mut text));
        match read {
            Ok(_) => Self::parse(&file, &text),
            Err(source) => Err(ConfigError::Read { file, source }),
        }
    }

    /// Reads a configuration from `text`; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        parse(text)
            .map(|(regions, phases)| Self { name: file.to_owned(), regions, phases })
            .map_err(|ProblemAt { line, column, problem }| ConfigError::Syntax {
                file: file.to_owned(),
                line,
                column,
                problem,
            })
    }
}

fn parse(text: &str) -> Parsed<(Vec<Region>, Vec<Phase>)> {
    if text.len() > MAX_TEXT {
        let problem = Problem::TooLarge { what: "the configuration is too long", limit: "2 MiB" };
        return Err(ProblemAt { line: 1, column: 1, problem });
    }
    let end = Field { line: text.lines().count().max(1), column: 1, text: "" };
    let missing = |expected| end.wrong(Problem::Unexpected { found: "the end".into(), expected });

    let mut paragraphs = paragraphs(text).into_iter();
    let lines = paragraphs.next().ok_or_else(|| missing("a region: its name and its size"))?;
    let regions = regions(&lines)?;
    let names: HashMap<&str, usize> =
        regions.iter().enumerate().map(|(i, r)| (r.name.as_str(), i)).collect();
    let phases = paragraphs.map(|p| phase(&p, &regions, &names)).collect::<Parsed<Vec<_>>>()?;
    if phases.is_empty() {
        return Err(missing("a blank line and a phase: a line of its name, a line of its length"));
    }
    Ok((regions, phases))
}

/// Lines without comments, grouped. Each has something in it, as has each group.
fn paragraphs(text: &str) -> Vec<Vec<Field<'_>>> {
    let mut groups = vec![Vec::new()];
    for (at, text) in text.lines().enumerate() {
        let (body, comment) = text.split_once('#').map_or((text, false), |(b, _)| (b, true));
        if !body.trim().is_empty() {
            let line = Field { line: at + 1, column: 1, text: body };
            groups.last_mut().expect("never empty").push(line.trimmed());
        } else if !comment {
            groups.push(Vec::new());
        }
    }
    groups.retain(|g| !g.is_empty());
    groups
}

fn regions(lines: &[Field<'_>]) -> Parsed<Vec<Region>> {
    let mut regions: Vec<Region> = Vec::new();
    let mut first_lines = HashMap::new();
    let mut total = 0u64;
    for line in lines {
        let mut fields = Fields::of(line);
        let name = fields.next("a region's name")?;
        let len = fields.next("a comma and the region's size in bytes, such as 100M")?;
        if let Some(data) = fields.optional()
            && !data.text.eq_ignore_ascii_case("none")
        {
            return Err(data.unexpected("none or nothing: regions can't be filled from a file"));
        }
        fields.finish()?;

        let text = name.name()?;
        if let Some(first) = first_lines.insert(text.clone(), line.line) {
            return Err(name.wrong(Problem::DuplicateRegion { name: text, first }));
        }
        let bytes = len.bytes("the size of a region")?;
        total = total.checked_add(bytes).filter(|t| *t <= MAX_BYTES).ok_or_else(|| {
            len.wrong(Problem::TooLarge { what: "the regions' total size", limit: "64 TiB" })
        })?;
        if regions.len() == MAX_REGIONS {
            return Err(name.wrong(Problem::TooLarge { what: "too many regions", limit: "30000" }));
        }
        regions.push(Region { name: text, len: bytes });
    }
    Ok(regions)
}

fn phase(lines: &[Field<'_>], regions: &[Region], names: &HashMap<&str, usize>) -> Parsed<Phase> {
    let name = &lines[0];
    let Some(duration) = lines.get(1) else {
        return Err(name.behind().unexpected("a line with the phase's length in ms, such as 10s"));
    };
    Ok(Phase {
        name: name.name()?,
        duration_ms: duration.milliseconds()?,
        patterns: lines[2..]
            .iter()
            .map(|line| pattern(line, regions, names))
            .collect::<Parsed<_>>()?,
    })
}

fn pattern(line: &Field<'_>, regions: &[Region], names: &HashMap<&str, usize>) -> Parsed<Pattern> {
    let mut fields = Fields::of(line);
    let name = fields.next("the name of a region")?;
    let region = *names.get(name.text).ok_or_else(|| name.wrong(unknown(name.text, regions)))?;
    let order = fields.next("a comma and random (1), stride (0) or singles")?;
    let step = || "a comma and the bytes a step, such as 4096";
    let order = match order.text.to_ascii_lowercase().as_str() {
        "1" | "random" => {
            // Random accesses have no steps, and configurations give any number for them.
            fields.next(step())?.size("a size in bytes, such as 4096 or 4K")?;
            Order::Random
        }
        "0" | "stride" | "seq" => Order::Stride(fields.next(step())?.bytes("the stride")?),
        "singles" => {
            let step = fields.next(step())?;
            let every = step.bytes("what a single page is of")?;
            let fits = 2 * PAGE_SIZE <= every && every <= regions[region].len;
            if !fits || !every.is_multiple_of(PAGE_SIZE) {
                return Err(step.unexpected(
                    "bytes of which one page is accessed: pages of 4K, two or more, of those of \
                     the region",
                ));
            }
            Order::Singles(every)
        }
        _ => return Err(order.unexpected("random (1), stride (0) or singles")),
    };
    let weight = fields.next("a comma and the weight of the pattern")?.weight()?;
    let mode = match fields.optional() {
        None => Mode::default(),
        Some(field) => match field.text.to_ascii_lowercase().as_str() {
            "ro" => Mode::Ro,
            "wo" => Mode::Wo,
            "rw" => Mode::Rw,
            _ => return Err(field.unexpected("ro, wo or rw")),
        },
    };
    fields.finish()?;
    Ok(Pattern { region, order, weight, mode })
}

fn unknown(name: &str, regions: &[Region]) -> Problem {
    const SHOWN: usize = 8;
    let mut known =
        regions.iter().take(SHOWN).map(|r| r.name.as_str()).collect::<Vec<_>>().join(", ");
    if regions.len() > SHOWN {
        known += &format!(" and {} more", regions.len() - SHOWN);
    }
    // Lengths first: they are cheap to compare, and the name may be as long as the file.
    let length = name.chars().count();
    let near = regions
        .iter()
        .filter(|r| r.name.chars().count().abs_diff(length) <= 2)
        .map(|r| (edit_distance(name, &r.name), r))
        .filter(|(distance, r)| *distance <= 2 && *distance < r.name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, r)| r.name.clone());
    Problem::UnknownRegion { name: clipped(name), known, near }
}

/// How many characters must be put in, left out or replaced to make `a` into `b`
/// (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
