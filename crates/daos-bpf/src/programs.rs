//! The loaded eBPF programs, and one method for each.
//!
//! Requests and answers stand in arrays that the kernel and this process share,
//! so a batch costs one system call and no copy.

use crate::BpfError;
use crate::load_log;
use crate::skel::{OpenPtwalkSkel, PtwalkSkel, PtwalkSkelBuilder, types};
use daos_core::AddrRange;
use daos_linux::cpu::Placement;
use libbpf_rs::libbpf_sys;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput, ProgramMut};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub(crate) use types::{
    cached_file as CachedFile, file_run as FileRun, frame_facts as FrameFacts,
    frame_kind as FrameKind, frame_request as FrameRequest, frame_run as FrameRun,
    frame_wanted as Wanted, reply as Reply, request as Request,
};

/// Requests that fit in a batch.
pub(crate) const MAX_REQUESTS: usize = 4096;
/// Windows of page frames that fit in a batch.
pub(crate) const MAX_FRAME_REQUESTS: usize = 2048;
/// Frames that a batch may ask for.
pub(crate) const MAX_FRAMES: usize = 8192;
/// Page frames that can be asked for at once, whether they are page cache.
pub(crate) const MAX_CACHE_FRAMES: usize = 4096;
/// Pages of a file that can be asked for at once.
pub(crate) const MAX_FILE_PAGES: usize = 8192;
/// Runs of them that can be told at once.
const MAX_FILE_RUNS: usize = 4096;
/// Nodes of a file's tree that are visited at once. Chosen: that takes about a millisecond.
const STEPS_IN_FILE: usize = 4096;
/// Ranges of RAM that there is room for.
const MAX_RAM: usize = 256;
/// Level-1 entries that a batch can bring back. A request may need up to 512 that
/// start at most at `MAX_ENTRIES - 512`.
pub(crate) const MAX_ENTRIES: usize = 65536;

/// A thread of a target, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task {
    /// Where its `task_struct` is.
    addr: u64,
    /// Together with the address, its identity.
    start_boottime: u64,
    /// Where its top-level table is.
    pub(crate) pgd: u64,
}

/// Where this kernel keeps what the programs read. Found by `kernel_layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelLayout {
    /// Where physical address 0 is mapped.
    pub(crate) direct_map: u64,
    /// Where the `struct page` of frame 0 is, or would be.
    pub(crate) page_array: u64,
    /// Bits of a page-table entry that are an address.
    pub(crate) frame_mask: u64,
    /// Levels of the page tables, 4 or 5.
    pub(crate) levels: u32,
}

/// Whether to look up page frames, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    /// Only the tables.
    None,
    /// Those behind young entries: what it takes to arm them. Of small pages that can be armed by
    /// themselves, and of so many other pages between two young ones, or fewer, that are small,
    /// only that they are plain.
    OfYoung { most_gap: u32 },
    /// Those behind all present entries.
    OfPresent,
    /// Those behind young entries, and whose memory they are.
    Owners,
}

/// Answers, in memory that is shared with the programs.
pub(crate) struct Found<'a> {
    /// One for each request.
    pub(crate) replies: &'a [Reply; MAX_REQUESTS],
    /// The level-1 entries of the requests, each from its `out` on.
    pub(crate) entries: &'a [u64; MAX_ENTRIES],
    /// Of each entry looked up, in the same places; of a huge page, at its `out`.
    pub(crate) facts: &'a [FrameFacts; MAX_ENTRIES],
    /// A bit for each entry, in the same order, set if its page is known to be plain: small and,
    /// where the entry is young, one that can be armed by itself.
    pub(crate) plain: &'a [u64; MAX_ENTRIES / 64],
}

/// Where a task was when its tables were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    /// How many threads of its process ran or waited for a CPU; counted only when memory is read to
    /// be armed. One that waits counts since we may be what it waits for.
    pub(crate) nr_running: u32,
    /// The CPU of one of these threads.
    pub(crate) cpu: u32,
    /// The scheduling policy of that thread.
    pub(crate) policy: u32,
    /// Whether others access its memory by tables of their own: then its accessed bits say
    /// nothing.
    pub(crate) has_secondary_tables: bool,
}

