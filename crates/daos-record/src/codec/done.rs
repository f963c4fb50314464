//! What schemes did, to bytes and back.
//!
//! It stands in a frame of its own in front of its snapshot, so that readers from before
//! there were schemes still read the rest, and an interval in which nothing was done takes
//! nothing. Ranges are written as regions are: the gap to the one before, and the size.

use super::varint;
use daos_core::{Action, AddrRange, Done, PAGE_SIZE, TargetId};

/// Appends `done` to `out`, which [is as records have it](Done::joined), or says what in it
/// breaks the rules.
pub fn encode(done: &[Done], out: &mut Vec<u8>) -> Result<(), &'static str> {
    varint::put(out, done.chunk_by(Done::is_alike).count() as u64);
    for alike in done.chunk_by(Done::is_alike) {
        varint::put(out, alike[0].scheme.into());
        varint::put(out, code(alike[0].action));
        varint::put(out, alike[0].target.0.into());
        varint::put(out, alike.len() as u64);
        let mut previous_end = 0;
        for AddrRange { start, end } in alike.iter().map(|done| done.range) {
            if start % PAGE_SIZE != 0 || end % PAGE_SIZE != 0 {
                return Err("memory that a scheme acted on does not begin and end with a page");
            }
            varint::put(out, (start - previous_end) / PAGE_SIZE);
            varint::put(out, (end - start) / PAGE_SIZE);
            previous_end = end;
        }
    }
    Ok(())
}

/// What `payload` holds, but for actions that only later releases know; `None` when it
/// holds anything else.
pub fn decode(mut payload: &[u8]) -> Option<Vec<Done>> {
    let bytes = &mut payload;
    let mut all = Vec::new();
    for _ in 0..varint::take(bytes)? {
        let scheme = varint::take_u32(bytes)?;
        let action = action(varint::take(bytes)?);
        let target = TargetId(varint::take_u32(bytes)?);
        let mut previous_end = 0u64;
        for _ in 0..varint::take(bytes)? {
            let start = previous_end.checked_add(varint::take_pages(bytes)?)?;
            let end = start.checked_add(varint::take_pages(bytes)?)?;
            previous_end = end;
            let range = AddrRange::new(start, end);
            if range.is_empty() {
                return None;
            }
            all.extend(action.map(|action| Done { scheme, action, target, range }));
        }
    }
    payload.is_empty().then_some(all)
}

/// The number of an action in a record: of a new action, a new one.
fn code(action: Action) -> u64 {
    match action {
        Action::Willneed => 0,
        Action::Cold => 1,
        Action::Hugepage => 2,
        Action::Nohugepage => 3,
        Action::Pageout => 4,
        Action::Lock => 5,
        Action::Stat => 6,
    }
}

fn action(number: u64) -> Option<Action> {
    Action::ALL.iter().copied().find(|&action| code(action) == number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn done(scheme: u32, action: Action, target: u32, first: u64, pages: u64) -> Done {
        let range = AddrRange::new(first * PAGE_SIZE, (first + pages) * PAGE_SIZE);
        Done { scheme, action, target: TargetId(target), range }
    }

    fn encoded(done: &[Done]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(done, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_was_done_comes_back(
            all in vec((0..3u32, 0..Action::ALL.len(), any::<u32>(), 0..1u64 << 50, 1..9u64), 0..40),
            near in vec((0..2u32, 0..60u64, 0..9u64), 0..40),
        ) {
            let far = all.into_iter().map(|(s, a, t, f, p)| done(s, Action::ALL[a], t, f, p));
            let near = near.into_iter().map(|(s, f, p)| done(s, Action::Pageout, 0, f, p));
            let joined = Done::joined(far.chain(near));
            prop_assert_eq!(decode(&encoded(&joined)), Some(joined));
        }

        #[test]
        fn part_of_it_is_refused(first in vec((0..1u64 << 40, 1..999u64), 1..9), part in 0.0..1.0) {
            let all = first.into_iter().map(|(f, p)| done(0, Action::Cold, 1, f, p));
            let bytes = encoded(&Done::joined(all));
            let part = (bytes.len() as f64 * part) as usize;
            prop_assert_eq!(decode(&bytes[..part]), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in vec(prop_oneof![0..8u8, any::<u8>()], 0..200)) {
            decode(&bytes);
        }
    }

    #[test]
    fn a_claimed_number_cannot_fill_the_memory() {
        for begin in [&[][..], &[1, 0, 4, 0]] {
            let mut bytes = begin.to_vec();
            varint::put(&mut bytes, 1 << 60);
            assert_eq!(decode(&bytes), None);
        }
    }

    #[test]
    fn actions_of_later_releases_are_left_out() {
        // Two groups of one page each, of which the first is of an action number 77.
        let bytes = [2, 0, 77, 0, 1, 9, 1, 0, 4, 0, 1, 9, 1];
        assert_eq!(decode(&bytes), Some(vec![done(0, Action::Pageout, 0, 9, 1)]));
    }

    #[test]
    fn what_breaks_the_rules_is_told() {
        let odd = Done { range: AddrRange::new(0, 100), ..done(0, Action::Stat, 0, 0, 1) };
        assert!(encode(&[odd], &mut Vec::new()).unwrap_err().contains("page"));
        // A range of no page.
        assert_eq!(decode(&[1, 0, 4, 0, 1, 9, 0]), None);
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let all = [
            done(0, Action::Pageout, 0, 1024, 16),
            done(0, Action::Pageout, 0, 1060, 4),
            done(1, Action::Hugepage, 0, 2048, 512),
        ];
        #[rustfmt::skip]
        let documented = [
            0x02, // two groups
            0x00, 0x04, 0x00, 0x02, // scheme 0, pageout, target 0, two ranges
            0x80, 0x08, 0x10, // page 1024, 16 pages
            0x14, 0x04, // 20 pages on, 4 pages
            0x01, 0x02, 0x00, 0x01, // scheme 1, hugepage, target 0, one range
            0x80, 0x10, 0x80, 0x04, // page 2048, 512 pages
        ];
        assert_eq!(encoded(&all), documented);
    }
}
