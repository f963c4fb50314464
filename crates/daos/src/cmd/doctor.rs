//! `daos doctor`: what this host offers and, for each thing missing, what to do.

use crate::cli::{self, Plain};
use anyhow::Result;
use daos_bpf::VirtualMemory;
use daos_core::Host;
use daos_linux::support::{HugePages, Rights, Swap, has_btf};
use daos_linux::{damon, host};
use daos_report::units;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Whether something works here, and why (not).
#[derive(Debug, Serialize)]
struct Finding {
    ok: bool,
    why: String,
}

/// All that was found, in the order in which it is shown.
#[derive(Debug, Serialize)]
struct Diagnosis {
    kernel: String,
    arch: String,
    backends: BTreeMap<&'static str, Finding>,
    actions: BTreeMap<&'static str, Finding>,
    swap: Swap,
    thp: HugePages,
    notes: Vec<String>,
}

/// Looks, and prints what it found.
pub fn run(args: &cli::Doctor) -> Result<i32> {
    let diagnosis = Diagnosis::here();
    let mut out = std::io::stdout().lock();
    match args.format {
        Plain::Json => writeln!(out, "{}", serde_json::to_string(&diagnosis)?)?,
        Plain::Text => diagnosis.print(&mut out)?,
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
        let notes = damon::running(sys)
            .iter()
            .map(|kdamond| {
                format!("a DAMON of the kernel is running ({kdamond}): it clears accessed bits too, so some accesses may be missed")
            })
            .collect();
        let simulated =
            Finding { ok: true, why: "needs nothing; give `daos record --sim FILE`".to_owned() };
        Self {
            backends: BTreeMap::from([
                ("ebpf-vaddr", ebpf(&host, rights, sys)),
                ("sim", simulated),
            ]),
            actions: actions(&host, rights, &swap, &thp),
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
        writeln!(out, "\nWhat the kernel would do to a process's memory:")?;
        print_findings(out, &self.actions)?;
        writeln!(out)?;
        match self.swap.devices.as_slice() {
            [] => writeln!(out, "swap        none")?,
            devices => writeln!(
                out,
                "swap        {} in {}, {} used",
                units::bytes(self.swap.total_bytes),
                devices.join(", "),
                units::bytes(self.swap.used_bytes)
            )?,
        }
        let enabled = if self.thp.enabled.is_empty() { "none" } else { &self.thp.enabled };
        writeln!(out, "huge pages  {enabled}")?;
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
fn ebpf(host: &Host, rights: Rights, sys: &Path) -> Finding {
    let no = |why: String| Finding { ok: false, why };
    if host.arch != "x86_64" {
        return no(format!("{} is not supported yet, only x86_64; use --sim", host.arch));
    }
    if host.kernel_version() < (6, 1) {
        return no(format!("kernel {} is too old: 6.1 or later is needed", host.kernel));
    }
    if !has_btf(sys) {
        return no(
            "the kernel has no type information: it needs CONFIG_DEBUG_INFO_BTF (Debian's has it)"
                .into(),
        );
    }
    match rights.missing().as_slice() {
        [] => {}
        missing => return no(format!("missing {}: run daos as root", missing.join(", "))),
    }
    match VirtualMemory::new() {
        Ok(_) => Finding { ok: true, why: "read our own page tables with eBPF".to_owned() },
        Err(err) => no(err.to_string()),
    }
}

/// What `process_madvise` would do to another process here.
fn actions(
    host: &Host,
    rights: Rights,
    swap: &Swap,
    thp: &HugePages,
) -> BTreeMap<&'static str, Finding> {
    let may = !rights.missing().contains(&"CAP_SYS_NICE");
    let since = |version: (u32, u32)| host.kernel_version() >= version;
    let finding = |version: (u32, u32), extra: Option<&str>| {
        if !may {
            Finding { ok: false, why: "missing CAP_SYS_NICE: run daos as root".into() }
        } else if !since(version) {
            Finding { ok: false, why: format!("needs kernel {}.{}", version.0, version.1) }
        } else if let Some(extra) = extra {
            Finding { ok: false, why: extra.into() }
        } else {
            Finding { ok: true, why: "process_madvise takes it".into() }
        }
    };
    let no_swap = (swap.total_bytes == 0).then_some(
        "only file pages: there is no swap for anonymous memory; add one (zram, a file)",
    );
    let no_thp = matches!(thp.enabled.as_str(), "" | "never").then_some(
        "huge pages are off; set /sys/kernel/mm/transparent_hugepage/enabled to madvise",
    );
    BTreeMap::from([
        ("cold", finding((5, 10), None)),
        ("hugepage", finding((6, 1), no_thp)),
        ("pageout", finding((5, 10), no_swap)),
        ("willneed", finding((5, 15), None)),
    ])
}
