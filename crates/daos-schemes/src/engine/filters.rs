//! Deciding by a scheme's filters which memory may be acted on.

use crate::scheme::{Filter, FilterType, Scheme};
use daos_core::{Action, AddrRange, Mapping, OwnedMemory, PAGE_SIZE};

/// What filters have to know of the target whose memory they decide about.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilteredTarget<'a> {
    /// What the target has mapped, by rising address.
    pub mappings: &'a [Mapping],
    /// The cgroup that the target is in.
    pub cgroup: Option<&'a str>,
}

/// Whether one of them goes by what maps the memory, which takes a sample of it.
pub(super) fn need_huge(filters: &[Filter]) -> bool {
    filters.iter().any(|filter| filter.filter_type == FilterType::Huge)
}

/// Whether one of them goes by the cgroup of the target.
pub(super) fn need_cgroup(filters: &[Filter]) -> bool {
    filters.iter().any(|filter| matches!(filter.filter_type, FilterType::Cgroup(_)))
}

/// Whether the scheme leaves files alone that are mapped to be shared: others may use them
/// without mapping them, which no page table shows, and would have to read them again. Only
/// a filter that allows memory of files says otherwise.
pub(super) fn spare_shared_files(scheme: &Scheme) -> bool {
    let allows = |filter: &Filter| {
        filter.filter_type == FilterType::File && filter.allow && !filter.inverted
    };
    matches!(scheme.action, Action::Pageout | Action::Cold) && !scheme.filters.iter().any(allows)
}

/// The parts of `range` without files that are mapped to be shared, by rising address.
pub(super) fn without_shared_files(range: AddrRange, mappings: &[Mapping]) -> Vec<AddrRange> {
    let first = mappings.partition_point(|mapping| mapping.range.end <= range.start);
    let inside = mappings[first..].iter().take_while(|mapping| mapping.range.start < range.end);
    let mut parts = Vec::new();
    let mut start = range.start;
    for shared in inside.filter(|mapping| mapping.is_of_shared_file()) {
        parts.push(AddrRange::new(start, shared.range.start));
        start = shared.range.end;
    }
    parts.push(AddrRange::new(start, range.end));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a filter decides by who has the memory, or as what.
fn is_by_owner(filter: &Filter) -> bool {
    match filter.filter_type {
        FilterType::Anonymous | FilterType::File | FilterType::Cgroup(_) => true,
        FilterType::Addresses(_) | FilterType::Huge => false,
    }
}

/// Whether the scheme has to know who has memory, or as what, where a target has several owners.
pub(super) fn are_by_owner(scheme: &Scheme) -> bool {
    spare_shared_files(scheme) || scheme.filters.iter().any(is_by_owner)
}

/// What the scheme may act on of memory that somebody has: sorted, as `owned` is.
pub(super) fn of_owned(scheme: &Scheme, owned: &[OwnedMemory]) -> Vec<AddrRange> {
    let spare_shared = spare_shared_files(scheme);
    let mut allowed = Vec::new();
    for OwnedMemory { mapping, cgroup, is_huge } in owned {
        if spare_shared && mapping.is_of_shared_file() {
            continue;
        }
        let mappings = std::slice::from_ref(mapping);
        let target = FilteredTarget { mappings, cgroup: cgroup.as_deref() };
        cut(&scheme.filters, mapping.range, target, |part| {
            if allows(&scheme.filters, part, target, *is_huge) {
                part.push_joined(&mut allowed);
            }
        });
    }
    allowed
}

/// Cuts `range` where filters may decide differently on the two sides.
pub(super) fn cut(
    filters: &[Filter],
    range: AddrRange,
    target: FilteredTarget<'_>,
    mut each: impl FnMut(AddrRange),
) {
    let mut edges = vec![range.start, range.end];
    for filter in filters {
        match &filter.filter_type {
            FilterType::Addresses(addresses) => {
                let AddrRange { start, end } = filter.whole_pages(addresses);
                edges.extend([start, end]);
            }
            FilterType::Anonymous | FilterType::File => {
                let first = target.mappings.partition_point(|m| m.range.end <= range.start);
                let inside = target.mappings[first..].iter();
                let inside = inside.take_while(|m| m.range.start < range.end);
                edges.extend(inside.flat_map(|m| [m.range.start, m.range.end]));
            }
            FilterType::Cgroup(_) | FilterType::Huge => {}
        }
    }
    edges.retain(|edge| (range.start..=range.end).contains(edge));
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).for_each(|edge| each(AddrRange::new(edge[0], edge[1])));
}

/// Whether `range`, which no filter would cut, may be acted on. `huge`: whether huge
/// pages map it.
pub(super) fn allows(
    filters: &[Filter],
    range: AddrRange,
    target: FilteredTarget<'_>,
    huge: bool,
) -> bool {
    let matches = |filter: &&Filter| filter.is_of_type(range, target, huge) != filter.inverted;
    match filters.iter().find(matches) {
        Some(filter) => filter.allow,
        None => filters.last().is_none_or(|last| !last.allow),
    }
}

impl Filter {
    /// The pages that the filter means by `addresses`: of those that lie in them in part,
    /// none may be acted on.
    fn whole_pages(&self, addresses: &AddrRange) -> AddrRange {
        if self.allow != self.inverted {
            addresses.whole_blocks(PAGE_SIZE)
        } else {
            addresses.page_aligned()
        }
    }

