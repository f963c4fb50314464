//! The simulator: any size of memory, as fast as it can be computed, the same on
//! every machine. What it costs is what a stated model says.

use super::{AccuracyPlan, Testbed, WorkloadSpec};
use crate::accuracy::budget::Budget;
use crate::accuracy::run_metrics::{RunMeter, RunMetrics};
use crate::accuracy::scan_cost::{Scan, ScanCost};
use crate::accuracy::scenario::PageSize;
use crate::accuracy::truth::TruePhase;
use crate::error::EvalError;
use crate::monitors::{ComparedKind, ComparedMonitor};
use daos_core::SnapshotSource;
use daos_monitor::MonitorKind;
use daos_monitor::windows::DEFAULT_MAX_OVERHEAD;
use daos_session::SimSource;
use daos_sim::{CostModel, SimOptions, SimSpace};
use daos_workload::{Config, Mode};

/// Most memory that a full scan is run over, in bytes: it takes long.
const MOST_SCANNED: u64 = 128 << 30;
/// The bound that a budget is of when none is set, as a share of one CPU.
const USUAL_BOUND: f64 = 0.01;

/// Simulated address spaces.
#[derive(Debug, Clone, Copy)]
pub struct Simulator {
    /// Whether memory is of huge pages, where it is not said with the scenario.
    pub huge_pages: bool,
    /// What is counted is priced by this.
    pub model: CostModel,
    /// Accesses a second; else those of scenarios make hot what is to be hot.
    pub accesses_per_sec: Option<u64>,
    /// Whether the parts of scenarios lie as they would on real memory, which is aligned and
    /// with holes between them. Else they neighbour each other, at any page.
    pub as_on_real_memory: bool,
    /// Whether it is the RAM of a machine that several processes share; else it is one process's.
    pub physical: Option<PhysicalSpace>,
}

/// How several processes share the RAM of a simulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalSpace {
    /// How many, each with the same share of the memory.
    pub processes: u32,
    /// In which pieces it was given out, in bytes: what is larger lies scattered.
    pub piece_bytes: u64,
}

impl Testbed for Simulator {
    fn name(&self) -> &'static str {
        match self.physical {
            Some(_) => "simulated physical memory",
            None => "simulated memory",
        }
    }

    fn refuse(&self, workload: &WorkloadSpec) -> Result<(), EvalError> {
        match workload {
            WorkloadSpec::File(path) => Config::read(path).map(drop).map_err(EvalError::from),
            WorkloadSpec::Scenario(scenario) => scenario.validate(),
        }
    }

    fn budget(&self, plan: &AccuracyPlan, workload: &WorkloadSpec) -> Option<Budget> {
        let (bytes, page) = match workload {
            WorkloadSpec::File(path) => (Config::read(path).ok()?.bytes(), 4096),
            WorkloadSpec::Scenario(scenario) => (scenario.mapped_bytes(), scenario.page.bytes()),
        };
        let share = plan.options.max_overhead.unwrap_or(USUAL_BOUND);
        Some(Budget::new(share, &self.model.prices(), bytes, page))
    }

    fn run(
        &self,
        plan: &AccuracyPlan,
        workload: &WorkloadSpec,
        monitor: ComparedKind,
        round: u32,
    ) -> Result<RunMetrics, EvalError> {
        let seed = plan.seed + u64::from(round);
        let is_projected = monitor == ComparedKind::Product(MonitorKind::Windows);
        let (space, settle_us) = self.space(plan, workload, seed, is_projected)?;
        let length_us = match workload {
            WorkloadSpec::File(_) => plan.length_us.min(space.config().duration_us()),
            WorkloadSpec::Scenario(_) => plan.length_us,
        };
        let phases = TruePhase::simulated(&space, &plan.attrs, length_us);
        if monitor == ComparedKind::FullScan && space.config().bytes() > MOST_SCANNED {
            return Ok(self.modelled(plan, &space, &phases));
        }
        let scan = self.scan(plan, &space, &phases);
        let monitor = ComparedMonitor::new(monitor, plan.attrs, plan.options, seed)?;
        let max_overhead = plan.options.max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD);
        let source = SimSource::new(monitor, space, self.model, length_us);
        let mut source = source.by_page_frame(max_overhead);
        let mut meter = RunMeter::new(phases, 0, plan.warmup_us, settle_us);
        loop {
            let Ok(snapshot) = source.next_snapshot();
            let Some(snapshot) = snapshot else { break };
            meter.add(&snapshot);
        }
        let metrics = meter.metrics();
        let slowdown_percent = meter.costs().percent(source.target_us());
        let cost_percent = metrics.cpu_percent.zip(slowdown_percent).map(|(a, b)| a + b);
        let times_cheaper = cost_percent.map(|percent| scan.total_us() / (1e4 * percent));
        let accesses_per_sec = Some(source.space().accesses_per_sec() as f64);
        Ok(RunMetrics {
            slowdown_percent,
            cost_percent,
            times_cheaper,
            accesses_per_sec,
            ..metrics
        })
    }
}

