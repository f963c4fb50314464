//! Files that are no record, or no longer a whole one.

use daos_testing::Place;
use std::fs;

/// A place whose record was changed.
fn with_record(change: impl FnOnce(&mut Vec<u8>)) -> Place {
    let place = Place::with_record();
    let mut bytes = fs::read(place.path("daos.data")).unwrap();
    change(&mut bytes);
    fs::write(place.path("daos.data"), bytes).unwrap();
    place
}

#[test]
fn files_that_are_no_records() {
    let place = Place::new("daos");
    fs::write(place.path("empty"), "").unwrap();
    fs::write(place.path("perf"), "PERFILE2 and so on, in binary").unwrap();
    for report in ["heatmap", "wss", "regions", "schemes", "overhead", "info"] {
        place.cannot(&["report", report, "load.cfg"], "it looks like text");
        place.cannot(&["report", report, "perf"], "a perf.data file");
        place.cannot(&["report", report, "empty"], "empty is empty");
        place.cannot(&["report", report, "."], "is a directory");
        place.cannot(&["report", report], "cannot open the record daos.data");
    }
}

#[test]
fn a_record_of_a_later_release() {
    // The version is the number behind the magic of eight bytes.
    let place = with_record(|bytes| bytes[8..12].copy_from_slice(&77u32.to_le_bytes()));
    place.cannot(&["report", "info"], "format version 77");
    place.cannot(&["report", "info"], "upgrade daos");
}

#[test]
fn a_damaged_header() {
    let place = with_record(|bytes| bytes[40] ^= 1);
    place.cannot(&["report", "info"], "the header of daos.data is damaged");
    with_record(|bytes| bytes.truncate(30)).cannot(&["report", "info"], "is damaged");
}

#[test]
fn a_record_that_is_cut_short_is_read_up_to_there() {
    let place = with_record(|bytes| bytes.truncate(bytes.len() / 2));
    let ran = place.run(&["report", "wss", "--format", "json"]).succeeded();
    assert!(ran.stderr.contains("daos.data is cut short at byte"), "{}", ran.stderr);
    let snapshots = ran.json()["snapshots"].as_u64().unwrap();
    assert!((5..25).contains(&snapshots), "{snapshots} of 30");
    let info = |place: &Place| String::from_utf8(place.run(&["report", "info"]).stdout).unwrap();
    assert!(info(&place).contains("it is still being recorded, or its recorder was killed"));
    assert!(info(&Place::with_record()).contains("the simulation ended"));
}

#[test]
fn a_record_that_is_damaged_in_the_middle_is_read_up_to_there() {
    let place = with_record(|bytes| {
        // In the middle of what the frame there holds: its length is not all that it has.
        let mut at = 12;
        loop {
            let length = u32::from_le_bytes(bytes[at + 1..at + 5].try_into().unwrap()) as usize;
            if at + length > bytes.len() / 2 {
                bytes[at + 5 + length / 2] ^= 0x10;
                return;
            }
            at += 5 + length + 4;
        }
    });
    let ran = place.run(&["report", "wss", "--format", "json"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("daos.data is damaged at byte"), "{}", ran.stderr);
    let snapshots = ran.json()["snapshots"].as_u64().unwrap();
    assert!((5..25).contains(&snapshots), "{snapshots} of 30");
}
