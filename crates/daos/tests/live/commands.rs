//! `daos record -- COMMAND`, and who may watch whom.

use daos_record::Record;
use daos_record::json::LineJson;
use daos_testing::{Process, Scratch, WINDOWS, daos, eventually, sleep_s};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use test_tag::tag;

/// `daos record -- COMMAND`, to its end.
fn record(scratch: &Scratch, command: &[&str]) -> Output {
    scratch.recorder(&["--"]).args(command).output().expect("daos runs")
}

#[track_caller]
fn assert_refused(output: &Output, says: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(says) && !stderr.contains("panicked"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "one message: {stderr}");
}

#[tag(root)]
#[test]
fn the_exit_status_is_that_of_the_command() {
    let scratch = Scratch::new();
    let endings = [("exit 0", 0), ("sleep 0.5; exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143)];
    for (script, status) in endings {
        let args = ["record", "-o", &scratch.text("record"), "--", "sh", "-c", script];
        let output = daos(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{script}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.contains("did not end well"), status > 0, "{script}: {stderr}");
        let recorded = scratch.record().end().and_then(|end| end.exit_status);
        assert_eq!(recorded, Some(status), "{script}");
    }
}

#[tag(root)]
#[test]
fn a_command_that_does_not_start_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let nowhere = scratch.text("nothing-here");
    assert_refused(&record(&scratch, &[&nowhere]), "cannot start");
    assert!(!scratch.path("record").exists());

    assert!(record(&scratch, &["sleep", "0.5"]).status.success());
    let older = fs::read(scratch.path("record")).unwrap();
    assert_refused(&record(&scratch, &["/dev/null"]), "cannot start");
    assert_eq!(fs::read(scratch.path("record")).unwrap(), older, "an older record is kept");
}

#[tag(root)]
#[test]
fn what_a_script_waits_for_ends_with_it_and_is_told_not_to_be_watched() {
    let scratch = Scratch::new();
    // A number that no other test has.
    let program = "our @many = (1) x (1 << 20); sleep 100073";
    let script = format!("perl -e \"{program}\"; true");
    let record = scratch.text("record");
    let args = ["record", "-o", &record, "-d", "3s", "--", "sh", "-c", &script];
    let output = daos(&args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("and what it has started"), "{stderr}");
    assert!(stderr.contains(", without what the target has started (--children); try"), "{stderr}");
    let left = Command::new("pgrep").args(["-f", "sleep 100073"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

#[tag(root)]
#[test]
fn schemes_say_that_they_leave_alone_what_a_script_has_started() {
    let script = "perl -e 'our $x = \"x\" x (16 << 20); sleep 1'; true";
    let counting = ["apply", "--scheme", "4K max min min 1s max stat"];
    for (children, alone) in [(&[][..], true), (&["--children"][..], false)] {
        let output = daos(&[&counting, children, &["--", "sh", "-c", script]].concat()).output();
        let stderr = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
        assert_eq!(stderr.contains("was left alone: --children adds it"), alone, "{stderr}");
    }
}

#[tag(root)]
#[test]
fn standard_output_is_json_lines_alone() {
    eventually(|| {
        let script = "echo said by the command; sleep 1";
        let args = [&["record", "-o", "-"], WINDOWS, &["--", "sh", "-c", script]].concat();
        let output = daos(&args).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("said by the command"));
        let stdout = String::from_utf8(output.stdout).unwrap();
        let (mut pids, mut snapshots) = (Vec::new(), 0);
        for line in stdout.lines() {
            match serde_json::from_str(line).expect(line) {
                LineJson::Snapshot(snapshot) => {
                    assert!(!pids.is_empty() && !snapshot.regions.is_empty(), "{line}");
                    snapshots += 1;
                }
                LineJson::Target(target) => pids.push(target.pid.expect("it is a process")),
                LineJson::Schemes { .. } => panic!("{line}"),
            }
        }
        assert!(snapshots >= 5, "{snapshots} snapshots in a second");
    });
}

#[tag(root)]
#[test]
fn a_disk_that_is_full_lets_nothing_begin() {
    let scratch = Scratch::new();
    let mut command = daos(&["record", "-q", "-o", "/dev/full", "--", "sh", "-c"]);
    let output = command.arg(format!("sleep 2; touch {}", scratch.text("touched"))).output();
    assert_refused(&output.unwrap(), "cannot write to /dev/full");
    sleep_s(2.5);
    assert!(!scratch.path("touched").exists(), "the command was left running");
}

#[tag(root)]
#[test]
fn a_command_is_not_started_if_there_is_no_room_for_its_record() {
    let scratch = Scratch::new();
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} record -q -o {} -- touch {}",
        env!("CARGO_BIN_EXE_daos"),
        scratch.text("record"),
        scratch.text("touched")
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_refused(&output, "nothing was recorded: File too large");
    assert!(!scratch.path("touched").exists() && !scratch.path("record").exists());
}

#[tag(root)]
#[test]
fn a_disk_that_fills_up_ends_the_recording_and_not_the_command() {
    eventually(|| {
        let scratch = Scratch::new();
        // A limit on the size of files (16 KiB or 32, by shell), which is an error to whoever
        // ignores its signal.
        let script = format!(
            "trap '' XFSZ; ulimit -f 32; exec {} record -q --monitor reference --aggr 5ms -o {} \
             -s '4K max min min min max stat' --stats {} -- sh -c 'sleep 4; touch {}'",
            env!("CARGO_BIN_EXE_daos"),
            scratch.text("record"),
            scratch.text("stats"),
            scratch.text("touched")
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("recording ended early: cannot write to"), "{stderr}");
        assert!(stderr.contains("the command goes on, without schemes"), "{stderr}");
        assert!(scratch.path("touched").exists(), "the command goes on to its end");
        assert!(scratch.path("stats").exists(), "what schemes did is told all the same");
        let record = Record::open(scratch.path("record")).expect("what was written can be read");
        assert!(record.extent().snapshots >= 10, "{:?}", record.extent());
    });
}

#[tag(root)]
#[test]
fn a_process_has_one_monitor() {
    let scratch = Scratch::new();
    let target = Process::start(Command::new("sleep").arg("30"));
    let pid = target.pid().to_string();
    let mut first = Process::start(&mut scratch.recorder(&["--pid", &pid]));
    while !scratch.path("record").exists() {
        assert!(first.is_running());
        std::thread::yield_now();
    }
    let second = Scratch::new();
    let output = second.recorder(&["--pid", &pid]).output().unwrap();
    assert_refused(&output, "another daos is watching");
    assert!(!second.path("record").exists());
}

#[tag(root)]
#[test]
fn a_process_of_another_user_is_refused() {
    let scratch = Scratch::new();
    // The build directory may be closed to others; a copy is not.
    let (bin, dir) = (scratch.path("daos"), scratch.path(""));
    fs::copy(env!("CARGO_BIN_EXE_daos"), &bin).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let target = Process::start(Command::new("sleep").arg("30"));
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups"])
        .arg(&bin)
        .args(["record", "--pid", &target.pid().to_string(), "-o", &scratch.text("record")])
        .output()
        .expect("setpriv is there");
    assert_refused(&output, "belongs to another user");
    assert!(!scratch.path("record").exists());
}
