//! The page-table entries behind windows of a target's memory, in batches.

use crate::BpfError;
use crate::entry::{Entry, FRAME_MASK, bytes_mapped};
use crate::programs::{
    Facts, Found, FrameFacts, KernelLayout, MAX_ENTRIES, MAX_REQUESTS, Programs, Request, Task,
    Whereabouts,
};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Window};
use daos_linux::iomem;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const PAGES_IN_TABLE: usize = 512;

/// Part of a window, inside one page table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowPart {
    /// Index of its window in the batch.
    pub(crate) window: usize,
    /// Its addresses.
    pub(crate) range: AddrRange,
    /// Whether its accessed bits say nothing, since others access the memory by tables of
    /// their own: the guests of a virtual machine, or a device.
    pub(crate) is_opaque: bool,
}

/// What the tables say of a part of a window. Facts stand only beside the entries for which they
/// were asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer<'a> {
    /// Nothing is mapped there: the entry of this level is empty.
    Empty(u32),
    /// One entry of this level maps all of it.
    Huge(Entry, u32, &'a FrameFacts),
    /// An entry for each page, as numbers of [`Entry`], and the bits of those that are plain.
    Pages(&'a [u64], &'a [FrameFacts], &'a [u64]),
    /// The tables changed while they were read.
    Torn,
}

/// Reads page tables and page frames, knowing where this kernel keeps them.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) programs: Programs,
    pub(crate) layout: KernelLayout,
    parts: Vec<WindowPart>,
}

impl Reader {
    /// Loads the programs and finds this kernel's layout, checking it on the
    /// tables of the calling process.
    pub(crate) fn new() -> Result<Self, BpfError> {
        Self::load(false)
    }

    /// The same, and page frames can be read, too.
    pub(crate) fn with_frames() -> Result<Self, BpfError> {
        Self::load(true)
    }

    fn load(with_frames: bool) -> Result<Self, BpfError> {
        let ram = iomem::system_ram(Path::new("/"))?;
        let mut programs = Programs::load(with_frames)?;
        programs.set_ram(&ram)?;
        let me = myself(&mut programs)?;
        let layout = crate::kernel_layout::find(&mut programs, &me, &ram)?;
        Ok(Self { programs, layout, parts: Vec::new() })
    }

    /// The calling process.
    pub(crate) fn myself(&mut self) -> Result<Task, BpfError> {
        myself(&mut self.programs)
    }

    #[cfg(test)]
    pub(crate) fn layout(&self) -> KernelLayout {
        self.layout
    }

    /// A thread of the process that has an address space.
    pub(crate) fn find_task(&mut self, pidfd: BorrowedFd<'_>) -> Result<Option<Task>, BpfError> {
        self.programs.find_task(pidfd)
    }

    /// Where the threads of a process run now: what a reading to arm tells of that, but without
    /// reading any page. `None` when the task has left its address space.
    pub(crate) fn whereabouts(&mut self, task: &Task) -> Result<Option<Whereabouts>, BpfError> {
        self.programs.read_tables(task, &self.layout, Facts::OfYoung { most_gap: 0 }, 0)
    }

