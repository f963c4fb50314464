//! Working sets to bytes and back.
//!
//! They stand in a frame of their own in front of their snapshot, so that readers from before
//! there were any still read the rest. They are kept in pages, each as what it has more than
//! the one before; what can't be observed comes last.

use super::stored::StoredSnapshot;
use super::varint;
use daos_core::{PAGE_SIZE, TargetId, WITHIN_US, WorkingSets};
use std::collections::BTreeMap;

/// Those of a snapshot, by target.
pub type ByTarget = BTreeMap<TargetId, WorkingSets>;

/// Whether there are any.
pub fn are_in(snapshot: &StoredSnapshot) -> bool {
    snapshot.targets.iter().any(|target| target.working_sets.is_some())
}

/// Appends those of `snapshot`, whose targets are sorted, to `out`.
pub fn encode(snapshot: &StoredSnapshot, out: &mut Vec<u8>) {
    let there = || snapshot.targets.iter().filter_map(|t| Some((t.id, t.working_sets?)));
    varint::put(out, there().count() as u64);
    for (id, sets) in there() {
        varint::put(out, id.0.into());
        let mut before = 0;
        for pages in sets.bytes().map(|bytes| (bytes / PAGE_SIZE as f64).round() as u64) {
            varint::put(out, pages - before);
            before = pages;
        }
        varint::put(out, (sets.hidden() / PAGE_SIZE as f64).round() as u64);
    }
}

/// What `payload` holds; `None` when it holds anything else.
pub fn decode(mut payload: &[u8]) -> Option<ByTarget> {
    let bytes = &mut payload;
    let mut all = ByTarget::new();
    for _ in 0..varint::take(bytes)? {
        let id = TargetId(varint::take_u32(bytes)?);
        let mut sum = 0u64;
        let mut sets = [0.0; WITHIN_US.len()];
        for set in &mut sets {
            sum = sum.checked_add(varint::take_pages(bytes)?)?;
            *set = sum as f64;
        }
        let hidden = varint::take_pages(bytes)? as f64;
        if all.insert(id, WorkingSets::new(sets).beside_hidden(hidden)).is_some() {
            return None;
        }
    }
    payload.is_empty().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::super::stored::StoredTarget;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_come_back(more in prop::collection::vec(any::<([u32; 7], u32)>(), 0..4)) {
            let sets = |(more, hidden): &([u32; 7], u32)| {
                let mut sum = 0;
                let sets = WorkingSets::new(more.map(|pages| {
                    sum += u64::from(pages) * PAGE_SIZE;
                    sum as f64
                }));
                sets.beside_hidden((u64::from(*hidden) * PAGE_SIZE) as f64)
            };
            let target = |(id, more)| StoredTarget {
                id: TargetId(id),
                working_sets: Some(sets(more)),
                ..StoredTarget::default()
            };
            let targets: Vec<_> = (0..).zip(&more).map(target).collect();
            let all = targets.iter().map(|t| (t.id, t.working_sets.unwrap())).collect();
            let snapshot = StoredSnapshot { targets, ..StoredSnapshot::default() };
            let mut bytes = Vec::new();
            encode(&snapshot, &mut bytes);
            prop_assert_eq!(are_in(&snapshot), !more.is_empty());
            prop_assert_eq!(decode(&bytes), Some(all));
            prop_assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            decode(&bytes);
        }
    }

    #[test]
    fn a_target_that_comes_twice_is_refused() {
        let one = [3, 1, 1, 1, 1, 1, 1, 1, 1];
        assert_eq!(decode(&[&[2][..], &one, &one].concat()), None);
        assert!(decode(&[&[1][..], &one].concat()).is_some());
    }
}