impl Whereabouts {
    /// Moves the calling thread to the CPU on which a target runs, if only one thread of the target
    /// does: then no other CPU has its addresses in the TLB, and a flush interrupts none.
    pub(crate) fn follow(&self, placement: &mut Placement) {
        if self.nr_running == 1 {
            placement.follow_thread(self.cpu, self.policy);
        }
    }
}

pub(crate) struct Programs {
    skel: PtwalkSkel<'static>,
    struct_page_size: u32,
    /// Whether the page cache of files can be read.
    reads_files: bool,
    /// Whether other monitors clear accessed bits, too.
    pub(crate) others_clear: bool,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").finish_non_exhaustive()
    }
}

impl Programs {
    /// Loads the programs. Needs CAP_BPF and CAP_PERFMON, and a kernel with BTF. `with_frames`:
    /// that which goes from page frames to their owners, too. Those that read files are left out
    /// where the kernel does not take them.
    pub(crate) fn load(with_frames: bool) -> Result<Self, BpfError> {
        let without = |_| Self::load_some(with_frames, false);
        Self::load_some(with_frames, true).or_else(without)
    }

    fn load_some(with_frames: bool, reads_files: bool) -> Result<Self, BpfError> {
        load_log::keep();
        // The skeleton borrows this for as long as it lives, which is as long as
        // the process does: some hundred bytes, once.
        let storage: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open: OpenPtwalkSkel<'static> =
            PtwalkSkelBuilder::default().open(storage).map_err(BpfError::load)?;
        open.progs.read_frames.set_autoload(with_frames);
        open.progs.read_file.set_autoload(reads_files);
        open.progs.find_in_file.set_autoload(reads_files);
        Ok(Self {
            reads_files,
            skel: open.load().map_err(BpfError::load)?,
            struct_page_size: 0,
            others_clear: false,
        })
    }

    fn shared(&mut self) -> &mut types::bss {
        self.skel.maps.bss_data.as_deref_mut().expect("libbpf maps .bss when it loads")
    }

    /// Says what is RAM: nothing else is followed. There is room for [`MAX_RAM`] ranges, sorted.
    pub(crate) fn set_ram(&mut self, ram: &[AddrRange]) -> Result<(), BpfError> {
        if ram.len() > MAX_RAM {
            return Err(BpfError::Layout("RAM in no more than 256 pieces"));
        }
        let shared = self.shared();
        for (slot, range) in shared.ram.iter_mut().zip(ram) {
            *slot = types::ram_range { start: range.start, end: range.end };
        }
        shared.nr_ram = ram.len() as u32;
        Ok(())
    }

    /// Bytes of a `struct page`, once tables were read.
    pub(crate) fn struct_page_size(&self) -> u64 {
        self.struct_page_size.into()
    }

    /// Room for the requests of the next [`read_tables`](Self::read_tables).
    pub(crate) fn requests(&mut self) -> &mut [Request; MAX_REQUESTS] {
        &mut self.shared().requests
    }

