//! Every target on its corpus, and on changes of it.

use daos_fuzz::frames::Frames;
use daos_fuzz::{MAX_INPUT, TARGETS, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use std::fmt;
use std::path::Path;

/// What is done to an input, at a place in it.
#[derive(Debug, Clone)]
enum Edit {
    Set(u8),
    Insert(Vec<u8>),
    Remove(usize),
    /// Puts so many bytes from another place here.
    Copy(Index, usize),
}

/// Shown as the text that it mostly is.
#[derive(Clone)]
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let inputs: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    assert!(inputs.iter().all(|input| input.len() <= MAX_INPUT / 2));
    inputs
}

fn edit() -> impl Strategy<Value = Edit> {
    // The ends of number ranges, and what separates things in the formats.
    let telling = vec![0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'#', b',', b'"', b'[', b'-', b'9'];
    let byte = prop_oneof![select(telling), any::<u8>()];
    prop_oneof![
        byte.clone().prop_map(Edit::Set),
        vec(byte, 1..12).prop_map(Edit::Insert),
        (1..64usize).prop_map(Edit::Remove),
        (any::<Index>(), 1..64usize).prop_map(|(from, count)| Edit::Copy(from, count)),
    ]
}

fn apply(input: &mut Vec<u8>, at: Index, edit: Edit) {
    let at = at.index(input.len() + 1);
    let end = |count: usize| (at + count).min(input.len());
    match edit {
        Edit::Set(byte) => drop(input.splice(at..end(1), [byte])),
        Edit::Insert(bytes) => drop(input.splice(at..at, bytes)),
        Edit::Remove(count) => drop(input.drain(at..end(count))),
        Edit::Copy(from, count) => {
            let from = from.index(input.len() + 1);
            let copied = input[from..(from + count).min(input.len())].to_vec();
            input.splice(at..at, copied);
        }
    }
}

/// Changes of the corpus: of the whole text, or of one frame of a record.
fn inputs(target: &Target) -> impl Strategy<Value = Input> + use<> {
    let framed = target.name == "record";
    (select(corpus(target)), any::<Index>(), vec((any::<Index>(), edit()), 1..6)).prop_map(
        move |(mut input, frame, edits)| {
            if framed {
                let mut record = Frames::split(&input);
                let frame = frame.index(record.frames.len());
                for (at, edit) in edits {
                    apply(&mut record.frames[frame].1, at, edit);
                }
                return Input(record.join());
            }
            for (at, edit) in edits {
                apply(&mut input, at, edit);
            }
            Input(input)
        },
    )
}

fn try_out(name: &str, cases: u32) {
    let target = Target::named(name).unwrap();
    corpus(&target).iter().for_each(|input| target.check(input));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let tried = TestRunner::new(config).run(&inputs(&target), |input| {
        target.check(&input.0);
        Ok(())
    });
    tried.unwrap_or_else(|failure| panic!("{name}: {failure}"));
}

// The numbers of cases are chosen: together some ten seconds.

#[test]
fn records() {
    try_out("record", 200);
}

#[test]
fn schemes() {
    try_out("schemes", 4000);
}

#[test]
fn workloads() {
    try_out("workload", 4000);
}

#[test]
fn maps() {
    try_out("maps", 4000);
}

#[test]
fn iomem() {
    try_out("iomem", 4000);
}

#[test]
fn every_target_has_a_folder_and_every_folder_a_target() {
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).unwrap();
    let mut folders: Vec<_> =
        folders.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let mut names = TARGETS.map(|target| target.name.to_owned());
    folders.sort();
    names.sort();
    assert_eq!(folders, names);
}

#[test]
fn a_record_is_taken_apart_and_put_together() {
    for record in corpus(&Target::named("record").unwrap()) {
        assert_eq!(Frames::split(&record).join(), record);
    }
}
