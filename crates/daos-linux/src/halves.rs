//! The CPUs of this machine in two halves that share as little as can be, and threads and
//! programs that are kept on one of them.

use crate::cpu;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{fs, io};
use thiserror::Error;

/// There are not two halves of so many CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("two copies at once take a CPU each, and there are {0} that this process may run on")]
pub struct FewCpus(pub u32);

/// Two lists of CPUs of one length, that this process may run on: whole cores where there are two
/// or more, neighbours on one side. Of an odd number one is in neither. `root` is `/`, or a test's
/// tree.
///
/// # Errors
///
/// [`FewCpus`] if there are fewer than two.
pub fn of_cpus(root: &Path) -> Result<[Vec<u32>; 2], FewCpus> {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    split(root, (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).map(|cpu| cpu as u32))
}

fn split(root: &Path, cpus: impl Iterator<Item = u32>) -> Result<[Vec<u32>; 2], FewCpus> {
    // By the core's first CPU, of which the others, its siblings, may be far in the list.
    let mut cores: Vec<(usize, Vec<u32>)> = Vec::new();
    for cpu in cpus {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = cpu::cpu_list(&fs::read_to_string(root.join(path)).unwrap_or_default());
        let first = (0..CpuSet::MAX_CPU).find(|&one| siblings.is_set(one));
        let first = first.unwrap_or(cpu as usize);
        match cores.iter_mut().find(|(core, _)| *core == first) {
            Some((_, cpus)) => cpus.push(cpu),
            None => cores.push((first, vec![cpu])),
        }
    }
    let mut parts: Vec<Vec<u32>> = cores.into_iter().map(|(_, cpus)| cpus).collect();
    if let [core] = &parts[..] {
        parts = core.iter().map(|&cpu| vec![cpu]).collect();
    }
    let half = parts.len() / 2;
    if half == 0 {
        return Err(FewCpus(parts.len() as u32));
    }
    Ok([parts[..half].concat(), parts[half..2 * half].concat()])
}

/// Keeps `command`, and what it starts, on these CPUs.
pub fn keep_on(command: &mut Command, cpus: &[u32]) {
    let set = set_of(cpus);
    let keep = move || sched_setaffinity(None, &set).map_err(io::Error::from);
    // SAFETY: in the one thread of the new process it makes a system call, allocates nothing and
    // takes no lock.
    unsafe { command.pre_exec(keep) };
}

/// Keeps the calling thread on these CPUs, and all threads and programs that it starts from now
/// on.
///
/// # Errors
///
/// This process may run on none of them.
pub fn stay_on(cpus: &[u32]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cpus))?)
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU).for_each(|&c| set.set(c as usize));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose CPUs have these siblings, in the kernel's words.
    fn halves(siblings: &[(u32, &str)]) -> Result<[Vec<u32>; 2], FewCpus> {
        let root = tempfile::tempdir().unwrap();
        for (cpu, list) in siblings {
            let dir = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("thread_siblings_list"), format!("{list}\n")).unwrap();
        }
        split(root.path(), siblings.iter().map(|(cpu, _)| *cpu))
    }

    #[test]
    fn cores_stay_whole() {
        let four = [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")];
        assert_eq!(halves(&four), Ok([vec![0, 2], vec![1, 3]]));
        let six = [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3"), (4, "4-5"), (5, "4-5")];
        assert_eq!(halves(&six), Ok([vec![0, 1], vec![2, 3]]));
        // A single core is shared by its two threads; a machine that says nothing has cores.
        assert_eq!(halves(&[(0, "0-1"), (1, "0-1")]), Ok([vec![0], vec![1]]));
        assert_eq!(split(Path::new("/no/such"), [3, 5].into_iter()), Ok([vec![3], vec![5]]));
        assert_eq!(halves(&[(4, "4")]), Err(FewCpus(1)));
        assert_eq!(halves(&[]), Err(FewCpus(0)));
    }

    #[test]
    fn a_program_stays_where_it_is_kept() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap();
        let cpus = [cpu as u32];
        let started = |mut command: Command| {
            command.args(["-c", "grep Cpus_allowed_list /proc/self/status"]);
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        let mut kept = Command::new("sh");
        keep_on(&mut kept, &cpus);
        let by_a_thread_that_stays = std::thread::spawn(move || {
            stay_on(&cpus).unwrap();
            started(Command::new("sh"))
        });
        let there = format!("Cpus_allowed_list:\t{cpu}\n");
        assert_eq!((started(kept), by_a_thread_that_stays.join().unwrap()), (there.clone(), there));
    }
}
