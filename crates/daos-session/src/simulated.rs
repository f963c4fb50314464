//! A monitor over a simulated space, in simulated time.

use crate::memory_series::MemoryUse;
use crate::projected::{Projected, RECORD_US};
use crate::schemes;
use crate::session::Source;
use daos_core::{ActionSink, CpuCost, Metric, Metrics, Snapshot, SnapshotSource, TargetInfo};
use daos_monitor::projection::Stepped;
use daos_monitor::{AnyMonitor, Monitor};
use daos_schemes::Scheme;
use daos_sim::{CostModel, Counters, SimSpace, TARGET};
use std::convert::Infallible;

/// Ticks a [`Monitor`] over a [`SimSpace`] until a duration has passed, as fast
/// as it can. Every tick is on time; a snapshot's CPU time is what the model
/// says that its checks would have taken.
#[derive(Debug)]
pub struct SimSource<M = AnyMonitor> {
    monitor: M,
    space: SimSpace,
    model: CostModel,
    next_tick_us: u64,
    end_us: u64,
    ended: bool,
    /// What the monitor was charged for.
    charged: Counters,
    target_told: bool,
    /// What is told of physical memory, if that is meant.
    projected: Option<Projected>,
}

/// Microseconds that it takes to take in, or to go over, a page frame, and to tell of frames that
/// are alike. Measured: `cargo run -p daos-monitor --example projecting`.
const FRAME_US: f64 = 0.013;
const TOLD_US: f64 = 0.03 + RECORD_US;

impl<M: Monitor> SimSource<M> {
    /// Starts at the space's time; there are ticks up to and at `duration_us`
    /// microseconds from then. The space's prices become those of the model.
    pub fn new(monitor: M, mut space: SimSpace, model: CostModel, duration_us: u64) -> Self {
        let now_us = space.now_us();
        space.set_model(model);
        Self {
            charged: space.counters(),
            next_tick_us: now_us,
            end_us: now_us.saturating_add(duration_us),
            ended: false,
            monitor,
            space,
            model,
            target_told: false,
            projected: None,
        }
    }

    /// Tells of physical memory, if the space is [scattered](SimSpace::scattered) over some: what
    /// the monitor finds is projected onto it. `max_overhead`: the bound on what watching costs in
    /// all, as a share of one CPU.
    pub fn by_page_frame(self, max_overhead: f64) -> Self {
        let ram = self.space.ram();
        let projected = ram.map(|ram| Projected::new(self.monitor.attrs(), &[ram], max_overhead));
        Self { projected, ..self }
    }

    /// The same by page frame, if that is meant.
    fn told(&mut self, snapshot: Snapshot) -> Snapshot {
        let Some(projected) = &mut self.projected else { return snapshot };
        let model = self.model;
        let before = self.space.counters();
        let (mut counted, mut spent_us) = (before, 0.0);
        let took_us = |space: &mut SimSpace, stepped: Stepped| {
            let read = space.counters() - std::mem::replace(&mut counted, space.counters());
            let frames_us = stepped.frames as f64 * FRAME_US + stepped.told as f64 * TOLD_US;
            let step_us = model.monitor_us(&read) + frames_us;
            spent_us += step_us;
            step_us.ceil() as u64
        };
        let Ok(()) = projected.go_on(&snapshot, &mut self.space, snapshot.end_us, took_us);
        self.charged = self.charged + (self.space.counters() - before);
        self.monitor.charge_beside(CpuCost { monitor_us: spent_us, target_us: 0.0 });
        let resident_bytes = snapshot.targets.first().and_then(|target| target.resident_bytes);
        projected.of(snapshot, TARGET, resident_bytes)
    }

    /// The space, for its truth and its counters.
    pub fn space(&self) -> &SimSpace {
        &self.space
    }

    /// The space, to be looked at and acted on between snapshots. What is asked of it then
    /// is charged to the monitor; [`apart`](Self::apart) does not do that.
    pub fn space_mut(&mut self) -> &mut SimSpace {
        &mut self.space
    }

