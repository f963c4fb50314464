//! The bill: who holds how much memory, and how much of it is idle.
//!
//! As it is at the end of the last snapshot. What is said of a part of a target's memory is what
//! its access rate and its age say: of memory with accesses, the share that is expected to have
//! had one within a time; memory without any is as old as it says. What was mapped but never
//! touched is as old as can be, or can't be observed, and is not resident: so what regions have
//! beyond the resident set and what can't be observed is taken off the idle memory: off that which
//! was watched for a time, and off that which was not yet, by how much there is of each.
//!
//! Of what was watched for less than a time, nothing is said about that time.
//!
//! Page cache that nobody maps is nobody's, and has no accessed bits. It stands apart, by what the
//! kernel has noted of it, and is never idle memory.

mod table;
mod text;

use crate::format::{Format, RenderError};
use crate::names;
use crate::terminal::Style;
use daos_core::{
    Interval, KindsOfMemory, PageCache, Snapshot, TargetId, TargetInfo, TargetSnapshot, Usage,
};
use std::collections::BTreeMap;
use std::io::Write;

/// The formats of the bill.
pub const FORMATS: &[Format] = &[Format::Text, Format::Json, Format::Csv];

/// Times in microseconds within which memory was accessed.
pub const WITHIN_US: [u64; 2] = [1_000_000, 60_000_000];
/// Times in microseconds for which memory was idle at least.
pub const IDLE_US: [u64; 3] = [5_000_000, 60_000_000, 600_000_000];

/// Whose memory is one line of the bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnersBy {
    /// That of a process.
    #[default]
    Process,
    /// That of all processes in a cgroup.
    Cgroup,
    /// That of all processes of a program, by the name that its command line begins with.
    Name,
}

/// What to sum up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnersOptions {
    /// Whose memory is one line.
    pub by: OwnersBy,
    /// Only snapshots that overlap the time from the first to the second moment, in
    /// microseconds since the record began: the last of them is shown.
    pub time: Option<(u64, u64)>,
}

/// Memory of somebody, in bytes; `None` where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// What is resident. What processes share counts for each.
    pub resident: u64,
    /// What was accessed within each of [`WITHIN_US`].
    pub accessed: [Option<u64>; WITHIN_US.len()],
    /// What was not accessed for each of [`IDLE_US`] at least.
    pub idle: [Option<u64>; IDLE_US.len()],
    /// What is resident and could not be observed, or was not watched.
    pub unseen: u64,
    /// By kind; `None` in records that don't say.
    pub kinds: Option<KindsOfMemory>,
}

/// A line of the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Of a process its command line, of others the name of the program or of the cgroup; as
    /// the program chose it.
    pub name: String,
    /// The process, if it is one.
    pub pid: Option<u32>,
    /// The cgroup of the process, or of all.
    pub cgroup: Option<String>,
    /// How many processes it is.
    pub processes: u32,
    /// What they have.
    pub amounts: Amounts,
}

/// Who holds how much memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owners {
    /// When it was so, in microseconds since the record began.
    pub at_us: u64,
    /// How long anything was watched by then, in microseconds.
    pub watched_us: u64,
    /// Those with most resident first.
    pub owners: Vec<Owner>,
    /// All of them together.
    pub total: Amounts,
    /// Whether nothing later was seen: else it is not known of which kind the memory was.
    pub is_latest: bool,
    /// Page cache that none of them maps, where that is known: not in the total. Whoever has the
    /// bill made fills it in.
    pub page_cache: Option<PageCache>,
}

