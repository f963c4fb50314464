//! Figures with their values over the rounds: as the rows of a table, and as JSON.

use crate::finding::{Figure, Finding, Goal};
use crate::spread::Spread;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// A figure and what it was in each round.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which.
    pub figure: Figure,
    /// `None` for a round that did not show it.
    pub values: Vec<Option<f64>>,
}

impl Row {
    /// Of rounds that have the same figures.
    pub fn of_rounds(rounds: &[Vec<Finding>]) -> Vec<Self> {
        let first = rounds.first().map_or(&[][..], Vec::as_slice);
        let rows = first.iter().enumerate().map(|(at, Finding { figure, .. })| Row {
            figure: *figure,
            values: rounds.iter().map(|round| round[at].value).collect(),
        });
        rows.collect()
    }

    /// Of a figure with one value for all rounds.
    pub fn of_all(finding: Finding) -> Self {
        Self { figure: finding.figure, values: vec![finding.value] }
    }

    /// Median and range.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.values.iter().copied())
    }

    /// Name, median with range, goal, and whether it was reached.
    fn cells(&self) -> [String; 4] {
        let Self { figure, values } = self;
        let (unit, goal) = (figure.unit, figure.goal);
        let spread = self.spread();
        // A run without a value did not reach the goal.
        let is_whole = values.iter().all(Option::is_some);
        let verdict = match (goal, spread) {
            (None, _) => "",
            (Some(goal), Some(spread)) if is_whole && goal.is_reached(spread.median) => "reached",
            (Some(_), _) => "missed",
        };
        let goal = goal.map(Goal::parts);
        let goal =
            goal.map(|(sign, value)| format!("{sign} {}{}", unit.number(value), unit.suffix()));
        let shown = spread.map_or("-".to_owned(), |spread| {
            let [median, min, max] =
                [spread.median, spread.min, spread.max].map(|value| unit.number(value));
            match values.len() {
                1 => format!("{median}{}", unit.suffix()),
                _ if is_whole => format!("{median}{} ({min} to {max})", unit.suffix()),
                runs => {
                    let of = values.iter().flatten().count();
                    format!("{median}{} ({min} to {max}; in {of} of {runs} runs)", unit.suffix())
                }
            }
        });
        [figure.name.to_owned(), shown, goal.unwrap_or_default(), verdict.to_owned()]
    }
}

/// Writes a line for each: its name, the median over the rounds and, of more than one, the
/// range, the goal, and whether the median reaches it.
pub(crate) fn text(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<[String; 4]> = rows.iter().map(Row::cells).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..4).filter_map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

#[derive(Serialize)]
struct FigureJson<'a> {
    #[serde(flatten)]
    spread: Option<Spread>,
    runs: &'a [Option<f64>],
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<GoalJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum GoalJson {
    AtMost(f64),
    AtLeast(f64),
}

impl From<Goal> for GoalJson {
    fn from(goal: Goal) -> Self {
        match goal {
            Goal::AtMost(most) => Self::AtMost(most),
            Goal::AtLeast(least) => Self::AtLeast(least),
        }
    }
}

/// Each figure under its key, with median, range and every value.
#[derive(Debug)]
pub(crate) struct RowsJson<'a>(pub &'a [Row]);

impl Serialize for RowsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for row in self.0 {
            let goal = row.figure.goal.map(GoalJson::from);
            let json = FigureJson { spread: row.spread(), runs: &row.values, goal };
            map.serialize_entry(row.figure.key, &json)?;
        }
        map.end()
    }
}
