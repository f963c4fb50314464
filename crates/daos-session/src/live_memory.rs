//! The memory that live targets have: that of processes, or the machine's by physical address.

use daos_bpf::{BpfError, PhysicalMemory, VirtualMemory};
use daos_core::{
    AccessCheck, Action, ActionReport, ActionSink, AddrRange, Capabilities, Mapping, Observation,
    OwnedMemory, Prices, Residence, Target, TargetId, TargetInfo, TargetSnapshot, Window,
};

/// One primitive or the other.
#[derive(Debug)]
pub enum LiveMemory {
    /// Processes, by virtual address.
    Processes(Box<VirtualMemory>),
    /// The machine, by physical address.
    Machine(Box<PhysicalMemory>),
}

/// The same of whichever it is.
macro_rules! either {
    ($self:expr, $memory:ident => $value:expr) => {
        match $self {
            LiveMemory::Processes($memory) => $value,
            LiveMemory::Machine($memory) => $value,
        }
    };
}

impl LiveMemory {
    /// The processes that are targets or, by physical address, were found to have memory.
    pub fn pids(&self) -> Vec<u32> {
        either!(self, memory => memory.pids().collect())
    }

    /// The processes that are watched: the targets, or those that have the machine's memory.
    pub fn processes(&self) -> &VirtualMemory {
        match self {
            Self::Processes(memory) => memory,
            Self::Machine(memory) => memory.owners(),
        }
    }

    fn processes_mut(&mut self) -> &mut VirtualMemory {
        match self {
            Self::Processes(memory) => memory,
            Self::Machine(memory) => memory.owners_mut(),
        }
    }
}

/// The same memory as monitors watch it: by the page tables of processes, whatever is told of it.
#[derive(Debug)]
pub(crate) struct Watched(pub(crate) LiveMemory);

impl AccessCheck for Watched {
    type Error = BpfError;

    fn capabilities(&self) -> Capabilities {
        self.0.processes().capabilities()
    }

    fn targets(&mut self) -> Result<Vec<Target>, BpfError> {
        match &mut self.0 {
            LiveMemory::Processes(memory) => memory.targets(),
            LiveMemory::Machine(memory) => memory.keep_up(),
        }
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), BpfError> {
        self.0.processes_mut().arm(windows)
    }

    fn can_arm_target(&self, target: TargetId) -> bool {
        self.0.processes().can_arm_target(target)
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, BpfError> {
        self.0.processes_mut().arm_target(target)
    }

    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        self.0.processes_mut().resident_bytes_of(target)
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> Result<(), BpfError> {
        self.0.processes_mut().check(windows, found)
    }

    fn prices(&self) -> Prices {
        self.0.processes().prices()
    }

    fn take_target_us(&mut self) -> f64 {
        self.0.processes_mut().take_target_us()
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.0.changed_targets()
    }
}

impl AccessCheck for LiveMemory {
    type Error = BpfError;

    fn capabilities(&self) -> Capabilities {
        either!(self, memory => memory.capabilities())
    }

    fn targets(&mut self) -> Result<Vec<Target>, BpfError> {
        either!(self, memory => memory.targets())
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), BpfError> {
        either!(self, memory => memory.arm(windows))
    }

    fn can_arm_target(&self, target: TargetId) -> bool {
        either!(self, memory => memory.can_arm_target(target))
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, BpfError> {
        either!(self, memory => memory.arm_target(target))
    }

    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        either!(self, memory => memory.resident_bytes_of(target))
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> Result<(), BpfError> {
        either!(self, memory => memory.check(windows, found))
    }

    fn prices(&self) -> Prices {
        either!(self, memory => memory.prices())
    }

    fn take_target_us(&mut self) -> f64 {
        either!(self, memory => memory.take_target_us())
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        either!(self, memory => memory.changed_targets())
    }
}

impl ActionSink for LiveMemory {
    fn supports(&self, action: Action) -> Result<(), String> {
        either!(self, memory => memory.supports(action))
    }

    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        either!(self, memory => memory.apply(action, target, ranges))
    }

    fn apply_to_idle(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        either!(self, memory => memory.apply_to_idle(action, target, ranges))
    }

    fn residence(&mut self, target: TargetId, ranges: &[AddrRange]) -> Result<Residence, BpfError> {
        either!(self, memory => memory.residence(target, ranges))
    }

    fn shared(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Vec<AddrRange>, BpfError> {
        either!(self, memory => memory.shared(target, ranges))
    }

    fn unmapped_files(&mut self) -> Result<Vec<TargetSnapshot>, BpfError> {
        either!(self, memory => memory.unmapped_files())
    }

    fn clock_us(&self) -> f64 {
        either!(self, memory => memory.clock_us())
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        either!(self, memory => memory.take_cleared())
    }

    fn mappings(&self, target: TargetId) -> &[Mapping] {
        either!(self, memory => memory.mappings(target))
    }

    fn cgroup(&self, target: TargetId) -> Option<String> {
        either!(self, memory => memory.cgroup(target))
    }

    fn has_owners(&self) -> bool {
        either!(self, memory => memory.has_owners())
    }

    fn owned(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Vec<OwnedMemory>, BpfError> {
        either!(self, memory => memory.owned(target, ranges))
    }
}
