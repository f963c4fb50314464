//! A snapshot to bytes and back.
//!
//! Neighbouring regions touch, so a region is written as the gap to the one
//! before and its size, in pages: five bytes or so for all that is known of it.
//! There is no compression behind it: a record must be readable to the last
//! frame after a kill, and a compressor holds back what it was given.
//!
//! | module | holds |
//! |---|---|
//! | [`stored`] | a snapshot whose rates and ages are whole numbers, as all here are |
//! | [`runs`], [`rates`], [`run_state`] | page runs, as changes of those of the snapshot before |
//! | [`done`] | what schemes did |
//! | [`working_sets`] | how much is accessed within which time |
//! | [`varint`] | numbers in as few bytes as they need |

pub mod done;
pub mod rates;
pub mod run_state;
mod runs;
pub mod stored;
mod varint;
pub mod working_sets;

use daos_core::{AddrRange, Checks, Cost, PAGE_SIZE, TargetId};
use stored::{StoredRegion, StoredSnapshot, StoredTarget};

/// Most ticks in a snapshot. Attributes allow a million.
const MAX_TICKS: u64 = 1 << 20;

/// Most targets in a snapshot, as a report looks for what was done to each of them.
/// Chosen: more than a host monitored as a whole has processes.
const MAX_TARGETS: usize = 1 << 16;

/// Appends `snapshot` to `out`, or says what in it breaks the rules of
/// [`Snapshot`](daos_core::Snapshot).
pub fn encode(snapshot: &StoredSnapshot, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let length = snapshot.end_us.checked_sub(snapshot.start_us);
    let length = length.ok_or("a snapshot ends before it starts")?;
    let cost = &snapshot.cost;
    for number in [
        snapshot.start_us,
        length,
        snapshot.aggregation_us,
        snapshot.max_nr_accesses.into(),
        cost.late_ticks.into(),
        cost.missed_ticks.into(),
        cost.cpu_us,
    ] {
        varint::put(out, number);
    }
    encode_checks(&cost.checks, out)?;
    if snapshot.targets.len() > MAX_TARGETS {
        return Err("a snapshot has more than 65536 targets");
    }
    if !snapshot.targets.is_sorted_by(|before, next| before.id < next.id) {
        return Err("the targets of a snapshot are not sorted");
    }
    varint::put(out, snapshot.targets.len() as u64);
    for target in &snapshot.targets {
        varint::put(out, target.id.0.into());
        // 0 when it is not known, else the number of pages and one.
        varint::put(out, target.resident_bytes.map_or(0, |bytes| bytes / PAGE_SIZE + 1));
        encode_regions(&target.regions, out)?;
    }
    encode_effort(snapshot, out);
    Ok(())
}

/// What was added to the format later: left out where there is none of it.
fn encode_effort(snapshot: &StoredSnapshot, out: &mut Vec<u8>) {
    let cost = &snapshot.cost;
    let effort = [cost.pages, cost.armed, cost.target_us, snapshot.sample_us];
    if effort != [0; 4] {
        effort.into_iter().for_each(|number| varint::put(out, number));
    }
}

fn encode_checks(checks: &Checks, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if checks.ticks() > MAX_TICKS {
        return Err("a snapshot has more than 1048576 ticks");
    }
    varint::put(out, checks.runs().len() as u64);
    for (windows, ticks) in checks.runs() {
        varint::put(out, ticks);
        varint::put(out, windows.into());
    }
    Ok(())
}

fn encode_regions(regions: &[StoredRegion], out: &mut Vec<u8>) -> Result<(), &'static str> {
    varint::put(out, regions.len() as u64);
    let mut previous_end = 0;
    for region in regions {
        let AddrRange { start, end } = region.range;
        if start % PAGE_SIZE != 0 || end % PAGE_SIZE != 0 {
            return Err("a region does not begin and end with a page");
        }
        if start < previous_end || end <= start {
            return Err("regions are not sorted and disjoint");
        }
        let observed_in_full = region.nr_unobserved == 0;
        varint::put(out, (start - previous_end) / PAGE_SIZE);
        varint::put(out, (end - start) / PAGE_SIZE);
        varint::put(out, u64::from(region.nr_accesses) << 1 | u64::from(!observed_in_full));
        if !observed_in_full {
            varint::put(out, region.nr_unobserved.into());
        }
        varint::put(out, region.age.into());
        previous_end = end;
    }
    Ok(())
}

