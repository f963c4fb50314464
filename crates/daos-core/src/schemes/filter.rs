//! Which memory a scheme must leave alone, or is alone meant for.

use crate::addr::AddrRange;

/// One rule. The first of a scheme's filters that matches some memory decides about
/// it; memory that none matches gets the opposite of the last one's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Which memory it is about.
    pub what: Matter,
    /// Whether memory that is *not* like that matches.
    pub inverted: bool,
    /// Whether what matches may be acted on.
    pub allow: bool,
}

/// What a filter looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matter {
    /// These addresses.
    Addresses(AddrRange),
    /// Anonymous memory: heaps, stacks, what programs allocate.
    Anonymous,
    /// Memory that maps files.
    File,
    /// Memory of processes in this cgroup, by its path, or below it.
    Cgroup(String),
    /// Memory that huge pages map already.
    Huge,
}
