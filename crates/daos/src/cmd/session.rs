//! From flags to a session, and what the commands that run one have in common.

use crate::cli;
use crate::cmd::everyone;
use anyhow::{Context, Result, bail};
use daos_cli::{Usage, WholeFile, say, scheme_error};
use daos_core::text::safe;
use daos_core::units::display;
use daos_linux::support::SwapDevice;
use daos_linux::{GuardedSwap, User, damon, rights};
use daos_monitor::AnyMonitor;
use daos_schemes::Scheme;
use daos_session::{
    ActiveSchemes, Ended, Ending, Live, Session, SimSource, Source, Started, Stop, Surroundings,
    Targets,
};
use daos_sim::{CostModel, MemoryModel, SimOptions, SimSpace};
use daos_workload::Config;
use indicatif::ProgressBar;
use rustix::thread::CapabilitySet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a command needs to begin on live processes. Nothing was started or changed yet.
#[derive(Debug)]
pub struct Prepared {
    targets: Targets,
    schemes: ActiveSchemes,
    zram: cli::Zram,
}

/// What becomes of what is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Schemes go by it, and nothing else.
    Manage,
    /// It is told, too, by its addresses.
    Tell,
}

impl Prepared {
    /// Refuses what can be refused before anything is started, written or changed.
    pub fn new(
        target: &cli::Target,
        managing: &cli::Managing,
        user: Option<&str>,
        looking: &cli::Looking,
        purpose: Purpose,
    ) -> Result<Self> {
        let schemes = schemes(managing)?;
        // Schemes act by those who have memory; only where addresses matter are they found for it.
        let by_address =
            purpose == Purpose::Tell || schemes.stats().any(|(scheme, _)| scheme.goes_by_address());
        let (pids, children) = (&target.forms.pid, target.children);
        let max_overhead = looking.max_overhead;
        // A dry run counts what the real one would take, and of whom.
        let manages = !managing.schemes.is_empty();
        let targets = if target.forms.all {
            let selection = everyone::selection(&target.selecting, manages, user)?;
            Targets::open_everyone(selection, everyone::most(looking), max_overhead)?
        } else if target.forms.paddr {
            let selection = everyone::selection(&target.selecting, manages, user)?;
            let most = everyone::most(looking);
            match by_address {
                true => Targets::open_machine(selection, most, max_overhead)?,
                false => Targets::open_owners(selection, most, max_overhead)?,
            }
        } else {
            Targets::open(pids, children, managing.act(), max_overhead)?
        };
        schemes.check(|scheme: &Scheme| targets.tell(scheme))?;
        // A swap device that is yet to be set up will do.
        let swap_comes = managing.zram.bytes.is_some();
        schemes.check(|scheme: &Scheme| match targets.supports(scheme) {
            Err(_) if swap_comes && scheme.action.needs_swap() => Ok(()),
            supported => supported,
        })?;
        let zram = if managing.act() { managing.zram } else { cli::Zram::default() };
        Ok(Self { targets, schemes, zram })
    }

    /// For these schemes, which were checked before, and with swap that is there already.
    pub fn again(
        target: &cli::Target,
        schemes: Vec<Scheme>,
        max_overhead: Option<f64>,
    ) -> Result<Self> {
        let targets = Targets::open(&target.forms.pid, target.children, true, max_overhead)?;
        Ok(Self { targets, schemes: ActiveSchemes::of(schemes), zram: cli::Zram::default() })
    }

    /// A flag that makes the schemes be read again; `None` without schemes.
    pub fn reload_flag(&self) -> Option<Arc<AtomicBool>> {
        self.schemes.reload_flag()
    }

    /// As [`set_up_swap`].
    pub fn set_up_swap(&self, quiet: bool) -> Result<Option<GuardedSwap>> {
        set_up_swap(self.zram, quiet)
    }

    /// Begins to watch the targets, and the command that was started.
    pub fn watch(
        self,
        command: Option<&Started>,
        monitor: AnyMonitor,
        duration_us: Option<u64>,
        stop: &Arc<AtomicBool>,
        swap: Option<&GuardedSwap>,
    ) -> Result<Session<Live>> {
        let live = self.targets.watch(command, monitor, duration_us, Arc::clone(stop))?;
        let live = live.with_swap(swap.map(|swap| swap.swap().clone()));
        Ok(Session::new(live, self.schemes).stopping(Arc::clone(stop)))
    }
}

