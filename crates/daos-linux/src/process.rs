//! A process, held by a pidfd: never touched again once its number is another's.

use crate::census::stat::Stat;
use crate::cgroup::CgroupPaths;
use crate::clear_refs::ClearRefs;
use crate::kernel_files::{self, of_a_live_thread};
use crate::madvise::{self, Advice, Advised};
use crate::maps::{self, MapsReading};
use crate::memory::{self, ProcessMemory, ProcessSize};
use crate::pid_namespace::{is_of_host, other_pids};
use crate::procmap::MappingLookup;
use crate::remote::RemoteMemory;
use crate::support::Rights;
use daos_core::{AddrRange, Mapping};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;

const PROC: &str = "/proc";
/// Clock ticks in a second, as user space sees them on x86-64, whatever the kernel's own.
const TICKS: u64 = 100;
/// Descendants of a process that are held at a time, at most. Chosen: files may be open that often
/// anywhere.
const MOST_DESCENDANTS: usize = 512;

/// Why a process can't be a target.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// There is no such process.
    #[error("there is no process {0}; it has ended, or never was (`ps -e` lists those that run)")]
    NotFound(u32),
    /// The number names a thread.
    #[error("{pid} is a thread of process {leader}; give --pid {leader}")]
    Thread {
        /// The number that was asked for.
        pid: u32,
        /// Its process.
        leader: u32,
    },
    /// A kernel thread, which has no memory of its own.
    #[error("process {0} ({1}) is a kernel thread; it has no memory of its own to watch")]
    KernelThread(u32, String),
    /// The process has ended but has not been waited for.
    #[error("process {0} has ended already (a zombie)")]
    Zombie(u32),
    /// The process is the host's first, which may be watched and no more.
    #[error(
        "process 1 (init) is never acted on; only watch it (daos record), or name the processes meant"
    )]
    Init,
    /// The numbers in `/proc` are not those by which processes are called here.
    #[error("{0}")]
    OtherPids(String),
    /// `daos` itself.
    #[error("process {0} is daos itself; watching itself would watch the watching")]
    Myself(u32),
    /// The process belongs to another user and the caller has not the rights.
    #[error("process {pid} belongs to another user (uid {uid}); run daos as root to watch it")]
    OtherUser {
        /// The process.
        pid: u32,
        /// Whose it is.
        uid: u32,
    },
    /// Anything else that the kernel said.
    #[error("process {pid}: {what}: {why}")]
    Io {
        /// The process.
        pid: u32,
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        why: io::Error,
    },
}

/// A process that was alive when it was opened.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    pidfd: OwnedFd,
    remote: RemoteMemory,
}