    /// Has something done to the space that the monitor is not charged for: what a scheme
    /// looks at and does.
    ///
    /// ```
    /// # use daos_core::{Action, ActionSink, MonitorAttrs, SnapshotSource};
    /// # use daos_monitor::Reference;
    /// # use daos_session::SimSource;
    /// # use daos_sim::{CostModel, SimOptions, SimSpace};
    /// # let config = daos_workload::Config::parse("idle", "cold, 4M\n\nidle\n1s\n").unwrap();
    /// # let space = SimSpace::new(config, SimOptions::default());
    /// # let monitor = Reference::new(MonitorAttrs::default(), 1).unwrap();
    /// # let mut source = SimSource::new(monitor, space, CostModel::SAME_CPU, 1_000_000);
    /// while let Ok(Some(snapshot)) = source.next_snapshot() {
    ///     source.apart(|space| {
    ///         let ranges = [space.ranges()[0]];
    ///         space.apply(Action::Pageout, snapshot.targets[0].id, &ranges)
    ///     })?;
    /// }
    /// assert_eq!(source.space_mut().memory().resident_bytes, 0);
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    pub fn apart<R>(&mut self, act: impl FnOnce(&mut SimSpace) -> R) -> R {
        let before = self.space.counters();
        let result = act(&mut self.space);
        self.charged = self.charged + (self.space.counters() - before);
        result
    }

    /// What all that was asked of the space took from the target, in microseconds: also
    /// the bits that it set again unseen.
    pub fn target_us(&mut self) -> f64 {
        self.space.settle();
        self.model.target_us(&self.space.counters())
    }

    /// The monitor.
    pub fn monitor(&self) -> &M {
        &self.monitor
    }
}

impl<M: Monitor> Source for SimSource<M> {
    type Memory = SimSpace;

    fn lend<T>(&mut self, work: impl FnOnce(&mut SimSpace, &mut dyn Metrics) -> T) -> (T, CpuCost) {
        let mut metrics = self.space.metrics();
        let began_us = self.space.clock_us();
        let result = self.apart(|space| work(space, &mut metrics));
        // What schemes take from the target is in its stalls.
        let spent = CpuCost { monitor_us: self.space.clock_us() - began_us, target_us: 0.0 };
        (result, spent)
    }

    fn supports(&self, scheme: &Scheme) -> Result<(), String> {
        schemes::supports(&self.space, scheme)?;
        if !self.space.has_dram_size()
            && scheme.metrics().any(|metric| metric == Metric::FreeMemory)
        {
            return Err("the memory of a simulated machine has no end, so it is not known how much of it is \
                        free: leave out what goes by free-memory"
                .to_owned());
        }
        Ok(())
    }

    fn sample_memory(&mut self, _: &Snapshot) -> Option<MemoryUse> {
        let memory = self.space.memory();
        let (resident, swap) = (memory.resident_bytes, memory.swapped_bytes);
        Some(MemoryUse { resident, swap, zram: 0 })
    }
}

