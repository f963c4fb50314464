//! What a pass of the schemes engine costs, without what acts: 1000 regions against ten
//! schemes.
#![allow(missing_docs, reason = "macros of criterion make items without")]

use criterion::{Criterion, criterion_group, criterion_main};
use daos_core::{
    AccessCheck, Action, ActionReport, ActionSink, AddrRange, Capabilities, Mapping, Metric,
    Metrics, Observation, PAGE_SIZE, RegionSnapshot, Rng, Snapshot, Target, TargetId,
    TargetSnapshot, Window,
};
use daos_schemes::{Age, Bounds, Engine, Pattern, Quota, Rate, Scheme};
use std::convert::Infallible;
use std::hint::black_box;

const REGIONS: u64 = 1000;
const REGION_PAGES: u64 = 2560;

/// Does nothing, at once, so that only the engine is timed.
struct Nothing;

impl AccessCheck for Nothing {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "none", max_window_pages: 512, page_bits: true, sparse: false }
    }

    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        Ok(Vec::new())
    }

    fn arm(&mut self, _: &[Window]) -> Result<(), Infallible> {
        Ok(())
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        found.resize(found.len() + windows.len(), Observation::default());
        Ok(())
    }
}

impl ActionSink for Nothing {
    fn supports(&self, _: Action) -> Result<(), String> {
        Ok(())
    }

    fn apply(
        &mut self,
        _: Action,
        _: TargetId,
        _: &[AddrRange],
    ) -> Result<ActionReport, Infallible> {
        Ok(ActionReport::default())
    }

    fn clock_us(&self) -> f64 {
        0.0
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        Vec::new()
    }

    fn mappings(&self, _: TargetId) -> &[Mapping] {
        &[]
    }

    fn cgroup(&self, _: TargetId) -> Option<String> {
        None
    }
}

impl Metrics for Nothing {
    fn read(&mut self, _: Metric) -> Option<f64> {
        None
    }
}

fn snapshot(rng: &mut Rng) -> Snapshot {
    let region = |at: u64| RegionSnapshot {
        range: AddrRange::new(at * REGION_PAGES * PAGE_SIZE, (at + 1) * REGION_PAGES * PAGE_SIZE),
        access_rate: if rng.below(2) == 0 { 0.0 } else { rng.unit() },
        unobserved: 0.0,
        age_us: rng.below(600) * 100_000,
    };
    Snapshot {
        end_us: 600_000_000,
        aggregation_us: 100_000,
        targets: vec![TargetSnapshot {
            regions: (0..REGIONS).map(region).collect(),
            ..TargetSnapshot::default()
        }],
        ..Snapshot::default()
    }
}

/// Ten different patterns; every other one with a quota, and so by priority.
fn schemes() -> Vec<Scheme> {
    let scheme = |at: u64| {
        let tenth = at as f64 / 10.0;
        let pattern = Pattern {
            size: Bounds { min: 4096, max: u64::MAX },
            rate: Bounds { min: Rate::Share(tenth), max: Rate::Share(tenth + 0.5) },
            age: Bounds { min: Age::Time(at * 2_000_000), max: Age::MAX },
        };
        let bytes = at.is_multiple_of(2).then_some(1 << 30);
        let quota = Quota { bytes, ..Quota::default() };
        Scheme { quota, ..Scheme::new(pattern, Action::Stat) }
    };
    (0..10).map(scheme).collect()
}

fn pass(c: &mut Criterion) {
    let snapshot = snapshot(&mut Rng::new(7));
    let mut engine = Engine::new(schemes());
    c.bench_function("1000 regions, 10 schemes", |b| {
        b.iter(|| engine.pass(black_box(&snapshot), &mut Nothing, &mut Nothing));
    });
}

criterion_group!(benches, pass);
criterion_main!(benches);
