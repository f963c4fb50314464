//! Swap that is set up for a while is gone afterwards, however its user ends.
//!
//! These look at all of the host's devices, so nobody else may use swap meanwhile.

use daos_testing::{Foster, PATIENCE, Process, built, daos};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use test_tag::tag;

const MIB: u64 = 32;

/// What of this host the swap changes, by the name of the device.
#[derive(Debug, PartialEq, Eq)]
struct Devices(BTreeMap<String, Device>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Device {
    size: String,
    compression: String,
    is_swap: bool,
    is_written_down: bool,
}

impl Devices {
    fn now() -> Self {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let swaps = read(Path::new("/proc/swaps"));
        let blocks = fs::read_dir("/sys/block").expect("it is there").flatten();
        let device = |block: fs::DirEntry| {
            let name = block.file_name().to_string_lossy().into_owned();
            let path = format!("/dev/{name}");
            let device = Device {
                size: read(&block.path().join("disksize")),
                compression: read(&block.path().join("comp_algorithm")),
                is_swap: swaps.split_whitespace().any(|word| word == path),
                is_written_down: Path::new(&format!("/run/daos/swap-{name}.json")).exists(),
            };
            name.starts_with("zram").then_some((path, device))
        };
        Self(blocks.filter_map(device).collect())
    }

    /// What is said of a device; `None` if there is none.
    fn of(&self, path: &str) -> Option<Device> {
        self.0.get(path).cloned()
    }
}

/// The program of `tests/programs/swap_user.rs`, and its device as it was before.
struct SwapUser {
    process: Process,
    guard: Option<Foster>,
    guard_pid: Pid,
    device: String,
    before: Option<Device>,
}

impl SwapUser {
    fn start() -> Self {
        Self::with(&[])
    }

    /// With a bound in bytes and a priority.
    fn with(options: &[&str]) -> Self {
        let all_before = Devices::now();
        let mut command = Command::new(built("examples/swap-user"));
        command.args([env!("CARGO_BIN_EXE_daos"), &MIB.to_string()]).args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut line = String::new();
        let stdout = process.child().stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says when it is ready");
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["ready", device, guard, stored] = words.as_slice() else { panic!("{line:?}") };
        // Other swap that is to be used first, too, gets its share.
        assert!(stored.parse::<u64>().expect("bytes") > MIB << 20 >> 3, "{line}");
        let guard: i32 = guard.parse().expect("a process number");
        let user = Self {
            process,
            guard: Some(Foster::take(guard as u32)),
            guard_pid: Pid::from_raw(guard).expect("a process number"),
            device: (*device).to_owned(),
            before: all_before.of(device),
        };
        let now = user.now();
        assert!(now.as_ref().is_some_and(|now| now.is_swap && now.is_written_down), "{now:?}");
        user
    }

    /// Ends it as it should end; what it says.
    fn finish(&mut self) -> (bool, String) {
        drop(self.process.child().stdin.take());
        let status = self.process.end();
        let mut said = String::new();
        let stderr = self.process.child().stderr.as_mut().expect("it is piped");
        stderr.read_to_string(&mut said).expect("it is text");
        (status.success(), said)
    }

    fn now(&self) -> Option<Device> {
        Devices::now().of(&self.device)
    }

    /// Whether the device gets to be as it was, soon.
    fn is_restored(&self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while self.now() != self.before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.now() == self.before
    }

    #[track_caller]
    fn assert_restored(&self) {
        assert!(self.is_restored(), "{:?}, but it was {:?}", self.now(), self.before);
    }

    /// What `/sys/block/zramN` has of this name, word by word.
    fn attribute(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.block().join(name)).expect("it is there");
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn block(&self) -> PathBuf {
        Path::new("/sys/block").join(self.device.trim_start_matches("/dev/"))
    }

    fn priority(&self) -> i64 {
        let swaps = fs::read_to_string("/proc/swaps").expect("it is there");
        let line = swaps.lines().find(|line| line.starts_with(&format!("{} ", self.device)));
        let priority = line.and_then(|line| line.split_whitespace().last()).expect("it is swap");
        priority.parse().expect("a number")
    }

    /// Kills it and its guard, so that nobody takes the swap away.
    fn abandon(&mut self) {
        self.signal_guard(Signal::KILL);
        self.process.signal(Signal::KILL);
        self.process.end();
    }

    fn signal_guard(&self, signal: Signal) {
        kill_process(self.guard_pid, signal).expect("it runs");
    }
}

impl Drop for SwapUser {
    fn drop(&mut self) {
        if self.process.is_running() {
            self.process.signal(Signal::KILL);
            self.process.end();
        }
        // The guard does it, unless something is wrong with it.
        let restored = self.is_restored();
        drop(self.guard.take());
        if !restored {
            // The test has failed already.
            let _ = clean();
        }
    }
}

/// What the doctor says of a device, if it was left behind.
fn left_over(device: &str) -> Option<Value> {
    let output = daos(&["doctor", "--format", "json"]).output().expect("it runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let leftovers = found["leftovers"].as_array().expect("a list");
    leftovers.iter().find(|leftover| leftover["device"] == device).cloned()
}

pub fn clean() -> (bool, String) {
    let output = daos(&["doctor", "--clean"]).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).expect("it is text"))
}

