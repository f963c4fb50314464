//! Which of many processes have ended: one system call, however many there are.

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// Ends that are told at once. Chosen: the next call tells of the others.
const AT_ONCE: usize = 256;

/// Waits for the end of processes, each of which has a number of its caller's.
#[derive(Debug)]
pub struct Ends {
    epoll: OwnedFd,
}

impl Ends {
    /// Of none yet.
    ///
    /// # Errors
    ///
    /// Those of `epoll_create`: too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Tells of the end of the process behind `pidfd`, once, as `number`.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl`: more than the kernel has room for.
    pub fn add(&self, pidfd: impl AsFd, number: u64) -> io::Result<()> {
        let events = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        Ok(epoll::add(&self.epoll, pidfd, epoll::EventData::new_u64(number), events)?)
    }

    /// The numbers of those that have ended since this was last asked. Does not wait.
    pub fn take(&self) -> Vec<u64> {
        let mut ended = Vec::new();
        loop {
            let mut events = [MaybeUninit::<epoll::Event>::uninit(); AT_ONCE];
            let now = Timespec::default();
            match epoll::wait(&self.epoll, &mut events[..], Some(&now)) {
                Ok((events, _)) => {
                    ended.extend(events.iter().map(|event| event.data.u64()));
                    if events.len() < AT_ONCE {
                        return ended;
                    }
                }
                Err(Errno::INTR) => {}
                // There is no other error for a descriptor that is one.
                Err(_) => return ended,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;
    use std::process::Command;

    #[test]
    fn each_end_is_told_once() {
        let mut children: Vec<_> =
            (0..300).map(|_| Command::new("sleep").arg("60").spawn().unwrap()).collect();
        let ends = Ends::new().unwrap();
        let processes: Vec<_> =
            children.iter().map(|child| Process::open(child.id()).unwrap()).collect();
        for (number, process) in (0..).zip(&processes) {
            ends.add(process, number).unwrap();
        }
        assert!(ends.take().is_empty());
        for child in &mut children[1..] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let mut ended = ends.take();
        ended.sort_unstable();
        assert_eq!(ended, (1..300).collect::<Vec<_>>());
        assert!(ends.take().is_empty());
        children[0].kill().unwrap();
        children[0].wait().unwrap();
        assert_eq!(ends.take(), [0]);
    }
}
