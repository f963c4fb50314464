//! Targets: what is monitored, what it has mapped, and under which names.

use crate::addr::AddrRange;
use crate::ownership::Ownership;
use crate::page_cache::PageCache;

/// Names a target for as long as a monitor lives. Never used twice for
/// different targets, unlike a process number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TargetId(pub u32);

impl TargetId {
    /// Page cache that nobody maps: it is told of, beside the targets that are watched, and never
    /// in a snapshot.
    pub const PAGE_CACHE: Self = Self(u32::MAX);
    /// From here on, they are of files.
    const FIRST_FILE: u32 = 1 << 31;

    /// A file, whose addresses are offsets: memory of it that nobody maps is a target of schemes
    /// alone.
    pub fn of_file(number: u32) -> Self {
        Self((Self::FIRST_FILE + number % Self::FIRST_FILE).min(u32::MAX - 1))
    }

    /// Whether it is a file.
    pub fn is_file(self) -> bool {
        self.0 >= Self::FIRST_FILE && self != Self::PAGE_CACHE
    }
}

/// A live target and the address ranges that it has mapped right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Which one.
    pub id: TargetId,
    /// Page-aligned, sorted, disjoint.
    pub ranges: Vec<AddrRange>,
    /// Whether `ranges` are all that it has mapped, read just now: what is in a later list, and not
    /// in this one, was mapped since. Else they are older, or only a part of what is mapped.
    pub is_listed: bool,
    /// How much of it is in memory, in bytes, where that is known.
    pub resident_bytes: Option<u64>,
}

/// Who a target is, and what it has mapped: for records and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TargetInfo {
    /// The target.
    pub id: TargetId,
    /// Its process number, where it is a process.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub pid: Option<u32>,
    /// Its command line, or the name of what is simulated.
    pub name: String,
    /// What is mapped where, by rising address.
    pub mappings: Vec<Mapping>,
    /// The cgroup whose memory controller counts it, as a path from the root of the hierarchy,
    /// where that is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub cgroup: Option<String>,
    /// What it had of which kind of memory when this was told, where that is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub memory: Option<KindsOfMemory>,
    /// Who had which part of it when this was told, where several share it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub ownership: Option<Ownership>,
    /// What was known of it when this was told, if it is [`TargetId::PAGE_CACHE`].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub page_cache: Option<PageCache>,
}

/// What a process has of each kind of memory, in bytes. What processes share counts for each
/// of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KindsOfMemory {
    /// Resident and anonymous: its own, that of no file.
    pub anonymous_bytes: u64,
    /// Resident pages of files that it maps.
    pub file_bytes: u64,
    /// Resident pages of memory that is made to be shared (`tmpfs`, System V, `MAP_SHARED`), and
    /// what it has of hugetlbfs.
    pub shared_bytes: u64,
    /// Anonymous memory of its in swap.
    pub swapped_bytes: u64,
}

impl KindsOfMemory {
    /// All that is resident.
    pub fn resident_bytes(&self) -> u64 {
        let kinds = [self.anonymous_bytes, self.file_bytes, self.shared_bytes];
        kinds.into_iter().fold(0, u64::saturating_add)
    }

    /// Whether it is worth telling anew: a kind differs by an eighth of all, and by 1 MiB.
    /// Chosen: what a table shows changes by that.
    pub fn differs_from(&self, other: &Self) -> bool {
        let least = (self.resident_bytes() / 8).max(1 << 20);
        let kinds = |m: &Self| [m.anonymous_bytes, m.file_bytes, m.shared_bytes, m.swapped_bytes];
        kinds(self).into_iter().zip(kinds(other)).any(|(a, b)| a.abs_diff(b) >= least)
    }

    /// The same kinds, of both together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            anonymous_bytes: self.anonymous_bytes.saturating_add(other.anonymous_bytes),
            file_bytes: self.file_bytes.saturating_add(other.file_bytes),
            shared_bytes: self.shared_bytes.saturating_add(other.shared_bytes),
            swapped_bytes: self.swapped_bytes.saturating_add(other.swapped_bytes),
        }
    }
}

impl TargetInfo {
    /// Adds what was mapped `earlier` and no longer is, so that addresses of then
    /// still have their names, and who had what nobody has now. Both are sorted and disjoint.
    pub fn remember(&mut self, earlier: Self) {
        if let Some(earlier) = earlier.ownership {
            self.ownership.get_or_insert_default().remember(earlier);
        }
        let mut gone = Vec::new();
        for old in earlier.mappings {
            let mut start = old.range.start;
            let first = self.mappings.partition_point(|new| new.range.end <= start);
            for new in &self.mappings[first..] {
                if start >= old.range.end {
                    break;
                }
                let range = AddrRange::new(start, new.range.start.min(old.range.end));
                if !range.is_empty() {
                    gone.push(Mapping { range, ..old.clone() });
                }
                start = start.max(new.range.end);
            }
            if start < old.range.end {
                gone.push(Mapping { range: AddrRange::new(start, old.range.end), ..old });
            }
        }
        self.mappings.extend(gone);
        self.mappings.sort_by_key(|mapping| mapping.range.start);
    }
}

/// A mapped range and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mapping {
    /// Its addresses.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub range: AddrRange,
    /// A path, `[heap]`, `[stack]`, or empty for anonymous memory.
    pub name: String,
    /// Whether what is written to it is seen by all who map the same: `MAP_SHARED`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_false", default))]
    pub shared: bool,
}

impl Mapping {
    /// The one of `mappings`, sorted, that holds `addr`.
    pub fn at(mappings: &[Mapping], addr: u64) -> Option<&Mapping> {
        let at = mappings.partition_point(|mapping| mapping.range.end <= addr);
        mappings.get(at).filter(|mapping| mapping.range.contains(addr))
    }

    /// Whether it maps a file, or memory that is shared like one: the kernel names these
    /// by a path, but for shared memory that its process has named (`PR_SET_VMA_ANON_NAME`).
    pub fn is_of_file(&self) -> bool {
        self.name.starts_with('/') || self.name.starts_with("[anon_shmem:")
    }

    /// Whether it maps a file, or memory like one, so that it shares all with others.
    pub fn is_of_shared_file(&self) -> bool {
        self.shared && self.is_of_file()
    }
}

#[cfg(feature = "serde")]
fn is_false(is: &bool) -> bool {
    !is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_mapped_earlier_is_remembered_around_what_is_now() {
        let mapping = |start, end, name: &str| Mapping {
            range: AddrRange::new(start, end),
            name: name.to_owned(),
            shared: false,
        };
        let mappings = vec![mapping(20, 30, "new"), mapping(40, 50, "new")];
        let mut info = TargetInfo {
            id: TargetId(0),
            pid: None,
            name: String::new(),
            mappings,
            cgroup: None,
            memory: None,
            ownership: None,
            page_cache: None,
        };
        let mappings = vec![mapping(0, 10, "low"), mapping(15, 45, "old"), mapping(48, 60, "high")];
        info.remember(TargetInfo { mappings, ..info.clone() });
        let found: Vec<_> =
            info.mappings.iter().map(|m| (m.range.start, m.range.end, &m.name[..])).collect();
        let expected = [
            (0, 10, "low"),
            (15, 20, "old"),
            (20, 30, "new"),
            (30, 40, "old"),
            (40, 50, "new"),
            (50, 60, "high"),
        ];
        assert_eq!(found, expected);
    }
}
