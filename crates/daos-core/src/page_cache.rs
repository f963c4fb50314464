//! Memory of files, or of `tmpfs`, that is there and that no process maps.

/// Page cache that nobody maps, in bytes, by what the kernel has noted of its pages.
///
/// No page-table entry leads there, so there is no accessed bit: what was read through a file
/// descriptor is all that is noted, and not when. A note stays until reclaim comes by, and that it
/// does only when memory is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PageCache {
    /// All of it.
    pub bytes: u64,
    /// What was used again since it came into memory, or was part of a working set before.
    pub active_bytes: u64,
    /// What was used once since it came, beside that.
    pub referenced_bytes: u64,
    /// What is to be written before it can go; of all.
    pub dirty_bytes: u64,
    /// What no file on a disk holds: it is of `tmpfs`, or on its way from or to swap; of all.
    pub shmem_bytes: u64,
}

impl PageCache {
    /// What was not used since it came into memory: it was read ahead, or written.
    pub fn unused_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.active_bytes).saturating_sub(self.referenced_bytes)
    }

    /// Whether it is worth telling anew: a part differs by an eighth of all, and by 16 MiB.
    /// Chosen: more than samples differ from each other by chance.
    pub fn differs_from(&self, other: &Self) -> bool {
        let least = (self.bytes.max(other.bytes) / 8).max(16 << 20);
        let parts =
            |c: &Self| [c.bytes, c.active_bytes, c.referenced_bytes, c.dirty_bytes, c.shmem_bytes];
        parts(self).into_iter().zip(parts(other)).any(|(a, b)| a.abs_diff(b) >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_chance_is_no_news() {
        let of = |mib: u64| PageCache { bytes: mib << 20, ..PageCache::default() };
        assert!(!of(1000).differs_from(&of(1100)) && of(1000).differs_from(&of(1200)));
        assert!(!of(1).differs_from(&of(10)) && of(1).differs_from(&of(20)));
        let dirty = PageCache { dirty_bytes: 200 << 20, ..of(1000) };
        assert!(dirty.differs_from(&of(1000)));
        assert_eq!(PageCache { referenced_bytes: 9, ..of(1) }.unused_bytes(), (1 << 20) - 9);
    }
}