/// Sums up what the last of `intervals` says; what these fail with is passed through.
pub fn compute<E>(
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
    targets: &[TargetInfo],
    options: &OwnersOptions,
) -> Result<Owners, E> {
    let (from, to) = options.time.unwrap_or((0, u64::MAX));
    let mut watching = Watching::default();
    let (mut last, mut is_latest) = (None, true);
    for interval in intervals {
        let Interval { snapshot, .. } = interval?;
        if snapshot.start_us >= to {
            is_latest = false;
            break;
        }
        watching.add(&snapshot);
        if snapshot.end_us > from {
            last = Some(snapshot);
        }
    }
    // Of which kind it is, is known as it was at last.
    let without_kinds = |target: &TargetInfo| TargetInfo { memory: None, ..target.clone() };
    let before: Vec<_> =
        if is_latest { Vec::new() } else { targets.iter().map(without_kinds).collect() };
    let targets = if is_latest { targets } else { &before };
    Ok(Owners { is_latest, ..watching.bill(last.as_ref(), targets, &[], options.by) })
}

/// Since when each target was watched.
#[derive(Debug, Default)]
pub struct Watching {
    since_us: BTreeMap<TargetId, u64>,
    first_us: Option<u64>,
}

impl Watching {
    /// Notes who is watched in `snapshot`, which comes after those before.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.first_us.get_or_insert(snapshot.start_us);
        for target in &snapshot.targets {
            // Before its first regions there is nothing that was watched.
            if !target.regions.is_empty() {
                self.since_us.entry(target.id).or_insert(snapshot.start_us);
            }
        }
    }

    /// The bill at the end of `last`. `targets`: what is known of those in it; `others`: processes
    /// that were not watched, of which there is only what they have resident.
    pub fn bill(
        &self,
        last: Option<&Snapshot>,
        targets: &[TargetInfo],
        others: &[TargetInfo],
        by: OwnersBy,
    ) -> Owners {
        let infos: BTreeMap<TargetId, &TargetInfo> = targets.iter().map(|i| (i.id, i)).collect();
        let mut owners: BTreeMap<String, Owner> = BTreeMap::new();
        let mut total = Amounts::nothing();
        let mut add = |key: String, owner: Owner| {
            total.add(&owner.amounts);
            match owners.get_mut(&key) {
                Some(sum) => sum.add(&owner),
                None => _ = owners.insert(key, owner),
            }
        };
        for target in last.iter().flat_map(|last| &last.targets) {
            let info = infos.get(&target.id).copied();
            let since_us = self.since_us.get(&target.id).copied();
            let end_us = last.map_or(0, |last| last.end_us);
            let watched_us = since_us.map_or(0, |since_us| end_us.saturating_sub(since_us));
            let amounts = last.map(|last| Amounts::of(last, target, info, watched_us));
            let owner = Owner::new(target.id, info, amounts.unwrap_or_default(), by);
            add(owner.key(format!("target {}", target.id.0), by), owner);
        }
        for info in others {
            let kinds = info.memory.unwrap_or_default();
            let resident = kinds.resident_bytes();
            let amounts =
                Amounts { resident, unseen: resident, kinds: Some(kinds), ..Amounts::default() };
            let owner = Owner::new(info.id, Some(info), amounts, by);
            add(owner.key(format!("process {:?}", info.pid), by), owner);
        }
        let mut owners: Vec<Owner> = owners.into_values().collect();
        owners.sort_by_key(|owner| std::cmp::Reverse(owner.amounts.resident));
        let at_us = last.map_or(0, |last| last.end_us);
        let watched_us = at_us.saturating_sub(self.first_us.unwrap_or(at_us));
        Owners { at_us, watched_us, owners, total, is_latest: true, page_cache: None }
    }
}

impl Owner {
    fn new(id: TargetId, info: Option<&TargetInfo>, amounts: Amounts, by: OwnersBy) -> Self {
        let command = info.map_or("", |info| info.name.as_str());
        let cgroup = info.and_then(|info| info.cgroup.clone());
        let pid = info.and_then(|info| info.pid);
        let name = match by {
            OwnersBy::Process if command.is_empty() => format!("target {}", id.0),
            OwnersBy::Process => command.to_owned(),
            OwnersBy::Name => program(command).to_owned(),
            OwnersBy::Cgroup => cgroup.clone().unwrap_or_else(|| "(no cgroup)".to_owned()),
        };
        let is_process = by == OwnersBy::Process;
        let cgroup = cgroup.filter(|_| by != OwnersBy::Name);
        Self { name, pid: pid.filter(|_| is_process), cgroup, processes: 1, amounts }
    }

