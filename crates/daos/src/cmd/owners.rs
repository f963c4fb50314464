//! `daos owners`: looks at all processes for a while, and shows who holds how much memory.

use crate::cli;
use crate::cmd::everyone;
use crate::cmd::monitoring;
use crate::cmd::report::output::Output;
use crate::cmd::session;
use anyhow::Result;
use daos_cli::{Usage, signals};
use daos_core::{Snapshot, TargetId, TargetInfo, TargetSnapshot};
use daos_linux::census::{Census, Selection, Verdict};
use daos_linux::{memory, process, rights};
use daos_report::owners::{self, Watching};
use daos_session::{Session, Targets};
use std::collections::BTreeMap;
use std::path::Path;

/// Looks until the time is over or Ctrl-C, and shows what was seen.
pub fn run(args: &cli::Owners) -> Result<i32> {
    let monitor = monitoring::monitor(&args.monitoring)?;
    if args.duration == 0 {
        return Err(Usage("--for 0 sees nothing; give a time such as 10s".into()).into());
    }
    let looking = &args.monitoring.looking;
    looking.check_live()?;
    if looking.backend == cli::Backend::Sim {
        return Err(Usage("processes are not simulated; leave out --backend sim".into()).into());
    }
    let selecting = cli::Selecting {
        cgroup: args.cgroup.clone(),
        min_rss: args.min_rss,
        include_system: false,
    };
    let selection = everyone::selection(&selecting, false, args.user.as_deref())?;
    let mut output = Output::open(args.format, args.output.as_ref())?;
    owners::check(output.format).map_err(|err| Usage(err.to_string()))?;
    let most = everyone::most(looking);
    let targets = Targets::open_everyone(selection.clone(), most, looking.max_overhead)?;
    if !args.quiet {
        session::tell_of_others();
    }
    let stop = signals::stop_flag(None)?;
    let live = targets.watch(None, monitor, Some(args.duration), stop)?;
    rights::keep(rights::watch() | rights::WRITE_FILES)?;
    let mut session = Session::new(live, Default::default());
    let bar = session::progress(!args.quiet, "looking", Some(args.duration));
    let (mut watching, mut page_cache) = (Watching::default(), None);
    let mut last: Option<Snapshot> = None;
    let mut infos: BTreeMap<TargetId, TargetInfo> = BTreeMap::new();
    while let Some(interval) = session.next_interval()? {
        if !args.quiet {
            session::tell_notes(&mut session);
        }
        for info in session.changed_targets() {
            page_cache = info.page_cache.or(page_cache);
            infos.insert(info.id, info);
        }
        watching.add(&interval.snapshot);
        bar.set_position(interval.snapshot.end_us);
        last = Some(interval.snapshot);
    }
    bar.finish_and_clear();
    // Those that there was no time to look at are as those that are no targets.
    if let Some(last) = &mut last {
        let was_seen = |target: &TargetSnapshot| !target.regions.is_empty();
        last.targets.retain(|target| was_seen(target) && infos.contains_key(&target.id));
    }
    let ids = last.iter().flat_map(|last| last.targets.iter().map(|target| target.id));
    let watched: Vec<u32> = ids.filter_map(|id| infos[&id].pid).collect();
    let others = others(selection, &watched);
    let infos: Vec<TargetInfo> = infos.into_values().collect();
    let mut bill = watching.bill(last.as_ref(), &infos, &others, args.by.into());
    bill.page_cache = page_cache;
    let format = output.format;
    let style = output.style(&args.color);
    owners::render(&bill, format, &style, &mut output)?;
    output.finish()?;
    Ok(0)
}

/// Processes that are meant and were not watched: they are too many, or came late.
fn others(selection: Selection, watched: &[u32]) -> Vec<TargetInfo> {
    let (root, proc) = (Path::new("/"), Path::new("/proc"));
    let mut census = Census::new(root, selection);
    let mut others = Vec::new();
    while let Some(counted) = census.step() {
        if counted.verdict != Verdict::Fits || watched.contains(&counted.pid) {
            continue;
        }
        let pid = counted.pid;
        others.push(TargetInfo {
            id: TargetId(u32::MAX),
            pid: Some(pid),
            name: process::name(proc, pid),
            mappings: Vec::new(),
            cgroup: census.cgroup_of(pid),
            memory: memory::kinds(proc, pid),
            ownership: None,
            page_cache: None,
        });
    }
    others
}