    /// Whether memory is of the filter's type, before that is inverted.
    fn is_of_type(&self, range: AddrRange, target: FilteredTarget<'_>, huge: bool) -> bool {
        let mapping = || Mapping::at(target.mappings, range.start);
        match &self.filter_type {
            FilterType::Addresses(addresses) => self.whole_pages(addresses).contains(range.start),
            FilterType::Anonymous => mapping().is_some_and(|mapping| !mapping.is_of_file()),
            FilterType::File => mapping().is_some_and(Mapping::is_of_file),
            FilterType::Huge => huge,
            FilterType::Cgroup(path) => target.cgroup.is_some_and(|cgroup| {
                let below = cgroup.strip_prefix(path.trim_end_matches('/'));
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(filter_type: FilterType, allow: bool) -> Filter {
        Filter { filter_type, inverted: false, allow }
    }

    fn pages(start: u64, end: u64) -> AddrRange {
        AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE)
    }

    fn allowed(filters: &[Filter]) -> Vec<(u64, u64)> {
        let mapping = |start, end, name: &str| Mapping {
            range: pages(start, end),
            name: name.into(),
            shared: false,
        };
        let mappings =
            [mapping(0, 10, "[heap]"), mapping(10, 20, "/lib/libc.so"), mapping(20, 40, "")];
        let target = FilteredTarget { mappings: &mappings, cgroup: Some("/a/b") };
        let mut found = Vec::new();
        cut(filters, pages(5, 35), target, |part| {
            if allows(filters, part, target, part == pages(20, 30)) {
                found.push((part.start / PAGE_SIZE, part.end / PAGE_SIZE));
            }
        });
        found
    }

    #[test]
    fn the_first_match_decides_and_the_rest_gets_the_opposite_of_the_last() {
        assert_eq!(allowed(&[]), [(5, 35)]);
        assert_eq!(allowed(&[filter(FilterType::File, false)]), [(5, 10), (20, 35)]);
        assert_eq!(allowed(&[filter(FilterType::File, true)]), [(10, 20)]);
        assert_eq!(allowed(&[filter(FilterType::Anonymous, true)]), [(5, 10), (20, 35)]);
        let first = filter(FilterType::Addresses(pages(8, 25)), false);
        let both = [first, filter(FilterType::Anonymous, true)];
        assert_eq!(allowed(&both), [(5, 8), (25, 35)]);
        let inverted = Filter { inverted: true, ..filter(FilterType::File, false) };
        assert_eq!(allowed(&[inverted]), [(10, 20)]);
    }

    #[test]
    fn memory_of_several_owners_is_decided_by_who_has_it() {
        let owned = |at, name: &str, shared, cgroup: &str| {
            let mapping = Mapping { range: pages(at, at + 1), name: name.into(), shared };
            OwnedMemory { mapping, cgroup: Some(cgroup.into()), is_huge: false }
        };
        let all = [
            owned(0, "", false, "/a/b"),
            owned(1, "[heap]", false, "/a"),
            owned(2, "", false, "/c"),
            owned(4, "/file", false, "/a"),
            owned(5, "/file", true, "/a"),
        ];
        let text = "4K max min min 5s max pageout";
        let mut scheme = crate::parse(text, "test").unwrap().remove(0);
        assert!(are_by_owner(&scheme), "shared files are spared");
        assert_eq!(of_owned(&scheme, &all), [pages(0, 3), pages(4, 5)]);
        scheme.filters = vec![filter(FilterType::Cgroup("/a".into()), true)];
        assert_eq!(of_owned(&scheme, &all), [pages(0, 2), pages(4, 5)]);
        scheme.filters.insert(0, filter(FilterType::File, false));
        assert_eq!(of_owned(&scheme, &all), [pages(0, 2)]);
        scheme.filters = vec![filter(FilterType::Addresses(pages(1, 3)), false)];
        assert_eq!(of_owned(&scheme, &all), [pages(0, 1), pages(4, 5)]);
    }

    #[test]
    fn whether_anonymous_memory_is_let_through() {
        let mut scheme = crate::parse("4K max min min 5s max pageout", "test").unwrap().remove(0);
        let not = |filter: Filter| Filter { inverted: true, ..filter };
        let (anonymous, file) = (FilterType::Anonymous, FilterType::File);
        let some = FilterType::Cgroup("/a".into());
        for (filters, expected) in [
            (vec![], true),
            (vec![filter(file.clone(), true)], false),
            (vec![filter(file.clone(), false)], true),
            (vec![filter(anonymous.clone(), false)], false),
            (vec![not(filter(anonymous.clone(), true))], false),
            (vec![not(filter(file.clone(), false))], false),
            (vec![filter(some.clone(), true), filter(file.clone(), true)], true),
            (vec![filter(some.clone(), false), filter(file, true)], false),
            (vec![filter(some, false), filter(anonymous, true)], true),
        ] {
            scheme.filters = filters;
            assert_eq!(scheme.takes_anonymous(), expected, "{:?}", scheme.filters);
        }
    }

    #[test]
    fn a_page_that_is_meant_in_part_is_left() {
        let AddrRange { start, end } = pages(8, 25);
        let odd = |allow| filter(FilterType::Addresses(AddrRange::new(start + 5, end - 7)), allow);
        assert_eq!(allowed(&[odd(true)]), [(9, 24)]);
        let odd = |allow| filter(FilterType::Addresses(AddrRange::new(start - 5, end + 7)), allow);
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
            assert_eq!(
                allowed(&[filter(FilterType::Cgroup(path.into()), true)]),
                expected,
                "{path}"
            );
        }
    }
}