    /// What those have in common who are one line.
    fn key(&self, process: String, by: OwnersBy) -> String {
        if by == OwnersBy::Process { process } else { self.name.clone() }
    }

    fn add(&mut self, other: &Owner) {
        self.processes += other.processes;
        self.amounts.add(&other.amounts);
    }

    /// What it is called where it is shown.
    fn title(&self) -> String {
        let name = names::printable(&self.name);
        match (self.pid, self.processes) {
            (Some(pid), _) => format!("{name} ({pid})"),
            (None, 1) => name,
            (None, n) => format!("{name} ({n} processes)"),
        }
    }
}

/// The name of the program that a command line begins with.
fn program(command: &str) -> &str {
    let first = command.split_whitespace().next().unwrap_or("");
    let name = first.rsplit('/').next().unwrap_or(first);
    // Daemons say more of themselves behind a colon.
    let name = name.trim_end_matches(':');
    if name.is_empty() { "(no name)" } else { name }
}

impl Amounts {
    /// What sums begin with.
    fn nothing() -> Self {
        let kinds = Some(KindsOfMemory::default());
        Self { kinds, ..Self::default() }
    }

    fn of(
        snapshot: &Snapshot,
        target: &TargetSnapshot,
        info: Option<&TargetInfo>,
        watched_us: u64,
    ) -> Self {
        let kinds = info.and_then(|info| info.memory);
        let resident = target.resident_bytes.or(kinds.map(|kinds| kinds.resident_bytes()));
        let resident = resident.unwrap_or_else(|| target.mapped_bytes());
        let within = Usage::of(snapshot, target, WITHIN_US);
        let idle_for = Usage::of(snapshot, target, IDLE_US);
        let bytes = |bytes: f64| (bytes.max(0.0).round() as u64).min(resident);
        let unseen =
            resident - bytes(idle_for[0].observed_of(resident).max(idle_for[0].accessed()));
        let known = |time_us: u64, of: f64| (time_us <= watched_us).then_some(bytes(of));
        let accessed = std::array::from_fn(|at| known(WITHIN_US[at], within[at].accessed()));
        let idle = std::array::from_fn(|at| known(IDLE_US[at], idle_for[at].idle_of(resident)));
        Self { resident, accessed, idle, unseen, kinds }
    }

    /// What is known of one of both is known of the sum.
    fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.resident = self.resident.saturating_add(other.resident);
        self.unseen = self.unseen.saturating_add(other.unseen);
        self.accessed = std::array::from_fn(|at| sum(self.accessed[at], other.accessed[at]));
        self.idle = std::array::from_fn(|at| sum(self.idle[at], other.idle[at]));
        self.kinds = self.kinds.zip(other.kinds).map(|(a, b)| a.and(&b));
    }
}

/// Whether the bill comes in this format: it is no picture.
///
/// # Errors
///
/// [`RenderError::Unsupported`] if not.
pub fn check(format: Format) -> Result<(), RenderError> {
    if FORMATS.contains(&format) { Ok(()) } else { Err(format.refused("owners", FORMATS)) }
}

/// Writes the bill.
///
/// # Errors
///
/// [`RenderError::Unsupported`] for a picture, [`RenderError::Write`] if `out` fails.
pub fn render(
    owners: &Owners,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    check(format)?;
    match format {
        Format::Json => table::json(owners, out),
        Format::Csv => table::csv(owners, out),
        _ => text::write(owners, style, out),
    }
}

#[cfg(test)]
mod tests;