impl Simulator {
    /// The space of a round, and how long a phase of it may run before it counts. Physical memory
    /// of which what is known of its owners `is_projected` is by virtual address.
    fn space(
        &self,
        plan: &AccuracyPlan,
        workload: &WorkloadSpec,
        seed: u64,
        is_projected: bool,
    ) -> Result<(SimSpace, u64), EvalError> {
        let (config, huge_pages, settle_us) = match workload {
            WorkloadSpec::File(path) => (Config::read(path)?, self.huge_pages, plan.warmup_us),
            WorkloadSpec::Scenario(scenario) if self.as_on_real_memory => {
                let text = scenario.config_text(seed, Mode::default())?;
                let config = Config::parse(&scenario.to_string(), &text)?;
                (config, scenario.page == PageSize::Huge, 0)
            }
            WorkloadSpec::Scenario(scenario) => {
                let sample_us = plan.attrs.sample_us;
                if let Some(PhysicalSpace { processes, piece_bytes }) = self.physical {
                    let shared = (processes, piece_bytes);
                    let accesses = self.accesses_per_sec;
                    let space =
                        scenario.physical(seed, sample_us, accesses, shared, is_projected)?;
                    return Ok((space, 0));
                }
                return Ok((scenario.space(seed, sample_us, self.accesses_per_sec)?, 0));
            }
        };
        let usual = SimOptions::default();
        let accesses_per_sec = self.accesses_per_sec.unwrap_or(usual.accesses_per_sec);
        let options = SimOptions { seed, huge_pages, accesses_per_sec, ..usual };
        Ok((SimSpace::new(config, options), settle_us))
    }

    /// What a scan of all pages in every sampling interval would cost.
    fn scan(&self, plan: &AccuracyPlan, space: &SimSpace, phases: &[TruePhase]) -> ScanCost {
        let every_us = plan.attrs.sample_us;
        let scan = Scan { every_us, reads: 1, page: space.page_bytes() };
        let first = phases.first();
        first.map_or_else(ScanCost::default, |p| scan.cost(p, &self.model, |truth| truth.rate))
    }

