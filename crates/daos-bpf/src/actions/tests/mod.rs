//! Actions on real processes, judged by their pagemap.

mod changed;
mod host;
mod huge;
mod lock;
mod reclaim;

use crate::VirtualMemory;
use crate::child::{HUGE, Making, PageState, Target};
use daos_core::{
    AccessCheck, Action, ActionReport, ActionSink, AddrRange, Observation, PAGE_SIZE, Refusal,
    TargetId, Window,
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

    /// Arms all of its memory.
    fn arm(&mut self, target: &Target) {
        let windows = self.windows(target);
        self.sink.arm(&windows).expect("the programs run");
    }

    /// How many of its pages are there, were accessed, and can't be observed.
    fn seen(&mut self, target: &Target) -> [Nearly; 3] {
        let (windows, mut found) = (self.windows(target), Vec::new());
        self.sink.check(&windows, &mut found).expect("the programs run");
        let sum = |of: fn(&Observation) -> u32| found.iter().map(of).sum();
        let sums =
            [sum(|seen| seen.present), sum(|seen| seen.accessed), sum(|seen| seen.unobservable)];
        sums.map(|pages| Nearly::of(pages, target.memory.pages() as u32))
    }

    fn windows(&self, target: &Target) -> Vec<Window> {
        let tables = target.memory.blocks(HUGE);
        tables.map(|table| Window { target: self.id, start: table.start, pages: 512 }).collect()
    }

    fn apply(&mut self, action: Action, ranges: &[AddrRange]) -> ActionReport {
        self.sink.apply(action, self.id, ranges).expect("the programs run")
    }
}

/// How many pages something is true of: a DAMON of the host may have cleared some bits, and some
/// pages are on no list yet.
#[derive(Debug, PartialEq)]
enum Nearly {
    All,
    Some(u32),
    None,
}

impl Nearly {
    fn of(pages: u32, all: u32) -> Self {
        match pages {
            _ if 10 * pages <= all => Self::None,
            _ if 10 * pages >= 9 * all => Self::All,
            _ => Self::Some(pages),
        }
    }
}

/// Bytes of `pages`.
fn bytes(pages: u64) -> u64 {
    pages * PAGE_SIZE
}
