//! Values for programs: fields of CSV, quoted as RFC 4180 has it, and rounded numbers.

use std::borrow::Cow;

/// `text` as one field.
pub fn field(text: &str) -> Cow<'_, str> {
    match text.contains(['"', ',', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => Cow::Borrowed(text),
    }
}

/// A number, or an empty field where there is none.
pub fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A number for programs: no more than six decimals, so that rounding errors of
/// a mean don't show.
pub fn six_decimals(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(field("/usr/lib/libc.so"), "/usr/lib/libc.so");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!((optional(Some(3)), optional(None::<u8>)), ("3".into(), String::new()));
    }
}
