//! Rights (the kernel's capabilities) that are kept once monitoring is set up.
//!
//! Root has all of them, and set-up takes some that what follows does not. They are those of
//! a thread, and of what it starts.

use crate::support::NEEDED_RIGHTS;
use rustix::thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set};
use rustix::thread::{capabilities, remove_capability_from_bounding_set, set_capabilities};
use std::io;

/// To end a command that runs as another user.
pub const END_COMMANDS: CapabilitySet = CapabilitySet::KILL;
/// To start commands as another user.
pub const START_COMMANDS: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);
/// To see what is RAM (`/proc/iomem`), for watching to begin anew.
pub const WATCH_ANEW: CapabilitySet = CapabilitySet::SYS_ADMIN;
/// To page out memory of files that belong to others: the kernel leaves, and says nothing, what
/// whoever asks neither owns nor may write to.
pub const PAGE_OUT_FILES: CapabilitySet = CapabilitySet::FOWNER;
/// To read files that are their owner's alone.
pub const READ_FILES: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;
/// To put files into anybody's directory, in place of those that are there, and give them to
/// another user.
pub const WRITE_FILES: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER).union(CapabilitySet::CHOWN);
/// To take away swap: for its guard, or should that have been killed.
pub const END_SWAP: CapabilitySet = CapabilitySet::SYS_ADMIN;

/// To watch processes and to act on their memory.
pub fn watch() -> CapabilitySet {
    let bits = NEEDED_RIGHTS.map(|(_, bit)| 1 << bit);
    CapabilitySet::from_bits_retain(bits.iter().fold(0, |all, bit| all | bit))
}

/// Gives up for good all rights of this thread but these, also for what it starts. Those
/// that it does not have it does not get.
///
/// # Errors
///
/// What the kernel says, which refuses nobody to give up rights.
pub fn keep(rights: CapabilitySet) -> io::Result<()> {
    let has = capabilities(None)?;
    // What is executed gets no more than this, but only who has this right may say so.
    if has.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..u64::BITS {
            let right = CapabilitySet::from_bits_retain(1 << bit);
            // There is an error for those that this kernel does not have.
            if !rights.contains(right) && remove_capability_from_bounding_set(right).is_err() {
                break;
            }
        }
    }
    // There are no ambient rights on kernels without them.
    let _ = clear_ambient_capability_set();
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: has.effective & rights,
            permitted: has.permitted & rights,
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::Rights;
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    #[test]
    fn what_is_given_up_is_gone_for_what_is_started_too() {
        // Of a thread of its own: others need theirs.
        let status = thread::spawn(|| {
            keep(CapabilitySet::KILL).unwrap();
            let started = Command::new("cat").arg("/proc/self/status").output().unwrap();
            let mine = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            [mine, String::from_utf8(started.stdout).unwrap()]
        });
        let was_root = rustix::process::geteuid().is_root();
        for status in status.join().unwrap() {
            let set = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                u64::from_str_radix(line.trim(), 16).unwrap()
            };
            let kill = CapabilitySet::KILL.bits();
            assert_eq!((set("CapEff:") | set("CapPrm:")) & !kill, 0, "{status}");
            assert!(!was_root || set("CapBnd:") & !kill == 0, "{status}");
        }
    }

    #[test]
    fn watching_takes_no_more_than_the_doctor_asks_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("1")).unwrap();
        let status = |rights: CapabilitySet| {
            let line = format!("CapEff:\t{:016x}\n", rights.bits());
            std::fs::write(dir.path().join("1/status"), line).unwrap();
            Rights::of(Path::new(dir.path()), 1).missing().len()
        };
        assert_eq!((status(watch()), status(CapabilitySet::empty())), (0, NEEDED_RIGHTS.len()));
    }
}