    /// What the last [`read_tables`](Self::read_tables) found.
    pub(crate) fn found(&mut self) -> Found<'_> {
        let shared = self.shared();
        let types::bss { replies, entries, facts, plain, .. } = shared;
        Found { replies, entries, facts, plain }
    }

    /// Answers the first `nr` requests about the address space of `task`; `with`
    /// facts, also about the page frames behind entries. `None` when the task
    /// has left its address space: the answers are garbage then.
    pub(crate) fn read_tables(
        &mut self,
        task: &Task,
        layout: &KernelLayout,
        with: Facts,
        nr: usize,
    ) -> Result<Option<Whereabouts>, BpfError> {
        let is_to_arm = matches!(with, Facts::OfYoung { .. });
        if is_to_arm {
            self.shared().plain.fill(0);
        }
        let mut ctx = types::tables_ctx {
            task: task.addr,
            start_boottime: task.start_boottime,
            direct_map: layout.direct_map,
            frame_mask: layout.frame_mask,
            page_array: if with == Facts::None { 0 } else { layout.page_array },
            levels: layout.levels,
            nr: nr.min(MAX_REQUESTS) as u32,
            owners: u32::from(with == Facts::Owners),
            // Not while the array is searched for, by whose memory a page is.
            young_array: if with == Facts::Owners { 0 } else { layout.page_array },
            folios: u32::from(self.others_clear),
            all: u32::from(with == Facts::OfPresent),
            to_arm: u32::from(is_to_arm),
            most_gap: match with {
                Facts::OfYoung { most_gap } => most_gap,
                _ => 0,
            },
            ..Default::default()
        };
        // SAFETY: plain old data, of which the program may change any byte.
        unsafe { run(&self.skel.progs.read_tables, &mut ctx) }?;
        self.struct_page_size = ctx.struct_page_size;
        let there = Whereabouts {
            nr_running: ctx.nr_running,
            cpu: ctx.cpu,
            policy: ctx.policy,
            has_secondary_tables: ctx.secondary_tables != 0,
        };
        Ok((ctx.mm != 0).then_some(there))
    }

    /// Room for the requests of the next [`read_frames`](Self::read_frames).
    pub(crate) fn frame_requests(&mut self) -> &mut [FrameRequest; MAX_FRAME_REQUESTS] {
        &mut self.shared().frame_requests
    }

    /// The requests of the last [`read_frames`](Self::read_frames), and the runs that it found.
    pub(crate) fn found_frames(
        &mut self,
    ) -> (&[FrameRequest; MAX_FRAME_REQUESTS], &[FrameRun; MAX_FRAMES]) {
        let shared = self.shared();
        (&shared.frame_requests, &shared.frame_runs)
    }

    /// Answers the first `nr` requests about page frames, [`MAX_FRAMES`] at most in all.
    /// `own_pgd`: the tables of this process. Whether this kernel has what it takes. The
    /// program must have been [loaded](Self::load).
    pub(crate) fn read_frames(
        &mut self,
        layout: &KernelLayout,
        own_pgd: u64,
        want: Wanted,
        nr: usize,
    ) -> Result<bool, BpfError> {
        let mut ctx = types::frames_ctx {
            direct_map: layout.direct_map,
            frame_mask: layout.frame_mask,
            page_array: layout.page_array,
            own_pgd,
            levels: layout.levels,
            nr: nr.min(MAX_FRAME_REQUESTS) as u32,
            want,
            can: 0,
        };
        // SAFETY: plain old data, of which the program may change any byte but those of `want`,
        // which it leaves.
        unsafe { run(&self.skel.progs.read_frames, &mut ctx) }?;
        Ok(ctx.can != 0)
    }

    /// Says of page frames what is noted of them, in their places: bits of
    /// [`page_cache`](crate::page_cache), and which files have those that nobody maps.
    /// [`MAX_CACHE_FRAMES`] at most.
    pub(crate) fn read_cache(
        &mut self,
        layout: &KernelLayout,
        frames: &[u64],
    ) -> Result<(&[u64], &[CachedFile]), BpfError> {
        let nr = frames.len().min(MAX_CACHE_FRAMES);
        self.shared().cache_frames[..nr].copy_from_slice(&frames[..nr]);
        let mut ctx = types::cache_ctx {
            page_array: layout.page_array,
            direct_map: layout.direct_map,
            nr: nr as u64,
        };
        // SAFETY: plain old data, of which the program changes nothing.
        unsafe { run(&self.skel.progs.read_cache, &mut ctx) }?;
        let shared = self.shared();
        Ok((&shared.cache_frames[..nr], &shared.cache_files[..nr]))
    }

    /// What is noted of `nr` pages of a file from `index` on, [`MAX_FILE_PAGES`] at most: bits of
    /// [`page_cache`](crate::page_cache). `None` where the file has left memory, or can't be read
    /// here.
    pub(crate) fn read_file(
        &mut self,
        layout: &KernelLayout,
        file: &CachedFile,
        index: u64,
        nr: usize,
    ) -> Result<Option<&[u32]>, BpfError> {
        if !self.reads_files {
            return Ok(None);
        }
        let nr = nr.min(MAX_FILE_PAGES);
        let mut ctx = file_ctx(layout, file, index, nr);
        // SAFETY: plain old data, of which the program may change any byte.
        unsafe { run(&self.skel.progs.read_file, &mut ctx) }?;
        Ok((ctx.is_there != 0).then(|| &self.shared().file_pages[..nr]))
    }

    /// Where a file has pages in memory, from `index` on, to 64 pages: some runs, and where to go
    /// on, which is `u64::MAX` behind the last. `None` where the file has left memory.
    pub(crate) fn find_in_file(
        &mut self,
        layout: &KernelLayout,
        file: &CachedFile,
        index: u64,
    ) -> Result<Option<(&[FileRun], u64)>, BpfError> {
        if !self.reads_files {
            return Ok(None);
        }
        let mut ctx = file_ctx(layout, file, index, STEPS_IN_FILE);
        // SAFETY: plain old data, of which the program may change any byte.
        unsafe { run(&self.skel.progs.find_in_file, &mut ctx) }?;
        if ctx.is_there == 0 {
            return Ok(None);
        }
        let nr = (ctx.nr as usize).min(MAX_FILE_RUNS);
        Ok(Some((&self.shared().file_runs[..nr], ctx.index)))
    }

    /// The word at `addr` of the kernel's memory; 0 where there is none.
    pub(crate) fn read_word(&mut self, addr: u64) -> Result<u64, BpfError> {
        let mut ctx = types::word_ctx { addr, word: 0 };
        // SAFETY: plain old data, of which the program may change any byte.
        unsafe { run(&self.skel.progs.read_word, &mut ctx) }?;
        Ok(ctx.word)
    }

    /// A thread of the process behind `pidfd` that has an address space; `None`
    /// when none has. The kernel filters by process number: the caller makes sure
    /// that the process lives on when this returns.
    pub(crate) fn find_task(&mut self, pidfd: BorrowedFd<'_>) -> Result<Option<Task>, BpfError> {
        self.shared().found = types::found_task::default();
        let mut info = libbpf_sys::bpf_iter_link_info::default();
        info.task.pid_fd = pidfd.as_raw_fd() as u32;
        let options = libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
            iter_info: &mut info,
            iter_info_len: size_of::<libbpf_sys::bpf_iter_link_info>() as u32,
            ..Default::default()
        };
        let program = self.skel.progs.find_task.as_fd().as_raw_fd();
        // SAFETY: the descriptors are open and the options live until the call returns.
        let link = owned(unsafe {
            libbpf_sys::bpf_link_create(program, 0, libbpf_sys::BPF_TRACE_ITER, &options)
        });
        let link = match link {
            Ok(link) => link,
            Err(err) if err.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(err) => return Err(BpfError::Iterator(err)),
        };
        // SAFETY: the link is open.
        let iterator = owned(unsafe { libbpf_sys::bpf_iter_create(link.as_raw_fd()) })
            .map_err(BpfError::Iterator)?;
        // Reading runs the program once for each thread; it writes nothing there.
        std::fs::File::from(iterator).read_to_end(&mut Vec::new()).map_err(BpfError::Iterator)?;
        let found = self.shared().found;
        Ok((found.task != 0).then_some(Task {
            addr: found.task,
            start_boottime: found.start_boottime,
            pgd: found.pgd,
        }))
    }
}

/// A question about pages of a file.
fn file_ctx(layout: &KernelLayout, file: &CachedFile, index: u64, nr: usize) -> types::file_ctx {
    types::file_ctx {
        page_array: layout.page_array,
        direct_map: layout.direct_map,
        file: *file,
        index,
        nr: nr as u32,
        is_there: 0,
    }
}

/// Takes over what libbpf returns: a descriptor, or a negative errno.
fn owned(result: i32) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    // SAFETY: libbpf hands over a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Runs a program of type syscall, which changes its context in place.
///
/// # Safety
/// `T` has no padding and any bytes are a valid `T`.
unsafe fn run<T>(program: &ProgramMut<'_>, ctx: &mut T) -> Result<(), BpfError> {
    // SAFETY: the pointer and the length are those of a live, exclusive borrow.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(ctx).cast(), size_of::<T>()) };
    let input = ProgramInput { context_in: Some(bytes), ..Default::default() };
    program.test_run(input).map_err(BpfError::Run)?;
    Ok(())
}