    /// Hands `each` the answer for every part of `windows`, in their order.
    /// Returns where the task is; `None` when it has left its address space, and
    /// then what was handed out since the last batch is missing, not wrong.
    pub(crate) fn read(
        &mut self,
        task: &Task,
        windows: impl Iterator<Item = Window>,
        with: Facts,
        mut each: impl FnMut(WindowPart, Answer<'_>),
    ) -> Result<Option<Whereabouts>, BpfError> {
        let (mut there, no_facts) = (None, FrameFacts::default());
        // A request never crosses the end of a page of level-1 entries.
        let mut windows = windows.enumerate().flat_map(|(window, w)| {
            w.range().blocks(HUGE_PAGE_SIZE).map(move |range| WindowPart {
                window,
                range,
                is_opaque: false,
            })
        });
        loop {
            let used = self.fill(&mut windows);
            if self.parts.is_empty() {
                return Ok(there);
            }
            there = self.programs.read_tables(task, &self.layout, with, used)?;
            let Some(Whereabouts { has_secondary_tables, .. }) = there else { return Ok(None) };
            let Found { replies, entries, facts, plain } = self.programs.found();
            let mut next = 0;
            for (part, reply) in self.parts.iter().zip(replies) {
                let these = next..next + part.range.pages() as usize;
                let words = next / 64..these.end.div_ceil(64);
                next = these.end.next_multiple_of(64);
                let entry = Entry(reply.entry);
                each(
                    WindowPart { is_opaque: has_secondary_tables, ..*part },
                    match reply {
                        r if r.torn != 0 => Answer::Torn,
                        r if r.level == 1 => {
                            Answer::Pages(&entries[these.clone()], &facts[these], &plain[words])
                        }
                        r if entry.is_present() => {
                            // Of larger ones no facts are brought.
                            let facts = if r.level == 2 { &facts[these.start] } else { &no_facts };
                            Answer::Huge(entry, r.level, facts)
                        }
                        r if entry.is_empty() => Answer::Empty(r.level),
                        // It is being moved.
                        _ => Answer::Torn,
                    },
                );
            }
        }
    }

    /// Fills the next batch of requests from `parts`.
    fn fill(&mut self, parts: &mut impl Iterator<Item = WindowPart>) -> usize {
        self.parts.clear();
        let requests = self.programs.requests();
        let mut out = 0;
        while self.parts.len() < MAX_REQUESTS && out <= MAX_ENTRIES - PAGES_IN_TABLE {
            let Some(part) = parts.next() else { break };
            let pages = part.range.pages() as u32;
            requests[self.parts.len()] = Request { va: part.range.start, pages, out: out as u32 };
            // What is a bit for each page begins with a word.
            out += pages.next_multiple_of(64) as usize;
            self.parts.push(part);
        }
        self.parts.len()
    }

    /// Whether consecutive pages of `range` map consecutive frames from `first` on.
    pub(crate) fn maps_in_a_row(
        &mut self,
        task: &Task,
        range: AddrRange,
        first: u64,
    ) -> Result<bool, BpfError> {
        let mut expected = first;
        let mut in_a_row = true;
        let window = Window::over(Default::default(), range);
        let there = self.read(task, std::iter::once(window), Facts::None, |_, answer| {
            let Answer::Pages(ptes, ..) = answer else { return in_a_row = false };
            for &pte in ptes {
                in_a_row &= Entry(pte).is_present() && Entry(pte).frame(1, FRAME_MASK) == expected;
                expected += 1;
            }
        })?;
        Ok(in_a_row && there.is_some())
    }
}

fn myself(programs: &mut Programs) -> Result<Task, BpfError> {
    let pidfd = my_pidfd().map_err(BpfError::Iterator)?;
    programs.find_task(pidfd.as_fd())?.ok_or(BpfError::Layout("the task of daos itself"))
}

/// A hold of the calling process.
pub(crate) fn my_pidfd() -> io::Result<OwnedFd> {
    Ok(pidfd_open(getpid(), PidfdFlags::empty())?)
}

/// The whole huge page of `level` around `addr`.
pub(crate) fn huge_page(addr: u64, level: u32) -> AddrRange {
    let size = bytes_mapped(level);
    let start = addr / size * size;
    AddrRange::new(start, start + size)
}

/// The page that lies `page` pages behind the start of `part`.
pub(crate) fn page_of(part: &WindowPart, page: usize) -> AddrRange {
    let start = part.range.start + page as u64 * PAGE_SIZE;
    AddrRange::new(start, start + PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_linux::cpu::{self, Placement};
    use std::thread::{park, spawn};
    use std::time::{Duration, Instant};
    use test_tag::tag;

    #[tag(root)]
    #[test]
    fn threads_that_run_are_told_from_those_that_wait() {
        let mut reader = Reader::new().expect("the programs load");
        let me = reader.myself().expect("this process is there");
        let mut whereabouts = || {
            let there = reader.whereabouts(&me).expect("it can be read");
            there.expect("it is there")
        };
        let sleep = || loop {
            park();
        };
        let wait = |nr: usize| (0..nr).for_each(|_| drop(spawn(sleep)));
        wait(50);
        let (here, _) = cpu::two_cpus().expect("there are two");
        let _here = cpu::Pinned::to(here).expect("it runs there");
        // Others of this process may run, but not all the time.
        let until = Instant::now() + Duration::from_secs(30);
        let alone = std::iter::repeat_with(&mut whereabouts)
            .take_while(|_| Instant::now() < until)
            .find(|there| there.nr_running == 1);
        let alone = alone.expect("at some time only this thread runs, of 50");
        assert_eq!((alone.cpu, alone.policy), (here, libc::SCHED_OTHER as u32));
        let mut placement = Placement::new();
        alone.follow(&mut placement);
        assert_eq!((placement.interrupts(here, 1), placement.interrupts(here, 2)), (0, 1));
        // Of more than are looked at.
        wait(100);
        assert!((2..50).contains(&whereabouts().nr_running), "few of them run, as it seems");
    }
}
