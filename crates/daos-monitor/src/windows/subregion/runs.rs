//! The runs of pages of a subregion, where its pages are told one by one.

use daos_core::RunBlock;

/// The runs of a page table as they were found last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in super::super) struct Told {
    pub runs: RunBlock,
    /// When they were found, in microseconds.
    pub at_us: u64,
    /// Nothing new is known of the table since.
    pub holds: bool,
}

impl Told {
    /// The runs as they are by now: older.
    pub fn later(&self, now_us: u64) -> RunBlock {
        self.runs.later(now_us.saturating_sub(self.at_us))
    }
}
