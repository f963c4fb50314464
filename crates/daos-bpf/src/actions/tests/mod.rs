//! Actions on real processes, judged by their pagemap.

mod changed;
mod host;
mod huge;
mod lock;
mod reclaim;

use crate::VirtualMemory;
use crate::child::{HUGE, Making, PageState, Target};
use daos_core::{
    AccessCheck, Action, ActionReport, ActionSink, AddrRange, PAGE_SIZE, Refusal, TargetId,
};
use host::{OtherSwap, ThpPolicy, Zram};

/// A sink, and the one target that it acts on.
struct Actor {
    sink: VirtualMemory,
    id: TargetId,
}

impl Actor {
    fn on(target: &Target) -> Self {
        let mut sink = VirtualMemory::new().expect("the programs load");
        let id = sink.add(target.process()).expect("nobody else watches it");
        sink.targets().expect("it runs");
        Self { sink, id }
    }

    fn apply(&mut self, action: Action, ranges: &[AddrRange]) -> ActionReport {
        self.sink.apply(action, self.id, ranges).expect("the programs run")
    }
}

/// Bytes of `pages`.
fn bytes(pages: u64) -> u64 {
    pages * PAGE_SIZE
}