/// The snapshot that `payload` holds; `None` when it holds anything else.
pub fn decode(mut payload: &[u8]) -> Option<StoredSnapshot> {
    let bytes = &mut payload;
    let (start_us, end_us) = take_span_us(bytes)?;
    let aggregation_us = varint::take(bytes)?;
    let max_nr_accesses = varint::take_u32(bytes)?;
    let late_ticks = varint::take_u32(bytes)?;
    let missed_ticks = varint::take_u32(bytes)?;
    let cpu_us = varint::take(bytes)?;
    let checks = decode_checks(bytes)?;
    let mut targets: Vec<StoredTarget> = Vec::new();
    for _ in 0..varint::take(bytes)? {
        let id = TargetId(varint::take_u32(bytes)?);
        if targets.len() == MAX_TARGETS || targets.last().is_some_and(|before| before.id >= id) {
            return None;
        }
        let resident_bytes = match varint::take(bytes)? {
            0 => None,
            pages => Some((pages - 1).checked_mul(PAGE_SIZE)?),
        };
        let regions = decode_regions(bytes)?;
        targets.push(StoredTarget { id, resident_bytes, regions, ..StoredTarget::default() });
    }
    let [pages, armed, target_us, sample_us] = decode_effort(bytes)?;
    let cost = Cost { checks, pages, armed, late_ticks, missed_ticks, cpu_us, target_us };
    let snapshot = StoredSnapshot {
        start_us,
        end_us,
        aggregation_us,
        sample_us,
        max_nr_accesses,
        targets,
        cost,
    };
    payload.is_empty().then_some(snapshot)
}

/// When the snapshot that `payload` holds began and ended, in microseconds; `None` when it
/// can't hold one. The rest is not looked at.
pub fn span_us(mut payload: &[u8]) -> Option<(u64, u64)> {
    take_span_us(&mut payload)
}

fn take_span_us(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    let start_us = varint::take(bytes)?;
    Some((start_us, start_us.checked_add(varint::take(bytes)?)?))
}

fn decode_effort(bytes: &mut &[u8]) -> Option<[u64; 4]> {
    let mut effort = [0; 4];
    if bytes.is_empty() {
        return Some(effort);
    }
    for number in &mut effort {
        *number = varint::take(bytes)?;
    }
    (effort != [0; 4]).then_some(effort)
}

fn decode_checks(bytes: &mut &[u8]) -> Option<Checks> {
    let mut checks = Checks::default();
    let mut room = MAX_TICKS;
    for _ in 0..varint::take(bytes)? {
        let ticks = varint::take(bytes)?;
        room = room.checked_sub(ticks)?;
        checks.push_times(varint::take_u32(bytes)?, ticks);
    }
    Some(checks)
}

