//! Files that are no records, and files that a record may not replace.

mod common;

use common::TestFile;
use daos_record::{Destination, Record, WriteError, Writer};
use std::error::Error;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What opening a file of these bytes says.
fn refusal(bytes: &[u8]) -> String {
    let file = TestFile::new(bytes);
    file.without_directory(Record::open(&file.path).unwrap_err())
}

#[test]
fn foreign_files_are_named_for_what_they_are() {
    let hint = "give the file that `daos record` wrote";
    for (bytes, looks_like) in [
        (&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0"[..], "a program"),
        (b"PERFILE2h\0\0\0\0\0\0\0", "a perf.data file of perf or damo"),
        (b"hello\n", "text"),
        (b"\x1f\x8b\x08\0", "data of another program"),
    ] {
        let expected =
            format!("record.daos is not a daos record, it looks like {looks_like}; {hint}");
        assert_eq!(refusal(bytes), expected);
    }
    assert_eq!(refusal(b""), "record.daos is empty; record again");
}

#[test]
fn a_missing_file_and_a_directory_are_named() {
    let file = TestFile::new(b"");
    let missing = Record::open(file.path.with_file_name("none.daos")).unwrap_err();
    assert_eq!(
        file.without_directory(&missing),
        "cannot open the record none.daos; check its name and rights"
    );
    assert!(missing.source().unwrap().to_string().contains("No such file"));
    let directory = Record::open(file.path.parent().unwrap()).unwrap_err().to_string();
    assert!(directory.contains("is a directory, not a file"), "{directory}");
}

#[test]
fn a_newer_record_asks_for_an_upgrade() {
    let (mut bytes, _) = common::record(1);
    bytes[8] = 2;
    assert_eq!(
        refusal(&bytes),
        "record.daos has record format version 2, and this daos reads up to 1; upgrade daos"
    );
    bytes[8] = 0;
    assert!(refusal(&bytes).contains("its format version is 0"));
}

#[test]
fn a_damaged_header_is_told() {
    let (mut bytes, ends) = common::record(1);
    assert_eq!(
        refusal(&bytes[..5]),
        "the header of record.daos is damaged (a frame of 12 bytes has 5): \
         nothing could be read; record again"
    );
    assert!(refusal(&bytes[..12]).contains("it is missing"));
    assert!(refusal(&bytes[..ends[0] - 1]).contains("a frame of"));
    bytes[20] ^= 1;
    assert!(refusal(&bytes).contains("checksum"));
}

#[test]
fn fields_of_later_releases_are_ignored_and_missing_ones_refused() {
    let (bytes, _) = common::record(0);
    let with_header = |json: &str| {
        let mut frame = vec![1];
        frame.extend((json.len() as u32).to_le_bytes());
        frame.extend(json.as_bytes());
        frame.extend(crc32fast::hash(&frame).to_le_bytes());
        [&bytes[..12], &frame].concat()
    };
    let json = serde_json::to_string(&common::header()).unwrap();
    let later = json.replacen('{', r#"{"moon_phase":"full","#, 1);
    assert_eq!(*TestFile::new(&with_header(&later)).record().header(), common::header());
    assert!(refusal(&with_header(&json.replace("seed", "sown"))).contains("JSON"));
    let earlier =
        json.replace(r#""max_overhead_percent":0.5,"#, "").replace(r#""auto_intervals":true,"#, "");
    let header = TestFile::new(&with_header(&earlier)).record().header().clone();
    assert_eq!((header.max_overhead_percent, header.auto_intervals), (None, false));
    assert!(header.schemes.is_empty());
}

#[test]
fn an_older_record_is_replaced_to_its_end() {
    let file = TestFile::new(&common::record(50).0);
    create(&file.path).unwrap().finish(&common::end()).unwrap();
    let record = file.record();
    assert_eq!(record.damage(), None);
    assert_eq!(record.extent().snapshots, 0);
    assert_eq!(record.end(), Some(&common::end()));
}

#[test]
fn other_files_are_not_replaced() {
    for bytes in [&b"\x7fELF\x02\x01\x01\0\0\0"[..], b"hi"] {
        let file = TestFile::new(bytes);
        let error = create(&file.path).unwrap_err();
        assert!(matches!(error, WriteError::Occupied(_)), "{error}");
        assert_eq!(std::fs::read(&file.path).unwrap(), bytes);
    }
    let empty = TestFile::new(b"");
    drop(create(&empty.path).unwrap());
    assert_eq!(empty.record().end(), None);
}

#[test]
fn a_record_that_cannot_be_created_names_its_path() {
    let file = TestFile::new(b"");
    let error = create(&file.path.join("below")).unwrap_err();
    assert_eq!(
        file.without_directory(error),
        "cannot create the record record.daos/below; choose a file that you may write"
    );
}

#[test]
fn nothing_recorded_leaves_things_as_they_were() {
    let old = TestFile::new(&common::record(50).0);
    drop(Destination::open(&old.path).unwrap());
    assert_eq!(old.record().extent().snapshots, 50);

    let new = old.path.with_file_name("new.daos");
    let destination = Destination::open(&new).unwrap();
    assert!(new.exists(), "it is known to be writable");
    drop(destination);
    assert!(!new.exists());
}

#[test]
fn a_new_record_is_its_owners_alone_and_an_old_one_stays_as_it_was() {
    let file = TestFile::new(&common::record(5).0);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&file.path, Permissions::from_mode(0o640)).unwrap();
    create(&file.path).unwrap().finish(&common::end()).unwrap();
    assert_eq!(mode(&file.path), 0o640);
    let new = file.path.with_file_name("new.daos");
    create(&new).unwrap().finish(&common::end()).unwrap();
    assert_eq!(mode(&new), 0o600);
}

#[test]
fn links_devices_and_directories_are_left_as_they_are() {
    let file = TestFile::new(&common::record(5).0);
    let refused = |path: &Path| match create(path) {
        Err(WriteError::Unsafe { what, .. }) => what,
        other => panic!("{}: {other:?}", path.display()),
    };
    let link = file.path.with_file_name("link");
    std::os::unix::fs::symlink(&file.path, &link).unwrap();
    assert!(refused(&link).contains("a link"));
    assert_eq!(file.record().extent().snapshots, 5);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(file.path.with_file_name("none"), &link).unwrap();
    assert!(refused(&link).contains("a link"));
    assert!(!file.path.with_file_name("none").exists());
    assert!(refused(file.path.parent().unwrap()).contains("a directory"));
    assert!(refused(Path::new("/dev/zero")).contains("a device"));
    create(Path::new("/dev/null")).unwrap().finish(&common::end()).unwrap();
}

/// Begins a record in the file `path`.
fn create(path: &Path) -> Result<Writer<File>, WriteError> {
    Destination::open(path)?.begin(&common::header())
}

/// A disk with room for so many bytes.
#[derive(Debug)]
struct Disk(usize);

impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_with_its_cause() {
    let mut writer = Writer::new(Disk(2000), &common::header()).unwrap();
    let target = common::target(0, "sort");
    let error = (0..100).find_map(|_| writer.target(&target).err()).unwrap();
    assert_eq!(
        error.to_string(),
        "cannot write to the record; what was written before can be read"
    );
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_disk_without_room_for_a_header_has_nothing_to_be_read() {
    let error = Writer::new(Disk(100), &common::header()).unwrap_err();
    assert_eq!(error.to_string(), "cannot write to the record, so nothing was recorded");
}
