//! The seven fields that a line of a scheme has as text.

use super::value;
use daos_core::units;

/// Their names.
pub(super) const FIELDS: [&str; 7] =
    ["min_size", "max_size", "min_freq", "max_freq", "min_age", "max_age", "action"];

/// A field of a line.
#[derive(Debug)]
pub(super) struct Field<'a> {
    /// In characters, from 1.
    pub column: usize,
    pub text: &'a str,
}

/// The fields of a line, without its comment.
pub(super) fn fields(line: &str) -> Vec<Field<'_>> {
    let line = line.split('#').next().unwrap_or_default();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for word in line.split_whitespace() {
        let start = word.as_ptr() as usize - line.as_ptr() as usize;
        let end = start + word.len();
        match spans.last_mut() {
            Some(last) if value::is_unit(word) && units::is_number(&line[last.0..last.1]) => {
                last.1 = end;
            }
            _ => spans.push((start, end)),
        }
    }
    let field = |(start, end)| {
        let column = line[..start].chars().count() + 1;
        Field { column, text: &line[start..end] }
    };
    spans.into_iter().map(field).collect()
}
