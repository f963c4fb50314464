//! Why there is no report.

use crate::format::{Format, alternatives};
use std::io;
use thiserror::Error;

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
    #[error("cannot write the report: {0}")]
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
