//! The owner of a virtual machine: what its guest accesses leaves no trace in its page tables,
//! so its memory is never called idle, and never acted on.

use crate::kinds::Target;
use daos_testing::{Process, Scratch, WINDOWS, ZramSize, bytes_where, daos, snapshots};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use test_tag::tag;

const MIB: u64 = 1 << 20;

/// Whether there are virtual machines here. If not, says that `test` is not run.
fn has_kvm(test: &str) -> bool {
    let has_kvm = Path::new("/dev/kvm").exists();
    if !has_kvm {
        eprintln!("NOT RUN: {test}: there is no /dev/kvm");
    }
    has_kvm
}

#[tag(root)]
#[test]
fn memory_of_a_virtual_machine_is_left_alone() {
    if !has_kvm("memory_of_a_virtual_machine_is_left_alone") {
        return;
    }
    let scratch = Scratch::new();
    let target = Target::start(&scratch, "guest", 64);
    let (pid, zram) = (target.pid().to_string(), ZramSize::unique(256));
    let mut command = daos(&["record", "--pid", &pid, "--output", &scratch.text("record")]);
    command.args(["--scheme", "4K max min min 1s max pageout", "--zram", zram.text()]);
    command.args(["--scheme", "4K max min max 1s max pageout"]);
    command.args(["-d", "6s", "--stats", &scratch.text("stats")]).args(WINDOWS);
    let mut recorder = Process::start(command.stderr(Stdio::piped()));
    let stderr = recorder.child().stderr.take().expect("it is piped");
    let said = std::io::read_to_string(stderr).expect("messages are text");
    assert!(recorder.end().success(), "{said}");
    assert!(said.contains("owns a virtual machine"), "{said}");

    let stats = fs::read(scratch.path("stats")).expect("the counters were written");
    let stats: Value = serde_json::from_slice(&stats).expect("they are JSON");
    for scheme in stats["schemes"].as_array().expect("there are two") {
        assert_eq!(scheme["applied_bytes"], 0, "{stats}");
    }
    let last = snapshots(&scratch.record()).pop().expect("there are some");
    let seen = bytes_where(&last, target.memory, |region| region.unobserved < 0.5);
    assert!(seen < MIB, "{} MiB were observed", seen / MIB);
    target.end_undisturbed();
}