fn decode_regions(bytes: &mut &[u8]) -> Option<Vec<StoredRegion>> {
    let mut regions = Vec::new();
    let mut previous_end = 0u64;
    for _ in 0..varint::take(bytes)? {
        let start = previous_end.checked_add(varint::take_pages(bytes)?)?;
        let end = start.checked_add(varint::take_pages(bytes)?)?;
        if start == end {
            return None;
        }
        let accesses = varint::take(bytes)?;
        regions.push(StoredRegion {
            range: AddrRange::new(start, end),
            nr_accesses: u32::try_from(accesses >> 1).ok()?,
            nr_unobserved: if accesses & 1 == 1 { varint::take_u32(bytes)? } else { 0 },
            age: varint::take_u32(bytes)?,
        });
        previous_end = end;
    }
    Some(regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::*;

    fn regions() -> impl Strategy<Value = Vec<StoredRegion>> {
        let region = (0..1u64 << 40, 1..1u64 << 40, any::<(u32, u32, u32)>(), any::<bool>());
        vec(region, 0..40).prop_map(|regions| {
            let mut previous_end = 0;
            let place = |(gap, pages, (nr_accesses, nr_unobserved, age), seen)| {
                let start = previous_end + gap * PAGE_SIZE;
                previous_end = start + pages * PAGE_SIZE;
                let range = AddrRange::new(start, previous_end);
                let nr_unobserved = if seen { 0 } else { nr_unobserved };
                StoredRegion { range, nr_accesses, nr_unobserved, age }
            };
            regions.into_iter().map(place).collect()
        })
    }

    prop_compose! {
        fn snapshots()(
            (start_us, length) in (0..u64::MAX / 2, 0..u64::MAX / 2),
            aggregation_us in any::<u64>(),
            max_nr_accesses in any::<u32>(),
            targets in btree_map(any::<u32>(), (option::of(0..1u64 << 40), regions()), 0..4),
            checks in vec(0..3u32, 0..60),
            (late_ticks, missed_ticks, cpu_us) in any::<(u32, u32, u64)>(),
            (pages, armed, target_us) in (0..3u64, any::<u64>(), 0..3u64),
        ) -> StoredSnapshot {
            let target = |(id, (resident, regions)): (_, (Option<u64>, _))| StoredTarget {
                id: TargetId(id),
                resident_bytes: resident.map(|pages| pages * PAGE_SIZE),
                regions,
                ..StoredTarget::default()
            };
            StoredSnapshot {
                start_us,
                end_us: start_us + length,
                aggregation_us,
                sample_us: 0,
                max_nr_accesses,
                targets: targets.into_iter().map(target).collect(),
                cost: Cost {
                    checks: checks.into(),
                    pages,
                    armed,
                    late_ticks,
                    missed_ticks,
                    cpu_us,
                    target_us,
                },
            }
        }
    }

    fn encoded(snapshot: &StoredSnapshot) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(snapshot, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn a_snapshot_comes_back(snapshot in snapshots()) {
            let bytes = encoded(&snapshot);
            prop_assert_eq!(span_us(&bytes), Some((snapshot.start_us, snapshot.end_us)));
            prop_assert_eq!(decode(&bytes), Some(snapshot));
        }

        #[test]
        fn part_of_a_snapshot_is_refused(snapshot in snapshots(), part in 0.0..1.0) {
            let bytes = encoded(&snapshot);
            let part = (bytes.len() as f64 * part) as usize;
            let mut effortless = snapshot;
            effortless.cost = Cost { pages: 0, armed: 0, target_us: 0, ..effortless.cost };
            let whole = encoded(&effortless).len() == part;
            prop_assert_eq!(decode(&bytes[..part]), whole.then_some(effortless));
        }

        #[test]
        fn any_bytes_are_survived(bytes in vec(prop_oneof![0..4u8, any::<u8>()], 0..200)) {
            decode(&bytes);
        }
    }

    #[test]
    fn more_ticks_than_there_may_be_are_refused() {
        let mut bytes = vec![0; 7];
        varint::put(&mut bytes, 1);
        varint::put(&mut bytes, 1 << 40);
        varint::put(&mut bytes, 5);
        bytes.push(0);
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn what_breaks_the_rules_is_not_written() {
        let region = |start, end| StoredRegion {
            range: AddrRange { start, end },
            nr_accesses: 0,
            nr_unobserved: 0,
            age: 0,
        };
        let refused = |regions: Vec<StoredRegion>| {
            let targets = vec![StoredTarget { regions, ..Default::default() }];
            encode(&StoredSnapshot { targets, ..StoredSnapshot::default() }, &mut Vec::new())
                .unwrap_err()
        };
        assert!(refused(vec![region(0, 8192), region(4096, 12288)]).contains("disjoint"));
        assert!(refused(vec![region(8192, 4096)]).contains("disjoint"));
        assert!(refused(vec![region(0, 100)]).contains("page"));
        let late = StoredSnapshot { start_us: 1, ..StoredSnapshot::default() };
        assert!(encode(&late, &mut Vec::new()).unwrap_err().contains("ends before"));
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let region = |start: u64, end: u64, nr_accesses, nr_unobserved, age| StoredRegion {
            range: AddrRange::new(start, end),
            nr_accesses,
            nr_unobserved,
            age,
        };
        let regions =
            vec![region(0x40_0000, 0x48_0000, 20, 0, 3), region(0x48_0000, 0x48_1000, 0, 2, 300)];
        let snapshot = StoredSnapshot {
            start_us: 100_000,
            end_us: 200_000,
            aggregation_us: 100_000,
            sample_us: 0,
            max_nr_accesses: 20,
            targets: vec![StoredTarget {
                id: TargetId(0),
                resident_bytes: Some(0x8_1000),
                regions,
                ..StoredTarget::default()
            }],
            cost: Cost {
                checks: vec![2; 20].into(),
                late_ticks: 0,
                missed_ticks: 0,
                cpu_us: 900,
                ..Cost::default()
            },
        };
        #[rustfmt::skip]
        let documented = [
            0xa0, 0x8d, 0x06, 0xa0, 0x8d, 0x06, 0xa0, 0x8d, 0x06, 0x14, // times, highest count
            0x00, 0x00, 0x84, 0x07, 0x01, 0x14, 0x02, // cost: one run of 20 ticks, 2 checks each
            0x01, 0x00, 0x82, 0x01, 0x02, // one target: number 0, 129 pages resident, two regions
            0x80, 0x08, 0x80, 0x01, 0x28, 0x03, // page 1024, 128 pages, 20 accesses, age 3
            0x00, 0x01, 0x01, 0x02, 0xac, 0x02, // no gap, 1 page, 0 accesses, 2 unobserved, age 300
        ];
        assert_eq!(encoded(&snapshot), documented);
        let mut with_effort = snapshot;
        with_effort.cost.pages = 2800;
        with_effort.cost.armed = 40;
        with_effort.cost.target_us = 17;
        with_effort.sample_us = 5_000;
        let bytes = encoded(&with_effort);
        assert_eq!(bytes[..documented.len()], documented);
        assert_eq!(bytes[documented.len()..], [0xf0, 0x15, 0x28, 0x11, 0x88, 0x27]);
    }
}