#[tag(root, quiet)]
#[test]
fn its_user_ends_and_all_is_back() {
    let mut user = SwapUser::start();
    assert_eq!(left_over(&user.device), None, "it is in use");
    assert_eq!(user.finish(), (true, String::new()));
    user.assert_restored();
}

#[tag(root, quiet)]
#[test]
fn its_user_is_killed() {
    let mut user = SwapUser::start();
    // What a terminal and a service manager send to all.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        user.signal_guard(signal);
    }
    user.process.signal(Signal::KILL);
    user.process.end();
    user.assert_restored();
}

#[tag(root, quiet)]
#[test]
fn its_guard_is_killed() {
    let mut user = SwapUser::start();
    user.signal_guard(Signal::KILL);
    assert_eq!(left_over(&user.device), None, "its user takes it away");
    assert_eq!(user.finish(), (true, String::new()));
    user.assert_restored();
}

#[tag(root, quiet)]
#[test]
fn both_are_killed_and_the_doctor_cleans() {
    let mut user = SwapUser::start();
    user.abandon();
    assert!(left_over(&user.device).is_some(), "nobody is left to take it away");
    let (done, said) = clean();
    assert!(done && said.contains(&format!("{} was taken away\n", user.device)), "{said}");
    user.assert_restored();
    assert_eq!(left_over(&user.device), None);
}

#[tag(root, quiet)]
#[test]
fn what_it_may_take_is_bounded_and_its_priority_is_as_asked() {
    let bound = |user: &SwapUser| user.attribute("mm_stat")[3].parse::<u64>().expect("bytes");
    let mut user = SwapUser::start();
    assert_eq!((bound(&user), user.priority()), ((2 * MIB) << 20, 32767), "as large as it is");
    assert_eq!(user.finish(), (true, String::new()));
    user.assert_restored();

    let limit = (MIB / 4) << 20;
    let mut user = SwapUser::with(&[&limit.to_string(), "32766"]);
    assert_eq!((bound(&user), user.priority()), (limit, 32766));
    let takes: u64 = user.attribute("mm_stat")[2].parse().expect("bytes");
    assert!(takes <= limit, "{takes} bytes, of noise four times as large");
    assert_eq!(user.finish(), (true, String::new()));
    user.assert_restored();
}

/// What somebody else's device is while the test has it, which undoes it all.
struct SomebodyElses<'a>(&'a SwapUser);

impl<'a> SomebodyElses<'a> {
    /// Makes the device, which nobody looks after, somebody else's swap.
    fn make(user: &'a SwapUser) -> Self {
        let theirs = Self(user);
        for command in ["swapoff", "mkswap", "swapon"] {
            assert!(theirs.run(command), "{command} {}", user.device);
        }
        theirs
    }

    fn run(&self, command: &str) -> bool {
        let mut command = Command::new(command);
        command.arg(&self.0.device).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("it can be started").success()
    }
}

impl Drop for SomebodyElses<'_> {
    fn drop(&mut self) {
        let user = self.0;
        self.run("swapoff");
        // udev may still look at it.
        let is_reset = || fs::write(user.block().join("reset"), "1").is_ok();
        let deadline = Instant::now() + PATIENCE;
        while !is_reset() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(before) = &user.before {
            let chosen = before.compression.split(['[', ']']).nth(1).unwrap_or_default();
            let _ = fs::write(user.block().join("comp_algorithm"), chosen);
        } else {
            let number = user.device.trim_start_matches("/dev/zram");
            let _ = fs::write("/sys/class/zram-control/hot_remove", number);
        }
    }
}

#[tag(root, quiet)]
#[test]
fn what_somebody_else_has_made_of_it_is_left_alone() {
    let mut user = SwapUser::start();
    user.abandon();
    let theirs = SomebodyElses::make(&user);
    let told = left_over(&user.device).expect("it has the number and the size");
    let why = told["why"].as_str().expect("a text");
    assert!(why.contains("somebody else's"), "{why}");
    let (done, said) = clean();
    assert!(done && said.contains(&format!("{} was left alone", user.device)), "{said}");
    let now = user.now().expect("it is there");
    assert!(now.is_swap && !now.is_written_down, "{now:?}");
    assert_eq!(left_over(&user.device), None, "it is told of once");
    drop(theirs);
    user.assert_restored();
}