impl Process {
    /// Takes hold of process `pid`.
    pub fn open(pid: u32) -> Result<Self, ProcessError> {
        if let Some(why) = other_pids(Path::new(PROC), std::process::id()) {
            return Err(ProcessError::OtherPids(why));
        }
        let io = |what| move |why| ProcessError::Io { pid, what, why };
        let not_found = ProcessError::NotFound(pid);
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Err(not_found);
        };
        if pid == std::process::id() {
            return Err(ProcessError::Myself(pid));
        }
        let pidfd = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(fd) => fd,
            Err(Errno::SRCH) => return Err(not_found),
            // A number that is a thread's but no process's is refused.
            Err(Errno::INVAL | Errno::NOENT) => match leader_of(pid) {
                Some(leader) if leader != pid => return Err(ProcessError::Thread { pid, leader }),
                _ => return Err(not_found),
            },
            Err(errno) => return Err(io("pidfd_open")(errno.into())),
        };
        let process = Self { pid, pidfd, remote: RemoteMemory::default() };
        let status = match process.status() {
            Ok(status) => status,
            Err(_) => return Err(ProcessError::NotFound(pid)),
        };
        // Its main thread may have ended, and be a zombie, while others go on.
        if !process.is_alive() {
            return Err(ProcessError::Zombie(pid));
        }
        let euid = rustix::process::geteuid().as_raw();
        let rights = || Rights::of(Path::new(PROC), std::process::id());
        if status.uid != euid && !rights().missing().is_empty() {
            return Err(ProcessError::OtherUser { pid, uid: status.uid });
        }
        if Stat::read(Path::new("/"), pid).is_some_and(|stat| stat.is_kernel_thread) {
            return Err(ProcessError::KernelThread(pid, status.name));
        }
        Ok(process)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended yet. A process whose number was taken over by
    /// another is not alive.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&Timespec::default())), Ok(0))
    }

    /// What it has mapped; `None` when it has ended.
    pub fn mappings(&self) -> Option<Vec<Mapping>> {
        self.of_a_live_thread(|dir| {
            let mappings = maps::read(&dir.join("maps")).ok()?;
            (!mappings.is_empty()).then_some(mappings)
        })
    }

    /// A reading of what it has mapped, without what nobody may access and is larger than
    /// `most_reserved` bytes, and its first part; `None` when it has ended.
    pub fn read_mappings(&self, most_reserved: u64) -> Option<(MapsReading, Vec<Mapping>)> {
        self.of_a_live_thread(|dir| {
            let mut first = Vec::new();
            let all = MapsReading::open(&dir.join("maps")).ok()?;
            let mut reading = all.without_reserved(most_reserved);
            reading.go_on(&mut first).ok()?;
            (!first.is_empty()).then_some((reading, first))
        })
    }

    /// A way to look up what it has mapped in a few places; `None` when it has ended.
    pub fn mapping_lookup(&self) -> Option<MappingLookup> {
        self.of_a_live_thread(|dir| MappingLookup::open(&dir.join("maps")).ok())
    }

    /// How much memory it has; `None` when it has ended.
    pub fn size(&self) -> Option<ProcessSize> {
        self.believe(memory::size(Path::new(PROC), self.pid))?
    }

    /// What it has in memory and in swap; `None` when it has ended.
    pub fn memory(&self) -> Option<ProcessMemory> {
        self.believe(ProcessMemory::read(Path::new(PROC), self.pid))?
    }

    /// Bytes of its anonymous memory that huge pages map; `None` when it has ended, or
    /// may not be looked at. Walks its page tables: milliseconds for GiBs.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.believe(memory::huge_bytes(Path::new(PROC), self.pid))?
    }

    fn of_a_live_thread<T>(&self, read: impl Fn(&Path) -> Option<T>) -> Option<T> {
        self.believe(of_a_live_thread(&self.dir(), read))?
    }

    fn dir(&self) -> PathBuf {
        Path::new(PROC).join(self.pid.to_string())
    }

    /// What was read by number is of this process if it was there until after.
    fn believe<T>(&self, read: T) -> Option<T> {
        self.is_alive().then_some(read)
    }

    /// Its command line, or the name the kernel has for it.
    pub fn name(&self) -> String {
        self.believe(name(Path::new(PROC), self.pid)).unwrap_or_default()
    }

    /// The processes that its threads have started and that still run.
    pub fn children(&self) -> Vec<u32> {
        self.believe(children(Path::new(PROC), self.pid)).unwrap_or_default()
    }

    /// Takes hold of process `pid` if it is a child of this one.
    pub fn child(&self, pid: u32) -> Result<Process, ProcessError> {
        let child = Process::open(pid)?;
        let parent = child.status().ok().and_then(|status| status.parent);
        let is_child = parent == Some(self.pid) && child.is_alive() && self.is_alive();
        if is_child { Ok(child) } else { Err(ProcessError::NotFound(pid)) }
    }

    /// Its descendants that still run, up to a bound on how many are held.
    pub fn descendants(&self) -> Vec<Process> {
        let started_by = |parent: &Process| -> Vec<Process> {
            parent.children().into_iter().filter_map(|pid| parent.child(pid).ok()).collect()
        };
        let mut all = started_by(self);
        all.truncate(MOST_DESCENDANTS);
        let mut at = 0;
        while at < all.len() {
            let more = started_by(&all[at]);
            all.extend(more);
            all.truncate(MOST_DESCENDANTS);
            at += 1;
        }
        all
    }

    /// Asks it to end.
    ///
    /// # Errors
    ///
    /// It has ended, or may not be sent a signal.
    pub fn ask_to_end(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.pidfd, Signal::TERM)?)
    }

    /// Gives `advice` for its memory: sorted, page-aligned `ranges`.
    pub fn advise(&self, advice: Advice, ranges: &[AddrRange]) -> Advised {
        madvise::advise(self.pidfd.as_fd(), ranges, advice)
    }

    /// The same in calls of so many bytes, unless the first range is longer; `before` comes before
    /// each.
    pub fn advise_in_steps(
        &self,
        advice: Advice,
        ranges: &[AddrRange],
        most_bytes: u64,
        before: impl FnMut(),
    ) -> Advised {
        madvise::advise_in_steps(self.pidfd.as_fd(), ranges, advice, most_bytes, before)
    }

    /// The way to clear the accessed bits of all that it has in memory; `None` where it may not be
    /// used, or the process has ended.
    pub fn clear_refs(&self) -> Option<ClearRefs> {
        self.of_a_live_thread(ClearRefs::open)
    }

    /// Makes `block`, which is 2 MiB and aligned, a huge page. For its errors, see
    /// [`madvise::collapse`].
    pub fn collapse(&self, block: AddrRange) -> Result<(), Errno> {
        madvise::collapse(self.pidfd.as_fd(), block)
    }

    /// Reads a byte at each of `addrs`, so that the kernel takes these pages for used.
    /// Addresses that can't be read are passed over; `TIMEDOUT` where it takes too long.
    pub fn touch(&self, addrs: &[u64]) -> Result<(), Errno> {
        // By number, so another process may be touched if this one ends now: to no harm.
        if !addrs.is_empty() && !self.is_alive() {
            return Err(Errno::SRCH);
        }
        self.remote.touch(self.pid, addrs)
    }

    /// Reads its memory from `addr` on; returns how many bytes of `into` were filled.
    pub fn read_at(&self, addr: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let read = self.remote.read_at(self.pid, addr, into)?;
        self.believe(read).ok_or(Errno::SRCH)
    }

    /// Whether its memory may be acted on, rather than watched only.
    ///
    /// What the host's init waits for, the whole system waits for; a container's is as any
    /// other.
    pub fn may_be_acted_on(&self) -> Result<(), ProcessError> {
        if self.pid == 1 && is_of_host(Path::new(PROC)) { Err(ProcessError::Init) } else { Ok(()) }
    }

    /// The cgroup whose memory controller counts it, as a path from the root of the
    /// hierarchy; `None` when it has ended, or the host has no cgroups.
    pub fn memory_cgroup(&self, paths: CgroupPaths) -> Option<String> {
        self.believe(paths.of(Path::new("/"), self.pid))?
    }

    fn status(&self) -> io::Result<Status> {
        Ok(Status::parse(&kernel_files::text(&self.dir().join("status"))?))
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Bytes of a command line that are read. A process can make its own as long as its memory.
/// Chosen: more than what is shown or recorded of any.
const LONGEST_COMMAND: u64 = 1024;

/// The command line of process `pid` (its beginning, if it is longer than `LONGEST_COMMAND`), or
/// the name the kernel has for it; empty when it has ended.
pub fn name(proc: &Path, pid: u32) -> String {
    let dir = proc.join(pid.to_string());
    let command = kernel_files::start_of(&dir.join("cmdline"), LONGEST_COMMAND).unwrap_or_default();
    let words: Vec<_> = command.split('\0').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        kernel_files::text(&dir.join("comm")).unwrap_or_default().trim_end().to_owned()
    } else {
        words.join(" ")
    }
}

