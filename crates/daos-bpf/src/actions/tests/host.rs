//! The host as a test needs it, and as it was before when the test is over.

use daos_linux::support::{HugePages, Swap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A zram device that is swapped to before all others.
pub struct Zram {
    number: u32,
    device: PathBuf,
}

impl Zram {
    pub fn start(bytes: u64) -> Self {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add");
        let number = number.expect("the kernel has zram").trim().parse().expect("a number");
        let zram = Self { number, device: format!("/dev/zram{number}").into() };
        fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string()).expect("a size");
        run("mkswap", &[], &zram.device);
        run("swapon", &["-p", "32767"], &zram.device);
        zram
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // Whether this worked, the next line tells.
        let _ = Command::new("swapoff").arg(&self.device).output();
        let removed = fs::write("/sys/class/zram-control/hot_remove", self.number.to_string());
        if let Err(err) = removed {
            eprintln!("{} is left: {err}", self.device.display());
        }
    }
}

/// All swap of the host, turned off until this is dropped.
pub struct OtherSwap(Vec<String>);

impl OtherSwap {
    pub fn off() -> Self {
        let devices = || Swap::read(Path::new("/proc")).devices;
        // That of another test goes by itself.
        for _ in 0..200 {
            if devices().is_empty() {
                return Self(Vec::new());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let mut off = Self(Vec::new());
        for device in devices() {
            run("swapoff", &[], Path::new(&device));
            off.0.push(device);
        }
        off
    }
}

impl Drop for OtherSwap {
    fn drop(&mut self) {
        for device in &self.0 {
            // In the order in which they were, each gets the next lower priority.
            if !Command::new("swapon").arg(device).status().is_ok_and(|status| status.success()) {
                eprintln!("{device} is off: swapon {device}");
            }
        }
    }
}

/// The host's policy for huge pages, changed until this is dropped.
pub struct ThpPolicy {
    before: String,
}

const THP_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

impl ThpPolicy {
    pub fn set(policy: &str) -> Self {
        let before = HugePages::read(Path::new("/sys")).enabled;
        fs::write(THP_ENABLED, policy).expect("the policy can be set");
        Self { before }
    }
}

impl Drop for ThpPolicy {
    fn drop(&mut self) {
        let before = &self.before;
        if let Err(err) = fs::write(THP_ENABLED, before) {
            eprintln!("{THP_ENABLED} is no longer {before}: {err}");
        }
    }
}

fn run(program: &str, args: &[&str], device: &Path) {
    let output = Command::new(program).args(args).arg(device).output();
    let output = output.unwrap_or_else(|err| panic!("{program}: {err}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}
