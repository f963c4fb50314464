//! What schemes did: in a line, in some more, and as JSON.

use super::footprint::{Course, Footprint};
use super::rules::Rules;
use anyhow::{Context, Result};
use daos_cli::whole_file::WholeFile;
use daos_core::CpuCost;
use daos_core::units::display;
use daos_core::{Action, SchemeStats};
use daos_schemes::Scheme;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// All there is to tell.
#[derive(Debug)]
pub struct Account<'a> {
    pub rules: &'a Rules,
    pub footprint: &'a Footprint,
    pub elapsed_us: u64,
    /// CPU time that went into monitoring, and into schemes.
    pub monitor: CpuCost,
    pub schemes: CpuCost,
}

#[derive(Debug, Serialize)]
struct AccountJson<'a> {
    elapsed_us: u64,
    dry_run: bool,
    resident_bytes: Course,
    swap_bytes: Course,
    zram_bytes: Course,
    monitor_cpu_us: u64,
    monitor_target_us: u64,
    schemes_cpu_us: u64,
    schemes_target_us: u64,
    schemes: Vec<SchemeJson<'a>>,
}

#[derive(Debug, Serialize)]
struct SchemeJson<'a> {
    scheme: String,
    action: &'static str,
    #[serde(flatten)]
    stats: &'a SchemeStats,
}

impl Account<'_> {
    /// While it goes on.
    pub fn line(&self) -> String {
        let Footprint { resident, swap, zram, .. } = self.footprint;
        let mut line = format!(
            "{:.0} s, resident {}, swap {}",
            self.elapsed_us as f64 / 1e6,
            display::bytes(resident.last),
            display::bytes(swap.last)
        );
        if zram.last > 0 {
            line += &format!(" (in {})", display::bytes(zram.last));
        }
        for (scheme, stats) in self.rules.stats() {
            line += &format!(" | {}: {}", short(scheme), self.gist(scheme, stats));
        }
        line
    }

    /// At the end, on standard error.
    pub fn tell(&self) {
        let seconds = self.elapsed_us as f64 / 1e6;
        for (scheme, stats) in self.rules.stats() {
            daos_cli::say!(
                "daos: {}: {}{}",
                scheme.label(),
                self.gist(scheme, stats),
                details(stats, seconds)
            );
        }
        let Footprint { resident, whole, zram, .. } = self.footprint;
        if resident.max > 0 {
            let less = 1.0 - (resident.mean + zram.mean) as f64 / whole.mean.max(1) as f64;
            let with_zram = match zram.mean {
                0 => String::new(),
                mean => format!(" and {} of compressed swap", display::bytes(mean)),
            };
            daos_cli::say!(
                "daos: resident set {} at the end, {} at its peak; on average {}{with_zram}, of {}: {} less",
                display::bytes(resident.last),
                display::bytes(resident.max),
                display::bytes(resident.mean),
                display::bytes(whole.mean),
                display::percent(less.max(0.0)),
            );
        }
        let share = |us: f64| display::percent(us / self.elapsed_us.max(1) as f64);
        daos_cli::say!(
            "daos: over {seconds:.1} s, monitoring took {} of one CPU and {} of the target's, the schemes {} and {}",
            share(self.monitor.monitor_us),
            share(self.monitor.target_us),
            share(self.schemes.monitor_us),
            share(self.schemes.target_us),
        );
    }

    /// What a scheme did, or would have done.
    fn gist(&self, scheme: &Scheme, stats: &SchemeStats) -> String {
        let would = if self.rules.is_dry_run() { "would have " } else { "" };
        let done = match scheme.action {
            Action::Stat => {
                let mean = stats.tried_bytes / stats.passes.max(1);
                return format!("{} fit on average", display::bytes(mean));
            }
            Action::Pageout => "paged out",
            Action::Willneed => "read back",
            Action::Cold => "called cold",
            Action::Hugepage => "made huge",
            Action::Nohugepage => "made small",
            Action::Lock => "brought back",
        };
        format!("{would}{done} {}", display::bytes(stats.applied_bytes))
    }

    /// To a file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let json = AccountJson {
            elapsed_us: self.elapsed_us,
            dry_run: self.rules.is_dry_run(),
            resident_bytes: self.footprint.resident,
            swap_bytes: self.footprint.swap,
            zram_bytes: self.footprint.zram,
            monitor_cpu_us: self.monitor.monitor_us.round() as u64,
            monitor_target_us: self.monitor.target_us.round() as u64,
            schemes_cpu_us: self.schemes.monitor_us.round() as u64,
            schemes_target_us: self.schemes.target_us.round() as u64,
            schemes: self
                .rules
                .stats()
                .map(|(scheme, stats)| SchemeJson {
                    scheme: scheme.label(),
                    action: scheme.action.name(),
                    stats,
                })
                .collect(),
        };
        let mut text = serde_json::to_vec_pretty(&json)?;
        text.push(b'\n');
        let write = || {
            let mut file = WholeFile::create(path)?;
            file.write_all(&text)?;
            file.finish()
        };
        write().with_context(|| format!("cannot write the counters to {}", path.display()))
    }
}

/// Refuses a path that could not be written at the end.
pub fn check_writable(path: &Path) -> Result<()> {
    WholeFile::check(path).with_context(|| format!("--stats {}: can't be written", path.display()))
}

/// A name that fits into a line.
fn short(scheme: &Scheme) -> String {
    scheme.name.clone().unwrap_or_else(|| scheme.action.name().to_owned())
}

/// What else there is to say of a scheme.
fn details(stats: &SchemeStats, seconds: f64) -> String {
    let mut text = String::new();
    if stats.spared_bytes > 0 {
        text +=
            &format!(", left {} in use (all passes together)", display::bytes(stats.spared_bytes));
    }
    if stats.bloat_bytes != 0 {
        let verb = if stats.bloat_bytes > 0 { "added" } else { "gave back" };
        text += &format!(", {verb} {}", display::bytes(stats.bloat_bytes.unsigned_abs()));
    }
    for (why, bytes) in &stats.refused_bytes {
        text += &format!(", refused {} ({})", display::bytes(*bytes), why.name());
    }
    if stats.quota_exceeded > 0 {
        text += &format!(", used up its quota {} times", stats.quota_exceeded);
    }
    if stats.slept > 0 {
        let share = stats.slept as f64 / (stats.slept + stats.passes) as f64;
        text += &format!(", slept {} of the time", display::percent(share));
    }
    text + &format!("; took {:.2} s of {seconds:.1} s", stats.spent_us / 1e6)
}
