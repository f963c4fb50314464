//! Schemes at work on live processes, and what they need of the host.

pub mod account;
pub mod footprint;
pub mod rules;
pub mod simulated;

use crate::cli;
use account::Account;
use anyhow::{Context, Result, bail};
use daos_bpf::VirtualMemory;
use daos_core::ActionSink;
use daos_core::{CpuCost, Done, Snapshot};
use daos_linux::TempSwap;
use daos_linux::guard::GuardedSwap;
use daos_linux::memory::ProcessMemory;
use daos_linux::metrics::HostMetrics;
use daos_record::SchemeEnd;
use daos_schemes::Scheme;
use daos_session::Driver;
use footprint::Footprint;
use rules::Rules;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Microseconds between two looks at the targets' resident set.
const SAMPLE_US: u64 = 500_000;

/// Applies schemes to the targets of a session, if there are any.
#[derive(Debug)]
pub struct Manager {
    rules: Rules,
    metrics: HostMetrics,
    footprint: Footprint,
    spent: CpuCost,
    monitor: CpuCost,
    elapsed_us: u64,
    sampled_us: Option<u64>,
    zram_size: Option<u64>,
    swap: Option<GuardedSwap>,
    stats: Option<PathBuf>,
}

impl Manager {
    /// Reads the schemes, and refuses what can't be done here. Changes nothing yet.
    pub fn new(args: &cli::Managing, memory: &VirtualMemory) -> Result<Self> {
        let rules = Rules::new(args)?;
        // A swap device that is yet to be set up will do.
        let swap_comes = args.zram.is_some();
        if args.act() {
            check(rules.schemes(), memory, swap_comes)?;
        }
        if let Some(path) = &args.stats {
            account::check_writable(path)?;
        }
        Ok(Self {
            rules,
            metrics: HostMetrics::new(),
            footprint: Footprint::default(),
            spent: CpuCost::default(),
            monitor: CpuCost::default(),
            elapsed_us: 0,
            sampled_us: None,
            zram_size: args.zram.filter(|_| args.act()),
            swap: None,
            stats: args.stats.clone(),
        })
    }

    /// Sets up swap, if it was asked for.
    pub fn set_up(&mut self) -> Result<()> {
        if let Some(bytes) = self.zram_size {
            self.swap = Some(GuardedSwap::set_up(bytes)?);
        }
        Ok(())
    }

    /// Goes on with these schemes, to other targets or to the same: with `anew`, nothing
    /// of what was seen and done so far is known any more. The footprint begins here.
    pub fn go_on_with(&mut self, schemes: Vec<Scheme>, anew: bool) {
        if anew {
            self.rules = Rules::of(schemes);
        } else {
            self.rules.replace(schemes);
        }
        self.forget_footprint();
    }

    /// The footprint begins anew.
    pub fn forget_footprint(&mut self) {
        self.footprint = Footprint::default();
        self.sampled_us = None;
    }

    /// What the targets took of memory.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// The swap that was set up.
    pub fn swap(&self) -> Option<TempSwap> {
        self.swap.as_ref().map(|swap| swap.swap().clone())
    }

    /// A flag that makes the schemes be read again; `None` without schemes.
    pub fn reload_flag(&self) -> Option<Arc<AtomicBool>> {
        self.rules.reload_flag()
    }

    /// The schemes, as reports name them.
    pub fn labels(&self) -> Vec<String> {
        self.rules.labels()
    }

    /// Applies the schemes to what `snapshot` shows: what was done.
    pub fn manage(
        &mut self,
        driver: &mut Driver<VirtualMemory>,
        snapshot: &Snapshot,
    ) -> Result<Vec<Done>> {
        if self.rules.is_empty() {
            return Ok(Vec::new());
        }
        self.monitor.monitor_us += snapshot.cost.cpu_us as f64;
        self.monitor.target_us += snapshot.cost.target_us as f64;
        self.elapsed_us = snapshot.end_us;
        self.metrics.set_targets(driver.access().pids());
        let (rules, metrics) = (&mut self.rules, &mut self.metrics);
        let acts = !rules.is_dry_run();
        let check = |schemes: &[Scheme]| match acts {
            true => check(schemes.iter(), driver.access(), false),
            false => Ok(()),
        };
        rules.reload_if_asked(check);
        let (passed, spent) = driver.apart(|memory| rules.pass(snapshot, memory, metrics));
        let done = passed.context("applying the schemes")?;
        self.spent.monitor_us += spent.monitor_us;
        self.spent.target_us += spent.target_us;
        let due = |at_us| snapshot.end_us >= at_us + SAMPLE_US;
        if self.sampled_us.is_none_or(due) {
            self.sampled_us = Some(snapshot.end_us);
            let memory = |pid| ProcessMemory::read(Path::new("/proc"), pid);
            let targets = driver.access().pids().filter_map(memory);
            let all = targets.fold((0, 0), |(resident, swap), one| {
                (resident + one.resident_bytes, swap + one.swap_bytes)
            });
            // Of processes that have ended nothing is known.
            if all != (0, 0) {
                let zram = self.swap.as_ref().and_then(GuardedSwap::usage);
                let zram_bytes = zram.map_or(0, |usage| usage.memory_bytes);
                self.footprint.add(snapshot.end_us, all.0, all.1, zram_bytes);
            }
        }
        Ok(done)
    }

    /// What there is to say while it goes on; `None` when there is no news.
    pub fn line(&self, snapshot: &Snapshot) -> Option<String> {
        let news = self.sampled_us == Some(snapshot.end_us);
        news.then(|| self.account().line())
    }

    /// Whether to end, as the terminal that this was started from is gone.
    pub fn is_abandoned(&self) -> bool {
        self.rules.is_abandoned()
    }

    /// The schemes, if they were read again since this was last asked.
    pub fn take_changed(&mut self) -> Option<Vec<String>> {
        self.rules.take_changed()
    }

    /// Each scheme's name and counters.
    pub fn outcome(&self) -> Vec<SchemeEnd> {
        self.rules.outcome()
    }

    /// Writes the counters, if that was asked for.
    pub fn write_stats(&self) -> Result<()> {
        self.stats.as_ref().map_or(Ok(()), |path| self.account().write(path))
    }

    /// Says on standard error what was done.
    pub fn tell(&self) {
        if !self.rules.is_empty() {
            self.account().tell();
        }
    }

    /// Puts the host back as it was.
    pub fn take_down(&mut self) -> Result<()> {
        Ok(self.swap.take().map_or(Ok(()), GuardedSwap::take_away)?)
    }

    fn account(&self) -> Account<'_> {
        Account {
            rules: &self.rules,
            footprint: &self.footprint,
            elapsed_us: self.elapsed_us,
            monitor: self.monitor,
            schemes: self.spent,
        }
    }
}

/// Refuses schemes that can't be applied here.
fn check<'a>(
    schemes: impl Iterator<Item = &'a Scheme>,
    memory: &VirtualMemory,
    swap_comes: bool,
) -> Result<()> {
    for scheme in schemes {
        if let Err(why) = memory.supports(scheme.action)
            && !(swap_comes && scheme.action.needs_swap())
        {
            bail!("scheme `{}` can't be applied here: {why}", scheme.label());
        }
    }
    Ok(())
}
