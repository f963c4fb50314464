//! What schemes did: in a line, in some more, and as JSON.

use anyhow::{Context, Result};
use daos_cli::whole_file::WholeFile;
use daos_core::text::safe;
use daos_core::units::display;
use daos_core::{Action, SchemeStats};
use daos_record::SchemeEnd;
use daos_schemes::Scheme;
use daos_session::{Account, ActiveSchemes, ByteSeries, MemorySeries, Session, Source};
use daos_sim::MemoryUse;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// All there is to tell.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub schemes: &'a ActiveSchemes,
    pub account: &'a Account,
}

#[derive(Debug, Serialize)]
struct AccountJson<'a> {
    elapsed_us: u64,
    dry_run: bool,
    resident_bytes: ByteSeries,
    swap_bytes: ByteSeries,
    zram_bytes: ByteSeries,
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

impl<'a> Told<'a> {
    /// What a session did so far.
    pub fn of<S: Source>(session: &'a Session<S>) -> Self {
        Self { schemes: session.schemes(), account: session.account() }
    }

    /// While it goes on.
    pub fn line(&self) -> String {
        let MemorySeries { resident, swap, zram, .. } = &self.account.memory;
        let mut line = format!(
            "{:.0} s, resident {}, swap {}",
            self.account.elapsed_us as f64 / 1e6,
            display::bytes(resident.last),
            display::bytes(swap.last)
        );
        if zram.last > 0 {
            line += &format!(" (in {})", display::bytes(zram.last));
        }
        for (scheme, stats) in self.schemes.stats() {
            line += &format!(" | {}: {}", short(scheme), self.gist(scheme, stats));
        }
        line
    }

    /// At the end, on standard error, if there are schemes.
    pub fn tell(&self) {
        if self.schemes.is_empty() {
            return;
        }
        let seconds = self.account.elapsed_us as f64 / 1e6;
        for (scheme, stats) in self.schemes.stats() {
            daos_cli::say!(
                "daos: {}: {}{}",
                safe(&scheme.label()),
                self.gist(scheme, stats),
                details(stats, seconds)
            );
        }
        let MemorySeries { resident, zram, .. } = &self.account.memory;
        if resident.max > 0 && self.schemes.is_dry_run() {
            daos_cli::say!(
                "daos: resident set {} at the end, {} at its peak",
                display::bytes(resident.last),
                display::bytes(resident.max),
            );
        } else if resident.max > 0 {
            let with_zram = match zram.mean {
                0 => String::new(),
                mean => format!(" and {} of compressed swap", display::bytes(mean)),
            };
            let gave_or_took = self.schemes.stats().any(|(_, stats)| stats.bloat_bytes != 0);
            daos_cli::say!(
                "daos: resident set {} at the end, {} at its peak; on average {}{with_zram}{}",
                display::bytes(resident.last),
                display::bytes(resident.max),
                display::bytes(resident.mean),
                compared(&self.account.memory, gave_or_took),
            );
        }
        let share = |us: f64| display::percent(us / self.account.elapsed_us.max(1) as f64);
        daos_cli::say!(
            "daos: over {seconds:.1} s, monitoring took {} of one CPU and {} of the target's, the schemes {} and {}",
            share(self.account.monitor.monitor_us),
            share(self.account.monitor.target_us),
            share(self.account.schemes.monitor_us),
            share(self.account.schemes.target_us),
        );
    }

