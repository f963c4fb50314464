//! Schemes as people write them.
//!
//! Two forms: the seven fields of the seeds on a line, and TOML, which has room for the
//! rest. Values are spelt alike in both. What is wrong is said with its place, what was
//! expected, and the nearest word that would do.
//!
//! | module | holds |
//! |---|---|
//! | [`text`], [`toml`] | the two forms |
//! | `fields` | the fields of a line of the first |
//! | [`value`] | single values, in either form |
//! | [`builtin`] | schemes that come with the program |
//! | `validate` | what makes no sense in either form |
//! | [`mistake`] | what is wrong with a scheme, and where |
//! | [`nearest`] | what someone who mistyped a word meant |

#[cfg(test)]
mod arbitrary;
pub mod builtin;
mod fields;
pub mod mistake;
pub mod nearest;
pub mod text;
pub mod toml;
mod validate;
pub mod value;

pub use mistake::{Invalid, Problem, TextError};

use crate::Scheme;

/// Reads schemes in either form, told apart by the name that ends in `.toml` or by the
/// first line that has something to say: TOML's begins with `[`. `source` is the text's
/// name in errors.
pub fn parse(text: &str, source: &str) -> Result<Vec<Scheme>, TextError> {
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim_start());
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    if source.ends_with(".toml") || first.is_some_and(|line| line.starts_with('[')) {
        toml::parse(text, source)
    } else {
        text::parse(text, source)
    }
}

/// Writes all that a scheme says: its seven fields, or TOML if it has more.
pub fn format(scheme: &Scheme) -> String {
    match text::says_all(scheme) {
        true => text::format(scheme),
        false => toml::format(std::slice::from_ref(scheme)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_kept_with_all_that_it_says() {
        for (name, lines) in [("prcl", 1), ("prcl-gentle", 2)] {
            let (_, text) = builtin::get(name).unwrap();
            let scheme = parse(text, name).unwrap().remove(0);
            let kept = format(&scheme);
            assert_eq!(parse(&kept, name).unwrap(), [scheme], "{kept}");
            assert!(kept.lines().count() >= lines, "{kept}");
        }
    }
}
