//! How to run a configuration, beyond what it says itself.
//!
//! `masim`'s format has no place for these; they are options of the run, so that
//! its configurations stay what they are.

use std::num::{NonZeroU32, NonZeroU64};

/// How to run a configuration, beyond what it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Threads that access the memory. Each runs every pattern; strides start
    /// evenly spread over the region.
    pub threads: NonZeroU32,
    /// Whether the memory is to be of huge pages.
    pub huge_pages: HugePages,
    /// What kind of memory.
    pub backing: Backing,
    /// What is written to all memory before the first phase.
    pub fill: Fill,
    /// How often all phases run, one round after the other.
    pub repeat: NonZeroU32,
    /// Most accesses per second, of all threads together; `None`: as many as
    /// they can.
    pub rate: Option<NonZeroU64>,
    /// Seed of the random offsets.
    pub seed: u64,
}

/// Whether memory is to be of huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// As the system does by itself.
    #[default]
    Default,
    /// Ask for them (`MADV_HUGEPAGE`).
    Always,
    /// Refuse them (`MADV_NOHUGEPAGE`).
    Never,
}

/// What is written to memory first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fill {
    /// Nothing: a page is there from its first access on.
    None,
    /// A byte of each page, so that all of it is resident.
    #[default]
    Touch,
    /// Random bytes to half of each page: it compresses to about half, as what programs
    /// keep in memory does.
    Half,
}

/// What kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backing {
    /// Anonymous and private, like a heap.
    #[default]
    Private,
    /// Anonymous and shared, like `memfd` or System V memory.
    Shared,
    /// Private and locked (`mlock`).
    Locked,
    /// A file of its own that nobody else can open, mapped to be shared. It lies in the directory
    /// for temporary files and is on the disk before the first phase.
    File,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: NonZeroU32::MIN,
            huge_pages: HugePages::Default,
            backing: Backing::Private,
            fill: Fill::default(),
            repeat: NonZeroU32::MIN,
            rate: None,
            seed: 0,
        }
    }
}
