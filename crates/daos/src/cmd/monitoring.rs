//! What is to be watched, and how: as the command line says, if it can be.

use crate::cli::{self, Backend};
use anyhow::Result;
use daos_cli::Usage;
use daos_monitor::{AnyMonitor, MonitorOptions};
use std::path::Path;

/// The monitor asked for, if it can do what is asked of it.
pub fn monitor(cli::Monitoring { monitor, looking }: &cli::Monitoring) -> Result<AnyMonitor> {
    let options = looking.options();
    let MonitorOptions { max_overhead, auto_intervals } = options;
    let asked = [("--max-overhead", max_overhead.is_some()), ("--auto-intervals", auto_intervals)];
    let unheeded = asked.into_iter().find(|(_, asked)| *asked && !monitor.heeds_options());
    if let Some((option, _)) = unheeded {
        let name = monitor.name();
        return Err(Usage(format!(
            "the {name} monitor does not heed {option}; leave {option} out, or use --monitor windows"
        ))
        .into());
    }
    let monitor = AnyMonitor::new(*monitor, looking.attrs(), options, looking.seed);
    monitor.map_err(|err| Usage(err.to_string()).into())
}

/// The access pattern to be simulated, which no `user` runs, if it is not live processes that are
/// meant. Those are not looked at more often than makes sense.
pub fn simulated<'a>(
    target: &'a cli::Target,
    monitoring: &cli::Monitoring,
    user: Option<&str>,
) -> Result<Option<&'a Path>> {
    let cli::Selecting { cgroup, min_rss, include_system } = &target.selecting;
    let cli::Forms { all, paddr, .. } = target.forms;
    if !(all || paddr) && (cgroup.is_some() || min_rss.is_some() || *include_system) {
        let message = "--cgroup, --min-rss and --include-system choose among --all or --paddr: give one of these";
        return Err(Usage(message.into()).into());
    }
    let refused = match (&target.forms.sim, monitoring.looking.backend) {
        (Some(_), Backend::Auto | Backend::Sim) if user.is_some() => {
            "--user is for a command, and --sim runs none; leave out --user"
        }
        (Some(file), Backend::Auto | Backend::Sim) => return Ok(Some(file)),
        (None, Backend::Auto | Backend::Ebpf) => {
            monitoring.looking.check_live()?;
            return Ok(None);
        }
        (Some(_), Backend::Ebpf) => "--sim is simulated; leave out --backend ebpf",
        (None, Backend::Sim) => "--backend sim takes an access pattern: give --sim FILE",
    };
    Err(Usage(refused.into()).into())
}
