//! A few pages, of which everything is known, and the snapshots that a monitor would give.

use crate::{Age, Bounds, Engine, Pattern, Rate, Scheme};
use daos_core::testing::TestMemory;
use daos_core::{
    Action, Done, Mapping, Metric, Metrics, PageRun, RegionSnapshot, Snapshot, TargetId,
    TargetSnapshot,
};
use std::ops::{Deref, DerefMut};

pub use daos_core::testing::pages;

const TARGET: TargetId = TargetId(0);
pub const SECOND: u64 = 1_000_000;
pub const INTERVAL_US: u64 = 100_000;

/// A region as the monitor knows it: pages, access rate, and since when that is so.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub from: u64,
    pub to: u64,
    pub rate: f64,
    pub since_us: u64,
}

/// The memory, and what a monitor knows of it.
#[derive(Debug)]
pub struct Toy {
    pub memory: TestMemory,
    pub known: Vec<Known>,
    pub runs: Vec<PageRun>,
}

impl Deref for Toy {
    type Target = TestMemory;

    fn deref(&self) -> &TestMemory {
        &self.memory
    }
}

impl DerefMut for Toy {
    fn deref_mut(&mut self) -> &mut TestMemory {
        &mut self.memory
    }
}

impl Toy {
    /// All present, none in use, all young since they were written.
    pub fn new(pages: u64) -> Self {
        let range = self::pages(0, pages);
        let mut memory = TestMemory::new(&[range], &[]);
        memory.mappings = vec![Mapping { range, name: String::new(), shared: false }];
        let known = vec![Known { from: 0, to: pages, rate: 0.0, since_us: 0 }];
        Self { memory, known, runs: Vec::new() }
    }

    pub fn used(mut self, from: u64, to: u64) -> Self {
        self.pages[from as usize..to as usize].iter_mut().for_each(|page| page.used = true);
        self
    }

    pub fn knows(mut self, known: &[(u64, u64, f64)]) -> Self {
        let region = |&(from, to, rate)| Known { from, to, rate, since_us: 0 };
        self.known = known.iter().map(region).collect();
        self
    }

    pub fn snapshot(&self) -> Snapshot {
        let region = |known: &Known| RegionSnapshot {
            range: pages(known.from, known.to),
            access_rate: known.rate,
            unobserved: 0.0,
            age_us: self.now_us.saturating_sub(known.since_us),
        };
        Snapshot {
            start_us: self.now_us.saturating_sub(INTERVAL_US),
            end_us: self.now_us,
            aggregation_us: INTERVAL_US,
            targets: vec![TargetSnapshot {
                id: TARGET,
                regions: self.known.iter().map(region).collect(),
                pages: self.runs.clone().into(),
                ..TargetSnapshot::default()
            }],
            ..Snapshot::default()
        }
    }

    /// Lets an interval pass, and the engine do its work at its end: what was done.
    pub fn pass(&mut self, engine: &mut Engine) -> Vec<Done> {
        self.now_us += INTERVAL_US;
        self.use_pages();
        let snapshot = self.snapshot();
        engine.pass(&snapshot, &mut self.memory, &mut Plenty).unwrap()
    }

    pub fn run(&mut self, engine: &mut Engine, us: u64) {
        for _ in 0..us / INTERVAL_US {
            self.pass(engine);
        }
    }
}

/// Half of the memory is free, always.
#[derive(Debug)]
pub struct Plenty;

impl Metrics for Plenty {
    fn read(&mut self, _: Metric) -> Option<f64> {
        Some(0.5)
    }
}

/// A scheme for idle memory of at least this age.
pub fn idle(seconds: u64, action: Action) -> Scheme {
    let age = Bounds { min: Age::Time(seconds * SECOND), max: Age::MAX };
    Scheme::new(
        Pattern { rate: Bounds { min: Rate::MIN, max: Rate::MIN }, age, ..Pattern::ANY },
        action,
    )
}

/// A scheme for memory in use.
pub fn hot(action: Action) -> Scheme {
    Scheme::new(
        Pattern { rate: Bounds { min: Rate::Share(0.05), max: Rate::MAX }, ..Pattern::ANY },
        action,
    )
}
