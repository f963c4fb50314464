//! Which memory a scheme must leave alone, or is alone meant for.

use daos_core::addr::{AddrRange, PAGE_SIZE};
use daos_core::target::Mapping;

/// One rule. The first of a scheme's filters that matches some memory decides about
/// it; memory that none matches gets the opposite of the last one's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Which memory it is about.
    pub what: Matter,
    /// Whether memory that is *not* like that matches.
    pub inverted: bool,
    /// Whether what matches may be acted on.
    pub allow: bool,
}

/// What a filter looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matter {
    /// These addresses.
    Addresses(AddrRange),
    /// Anonymous memory: heaps, stacks, what programs allocate.
    Anonymous,
    /// Memory that maps files.
    File,
    /// Memory of processes in this cgroup, by its path, or below it.
    Cgroup(String),
    /// Memory that huge pages map already.
    Huge,
}

/// What is known of some memory of a target: enough to decide about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// What the target has mapped, by rising address.
    pub mappings: &'a [Mapping],
    /// The cgroup that the target is in.
    pub cgroup: Option<&'a str>,
}

/// Whether deciding takes a look at the memory itself.
pub(super) fn asks_for_huge(filters: &[Filter]) -> bool {
    filters.iter().any(|filter| filter.what == Matter::Huge)
}

/// Whether deciding takes the cgroup of a target.
pub(super) fn asks_for_cgroup(filters: &[Filter]) -> bool {
    filters.iter().any(|filter| matches!(filter.what, Matter::Cgroup(_)))
}

/// Cuts `range` where filters may decide differently on the two sides.
pub(super) fn cut(
    filters: &[Filter],
    range: AddrRange,
    known: Known<'_>,
    mut each: impl FnMut(AddrRange),
) {
    let mut edges = vec![range.start, range.end];
    for filter in filters {
        match &filter.what {
            Matter::Addresses(addresses) => {
                let AddrRange { start, end } = filter.whole_pages(addresses);
                edges.extend([start, end]);
            }
            Matter::Anonymous | Matter::File => {
                let first = known.mappings.partition_point(|m| m.range.end <= range.start);
                let inside = known.mappings[first..].iter();
                let inside = inside.take_while(|m| m.range.start < range.end);
                edges.extend(inside.flat_map(|m| [m.range.start, m.range.end]));
            }
            Matter::Cgroup(_) | Matter::Huge => {}
        }
    }
    edges.retain(|edge| (range.start..=range.end).contains(edge));
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).for_each(|edge| each(AddrRange::new(edge[0], edge[1])));
}

/// Whether `range`, which no filter would cut, may be acted on. `huge`: whether huge
/// pages map it.
pub(super) fn allows(filters: &[Filter], range: AddrRange, known: Known<'_>, huge: bool) -> bool {
    let matches = |filter: &&Filter| filter.matches(range, known, huge) != filter.inverted;
    match filters.iter().find(matches) {
        Some(filter) => filter.allow,
        None => filters.last().is_none_or(|last| !last.allow),
    }
}

impl Filter {
    /// Of pages that lie in `addresses` in part, none may be acted on.
    fn whole_pages(&self, addresses: &AddrRange) -> AddrRange {
        if self.allow != self.inverted {
            addresses.whole_blocks(PAGE_SIZE)
        } else {
            addresses.page_aligned()
        }
    }

    fn matches(&self, range: AddrRange, known: Known<'_>, huge: bool) -> bool {
        let mapping = || Mapping::at(known.mappings, range.start);
        match &self.what {
            Matter::Addresses(addresses) => self.whole_pages(addresses).contains(range.start),
            Matter::Anonymous => mapping().is_some_and(|mapping| !mapping.is_of_file()),
            Matter::File => mapping().is_some_and(Mapping::is_of_file),
            Matter::Huge => huge,
            Matter::Cgroup(path) => known.cgroup.is_some_and(|cgroup| {
                let below = cgroup.strip_prefix(path.trim_end_matches('/'));
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(what: Matter, allow: bool) -> Filter {
        Filter { what, inverted: false, allow }
    }

    /// In pages.
    fn range(start: u64, end: u64) -> AddrRange {
        AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE)
    }

    fn allowed(filters: &[Filter]) -> Vec<(u64, u64)> {
        let mapping =
            |start, end, name: &str| Mapping { range: range(start, end), name: name.into() };
        let mappings =
            [mapping(0, 10, "[heap]"), mapping(10, 20, "/lib/libc.so"), mapping(20, 40, "")];
        let known = Known { mappings: &mappings, cgroup: Some("/a/b") };
        let mut found = Vec::new();
        cut(filters, range(5, 35), known, |part| {
            if allows(filters, part, known, part == range(20, 30)) {
                found.push((part.start / PAGE_SIZE, part.end / PAGE_SIZE));
            }
        });
        found
    }

    #[test]
    fn the_first_match_decides_and_the_rest_gets_the_opposite_of_the_last() {
        assert_eq!(allowed(&[]), [(5, 35)]);
        assert_eq!(allowed(&[filter(Matter::File, false)]), [(5, 10), (20, 35)]);
        assert_eq!(allowed(&[filter(Matter::File, true)]), [(10, 20)]);
        assert_eq!(allowed(&[filter(Matter::Anonymous, true)]), [(5, 10), (20, 35)]);
        let first = filter(Matter::Addresses(range(8, 25)), false);
        let both = [first, filter(Matter::Anonymous, true)];
        assert_eq!(allowed(&both), [(5, 8), (25, 35)]);
        let inverted = Filter { inverted: true, ..filter(Matter::File, false) };
        assert_eq!(allowed(&[inverted]), [(10, 20)]);
    }

    #[test]
    fn a_page_that_is_meant_in_part_is_left() {
        let AddrRange { start, end } = range(8, 25);
        let odd = |allow| filter(Matter::Addresses(AddrRange::new(start + 5, end - 7)), allow);
        assert_eq!(allowed(&[odd(true)]), [(9, 24)]);
        let odd = |allow| filter(Matter::Addresses(AddrRange::new(start - 5, end + 7)), allow);
        assert_eq!(allowed(&[odd(false)]), [(5, 7), (26, 35)]);
    }

    #[test]
    fn a_cgroup_is_it_and_what_is_below() {
        let whole = vec![(5, 35)];
        for (path, expected) in [
            ("/a", whole.clone()),
            ("/a/b/", whole.clone()),
            ("/a/b/c", vec![]),
            ("/a/bb", vec![]),
            ("/", whole),
        ] {
            assert_eq!(allowed(&[filter(Matter::Cgroup(path.into()), true)]), expected, "{path}");
        }
    }
}
