//! Where a report goes, in which form and style.

use crate::cli::{self, Color, When};
use anyhow::{Context, Result};
use daos_cli::Usage;
use daos_cli::whole_file::WholeFile;
use daos_report::{Format, Style, UnknownFormat};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write, stdout};
use std::path::{Path, PathBuf};
use terminal_size::terminal_size;

/// Buffered; nothing of a file is seen under its name before [`finish`](Self::finish).
pub struct Output {
    pub format: Format,
    to: To,
}

enum To {
    Stdout(BufWriter<Stdout>),
    File(WholeFile, PathBuf),
}

impl Output {
    /// Standard output or the file asked for, in the format asked for or, failing
    /// that, the one that the file's name ends in.
    pub fn open(format: Option<cli::Format>, output: Option<&PathBuf>) -> Result<Self> {
        let format = match (format, output) {
            (Some(format), _) => format.into(),
            (None, Some(path)) => format_of(path)?,
            (None, None) => Format::Text,
        };
        let to = match output {
            Some(path) if path != Path::new("-") => {
                let file = WholeFile::create(path);
                To::File(file.with_context(|| cannot_write(path))?, path.clone())
            }
            _ => To::Stdout(BufWriter::new(stdout())),
        };
        if format == Format::Png && matches!(to, To::Stdout(_)) && stdout().is_terminal() {
            return Err(Usage("a PNG is not for a terminal; give it a file with -o".into()).into());
        }
        Ok(Self { format, to })
    }

    /// What is shown where it goes: nobody looks at a file as it is written.
    pub fn style(&self, color: &Color) -> Style {
        let is_shown = matches!(self.to, To::Stdout(_)) && stdout().is_terminal();
        style(color, is_shown)
    }

    /// Puts a file in its place.
    pub fn finish(self) -> Result<()> {
        match self.to {
            To::Stdout(mut out) => Ok(out.flush()?),
            To::File(file, path) => file.finish().with_context(|| cannot_write(&path)),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Stdout(out) => out.write(bytes),
            To::File(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::File(out, _) => out.flush(),
        }
    }
}

/// The format that a file's name asks for; text where it has no ending.
fn format_of(path: &Path) -> Result<Format> {
    let Some(ending) = path.extension() else { return Ok(Format::Text) };
    let ending = ending.to_string_lossy().to_ascii_lowercase();
    if ending == "txt" {
        return Ok(Format::Text);
    }
    ending.parse().map_err(|err: UnknownFormat| {
        Usage(format!("{}: {err}; or give --format", path.display())).into()
    })
}

impl From<cli::Format> for Format {
    fn from(format: cli::Format) -> Self {
        match format {
            cli::Format::Text => Format::Text,
            cli::Format::Json => Format::Json,
            cli::Format::Csv => Format::Csv,
            cli::Format::Svg => Format::Svg,
            cli::Format::Png => Format::Png,
        }
    }
}

/// What standard output can show.
pub fn style_of_stdout(color: &Color) -> Style {
    style(color, stdout().is_terminal())
}

fn style(color: &Color, terminal: bool) -> Style {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    let plain = Style::default();
    let (width, height) = terminal_size()
        .filter(|_| terminal)
        .map_or((plain.width, plain.height), |(w, h)| (w.0.into(), usize::from(h.0).max(20)));
    Style {
        color: match color.color {
            When::Auto => terminal && !set("NO_COLOR") && !is("TERM", "dumb"),
            When::Always => true,
            When::Never => false,
        },
        unicode: !is("LC_ALL", "C") && !is("LC_ALL", "POSIX"),
        width,
        height,
    }
}
