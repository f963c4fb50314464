//! What to say where there was nothing to watch all the time.

use crate::cli;
use daos_linux::maps::MapsReading;
use std::path::Path;

/// That nothing of `target` was watched, and what to check. `user`: whose processes were meant.
/// `act`: whether schemes choose among them, too. `root`: where `/proc` is.
pub fn told(root: &Path, target: &cli::Target, user: Option<&str>, act: bool) -> String {
    let cli::Forms { pid: pids, all, paddr, .. } = &target.forms;
    if *all || *paddr {
        return told_of_all(*paddr, &target.selecting, user, act);
    }
    if pids.is_empty() {
        return "nothing could be watched of the command".to_owned();
    }
    let each = pids.iter().map(|pid| {
        let maps = format!("/proc/{pid}/maps");
        match MapsReading::open(&root.join(maps.trim_start_matches('/'))) {
            Ok(_) => format!("process {pid}"),
            Err(why) => format!("process {pid} ({maps}: {why})"),
        }
    });
    format!("nothing could be watched of {}", each.collect::<Vec<_>>().join(", "))
}

fn told_of_all(paddr: bool, selecting: &cli::Selecting, user: Option<&str>, act: bool) -> String {
    let checks = [
        ("--cgroup", selecting.cgroup.is_some()),
        ("--user", user.is_some()),
        ("--min-rss", selecting.min_rss.is_some()),
        ("whether system daemons are meant (--include-system)", act && !selecting.include_system),
    ];
    let checks: Vec<_> = checks.iter().filter(|check| check.1).map(|check| check.0).collect();
    let check = match checks.as_slice() {
        [] => String::new(),
        checks => format!(": check {}", checks.join(", ")),
    };
    if paddr {
        return format!(
            "nothing was watched yet{check}; the first round over all RAM takes ten seconds and more: go on for longer (-d), or allow more (--max-overhead)"
        );
    }
    format!(
        "no process was watched{check}; `daos owners --by cgroup` shows which processes there are"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn said(args: &[&str]) -> String {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/7")).unwrap();
        std::fs::write(root.path().join("proc/7/maps"), "").unwrap();
        let cli = Cli::try_parse_from([&["daos"], args].concat()).unwrap();
        match cli.command {
            Command::Record(args) => told(root.path(), &args.target, args.user.as_deref(), false),
            Command::Apply(args) => told(root.path(), &args.target, args.user.as_deref(), true),
            _ => unreachable!(),
        }
    }

    #[test]
    fn where_none_of_all_was_meant_what_chose_them_is_to_be_checked() {
        let told = said(&["record", "--all", "--cgroup", "/x", "--user", "0"]);
        assert!(told.contains("no process was watched: check --cgroup, --user; "), "{told}");
        let told = said(&["apply", "-s", "prcl", "--paddr", "--min-rss", "1G"]);
        assert!(told.contains("check --min-rss, whether system daemons are meant"), "{told}");
        assert!(told.contains("the first round over all RAM"), "{told}");
        assert!(!said(&["record", "--all"]).contains("check"));
    }

    #[test]
    fn of_a_process_it_is_told_why_where_that_is_known() {
        let told = said(&["record", "--pid", "7,8"]);
        let why = "process 7, process 8 (/proc/8/maps: No such file or directory";
        assert!(told.contains(why), "{told}");
    }
}