/// The same of the process that had the number at a time, in [clock ticks](ticks_now); `None` if
/// that has ended, though another may have its number now, or is not known in a PID namespace other
/// than the host's, by which the kernel numbers processes.
pub fn name_at(proc: &Path, pid: u32, ticks: u64) -> Option<String> {
    let name = name(proc, pid);
    // Read after the name: who had the number at that time has it still.
    let started = start_ticks(proc, pid)?;
    (started <= ticks && is_of_host(proc)).then_some(name)
}

/// Clock ticks since the machine was started, as in [`start_ticks`].
pub fn ticks_now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * TICKS + now.tv_nsec as u64 * TICKS / 1_000_000_000
}

/// The processes that the threads of process `pid` have started and that were not waited for.
pub fn children(proc: &Path, pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(proc.join(pid.to_string()).join("task")).into_iter().flatten();
    let lists =
        tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>())
        .collect()
}

/// When process `pid` was started, in clock ticks since the machine was: with its
/// number a name that no other process will have. `None` when it has ended.
pub fn start_ticks(proc: &Path, pid: u32) -> Option<u64> {
    let stat = kernel_files::text(&proc.join(pid.to_string()).join("stat")).ok()?;
    let mut behind_name = stat.rsplit(") ").next()?.split(' ');
    let state = behind_name.next()?;
    let started = behind_name.nth(18)?.trim().parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

/// Whether somebody else than its leader is left in process group `leader`. Goes over all
/// processes: some milliseconds for a thousand.
pub fn has_others_in_group(proc: &Path, leader: u32) -> bool {
    let is_other = |name: &str| name.parse::<u32>().is_ok_and(|pid| pid != leader);
    let in_group = |dir: &Path| {
        let stat = kernel_files::text(&dir.join("stat")).unwrap_or_default();
        let mut behind_name = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        let is_alive = behind_name.next().is_some_and(|state| !matches!(state, "" | "Z" | "X"));
        is_alive && behind_name.nth(1).and_then(|group| group.parse().ok()) == Some(leader)
    };
    let processes = fs::read_dir(proc).into_iter().flatten().flatten();
    let mut others = processes.filter(|dir| dir.file_name().to_str().is_some_and(is_other));
    others.any(|dir| in_group(&dir.path()))
}

/// The signals that this process ignores, the first of them in bit 0.
pub fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = kernel_files::field(&status, "SigIgn");
    mask.and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0)
}

/// The process that thread `tid` is of.
fn leader_of(tid: u32) -> Option<u32> {
    let status = kernel_files::text(&Path::new(PROC).join(tid.to_string()).join("status")).ok()?;
    kernel_files::field(&status, "Tgid")?.parse().ok()
}

