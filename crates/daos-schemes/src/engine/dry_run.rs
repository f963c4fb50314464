//! Schemes that only say what they would do.

use super::interval_map::IntervalMap;
use super::sample::sample;
use daos_core::{
    AccessCheck, Action, ActionReport, ActionSink, AddrRange, Capabilities, Mapping, Observation,
    OwnedMemory, PAGE_SIZE, Prices, Refusal, Residence, Snapshot, Target, TargetId, TargetInfo,
    TargetSnapshot, Window,
};
use std::collections::{BTreeMap, BTreeSet};

/// Samples what it wraps, and counts instead of acting: memory that would be acted on
/// several times, once.
#[derive(Debug)]
pub struct DryRun<'a, S> {
    real: &'a mut S,
    counted: &'a mut Counted,
}

/// What was counted so far.
#[derive(Debug, Clone, Default)]
pub struct Counted(BTreeMap<(Action, TargetId), IntervalMap>);

impl Counted {
    /// Forgets the targets that have ended: those that are not in the last snapshot of the monitor.
    pub fn forget_ended(&mut self, snapshot: &Snapshot) {
        let live = ids(&snapshot.targets);
        self.0.retain(|(_, id), _| id.is_file() || live.contains(id));
    }

    /// The same of files that nobody maps, of which these are left.
    fn forget_files(&mut self, left: &[TargetSnapshot]) {
        let left = ids(left);
        self.0.retain(|(_, id), _| !id.is_file() || left.contains(id));
    }
}

fn ids(targets: &[TargetSnapshot]) -> BTreeSet<TargetId> {
    targets.iter().map(|target| target.id).collect()
}

/// The parts of `ranges` that were not counted yet.
fn uncounted(counted: &IntervalMap, ranges: &[AddrRange]) -> Vec<AddrRange> {
    let parts = ranges.iter().flat_map(|range| counted.over(*range));
    parts.filter(|(_, before)| before.is_none()).map(|(part, _)| part).collect()
}

impl<'a, S: ActionSink> DryRun<'a, S> {
    /// Counts in `counted` what would be done to the memory behind `real`.
    pub fn new(real: &'a mut S, counted: &'a mut Counted) -> Self {
        Self { real, counted }
    }
}

impl<S: ActionSink> ActionSink for DryRun<'_, S> {
    fn supports(&self, _: Action) -> Result<(), String> {
        Ok(())
    }

    /// Counts the pages that are present, or those that are not where they are to be.
    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, S::Error> {
        let counted = self.counted.0.entry((action, target)).or_default();
        let mut fresh = uncounted(counted, ranges);
        let mut outcome = ActionReport::default();
        if matches!(action, Action::Pageout | Action::Cold) {
            let shared = self.real.shared(target, &fresh)?;
            outcome.refuse(Refusal::Shared, shared.iter().map(AddrRange::len).sum());
            shared.iter().for_each(|range| counted.set(*range, 0));
            fresh = uncounted(counted, &fresh);
        }
        fresh.iter().for_each(|range| counted.set(*range, 0));
        for (window, seen) in sample(self.real, target, &fresh)? {
            let pages = match action {
                // What is there already needs not be brought back.
                Action::Willneed | Action::Lock => window.pages - seen.present,
                Action::Nohugepage if !seen.is_huge(window.pages) => 0,
                _ => seen.present,
            };
            if pages > 0 {
                outcome.applied_bytes += u64::from(pages) * PAGE_SIZE;
                outcome.applied.push(window.range());
            }
        }
        Ok(outcome)
    }

    fn shared(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Vec<AddrRange>, S::Error> {
        self.real.shared(target, ranges)
    }

    fn unmapped_files(&mut self) -> Result<Vec<TargetSnapshot>, S::Error> {
        let files = self.real.unmapped_files()?;
        self.counted.forget_files(&files);
        Ok(files)
    }

    fn clock_us(&self) -> f64 {
        self.real.clock_us()
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        self.real.take_cleared()
    }

    fn mappings(&self, target: TargetId) -> &[Mapping] {
        self.real.mappings(target)
    }

    fn cgroup(&self, target: TargetId) -> Option<String> {
        self.real.cgroup(target)
    }

    /// Says that nothing is known. Nothing was paged out, so that it is in memory does not mean
    /// that it came back.
    fn residence(&mut self, _: TargetId, _: &[AddrRange]) -> Result<Residence, S::Error> {
        Ok(Residence::default())
    }

    fn has_owners(&self) -> bool {
        self.real.has_owners()
    }

    fn owned(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Vec<OwnedMemory>, S::Error> {
        self.real.owned(target, ranges)
    }
}

impl<S: AccessCheck> AccessCheck for DryRun<'_, S> {
    type Error = S::Error;

    fn capabilities(&self) -> Capabilities {
        self.real.capabilities()
    }

    fn targets(&mut self) -> Result<Vec<Target>, S::Error> {
        self.real.targets()
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), S::Error> {
        self.real.arm(windows)
    }

    fn can_arm_target(&self, target: TargetId) -> bool {
        self.real.can_arm_target(target)
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, S::Error> {
        self.real.arm_target(target)
    }

    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        self.real.resident_bytes_of(target)
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> Result<(), S::Error> {
        self.real.check(windows, found)
    }

    fn prices(&self) -> Prices {
        self.real.prices()
    }

    fn take_target_us(&mut self) -> f64 {
        self.real.take_target_us()
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.real.changed_targets()
    }
}