    /// What a scheme did, or would have done.
    fn gist(&self, scheme: &Scheme, stats: &SchemeStats) -> String {
        let would = if self.schemes.is_dry_run() { "would have " } else { "" };
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

    /// Each scheme's name and counters.
    pub fn scheme_ends(&self) -> Vec<SchemeEnd> {
        let end = |(scheme, stats): (&Scheme, &SchemeStats)| SchemeEnd {
            label: scheme.label(),
            stats: stats.clone(),
        };
        self.schemes.stats().map(end).collect()
    }

    /// Writes the counters, if that was asked for.
    pub fn write_stats(&self, path: Option<&Path>) -> Result<()> {
        path.map_or(Ok(()), |path| self.write(path))
    }

    /// To a file, whole or not at all, or to standard output for `-`.
    fn write(&self, path: &Path) -> Result<()> {
        let json = AccountJson {
            elapsed_us: self.account.elapsed_us,
            dry_run: self.schemes.is_dry_run(),
            resident_bytes: self.account.memory.resident,
            swap_bytes: self.account.memory.swap,
            zram_bytes: self.account.memory.zram,
            monitor_cpu_us: self.account.monitor.monitor_us.round() as u64,
            monitor_target_us: self.account.monitor.target_us.round() as u64,
            schemes_cpu_us: self.account.schemes.monitor_us.round() as u64,
            schemes_target_us: self.account.schemes.target_us.round() as u64,
            schemes: self
                .schemes
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
            if path == Path::new("-") {
                return std::io::stdout().lock().write_all(&text);
            }
            let mut file = WholeFile::create(path)?;
            file.write_all(&text)?;
            file.finish()
        };
        write().with_context(|| {
            let path = path.display();
            format!("cannot write the counters to {path}; choose another file, or free some room")
        })
    }
}

/// Says on standard error how much a simulated target was slowed down or sped up.
pub fn tell_slowdown(memory: &MemoryUse) {
    let slowdown = memory.slowdown();
    daos_cli::say!(
        "daos: the target was {} by {}: {} waited for pages of swap, {} saved by huge pages",
        if slowdown < 0.0 { "sped up" } else { "slowed" },
        display::percent(slowdown.abs()),
        display::duration(memory.stall_us as u64),
        display::duration(memory.gain_us as u64),
    );
}

/// How much less that is than it would be without schemes, as far as what is in swap tells.
/// `gave_or_took`: they split or made huge pages, too, and so memory was given back or added. How
/// much of that would be there by now nobody knows: where hardly anything went to swap besides,
/// nothing is said.
fn compared(memory: &MemorySeries, gave_or_took: bool) -> String {
    let MemorySeries { resident, swap, whole, zram, .. } = memory;
    // What was in swap before is none of their doing.
    let before = swap.first.min(swap.mean);
    let whole = whole.mean.saturating_sub(before);
    let less = 1.0 - (resident.mean + zram.mean) as f64 / whole.max(1) as f64;
    match gave_or_took && less < 0.01 {
        true => String::new(),
        false => {
            format!(", of {}: {} less", display::bytes(whole), display::percent(less.max(0.0)))
        }
    }
}

/// A name that fits into a line.
fn short(scheme: &Scheme) -> String {
    scheme.name.as_deref().map_or_else(|| scheme.action.name().to_owned(), safe)
}

/// What else there is to say of a scheme.
fn details(stats: &SchemeStats, seconds: f64) -> String {
    let mut text = String::new();
    if stats.page_cache_bytes > 0 {
        text += &format!(
            " ({} of it page cache that nobody maps)",
            display::bytes(stats.page_cache_bytes)
        );
    }
    if stats.refault_bytes > 0 {
        text += &format!(" ({} came back)", display::bytes(stats.refault_bytes));
    }
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
        let share = (stats.slept_us as f64 / 1e6 / seconds.max(1e-6)).min(1.0);
        text += &format!(", slept {} of the time", display::percent(share));
    }
    text + &format!("; took {:.2} s of {seconds:.1} s", stats.spent_us / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_session::MemoryUse;

    const MIB: u64 = 1 << 20;

    /// 100 MiB that are resident, and later 25 and what is in swap.
    fn series(swap_mib: u64) -> MemorySeries {
        let mut series = MemorySeries::default();
        let all = MemoryUse { resident: 100 * MIB, ..MemoryUse::default() };
        series.add(0, all);
        series.add(1, MemoryUse { resident: 25 * MIB, swap: swap_mib * MIB, zram: 0 });
        series
    }

    #[test]
    fn what_is_in_swap_is_what_there_is_less() {
        assert_eq!(compared(&series(75), false), ", of 100 MiB: 75 % less");
        assert_eq!(compared(&series(0), false), ", of 25 MiB: 0 % less");
    }

    #[test]
    fn what_huge_pages_gave_back_is_not_called_nothing() {
        assert_eq!(compared(&series(0), true), "");
        assert_eq!(compared(&series(75), true), ", of 100 MiB: 75 % less");
    }
}
