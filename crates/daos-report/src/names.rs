//! What targets and regions are called, in a text that is safe to show.
//!
//! A command line is the monitored program's to choose, and may hold anything: see
//! [`daos_core::text`].

use daos_core::text::safe;
use daos_core::{AddrRange, TargetId, TargetInfo};

/// Longest name shown, in characters.
const LONGEST: usize = 60;

/// `redis-server *:6379 (pid 812)`; `target 3` if nothing is known of it.
pub fn target(infos: &[TargetInfo], id: TargetId) -> String {
    let Some(info) = infos.iter().find(|info| info.id == id) else {
        return format!("target {}", id.0);
    };
    let name = printable(&info.name);
    match (name.is_empty(), info.pid) {
        (false, Some(pid)) => format!("{name} (pid {pid})"),
        (false, None) => name,
        (true, Some(pid)) => format!("pid {pid}"),
        (true, None) => format!("target {}", id.0),
    }
}

/// The one target's name, or how many there are and what the first is called.
pub fn targets(infos: &[TargetInfo], ids: &[TargetId]) -> String {
    match ids {
        [] => "no target".to_owned(),
        [id] => target(infos, *id),
        [first, ..] => format!("{} and {} more", target(infos, *first), ids.len() - 1),
    }
}

/// The mapping that `range` shares most bytes with: its name, `anonymous` if it
/// has none, and `+2` if there are two more. Empty if no mapping is known there.
pub fn mapping(info: Option<&TargetInfo>, range: &AddrRange) -> String {
    let mappings = info.map_or(&[][..], |info| &info.mappings);
    let shared = |mapping: &daos_core::Mapping| mapping.range.intersect(range);
    let first = mappings.partition_point(|mapping| mapping.range.end <= range.start);
    let inside = mappings[first..].iter().take_while(|mapping| shared(mapping).is_some());
    let inside: Vec<_> = inside.collect();
    let Some(largest) = inside.iter().max_by_key(|mapping| shared(mapping).map(|r| r.len())) else {
        return String::new();
    };
    let name = match largest.name.as_str() {
        "" => "anonymous".to_owned(),
        name => printable(name),
    };
    match inside.len() {
        1 => name,
        n => format!("{name} +{}", n - 1),
    }
}

/// `text` on one line, without control characters, cut to what fits into a line of a report.
pub fn printable(text: &str) -> String {
    printable_to(text, LONGEST)
}

/// `text` on one line, without control characters, cut to `longest` characters, which is at
/// least 3.
pub fn printable_to(text: &str, longest: usize) -> String {
    let mut name = safe(&text.trim().chars().take(longest).collect::<String>());
    if text.trim().chars().count() > longest {
        name.replace_range(name.char_indices().nth(longest - 3).map_or(0, |(i, _)| i).., "...");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Mapping;

    fn info(name: &str, pid: Option<u32>) -> TargetInfo {
        let map = |start, end, name: &str| Mapping {
            shared: false,
            range: AddrRange::new(start, end),
            name: name.into(),
        };
        let mappings = vec![map(0x1000, 0x3000, "[heap]"), map(0x3000, 0x9000, "")];
        TargetInfo {
            id: TargetId(1),
            pid,
            name: name.into(),
            mappings,
            cgroup: None,
            memory: None,
            ownership: None,
            page_cache: None,
        }
    }

    #[test]
    fn targets_are_called_by_what_is_known() {
        let one = TargetId(1);
        assert_eq!(target(&[info("sleep 9", Some(7))], one), "sleep 9 (pid 7)");
        assert_eq!(target(&[info("", Some(7))], one), "pid 7");
        assert_eq!(target(&[], one), "target 1");
        assert_eq!(targets(&[], &[one, TargetId(2)]), "target 1 and 1 more");
        assert_eq!(targets(&[], &[]), "no target");
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a?[2Jb?c");
        assert_eq!(printable(&"x".repeat(70)).len(), LONGEST);
    }

    #[test]
    fn a_region_is_named_by_its_largest_mapping() {
        let info = info("sleep", None);
        let name = |start, end| mapping(Some(&info), &AddrRange::new(start, end));
        assert_eq!(name(0x1000, 0x2000), "[heap]");
        assert_eq!(name(0x2000, 0x5000), "anonymous +1");
        assert_eq!(name(0xa000, 0xb000), "");
        assert_eq!(mapping(None, &AddrRange::new(0, 1)), "");
    }
}
