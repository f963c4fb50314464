//! What libbpf and the kernel's verifier say while programs are loaded: nothing that anybody
//! wants to see, unless the kernel does not take them.

use libbpf_rs::PrintLevel;
use std::sync::Mutex;

/// Lines of it that are shown. Chosen: the verifier says at the end what it does not like.
const LINES: usize = 12;
/// Bytes that are kept: the last.
const BYTES: usize = 64 << 10;

/// libbpf has one place for it in the whole program, and tells it without saying of what.
static LOG: Mutex<String> = Mutex::new(String::new());

/// From now on it is kept, and not printed.
pub(crate) fn keep() {
    take();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut log) = LOG.lock() {
            log.push_str(&text);
            let too_much = log.len().saturating_sub(BYTES);
            let cut = (too_much..log.len()).find(|&at| log.is_char_boundary(at));
            log.drain(..cut.unwrap_or(0));
        }
    })));
}

fn take() -> String {
    LOG.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default()
}

/// The last lines of what was kept, each behind a line break; empty if there are none.
pub(crate) fn last_lines() -> String {
    last_of(&take())
}

fn last_of(log: &str) -> String {
    let says = |line: &&str| !line.trim().is_empty() && !line.contains(" PROG LOAD LOG --");
    let lines: Vec<_> = log.lines().filter(says).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("\n  {}", line.escape_debug())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_and_steer_no_terminal() {
        let log: String = (0..40).map(|line| format!("line {line}\n\n")).collect();
        let log = log + "-- END PROG LOAD LOG --\nR1 \x1b[31m\n";
        let shown = last_of(&log);
        assert_eq!(shown.lines().skip(1).count(), LINES);
        assert!(shown.starts_with("\n  line 29\n"), "{shown}");
        assert!(shown.ends_with("line 39\n  R1 \\u{1b}[31m"), "{shown}");
        assert_eq!(last_of(""), "");
    }
}