#[derive(Debug)]
struct Status {
    name: String,
    uid: u32,
    parent: Option<u32>,
}

impl Status {
    fn parse(text: &str) -> Self {
        let field = |name: &str| kernel_files::field(text, name);
        Status {
            name: field("Name").unwrap_or_default().to_owned(),
            uid: field("Uid")
                .and_then(|s| s.split_whitespace().nth(1)?.parse().ok())
                .unwrap_or(u32::MAX),
            parent: field("PPid").and_then(|pid| pid.parse().ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_live_process_tells_what_it_is() {
        let mut child = sleeper();
        let process = Process::open(child.id()).unwrap();
        assert!(process.is_alive());
        // It may still be inside execve, which sets its name late.
        while process.name() != "sleep 60" {
            std::thread::yield_now();
        }
        let age = ticks_now() - start_ticks(Path::new(PROC), child.id()).unwrap();
        assert!(age < 6000, "{age} ticks");
        assert!(process.mappings().unwrap().iter().any(|m| m.name == "[stack]"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert_eq!(process.mappings(), None);
        assert!(matches!(Process::open(child.id()), Err(ProcessError::NotFound(_))));
    }

    #[test]
    fn names_may_be_cut_inside_a_character() {
        let proc = tempfile::tempdir().unwrap();
        let dir = proc.path().join("7");
        fs::create_dir(&dir).unwrap();
        let write = |file: &str, bytes: &[u8]| fs::write(dir.join(file), bytes).unwrap();
        write("stat", b"7 (caf\xc3) S 1 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711");
        write("status", b"Name:\tcaf\xc3\nVmRSS:\t 8 kB\n");
        write("comm", b"caf\xc3\n");
        assert_eq!(start_ticks(proc.path(), 7), Some(4711));
        assert_eq!(ProcessMemory::read(proc.path(), 7).unwrap().resident_bytes, 8192);
        assert_eq!(name(proc.path(), 7), "caf\u{fffd}");
        assert_eq!(name_at(proc.path(), 7, 4711), Some("caf\u{fffd}".to_owned()));
        assert_eq!(name_at(proc.path(), 7, 4710), None, "another had the number then");
        assert_eq!(name_at(proc.path(), 8, 4711), None);
        assert!(children(proc.path(), 7).is_empty());
    }

    #[test]
    fn of_a_long_command_line_its_beginning_is_read() {
        let proc = tempfile::tempdir().unwrap();
        let dir = proc.path().join("7");
        fs::create_dir(&dir).unwrap();
        // As a process can have it by `prctl(PR_SET_MM)`: longer than would fit into memory.
        let cmdline = fs::File::create(dir.join("cmdline")).unwrap();
        cmdline.set_len(1 << 40).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&cmdline, b"java\0-jar", 0).unwrap();
        assert_eq!(name(proc.path(), 7), "java -jar");
        fs::write(dir.join("cmdline"), "x".repeat(5000)).unwrap();
        assert_eq!(name(proc.path(), 7).len(), 1024);
    }

    #[test]
    fn who_is_left_in_a_group_is_found() {
        let proc = tempfile::tempdir().unwrap();
        let add = |pid: u32, stat: &str| {
            let dir = proc.path().join(pid.to_string());
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("stat"), stat).unwrap();
        };
        add(7, "7 (leader) S 1 7 7 0 -1");
        add(8, "8 (ended) Z 7 7 7 0 -1");
        add(9, "9 (S 1 7 7) S 1 9 7 0 -1");
        assert!(!has_others_in_group(proc.path(), 7));
        add(10, "10 (a) b) R 1 7 7 0 -1");
        assert!(has_others_in_group(proc.path(), 7));
    }

    #[test]
    fn init_may_be_watched_only() {
        let mut child = sleeper();
        assert!(Process::open(child.id()).unwrap().may_be_acted_on().is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
        // Who may not watch it need not be told that he may not act on it.
        if let Some(init) = Process::open(1).ok().filter(|_| is_of_host(Path::new(PROC))) {
            let refused = init.may_be_acted_on().unwrap_err();
            assert!(refused.to_string().starts_with("process 1 (init) is never acted on"));
        }
    }

    #[test]
    fn refuses_what_is_no_target() {
        assert!(matches!(Process::open(0), Err(ProcessError::NotFound(0))));
        assert!(matches!(Process::open(u32::MAX), Err(ProcessError::NotFound(_))));
        assert!(matches!(Process::open(std::process::id()), Err(ProcessError::Myself(_))));
        assert!(matches!(Process::open(2), Err(ProcessError::KernelThread(2, _))));
        let mut child = Command::new("true").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(matches!(Process::open(child.id()), Err(ProcessError::Zombie(_))));
        child.wait().unwrap();
    }
}
