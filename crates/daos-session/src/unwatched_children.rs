//! A note on children of targets that are not watched: who watches a script, or a server of several
//! processes, may mean those.

use daos_bpf::VirtualMemory;
use daos_core::units::display;
use daos_linux::memory::ProcessMemory;
use std::path::Path;
use std::time::{Duration, Instant};

/// When it is looked for them first; each time after that is twice as far off. Chosen: a script has begun its work by then.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// So many bytes that they have resident are worth a note. Chosen: a shell has less.
const WORTH_A_NOTE: u64 = 4 << 20;

/// Looks for them until there are some.
#[derive(Debug)]
pub struct UnwatchedChildren {
    /// When next; `None` once it was told.
    due: Option<Instant>,
    wait: Duration,
}

impl UnwatchedChildren {
    /// Begins now.
    pub fn new() -> Self {
        Self { due: Some(Instant::now() + FIRST_LOOK), wait: FIRST_LOOK }
    }

    /// What there is to say of those of the targets of `memory`.
    pub fn note(&mut self, memory: &VirtualMemory) -> Option<String> {
        let now = Instant::now();
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.wait *= 2;
        self.due = Some(now + self.wait);
        let children = memory.unwatched_children();
        let read = |pid: &u32| ProcessMemory::read(Path::new("/proc"), *pid);
        let bytes = children.iter().filter_map(read).sum::<ProcessMemory>().resident_bytes;
        if bytes < WORTH_A_NOTE {
            return None;
        }
        self.due = None;
        let processes = match children.len() {
            1 => "a process".to_owned(),
            count => format!("{count} processes"),
        };
        Some(format!(
            "note: {processes} with {} resident, started by what is watched, not watched: --children \
             adds what targets start",
            display::bytes(bytes)
        ))
    }
}
