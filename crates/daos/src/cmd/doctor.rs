//! `daos doctor`: what this host offers and, for each thing missing, what to do.

mod actions;
mod confinement;
mod leftovers;
mod unit;

use crate::cli::{self, Plain};
use anyhow::Result;
use daos_bpf::{PhysicalMemory, VirtualMemory};
use daos_core::Host;
use daos_core::text::{safe, safe_lines};
use daos_core::units::display;
use daos_linux::census::Selection;
use daos_linux::support::{HugePages, Rights, Swap, has_btf};
use daos_linux::{damon, host, pid_namespace, zram};
use daos_monitor::windows::DEFAULT_MAX_OVERHEAD;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Of the kernels that daos was tried on.
const OLDEST_TRIED: (u32, u32) = (6, 1);

/// Whether something works here, and why (not).
#[derive(Debug, Serialize)]
struct Finding {
    ok: bool,
    why: String,
}

impl From<Result<String, String>> for Finding {
    fn from(found: Result<String, String>) -> Self {
        Self { ok: found.is_ok(), why: found.unwrap_or_else(|why| why) }
    }
}

/// All that was found, in the order in which it is shown.
#[derive(Debug, Serialize)]
struct Diagnosis {
    kernel: String,
    arch: String,
    backends: BTreeMap<&'static str, Finding>,
    actions: BTreeMap<&'static str, Finding>,
    swap: Swap,
    zram: Finding,
    thp: HugePages,
    /// What a `daos` that was killed could not take away.
    leftovers: Vec<leftovers::Leftover>,
    notes: Vec<String>,
}

/// Looks, and prints what it found.
pub fn run(args: &cli::Doctor) -> Result<i32> {
    if args.clean {
        return leftovers::clean();
    }
    let diagnosis = Diagnosis::here();
    let mut out = std::io::stdout().lock();
    match args.format {
        Plain::Json => writeln!(out, "{}", serde_json::to_string(&diagnosis)?)?,
        Plain::Text => {
            let mut text = Vec::new();
            diagnosis.print(&mut text)?;
            out.write_all(safe_lines(&String::from_utf8_lossy(&text)).as_bytes())?;
        }
    }
    Ok(0)
}

impl Diagnosis {
    fn here() -> Self {
        let (proc, sys) = (Path::new("/proc"), Path::new("/sys"));
        let host = host::here();
        let rights = Rights::of(proc, std::process::id());
        let swap = Swap::read(proc);
        let thp = HugePages::read(sys);
        let of_unit = unit::missing(Path::new("/"));
        let of_unit = of_unit.iter().map(|missing| format!("in this systemd unit: {missing}"));
        let notes = damon::running(sys)
            .iter()
            .map(|kdamond| {
                format!("a DAMON of the kernel is running ({kdamond}): it clears accessed bits too, so some accesses to single pages may be missed")
            })
            .chain(of_unit)
            .collect();
        let zram = zram::offer(Path::new("/"));
        let memory = match pid_namespace::other_pids(proc, std::process::id()) {
            Some(why) => Err(why),
            None => ebpf(&host, rights, sys),
        };
        let actions = actions::findings(memory.as_ref().ok());
        let physical = memory.as_ref().map_err(String::clone).and_then(|_| by_frame());
        let ebpf = memory.map(|_| "read our own page tables with eBPF".to_owned()).into();
        let simulated =
            Finding { ok: true, why: "needs nothing; give `daos record --sim FILE`".to_owned() };
        Self {
            backends: BTreeMap::from([
                ("ebpf-paddr", physical.into()),
                ("ebpf-vaddr", ebpf),
                ("sim", simulated),
            ]),
            actions,
            zram: on_zram(zram),
            leftovers: leftovers::found(),
            kernel: host.kernel,
            arch: host.arch,
            swap,
            thp,
            notes,
        }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "kernel      {} ({})", self.kernel, self.arch)?;
        writeln!(out, "\nWhat can read accesses:")?;
        print_findings(out, &self.backends)?;
        writeln!(out, "\nWhat schemes can do to memory:")?;
        print_findings(out, &self.actions)?;
        writeln!(out)?;
        match self.swap.devices.as_slice() {
            [] => writeln!(out, "swap        none")?,
            devices => writeln!(
                out,
                "swap        {} in {}, {} used",
                display::bytes(self.swap.total_bytes),
                safe(&devices.join(", ")),
                display::bytes(self.swap.used_bytes)
            )?,
        }
        writeln!(out, "zram        {}", self.zram.why)?;
        let enabled = if self.thp.enabled.is_empty() { "none" } else { &self.thp.enabled };
        writeln!(out, "huge pages  {enabled}")?;
        for leftover in &self.leftovers {
            writeln!(out, "left over   {}", leftover.why)?;
        }
        for note in &self.notes {
            writeln!(out, "note        {note}")?;
        }
        Ok(())
    }
}

fn print_findings(out: &mut impl Write, findings: &BTreeMap<&str, Finding>) -> Result<()> {
    for (name, finding) in findings {
        let mark = if finding.ok { "ok" } else { "NO" };
        writeln!(out, "  {mark}  {name:<11} {}", finding.why)?;
    }
    Ok(())
}

/// Whether accessed bits can be read: not by what the kernel says of itself, but
/// by doing it on our own page tables.
fn ebpf(host: &Host, rights: Rights, sys: &Path) -> Result<VirtualMemory, String> {
    if host.arch != "x86_64" {
        return Err(format!("{} is not supported yet, only x86_64; use --sim", host.arch));
    }
    if !has_btf(sys) {
        return Err(
            "the kernel has no type information: it needs CONFIG_DEBUG_INFO_BTF (Debian's has it)"
                .into(),
        );
    }
    match rights.missing().as_slice() {
        [] => VirtualMemory::new().map_err(|err| {
            let mut why = err.to_string();
            if let Some(lockdown) = confinement::lockdown(sys) {
                why += &format!("; {lockdown}");
            }
            if host.kernel_version() < OLDEST_TRIED {
                why += &format!("; kernel {} is older than any that daos was tried on: 6.1 or later is known to do", host.kernel);
            }
            why
        }),
        missing => Err(format!("missing {}: run daos as root", missing.join(", "))),
    }
}

/// Whether page frames can be followed to those who have them: likewise, by doing it.
fn by_frame() -> Result<String, String> {
    match PhysicalMemory::new(Selection::default(), 0, DEFAULT_MAX_OVERHEAD) {
        Ok(_) => Ok("found our own page frames with eBPF".to_owned()),
        Err(err) => Err(err.to_string()),
    }
}

/// Whether swap on zram can be set up.
fn on_zram(offer: zram::Offer) -> Finding {
    Finding::from(match offer {
        _ if !rustix::process::geteuid().is_root() => {
            Err("only root can set it up: run daos as root".to_owned())
        }
        zram::Offer::Unused(number) => Ok(format!("/dev/zram{number} is free to use")),
        zram::Offer::Another => Ok("the kernel makes a device when asked".to_owned()),
        zram::Offer::Nothing => Err("none; `modprobe zram` if the kernel has it".to_owned()),
    })
}