    /// What the full scan would cost where it is too much to be run: it reads everything
    /// twice in every aggregation interval.
    fn modelled(&self, plan: &AccuracyPlan, space: &SimSpace, phases: &[TruePhase]) -> RunMetrics {
        let every_us = plan.attrs.aggregation_us;
        let all = Scan { every_us, reads: 2, page: space.page_bytes() };
        let first = phases.first();
        let cost =
            first.map_or_else(ScanCost::default, |p| all.cost(p, &self.model, |t| t.touched));
        let percent = |us: f64| Some(us / 1e4);
        RunMetrics {
            cpu_percent: percent(cost.monitor_us),
            slowdown_percent: percent(cost.target_us),
            cost_percent: percent(cost.total_us()),
            times_cheaper: Some(self.scan(plan, space, phases).total_us() / cost.total_us()),
            ..RunMetrics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::scenario::{Scenario, Shape};
    use daos_core::{MonitorAttrs, PAGE_SIZE};

    const SIMULATOR: Simulator = Simulator {
        huge_pages: false,
        model: CostModel::SAME_CPU,
        accesses_per_sec: None,
        as_on_real_memory: false,
        physical: None,
    };

    fn plan() -> AccuracyPlan {
        AccuracyPlan {
            workloads: Vec::new(),
            monitors: Vec::new(),
            runs: 1,
            length_us: 3_000_000,
            warmup_us: 1_000_000,
            attrs: MonitorAttrs::default(),
            options: Default::default(),
            seed: 1,
        }
    }

    fn block(bytes: u64) -> WorkloadSpec {
        let page = PageSize::Small;
        WorkloadSpec::Scenario(Scenario {
            shape: Shape::Block,
            bytes,
            hot: 0.1,
            page,
            blocks: 64,
            rate: None,
        })
    }

    fn run(workload: &WorkloadSpec, monitor: ComparedKind) -> RunMetrics {
        SIMULATOR.run(&plan(), workload, monitor, 0).unwrap()
    }

    #[test]
    fn a_full_scan_finds_everything_and_costs_what_the_model_says() {
        let workload = block(128 << 20);
        // Long, so that the start, when everything is young, does not count.
        let plan = AccuracyPlan { length_us: 10_000_000, ..plan() };
        let ran = SIMULATOR.run(&plan, &workload, ComparedKind::FullScan, 0).unwrap();
        assert!(ran.recall > Some(0.99) && ran.precision > Some(0.99), "{ran:?}");
        assert!(ran.rate_error < Some(0.02) && ran.wss_error.unwrap().abs() < 0.01, "{ran:?}");

        let (space, _) = SIMULATOR.space(&plan, &workload, 1, false).unwrap();
        let phases = TruePhase::simulated(&space, &plan.attrs, 1);
        let modelled = SIMULATOR.modelled(&plan, &space, &phases);
        let near = |of: fn(&RunMetrics) -> Option<f64>| {
            let (ran, modelled) = (of(&ran).unwrap(), of(&modelled).unwrap());
            assert!((ran / modelled - 1.0).abs() < 0.1, "{ran}, by arithmetic {modelled}");
        };
        near(|metrics| metrics.cpu_percent);
        near(|metrics| metrics.slowdown_percent);
    }

    #[test]
    fn what_is_too_large_to_scan_has_a_price_all_the_same() {
        let modelled = run(&block(1 << 40), ComparedKind::FullScan);
        assert!(modelled.recall.is_none() && modelled.checks_per_tick.is_none());
        assert!(modelled.cost_percent > Some(1000.0), "{modelled:?}");
    }

    #[test]
    fn equal_regions_are_no_match_for_scattered_blocks() {
        let page = PageSize::Small;
        let scenario = Scenario {
            shape: Shape::Blocks,
            bytes: 1 << 30,
            hot: 0.01,
            page,
            blocks: 64,
            rate: None,
        };
        let fixed = run(&WorkloadSpec::Scenario(scenario), ComparedKind::Static);
        assert_eq!(fixed.checks_per_tick, Some(1000.0));
        assert!(fixed.precision < Some(0.9), "{fixed:?}");
    }

    #[test]
    fn a_full_scan_finds_pages_among_others() {
        for shape in [Shape::Singles, Shape::Kv, Shape::Sweep, Shape::TwoRates] {
            let (bytes, page) = (128 << 20, PageSize::Small);
            let hot = shape.own_hot().unwrap_or(0.1);
            let scenario = Scenario { shape, bytes, hot, page, blocks: 16, rate: None };
            let workload = WorkloadSpec::Scenario(scenario);
            let plan = AccuracyPlan { length_us: 6_000_000, warmup_us: 3_000_000, ..plan() };
            let ran = SIMULATOR.run(&plan, &workload, ComparedKind::FullScan, 0).unwrap();
            // Four samples tell nine in ten from two in ten, mostly.
            assert!(ran.recall > Some(0.9) && ran.precision > Some(0.9), "{scenario}: {ran:?}");
        }
    }

    #[test]
    fn a_change_is_noticed() {
        let page = PageSize::Small;
        let scenario = Scenario {
            shape: Shape::Turning,
            bytes: 256 << 20,
            hot: 0.1,
            page,
            blocks: 1,
            rate: None,
        };
        let plan = AccuracyPlan { length_us: 7_000_000, ..plan() };
        let ran = SIMULATOR
            .run(&plan, &WorkloadSpec::Scenario(scenario), ComparedKind::FullScan, 0)
            .unwrap();
        // Turned 30 ms after an interval began, and seen in the two samples behind that:
        // a region is hot from a quarter of the last four on, each of which finds 0.9.
        assert_eq!((ran.hot_half_ms, ran.hot_most_ms), (Some(270.0), Some(270.0)));
        assert_eq!(ran.cold_most_ms, Some(370.0));
    }

    #[test]
    fn ram_that_was_given_out_in_large_pieces_is_told_better_than_scattered_pages() {
        let (bytes, page) = (256 << 20, PageSize::Small);
        let scenario =
            Scenario { shape: Shape::Block, bytes, hot: 0.1, page, blocks: 1, rate: None };
        let plan = AccuracyPlan { length_us: 6_000_000, warmup_us: 4_000_000, ..plan() };
        let run = |piece_bytes, kind| {
            let physical = Some(PhysicalSpace { processes: 3, piece_bytes });
            let machine = Simulator { physical, ..SIMULATOR };
            machine.run(&plan, &WorkloadSpec::Scenario(scenario), kind, 0).unwrap()
        };
        let reference = ComparedKind::Product(daos_monitor::MonitorKind::Reference);
        let (large, small) = (run(32 << 20, reference), run(PAGE_SIZE, reference));
        assert!(large.precision > Some(0.8) && large.recall > Some(0.8), "{large:?}");
        let found = |ran: &RunMetrics| ran.recall.unwrap_or(0.0) * ran.precision.unwrap_or(0.0);
        assert!(found(&small) < 0.5 * found(&large), "{small:?}");
        // What is known of its owners tells of pages wherever they lie.
        let windows = ComparedKind::Product(MonitorKind::Windows);
        for piece_bytes in [PAGE_SIZE, 64 << 10, 32 << 20] {
            let told = run(piece_bytes, windows);
            assert!(told.recall > Some(0.9) && told.precision > Some(0.9), "{told:?}");
        }
        let scanned = run(64 << 10, ComparedKind::FullScan);
        assert!(scanned.recall > Some(0.95) && scanned.precision > Some(0.95), "{scanned:?}");
    }

    #[test]
    fn accesses_can_be_fewer() {
        let workload = block(256 << 20);
        let slow = Simulator { accesses_per_sec: Some(100_000), ..SIMULATOR };
        let ran = slow
            .run(&plan(), &workload, ComparedKind::Product(daos_monitor::MonitorKind::Reference), 0)
            .unwrap();
        assert_eq!(ran.accesses_per_sec, Some(100_000.0));
        let fast = run(&workload, ComparedKind::Product(daos_monitor::MonitorKind::Reference));
        assert!(fast.accesses_per_sec > Some(1e6));
    }

    #[test]
    fn scenarios_can_lie_as_on_real_memory() {
        let real =
            Simulator { accesses_per_sec: Some(20_000_000), as_on_real_memory: true, ..SIMULATOR };
        let workload = block((256 << 20) + (1 << 20));
        let (aligned, _) = real.space(&plan(), &workload, 1, false).unwrap();
        let (packed, _) = SIMULATOR.space(&plan(), &workload, 1, false).unwrap();
        assert!(aligned.ranges().iter().all(|range| range.start.is_multiple_of(2 << 20)));
        assert!(packed.ranges().windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(aligned.config(), packed.config());
    }
}
