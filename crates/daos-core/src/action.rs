//! What a scheme does to the memory that it is for.

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
