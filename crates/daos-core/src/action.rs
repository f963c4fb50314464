//! What schemes do to memory, and what came of it.

use crate::addr::AddrRange;
use crate::target::TargetId;
use std::collections::BTreeMap;
use std::fmt;

/// What is done to memory that fits a scheme's pattern (the paper's Table 1, and
/// [`Lock`](Action::Lock), which is ours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Action {
    /// Expect it to be accessed soon: what was paged out comes back.
    Willneed,
    /// Expect it not to be accessed soon: reclaim takes it first.
    Cold,
    /// Let huge pages map it, where enough of it is present and accessed.
    Hugepage,
    /// Let regular pages map it again, and give back what was never used.
    Nohugepage,
    /// Page it out at once.
    Pageout,
    /// Keep it resident under memory pressure.
    Lock,
    /// Count it, and do nothing.
    Stat,
}

impl Action {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Willneed,
        Self::Cold,
        Self::Hugepage,
        Self::Nohugepage,
        Self::Pageout,
        Self::Lock,
        Self::Stat,
    ];

    /// The action of this name, in any case; also by the names that the paper's listings
    /// give some of them: `thp`, `nothp`, `page_out`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "thp" => Some(Self::Hugepage),
            "nothp" => Some(Self::Nohugepage),
            "page_out" => Some(Self::Pageout),
            _ => Self::ALL.iter().copied().find(|action| action.name() == name),
        }
    }

    /// Its name in schemes, reports and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Willneed => "willneed",
            Self::Cold => "cold",
            Self::Hugepage => "hugepage",
            Self::Nohugepage => "nohugepage",
            Self::Pageout => "pageout",
            Self::Lock => "lock",
            Self::Stat => "stat",
        }
    }

    /// Whether it needs swap to do anything to anonymous memory.
    pub fn needs_swap(self) -> bool {
        self == Self::Pageout
    }

    /// Whether memory that is hotter comes first, when not all of it may be acted on.
    pub fn prefers_hot(self) -> bool {
        matches!(self, Self::Willneed | Self::Hugepage | Self::Lock)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why memory was not acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    /// It is locked, of a device, of hugetlbfs, or otherwise not for this action.
    Unsuitable,
    /// Other processes map it too.
    Shared,
    /// Too little of it is present, or accessed, for a huge page to be worth it.
    NotWorth,
    /// There is no room: no swap left, no huge page to be had.
    NoRoom,
    /// The kernel was asked and left it as it was.
    Kept,
    /// The process has ended, or may not be acted on.
    Gone,
}

impl Refusal {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsuitable => "unsuitable",
            Self::Shared => "shared",
            Self::NotWorth => "not worth it",
            Self::NoRoom => "no room",
            Self::Kept => "kept by the kernel",
            Self::Gone => "process gone",
        }
    }
}

/// Memory that a scheme acted on, at the end of an aggregation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Done {
    /// The scheme, by its place in the list.
    pub scheme: u32,
    /// What was done.
    pub action: Action,
    /// Whose memory.
    pub target: TargetId,
    /// Where. Not every page in it need have been changed.
    pub range: AddrRange,
}

impl Done {
    /// The same by scheme, action, target and address, where ranges that touch or overlap
    /// are one and empty ones are none: as records have it.
    pub fn joined(done: impl IntoIterator<Item = Done>) -> Vec<Done> {
        let mut sorted: Vec<_> = done.into_iter().filter(|done| !done.range.is_empty()).collect();
        sorted.sort_by_key(|done| (done.scheme, done.action, done.target, done.range));
        sorted.dedup_by(|next, before| {
            let one = before.is_alike(next) && next.range.start <= before.range.end;
            if one {
                before.range.end = before.range.end.max(next.range.end);
            }
            one
        });
        sorted
    }

    /// Whether they differ in their ranges alone.
    pub fn is_alike(&self, other: &Done) -> bool {
        let of = |done: &Done| (done.scheme, done.action, done.target);
        of(self) == of(other)
    }
}

/// Counters of one scheme, from its start.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SchemeStats {
    /// Regions that fitted, each time that they did.
    pub tried_regions: u64,
    /// Their bytes.
    pub tried_bytes: u64,
    /// Regions in which something was changed.
    pub applied_regions: u64,
    /// Bytes that were changed.
    pub applied_bytes: u64,
    /// Bytes of that which were page cache that nobody mapped, and were dropped.
    #[cfg_attr(feature = "serde", serde(default))]
    pub page_cache_bytes: u64,
    /// Bytes in regions that fitted of which each page was seen to be in use, and so was
    /// left alone.
    pub spared_bytes: u64,
    /// Bytes that it paged out and that were found to be back, where it has a bound on that.
    #[cfg_attr(feature = "serde", serde(default))]
    pub refault_bytes: u64,
    /// Bytes that were refused, by reason.
    pub refused_bytes: BTreeMap<Refusal, u64>,
    /// Bytes that became resident by it; given back, if negative.
    pub bloat_bytes: i64,
    /// Times that its quota was used up.
    pub quota_exceeded: u64,
    /// Microseconds spent on it.
    pub spent_us: f64,
    /// Times that it was up.
    pub passes: u64,
    /// Times that it slept, by its watermarks.
    pub slept: u64,
    /// Microseconds that it did.
    #[cfg_attr(feature = "serde", serde(default))]
    pub slept_us: u64,
    /// Bytes that fitted at the last pass.
    pub fitting_bytes: u64,
}

impl SchemeStats {
    /// Counts bytes that were refused.
    pub fn refuse(&mut self, why: Refusal, bytes: u64) {
        let refused = self.refused_bytes.entry(why).or_default();
        *refused = refused.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(scheme: u32, action: Action, target: u32, start: u64, end: u64) -> Done {
        Done { scheme, action, target: TargetId(target), range: AddrRange::new(start, end) }
    }

    #[test]
    fn neighbours_of_one_scheme_and_target_are_joined() {
        use Action::{Cold, Pageout};
        let found = Done::joined([
            done(1, Pageout, 0, 40, 50),
            done(0, Pageout, 0, 20, 30),
            done(0, Pageout, 0, 0, 10),
            done(0, Pageout, 7, 10, 20),
            done(0, Pageout, 0, 10, 15),
            done(0, Cold, 0, 15, 20),
            done(0, Pageout, 0, 2, 5),
            done(0, Pageout, 0, 90, 90),
        ]);
        let expected = [
            done(0, Cold, 0, 15, 20),
            done(0, Pageout, 0, 0, 15),
            done(0, Pageout, 0, 20, 30),
            done(0, Pageout, 7, 10, 20),
            done(1, Pageout, 0, 40, 50),
        ];
        assert_eq!(found, expected);
        assert_eq!(Done::joined(found.clone()), found);
    }
}
