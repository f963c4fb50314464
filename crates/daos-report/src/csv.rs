//! Fields of CSV, quoted as RFC 4180 has it.

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