/// Sets up swap, if it was asked for, and says whose it is unless that is to be `quiet`.
pub fn set_up_swap(zram: cli::Zram, quiet: bool) -> Result<Option<GuardedSwap>> {
    let swap = zram.options().map(GuardedSwap::set_up).transpose()?;
    if let Some(swap) = swap.as_ref().filter(|_| !quiet) {
        let (device, size_bytes) = (swap.device(), swap.size_bytes());
        let size = display::bytes(size_bytes);
        let (limit, priority) = (swap.swap().limit_bytes(), swap.swap().priority());
        say!(
            "daos: {} is swap of {size} until daos ends (at most {} of memory, priority {priority}); it is the machine's: other processes use it too",
            device.display(),
            display::bytes(limit)
        );
        let others = SwapDevice::all(Path::new("/proc"));
        if limit < size_bytes && others.iter().any(|other| Path::new(&other.name) != device) {
            say!(
                "daos: note: while those {} are taken, the kernel goes on to no other swap before the {size} are full: give a --zram that is no larger, where the rest is to go there",
                display::bytes(limit)
            );
        }
    }
    Ok(swap)
}

/// Takes away the swap that was set up, and goes on with what was `done`. Of two failures the
/// swap's is said, and the other goes on.
pub fn take_away<T>(swap: Option<GuardedSwap>, done: Result<T>) -> Result<T> {
    let taken = swap.map_or(Ok(()), |swap| swap.take_away());
    match (done, taken) {
        (Ok(done), taken) => Ok(taken.map(|()| done)?),
        (Err(err), Ok(())) => Err(err),
        (Err(err), Err(left)) => {
            say!("daos: {left}");
            Err(err)
        }
    }
}

/// The schemes that were named, if the file for their counters can be written.
fn schemes(managing: &cli::Managing) -> Result<ActiveSchemes> {
    if let Some(path) = managing.stats.as_ref().filter(|path| *path != Path::new("-")) {
        let refused =
            || format!("--stats {}: can't be written; choose a file that can be", path.display());
        WholeFile::check(path).with_context(refused)?;
    }
    ActiveSchemes::read(&managing.schemes, managing.dry_run).map_err(scheme_error)
}

/// As whom what was given is run; `None` for who runs this. `asked`: the user that was named.
pub fn user(asked: Option<&str>) -> Result<Option<User>> {
    User::for_command(asked).map_err(|err| Usage(err.to_string()).into())
}

/// As whom the command runs, if one was given.
pub fn user_of_command(target: &cli::Target, asked: Option<&str>) -> Result<Option<User>> {
    match (target.forms.command.is_empty(), asked) {
        (true, Some(_)) if target.forms.all || target.forms.paddr => Ok(None),
        (true, Some(_)) => {
            bail!(Usage("--user is for a command, --all or --paddr: give one behind --".into()))
        }
        (true, None) => Ok(None),
        (false, _) => user(asked),
    }
}

/// Tells that commands run as another user than this.
pub fn tell_user(user: Option<&User>) {
    if let Some(user) = user {
        let (name, uid) = (user.name(), user.uid());
        say!("daos: commands run as {name} (user {uid}); --user takes another, such as root");
    }
}

/// Starts the command that was given, if one was.
pub fn start(
    target: &cli::Target,
    user: Option<&User>,
    surroundings: Surroundings<'_>,
) -> Result<Option<Started>> {
    match target.forms.command.as_slice() {
        [] => Ok(None),
        command => Ok(Some(Started::spawn(command, user, surroundings)?)),
    }
}

/// Gives up all rights but those that it takes to go on, now that everything is set up and
/// open. Holds for this thread. `command`: one that was started, which may run as another user
/// by now.
pub fn keep_rights(
    managing: &cli::Managing,
    command: Option<&Started>,
    swap: Option<&GuardedSwap>,
) -> Result<()> {
    let kept = [
        (true, rights::watch()),
        (command.is_some(), rights::END_COMMANDS),
        (!managing.schemes.is_empty(), rights::PAGE_OUT_FILES),
        // Schemes are read again when their file changes.
        (!managing.schemes.is_empty(), rights::READ_FILES),
        (managing.stats.is_some(), rights::WRITE_FILES),
        (swap.is_some(), rights::END_SWAP),
    ];
    let kept = kept.into_iter().filter(|(is_needed, _)| *is_needed);
    let kept = kept.fold(CapabilitySet::empty(), |all, (_, rights)| all | rights);
    rights::keep(kept).context("giving up rights")
}

