//! Text from outside, made safe to show.
//!
//! Whoever starts a process, makes a cgroup or writes a file chooses its name, and a record or
//! a scheme may hold anything. What would steer a terminal or break an XML file becomes a `?`.

/// `text` on one line, without control characters.
pub fn safe(text: &str) -> String {
    text.chars().map(harmless).collect()
}

/// Each line of `text` without control characters but tabs.
pub fn safe_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { harmless(c) }).collect()
}

/// `?` in place of what steers a terminal, turns the direction of writing, breaks a line or is
/// in no XML file.
fn harmless(c: char) -> char {
    let steers = matches!(
        c,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fff0}'..='\u{ffff}'
    );
    if c.is_control() || steers { '?' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(safe(" a\x1b[2J\u{9b}\r\n\t"), " a?[2J????");
        assert_eq!(safe("a\u{202e}b\u{2028}c"), "a?b?c");
        assert_eq!(safe_lines("a\x1b[2J\r\n\tb\u{9b}"), "a?[2J?\n\tb?");
    }
}
