//! A note on children of targets that are not watched: who watches a script, or a server of several
//! processes, may mean those.

use daos_bpf::VirtualMemory;
use daos_core::units::display;
use daos_linux::memory::ProcessMemory;
use std::path::Path;
use std::time::{Duration, Instant};

/// When children are looked for the first time; the time to each further look doubles. Chosen: a
/// script has begun its work by then.
const FIRST_LOOK: Duration = Duration::from_millis(250);
/// Processes that are looked at. Chosen: some milliseconds.
const MOST: usize = 100;
/// Resident bytes of children from which on they are worth a note: a shell has less. Chosen.
pub const A_SHELL: u64 = 4 << 20;
/// They are worth another note when they have this many times the memory that the last one told.
/// Chosen: what a script works with is that much larger than what it starts with.
const WORTH_ANOTHER: u64 = 10;

/// Looks for them.
#[derive(Debug)]
pub struct UnwatchedChildren {
    /// When next.
    due: Instant,
    wait: Duration,
    /// What they had resident when it was told last; 0 before that.
    told_bytes: u64,
}

impl UnwatchedChildren {
    /// Begins now.
    pub fn new() -> Self {
        Self { due: Instant::now() + FIRST_LOOK, wait: FIRST_LOOK, told_bytes: 0 }
    }

    /// What there is to say of those of the targets of `memory`.
    pub fn note(&mut self, memory: &VirtualMemory) -> Option<String> {
        let now = Instant::now();
        if now < self.due {
            return None;
        }
        self.wait *= 2;
        self.due = now + self.wait;
        let children = memory.unwatched_children(MOST);
        if children.is_empty() {
            return None;
        }
        let proc = Path::new("/proc");
        let bytes = ProcessMemory::of_all(proc, children).resident_bytes;
        let own = ProcessMemory::of_all(proc, memory.pids()).resident_bytes;
        self.is_worth_telling(bytes).then(|| {
            format!(
                "note: what is watched has {} resident, and what it has started {}, which is not \
                 watched: give --children to watch that, too",
                display::bytes(own),
                display::bytes(bytes)
            )
        })
    }

    /// Whether it was told of some.
    pub fn were_told(&self) -> bool {
        self.told_bytes > 0
    }

    /// Whether it is to be told of so many bytes. They count as told then.
    fn is_worth_telling(&mut self, bytes: u64) -> bool {
        let is_more = bytes > A_SHELL.max(self.told_bytes.saturating_mul(WORTH_ANOTHER));
        if is_more {
            self.told_bytes = bytes;
        }
        is_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_a_script_starts_is_told_and_again_when_it_has_become_much() {
        let mut children = UnwatchedChildren::new();
        let told = [3, 5, 50, 70, 600].map(|mib| children.is_worth_telling(mib * MIB));
        assert_eq!(told, [false, true, false, true, false]);
    }
}
