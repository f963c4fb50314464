//! Which processes are never acted on when all of the machine's are meant.

use super::stat::{Stat, effective_uid};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// User numbers below this are of the system, as Linux distributions give them.
const FIRST_OF_PEOPLE: u32 = 1000;
/// Most processes that are gone through upwards. Chosen: more than there ever are.
const MOST_ABOVE: usize = 64;
/// Where systemd has what it runs for the system.
const SYSTEM: [&str; 2] = ["/system.slice", "/init.scope"];

/// Those that are left alone: process 1, this program wherever root or who runs this one runs it,
/// what this runs under (its shell, `sudo`, the terminal), what it has started, and, unless they
/// are included, system daemons.
///
/// System daemons are, where systemd runs, what is in `/system.slice` or `/init.scope`, or in a
/// cgroup that can't be seen from here; else children of process 1 without a terminal and what
/// those start, unless it has a terminal or acts as a user from 1000 on.
#[derive(Debug, Clone)]
pub struct Protection {
    root: PathBuf,
    me: u32,
    /// Who this acts as.
    uid: u32,
    /// What this was started by, and so on up to process 1.
    above: HashSet<u32>,
    program: Option<OsString>,
    include_system: bool,
    has_systemd: bool,
}

impl Protection {
    /// Whether system daemons are not left alone.
    pub fn includes_system(&self) -> bool {
        self.include_system
    }

    /// As seen from this process. `root` is `/`, or a test's tree.
    pub fn new(root: &Path, include_system: bool) -> Self {
        Self::seen_from(root, std::process::id(), include_system)
    }

    fn seen_from(root: &Path, me: u32, include_system: bool) -> Self {
        let mut above = HashSet::from([1]);
        let mut at = me;
        // A loop there can't be, but in a test's tree.
        while let Some(stat) = Stat::read(root, at) {
            at = stat.parent;
            if at == 0 || !above.insert(at) {
                break;
            }
        }
        Self {
            root: root.to_owned(),
            me,
            uid: rustix::process::geteuid().as_raw(),
            above,
            program: program_of(root, me),
            include_system,
            has_systemd: root.join("run/systemd/system").is_dir(),
        }
    }

    /// Whether process `pid` is this one, or one that this was started by.
    pub fn is_above(&self, pid: u32) -> bool {
        pid == self.me || self.above.contains(&pid)
    }

    /// Whether process `pid` is left alone. `cgroups`: its `/proc/PID/cgroup`; `owner` says who
    /// it acts as.
    pub(crate) fn protects(
        &self,
        pid: u32,
        stat: &Stat,
        cgroups: &str,
        owner: impl FnOnce() -> Option<u32>,
    ) -> bool {
        let is_ours = || stat.parent == self.me || self.above.contains(&pid);
        let is_daos = || {
            let has_its_name =
                self.program.is_some() && program_of(&self.root, pid) == self.program;
            // Anyone may call a program of theirs so.
            has_its_name
                && (effective_uid(&self.root, pid)).is_some_and(|uid| uid == 0 || uid == self.uid)
        };
        is_ours() || (!self.include_system && self.is_of_system(stat, cgroups, owner)) || is_daos()
    }

    fn is_of_system(
        &self,
        stat: &Stat,
        cgroups: &str,
        owner: impl FnOnce() -> Option<u32>,
    ) -> bool {
        if self.has_systemd {
            let paths = cgroups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
            return paths.into_iter().any(|path| {
                // Of a cgroup outside of our namespace of them.
                if path.starts_with("/..") {
                    return true;
                }
                let below = SYSTEM.iter().filter_map(|system| path.strip_prefix(system));
                below.into_iter().any(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        }
        !is_of_people(owner()) && self.descends_from_daemon(stat)
    }

    /// Whether neither it nor what it was started by, up to a child of process 1, has a
    /// terminal, and nobody's shell is among those.
    fn descends_from_daemon(&self, stat: &Stat) -> bool {
        let mut at = *stat;
        for _ in 0..MOST_ABOVE {
            match (at.terminal, at.parent) {
                (0, 1) => return true,
                (0, 2..) if !is_of_people(effective_uid(&self.root, at.parent)) => {}
                _ => return false,
            }
            // What is gone meanwhile can't be told.
            let Some(above) = Stat::read(&self.root, at.parent) else { return true };
            at = above;
        }
        true
    }
}

fn is_of_people(uid: Option<u32>) -> bool {
    uid.is_some_and(|uid| uid >= FIRST_OF_PEOPLE)
}

/// The name of the file that process `pid` executes, also where another took its place.
fn program_of(root: &Path, pid: u32) -> Option<OsString> {
    let path = fs::read_link(root.join(format!("proc/{pid}/exe"))).ok()?;
    let name = path.file_name()?.as_bytes();
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    Some(OsString::from_vec(name.to_vec()))
}
