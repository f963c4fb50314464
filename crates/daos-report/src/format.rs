//! The forms a report can take, and why there is no report.

use std::fmt;
use std::io;
use std::str::FromStr;
use thiserror::Error;

/// A form that a report can take. Not every report has every one; asking for
/// one that it lacks is [`RenderError::Unsupported`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people, in a terminal.
    #[default]
    Text,
    /// For programs: one JSON value.
    Json,
    /// For spreadsheets and plotting tools: a header, then a row an item.
    Csv,
    /// A picture that scales.
    Svg,
    /// A picture of dots.
    Png,
}

impl Format {
    /// Every format there is.
    pub const ALL: [Format; 5] =
        [Format::Text, Format::Json, Format::Csv, Format::Svg, Format::Png];

    /// Its name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }

    /// The error of a `report` that has the formats `supported` but not this one.
    pub(crate) fn refused(self, report: &'static str, supported: &'static [Format]) -> RenderError {
        RenderError::Unsupported { report, asked: self, supported }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of no format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no format `{0}`; a report can be {formats}", formats = alternatives(&Format::ALL))]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Format::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// `text, json or csv`.
pub(crate) fn alternatives(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The report does not come in this format.
    #[error("{report} can be {}, not {asked}", alternatives(supported))]
    Unsupported {
        /// The report.
        report: &'static str,
        /// The format asked for.
        asked: Format,
        /// The formats that it comes in.
        supported: &'static [Format],
    },
    /// The output took no more: a full disk, a closed pipe.
    #[error("cannot write the report")]
    Write(#[from] io::Error),
    /// The picture could not be turned into dots.
    #[error("cannot draw the picture: {0}")]
    Picture(String),
}

/// Why a report that is written while it reads could not be finished.
#[derive(Debug, Error)]
pub enum StreamError<E> {
    /// The snapshots ended early; what came before is written.
    #[error(transparent)]
    Source(E),
    /// The report could not be written.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl<E> From<io::Error> for StreamError<E> {
    fn from(error: io::Error) -> Self {
        StreamError::Render(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!(
            "html".parse::<Format>().unwrap_err().to_string(),
            "there is no format `html`; a report can be text, json, csv, svg or png"
        );
    }

    #[test]
    fn a_refusal_names_what_is_supported() {
        let refusal = Format::Svg.refused("regions", &[Format::Text, Format::Json, Format::Csv]);
        assert_eq!(refusal.to_string(), "regions can be text, json or csv, not svg");
    }
}