/// The same for a tuning, which begins to watch again and again, and starts commands as `user`
/// in between. Commands that run as who runs this have all that this has, so nothing is given
/// up then.
pub fn keep_rights_to_tune(user: Option<&User>) -> Result<()> {
    if user.is_none() {
        return Ok(());
    }
    let kept = rights::watch()
        .union(rights::WATCH_ANEW)
        .union(rights::START_COMMANDS)
        .union(rights::END_COMMANDS)
        .union(rights::READ_FILES)
        .union(rights::WRITE_FILES)
        .union(rights::END_SWAP);
    rights::keep(kept).context("giving up rights")
}

/// The access pattern in `file` under the schemes that were named, for its own length or
/// `duration_us`.
pub fn simulated(
    managing: &cli::Managing,
    monitor: AnyMonitor,
    file: &Path,
    seed: u64,
    duration_us: Option<u64>,
) -> Result<Session<SimSource>> {
    let schemes = schemes(managing)?;
    let config = Config::read(file)?;
    let duration_us = duration_us.unwrap_or_else(|| config.duration_us());
    let source = simulation(monitor, config, seed, duration_us, managing.zram.bytes);
    schemes.check(|scheme: &Scheme| source.supports(scheme))?;
    Ok(Session::new(source, schemes))
}

/// An access pattern, with swap as large as `zram_bytes` says, or without bounds.
pub fn simulation(
    monitor: AnyMonitor,
    config: Config,
    seed: u64,
    duration_us: u64,
    zram_bytes: Option<u64>,
) -> SimSource {
    let mut space = SimSpace::new(config, SimOptions { seed, ..SimOptions::default() });
    let model = MemoryModel::ZRAM;
    let swap_bytes = zram_bytes.unwrap_or(model.swap_bytes);
    space.set_memory_model(MemoryModel { swap_bytes, ..model });
    SimSource::new(monitor, space, CostModel::SAME_CPU, duration_us)
}

/// What is watched, as it was named.
pub fn named(target: &cli::Target) -> Vec<String> {
    match target.forms.command.as_slice() {
        [] if target.forms.all => everyone::named("--all", &target.selecting),
        [] if target.forms.paddr => everyone::named("--paddr", &target.selecting),
        [] => target.forms.pid.iter().map(|pid| format!("--pid {pid}")).collect(),
        command => command.to_vec(),
    }
}

/// Tells what came up since this was last called.
pub fn tell_notes<S: Source>(session: &mut Session<S>) {
    for note in session.take_notes() {
        say!("daos: {note}");
    }
}

/// Tells of a command that goes on though it was asked to end and, unless it is to be `quiet`, of
/// one that ended badly by itself.
pub fn tell_end(ending: &Ending, quiet: bool) {
    match &ending.command {
        Some(Ended::LeftRunning { program, pid }) => {
            let program = safe(program);
            say!("daos: {program} (process {pid}) does not end on SIGTERM; it was left running");
        }
        Some(Ended::Status { status: status @ 1.., .. })
            if ending.stop == Stop::TargetsEnded && !quiet =>
        {
            say!("daos: the command did not end well: {}", failure(*status));
        }
        _ => {}
    }
}

/// How a command failed, by its status as a shell gives it.
pub fn failure(status: i32) -> String {
    match status {
        137 => "it ended with status 137, as of a kill; was there too little memory?".to_owned(),
        129..=192 => format!("it ended with status {status}, as of signal {}", status - 128),
        _ => format!("it failed with status {status}"),
    }
}

/// Others clear accessed bits too, and then memory looks colder than it is.
pub fn tell_of_others() {
    if let Some(kdamond) = damon::running(Path::new("/sys")).first() {
        say!(
            "daos: note: a DAMON of the kernel is running ({kdamond}); it clears accessed bits too, so some accesses to single pages may be missed"
        );
    }
}

/// Says that no time and cost that follows was measured.
pub fn tell_simulated() {
    say!("daos: simulated, not measured: the times and costs are those of a model");
}

/// A line on the terminal, if there is one and it is wanted.
pub fn progress(wanted: bool, what: &str, duration_us: Option<u64>) -> ProgressBar {
    if !wanted || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = match duration_us {
        Some(_) => format!("{what} [{{bar:30}}] {{msg}}"),
        None => format!("{what} {{spinner}} {{msg}} (Ctrl-C ends it)"),
    };
    let style = indicatif::ProgressStyle::with_template(&template).expect("the template is valid");
    let bar = duration_us.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(style.progress_chars("=> "))
}
