//! What the monitor itself costs: a tick over 1000 regions, and an hour. And what an hour
//! of looking at the resident set does.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use daos_core::{
    AccessCheck, Action, ActionSink, AddrRange, Capabilities, MonitorAttrs, Observation, PAGE_SIZE,
    SnapshotSource, Target, TargetId, Window,
};
use daos_monitor::{Monitor, Reference};
use daos_session::SimSource;
use daos_sim::{CostModel, SimOptions, SimSpace};
use daos_workload::Config;
use std::convert::Infallible;
use std::hint::black_box;

/// Memory that costs nothing to look at, so that only the monitor is timed. Pages
/// are accessed in stripes, so that regions don't merge away.
struct Stripes;

impl AccessCheck for Stripes {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "stripes", max_window_pages: 1, page_bits: false, sparse: false }
    }

    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        let ranges = vec![AddrRange::new(0, 1 << 40)];
        Ok(vec![Target { id: TargetId(0), ranges, is_listed: true, resident_bytes: None }])
    }

    fn arm(&mut self, _: &[Window]) -> Result<(), Infallible> {
        Ok(())
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        let seen = |w: &Window| Observation {
            present: 1,
            accessed: (w.start / PAGE_SIZE / 1000 % 2) as u32,
            ..Default::default()
        };
        found.extend(windows.iter().map(seen));
        Ok(())
    }
}

fn a_tick_over_1000_regions(c: &mut Criterion) {
    let attrs = MonitorAttrs { min_regions: 1000, ..MonitorAttrs::default() };
    let mut monitor = Reference::new(attrs, 1).expect("the attributes are valid");
    let tick = |monitor: &mut Reference| monitor.tick(&mut Stripes, 0);
    for _ in 0..1000 {
        let _ = tick(&mut monitor);
    }
    let regions = monitor.regions(TargetId(0)).map_or(0, <[_]>::len);
    let mut group = c.benchmark_group("core");
    group.throughput(Throughput::Elements(regions as u64));
    // Every twentieth tick also aggregates, and every two-hundredth updates.
    group.bench_function(format!("tick over {regions} regions"), |b| b.iter(|| tick(&mut monitor)));
    group.finish();
}

fn an_hour_of_100_regions(c: &mut Criterion) {
    const HOUR_US: u64 = 3600 * 1_000_000;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/scattered.cfg");
    let config = Config::read(file.as_ref()).expect("the workload is valid");
    let hour = || {
        let monitor = Reference::new(MonitorAttrs { max_regions: 150, ..Default::default() }, 1);
        let space = SimSpace::new(config.clone(), SimOptions::default());
        let monitor = monitor.expect("the attributes are valid");
        SimSource::new(monitor, space, CostModel::SAME_CPU, HOUR_US)
    };
    let (mut source, mut regions, mut snapshots) = (hour(), 0, 0);
    while let Ok(Some(snapshot)) = source.next_snapshot() {
        regions += snapshot.nr_regions();
        snapshots += 1;
    }
    let mut group = c.benchmark_group("simulated");
    group.sample_size(10);
    group.bench_function(format!("an hour, {} regions on average", regions / snapshots), |b| {
        b.iter_batched(
            hour,
            |mut source| while let Ok(Some(_)) = source.next_snapshot() {},
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// 10 GiB, all of it paged out in every minute, and looked at in every second. A part comes
/// back at once, a part within the hour, a part never.
fn an_hour_of_memory(c: &mut Criterion) {
    let text = "cold, 6G\nslow, 3G\nhot, 1G\n\nbusy\n1s\nslow, random, 0, 1\nhot, random, 0, 999\n";
    let config = Config::parse("memory", text).expect("the workload is valid");
    let options = SimOptions { accesses_per_sec: 500_000, ..SimOptions::default() };
    let mut group = c.benchmark_group("simulated");
    group.sample_size(10);
    group.bench_function("an hour of 10 GiB paged out and read", |b| {
        b.iter_batched(
            || SimSpace::new(config.clone(), options),
            |mut space| {
                for second in 0..3600 {
                    if second % 60 == 0 {
                        let ranges = space.ranges().to_vec();
                        let _ = space.apply(Action::Pageout, TargetId(0), &ranges);
                    }
                    space.advance_us(1_000_000);
                    black_box(space.memory());
                }
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, a_tick_over_1000_regions, an_hour_of_100_regions, an_hour_of_memory);
criterion_main!(benches);
