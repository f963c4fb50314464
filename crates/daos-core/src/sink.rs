//! The seam to what acts on memory.

use crate::access::AccessCheck;
use crate::action::{Action, Refusal};
use crate::addr::AddrRange;
use crate::snapshot::TargetSnapshot;
use crate::target::{Mapping, TargetId};

/// What became of a batch that was to be acted on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionReport {
    /// Bytes that were changed: paged out, made huge, …
    pub applied_bytes: u64,
    /// The ranges in which that happened, sorted.
    pub applied: Vec<AddrRange>,
    /// Bytes that were left, by reason.
    pub refused: Vec<(Refusal, u64)>,
    /// Bytes that became resident by it (a huge page's pages that were not there before),
    /// or, if negative, that were given back.
    pub bloat_bytes: i64,
    /// Bytes that were left since they were accessed after they had been found idle.
    pub spared_bytes: u64,
}

impl ActionReport {
    /// Counts bytes that were left.
    pub fn refuse(&mut self, why: Refusal, bytes: u64) {
        if bytes == 0 {
            return;
        }
        match self.refused.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, sum)) => *sum += bytes,
            None => self.refused.push((why, bytes)),
        }
    }

    /// Whether bytes were left for this reason.
    pub fn is_refused(&self, why: Refusal) -> bool {
        self.refused.iter().any(|(reason, _)| *reason == why)
    }

    /// Adds what became of ranges behind those of this report.
    pub fn add(&mut self, next: ActionReport) {
        self.applied_bytes += next.applied_bytes;
        self.bloat_bytes += next.bloat_bytes;
        self.spared_bytes += next.spared_bytes;
        next.applied.into_iter().for_each(|range| range.push_joined(&mut self.applied));
        next.refused.into_iter().for_each(|(why, bytes)| self.refuse(why, bytes));
    }
}

/// Where memory is that may have been paged out. What is in neither list is paged out, or
/// not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Residence {
    /// In memory. Sorted.
    pub present: Vec<AddrRange>,
    /// Nowhere: given back, or not mapped any more. Sorted.
    pub empty: Vec<AddrRange>,
}

/// Acts on the memory of targets that it can also look at.
///
/// A target that has ended is not an error: everything is refused as
/// [`Refusal::Gone`].
pub trait ActionSink: AccessCheck {
    /// Whether this action can be done here; if not, why, and what to do about it.
    fn supports(&self, action: Action) -> Result<(), String>;

    /// Does `action` to page-aligned, sorted, disjoint `ranges` of `target`, as far as
    /// there is something to do: what is as the action would make it is neither applied
    /// nor refused. A batch is at most [`BATCH_BYTES`] unless one huge page is larger.
    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, Self::Error>;

    /// The same to pages each of which was just found idle: those that have been accessed since
    /// are left. A sink whose memory stands still between a look and an action need not look
    /// again.
    fn apply_to_idle(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, Self::Error> {
        self.apply(action, target, ranges)
    }

    /// What has become of sorted `ranges` that were paged out. A sink that can't tell knows
    /// nothing of them.
    fn residence(
        &mut self,
        _target: TargetId,
        _ranges: &[AddrRange],
    ) -> Result<Residence, Self::Error> {
        Ok(Residence::default())
    }

    /// Which pages of sorted `ranges` are present and are others' as well, so that they are not
    /// paged out. A sink that can't tell knows of none.
    fn shared(
        &mut self,
        _target: TargetId,
        _ranges: &[AddrRange],
    ) -> Result<Vec<AddrRange>, Self::Error> {
        Ok(Vec::new())
    }

    /// Files of which memory is there that no process maps, as no monitor tells of it: targets
    /// whose addresses are offsets ([`TargetId::is_file`]). Their pages are armed, looked at and
    /// acted on as those of others, but only idle ones, and only paged out, which is that they are
    /// dropped.
    fn unmapped_files(&mut self) -> Result<Vec<TargetSnapshot>, Self::Error> {
        Ok(Vec::new())
    }

    /// A clock: microseconds since some time in the past. What passes while looking and
    /// acting is charged to the scheme.
    fn clock_us(&self) -> f64;

    /// Where accessed bits that were set have been cleared since this was last asked, by
    /// whoever arms here: what they told of accesses can't be read any more. What was armed
    /// around a window, of a huge page or a large folio, is there too. More than was cleared
    /// may be there, but never less. Asked for the first time, it begins to be noted.
    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)>;

    /// What `target` has mapped, by rising address; none when it has ended.
    fn mappings(&self, target: TargetId) -> &[Mapping];

    /// The cgroup that `target` is in, as a path from the root of the hierarchy.
    fn cgroup(&self, target: TargetId) -> Option<String>;

    /// Whether targets are memory of several owners, as physical memory is: then mappings and
    /// cgroup are those of [`owned`](Self::owned), and not the target's.
    fn has_owners(&self) -> bool {
        false
    }

    /// Who has the memory in sorted `ranges` of `target` now, by rising address, without what
    /// nobody has, or what can't be acted on.
    fn owned(
        &mut self,
        _target: TargetId,
        _ranges: &[AddrRange],
    ) -> Result<Vec<OwnedMemory>, Self::Error> {
        Ok(Vec::new())
    }
}

/// Memory of a target with several owners: who has it, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedMemory {
    /// Where it is in the target, under the name that its owner has mapped it by.
    pub mapping: Mapping,
    /// The cgroup of its owner, as a path from the root of the hierarchy.
    pub cgroup: Option<String>,
    /// Whether a huge page maps it.
    pub is_huge: bool,
}

/// Most bytes that a sink is asked to act on at once, and so how exactly quotas are kept.
/// Chosen: paging that much out takes about 16 ms (4 µs a page, measured).
pub const BATCH_BYTES: u64 = 16 << 20;