impl<M: Monitor> SnapshotSource for SimSource<M> {
    type Error = Infallible;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Infallible> {
        while !self.ended {
            // The last tick is at the end: an interval may be over then.
            let now_us = self.next_tick_us.min(self.end_us);
            self.ended = now_us == self.end_us;
            self.space.set_now_us(now_us);
            let snapshot = self.monitor.tick(&mut self.space, now_us)?;
            self.space.wake();
            let counters = self.space.counters();
            let used = counters - std::mem::replace(&mut self.charged, counters);
            let spent = CpuCost {
                monitor_us: self.model.monitor_us(&used),
                target_us: self.model.target_us(&used),
            };
            self.monitor.charge(spent, now_us);
            self.next_tick_us = now_us + self.monitor.wait_us();
            if let Some(snapshot) = snapshot {
                return Ok(Some(self.told(snapshot)));
            }
        }
        Ok(None)
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        let first = !std::mem::replace(&mut self.target_told, true);
        first.then(|| self.space.target_info()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::MonitorAttrs;
    use daos_monitor::Reference;
    use daos_sim::SimOptions;
    use daos_workload::Config;

    const HOT_BLOCK: &str = "\
below, 384M
hot, 128M
above, 512M

busy
60s
hot, random, 0, 1
";

    fn source(seed: u64, duration_us: u64) -> SimSource<Reference> {
        let config = Config::parse("block.cfg", HOT_BLOCK).unwrap();
        let space = SimSpace::new(config, SimOptions { seed, ..SimOptions::default() });
        let monitor = Reference::new(MonitorAttrs::default(), seed).unwrap();
        SimSource::new(monitor, space, CostModel::SAME_CPU, duration_us)
    }

    fn snapshots(mut source: SimSource<Reference>) -> Vec<Snapshot> {
        std::iter::from_fn(|| source.next_snapshot().unwrap()).collect()
    }

    #[test]
    fn gives_a_snapshot_an_aggregation_interval() {
        let snapshots = snapshots(source(1, 1_000_000));
        assert_eq!(snapshots.len(), 10);
        assert_eq!((snapshots[9].start_us, snapshots[9].end_us), (900_000, 1_000_000));
        assert!(snapshots.iter().all(|s| s.cost.cpu_us > 0 && s.cost.missed_ticks == 0));
    }

    #[test]
    fn names_its_target_once() {
        let mut source = source(1, 0);
        let [info] = &source.changed_targets()[..] else { panic!("one target") };
        assert_eq!(info.name, "block.cfg");
        let names: Vec<&str> = info.mappings.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["below", "hot", "above"]);
        assert!(source.changed_targets().is_empty());
    }

    #[test]
    fn same_seed_same_snapshots() {
        assert_eq!(snapshots(source(7, 2_000_000)), snapshots(source(7, 2_000_000)));
        assert_ne!(snapshots(source(7, 2_000_000)), snapshots(source(8, 2_000_000)));
    }

    #[test]
    fn what_schemes_do_is_not_charged_to_the_monitor() {
        use daos_core::{AccessCheck, Action, ActionSink, Window};

        let costs = |act: &dyn Fn(&mut SimSpace)| {
            let mut source = source(1, 2_000_000);
            let mut cpu_us = 0;
            while let Ok(Some(snapshot)) = source.next_snapshot() {
                cpu_us += snapshot.cost.cpu_us;
                source.apart(act);
            }
            (cpu_us, source.space().clone())
        };
        let (alone_us, _) = costs(&|_| ());
        let (looked_us, _) = costs(&|space| {
            let start = space.ranges()[0].start;
            let window = Window { target: daos_sim::TARGET, start, pages: 512 };
            let Ok(()) = space.check(&[window; 1000], &mut Vec::new());
        });
        assert_eq!(alone_us, looked_us);
        let (_, mut space) = costs(&|space| {
            let cold = space.ranges()[0];
            let Ok(_) = space.apply(Action::Pageout, daos_sim::TARGET, &[cold]);
        });
        assert_eq!(space.memory().swapped_bytes, 384 << 20);
    }

    /// The share of the hot block that monitors call hot, and of what they call hot that is.
    fn found<M: Monitor>(mut source: SimSource<M>, act: impl Fn(&mut SimSpace)) -> (f64, f64) {
        let hot = source.space().ranges()[1];
        let (mut reported, mut right, mut there, mut count) = (0, 0, 0, 0);
        while let Ok(Some(snapshot)) = source.next_snapshot() {
            source.apart(&act);
            count += 1;
            if count <= 50 {
                continue;
            }
            there += hot.len();
            for region in &snapshot.targets[0].regions {
                if region.access_rate >= 0.25 {
                    reported += region.range.len();
                    right += region.range.intersect(&hot).map_or(0, |r| r.len());
                }
            }
        }
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        (share(right, there), share(right, reported))
    }

    #[test]
    fn a_hot_block_is_found() {
        let (recall, precision) = found(source(3, 20_000_000), |_| ());
        assert!(recall > 0.9 && precision > 0.9, "{recall}, {precision}");
    }

    #[test]
    fn a_hot_block_is_found_in_memory_that_is_not_all_there() {
        use daos_core::{Action, ActionSink};
        use daos_monitor::MonitorKind;
        for (kind, populate) in [MonitorKind::Windows, MonitorKind::Reference]
            .into_iter()
            .flat_map(|kind| [(kind, true), (kind, false)])
        {
            let config = Config::parse("block.cfg", HOT_BLOCK).unwrap();
            let space = SimSpace::new(config, SimOptions { populate, ..SimOptions::default() });
            let attrs = MonitorAttrs::default();
            let monitor = AnyMonitor::new(kind, attrs, Default::default(), 3).unwrap();
            let source = SimSource::new(monitor, space, CostModel::SAME_CPU, 20_000_000);
            let (recall, precision) = found(source, |space| {
                let cold = [space.ranges()[0], space.ranges()[2]];
                let Ok(_) = space.apply(Action::Pageout, daos_sim::TARGET, &cold);
            });
            assert!(recall > 0.9 && precision > 0.9, "{kind:?}: {recall}, {precision}");
        }
    }
}
