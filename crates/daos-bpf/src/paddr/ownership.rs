//! Whose the frames of a block are.
//!
//! What is told is made of the samples that say where anything is mapped, so it costs nothing
//! more to find.

use crate::programs::{FrameKind, FrameRun};
use daos_core::Owner;
use std::collections::HashMap;

/// Whom a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Holder {
    /// A process.
    Process(u32),
    /// Several processes.
    Several,
    /// A process that was not found, or one that shares memory with a device or a virtual machine.
    Unclear,
    /// Nobody, as it is page cache that no process maps.
    PageCache,
    Kernel,
}

impl Holder {
    /// Whose the frames of a run are, whose owners were asked for; `None` if they are free.
    pub fn of(found: &FrameRun) -> Option<Self> {
        Some(match found.kind {
            FrameKind::FRAME_FREE => return None,
            FrameKind::FRAME_OTHER => Self::Kernel,
            FrameKind::FRAME_UNMAPPED => Self::PageCache,
            FrameKind::FRAME_SHARED | FrameKind::FRAME_KSM => Self::Several,
            FrameKind::FRAME_OWN => Self::Process(std::process::id()),
            _ if found.tgid != 0 => Self::Process(found.tgid),
            _ => Self::Unclear,
        })
    }

    /// Who that is. `names`: of processes.
    pub fn owner(self, names: &mut impl FnMut(u32) -> String) -> Owner {
        let (pid, name) = match self {
            Self::Process(pid) => (Some(pid), names(pid)),
            Self::Several => (None, "several processes".to_owned()),
            Self::Unclear => (None, "unknown processes".to_owned()),
            Self::PageCache => (None, "page cache that nobody maps".to_owned()),
            Self::Kernel => (None, "the kernel".to_owned()),
        };
        Owner { pid, name }
    }
}

/// Whether so much is held by others that it is worth telling anew: somebody has an eighth and
/// 16 MiB more or less. Chosen: more than samples differ from each other by chance.
pub(super) fn differs(before: &HashMap<Holder, u64>, now: &HashMap<Holder, u64>) -> bool {
    let of = |all: &HashMap<Holder, u64>, holder| all.get(holder).copied().unwrap_or(0);
    before.keys().chain(now.keys()).any(|holder| {
        let (before, now) = (of(before, holder), of(now, holder));
        before.abs_diff(now) >= (before.max(now) / 8).max(16 << 20)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const A: Holder = Holder::Process(7);

    #[test]
    fn what_differs_by_chance_is_no_news() {
        let had = |bytes: u64| HashMap::from([(A, bytes * MIB)]);
        assert!(!differs(&had(1000), &had(1100)) && !differs(&had(10), &had(20)));
        assert!(differs(&had(1000), &had(1200)) && differs(&HashMap::new(), &had(16)));
        assert!(differs(&had(30), &HashMap::new()));
    }
}
