//! A child process whose memory is made as a test wants it, and that can tell whether it
//! still holds what it should.
//!
//! It is forked off the test, so between the fork and its end it may only do what needs
//! no lock: kernel calls, and its own memory.

use daos_core::{AddrRange, PAGE_SIZE};
use daos_linux::{Process, TempCgroup};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub const HUGE: u64 = 2 << 20;

/// How the memory is made. All pages for which `fills` holds are written.
#[derive(Clone, Copy)]
pub struct Making {
    pub bytes: u64,
    pub fills: fn(page: u64) -> bool,
    /// Advice for all of it, before anything is written.
    pub advice: i32,
    /// Whether it is locked afterwards.
    pub locked: bool,
    /// Whether a child of it maps the same pages.
    pub shared: bool,
    /// Whether it goes through all of it, over and over, and answers nothing.
    pub in_use: bool,
}

impl Making {
    /// Of regular pages, all of them written.
    pub fn pages(bytes: u64) -> Self {
        let advice = libc::MADV_NOHUGEPAGE;
        Self { bytes, fills: |_| true, advice, locked: false, shared: false, in_use: false }
    }

    /// Of huge pages, where the host gives them on request.
    pub fn huge(bytes: u64) -> Self {
        Self { advice: libc::MADV_HUGEPAGE, ..Self::pages(bytes) }
    }
}

/// What it can be asked to do.
const CHECK: u64 = 1;
const REPLACE: u64 = 2;
const GIVE_BACK: u64 = 3;
const HIDE: u64 = 4;
const SHOW: u64 = 5;
const LOCK_A_PAGE: u64 = 6;

pub struct Target {
    pid: i32,
    /// 2 MiB-aligned.
    pub memory: AddrRange,
    ask: i32,
    answer: i32,
    waited_for: bool,
}

impl Target {
    pub fn start(making: Making) -> Self {
        Self::start_with(making, None)
    }

    /// All of its memory is charged to `cgroup`.
    pub fn start_in(cgroup: &TempCgroup, making: Making) -> Self {
        Self::start_with(making, Some(cgroup))
    }

    fn start_with(making: Making, cgroup: Option<&TempCgroup>) -> Self {
        let (ask, answer) = (pipe(), pipe());
        // SAFETY: the child does nothing that could wait for a lock of another thread.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "a child can be made");
        if pid == 0 {
            live(making, ask.0, answer.1);
        }
        // SAFETY: the child's ends, which are not used here.
        unsafe { (libc::close(ask.0), libc::close(answer.1)) };
        let (ask, answer) = (ask.1, answer.0);
        if let Some(cgroup) = cgroup {
            std::fs::write(cgroup.processes(), pid.to_string()).expect("it can be moved");
        }
        write_word(ask, 1);
        let start = read_word(answer).expect("the child is ready");
        let memory = AddrRange::new(start, start + making.bytes);
        Self { pid, memory, ask, answer, waited_for: false }
    }

    pub fn process(&self) -> Process {
        Process::open(self.pid as u32).expect("it runs")
    }

    /// Whether all of its memory holds what it should. It reads every page.
    pub fn is_intact(&self) -> bool {
        write_word(self.ask, CHECK);
        read_word(self.answer) == Some(1)
    }

    /// Puts shared memory in the place of its memory, all of it written.
    pub fn replace_by_shared(&self) {
        write_word(self.ask, REPLACE);
        assert_eq!(read_word(self.answer), Some(1), "it can map that");
    }

    /// Gives its memory back, all of it.
    pub fn give_back(&self) {
        self.does(GIVE_BACK);
    }

    /// Has no access to its memory until it is shown again.
    pub fn hide(&self) {
        self.does(HIDE);
    }

    pub fn show(&self) {
        self.does(SHOW);
    }

    /// Locks the page in its middle, which is a mapping of its own then.
    pub fn lock_a_page(&self) {
        self.does(LOCK_A_PAGE);
    }

    fn does(&self, what: u64) {
        write_word(self.ask, what);
        assert_eq!(read_word(self.answer), Some(1), "it can do that");
    }

    pub fn kill(&mut self) {
        // SAFETY: our child, which was not waited for yet.
        unsafe { (libc::kill(self.pid, libc::SIGKILL), libc::waitpid(self.pid, &mut 0, 0)) };
        self.waited_for = true;
    }

    /// A closure for another thread that kills it, but does not wait for it.
    pub fn killer(&self) -> impl FnOnce() + Send + use<> {
        let pid = self.pid;
        // SAFETY: our child, which is not waited for before this is joined.
        move || assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0)
    }

    /// What the pagemap says of each of its pages.
    pub fn pages(&self) -> Vec<PageState> {
        self.pagemap().into_iter().map(PageState::of).collect()
    }

    /// The number of each page's frame, where it is present.
    pub fn frames(&self) -> Vec<Option<u64>> {
        let frame = |word| word & ((1 << 55) - 1);
        let of_present = |word| (PageState::of(word) == PageState::Present).then(|| frame(word));
        self.pagemap().into_iter().map(of_present).collect()
    }

    fn pagemap(&self) -> Vec<u64> {
        let pagemap = File::open(format!("/proc/{}/pagemap", self.pid)).expect("it runs");
        let mut words = vec![0; self.memory.pages() as usize * 8];
        pagemap.read_exact_at(&mut words, self.memory.start / PAGE_SIZE * 8).expect("it is there");
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight of them"));
        words.chunks(8).map(word).collect()
    }

    /// Bytes of it that huge pages map.
    pub fn huge_bytes(&self) -> u64 {
        self.smaps("AnonHugePages:")
    }

    /// Bytes of it that are in memory, without the kernel's page of zeros.
    pub fn resident_bytes(&self) -> u64 {
        self.smaps("Anonymous:")
    }

    /// The sum of a line over the mappings that lie in its memory.
    fn smaps(&self, name: &str) -> u64 {
        let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", self.pid));
        let (mut inside, mut kib) = (false, 0);
        for line in smaps.expect("it runs").lines() {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap_or_default();
            if let Some((start, _)) = first.split_once('-') {
                let start = u64::from_str_radix(start, 16);
                inside = start.is_ok_and(|start| self.memory.contains(start));
            } else if inside && first == name {
                kib += words.next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number");
            }
        }
        kib << 10
    }

    pub fn count(&self, state: PageState) -> usize {
        self.pages().iter().filter(|&&page| page == state).count()
    }

    /// Its pages from `first` on.
    pub fn range(&self, first: u64, pages: u64) -> AddrRange {
        let start = self.memory.start + first * PAGE_SIZE;
        AddrRange::new(start, start + pages * PAGE_SIZE)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.waited_for {
            self.kill();
        }
        // SAFETY: both are ours, and used no more.
        unsafe { (libc::close(self.ask), libc::close(self.answer)) };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    Present,
    Swapped,
    Absent,
}

impl PageState {
    fn of(word: u64) -> Self {
        match word >> 62 {
            0 => Self::Absent,
            1 => Self::Swapped,
            _ => Self::Present,
        }
    }
}

/// The word that stands at the start of a page: no page can pass for another.
fn content(addr: u64) -> u64 {
    daos_core::rng::mix(addr) | 1
}

/// What the child does. It never returns.
fn live(making: Making, ask: i32, answer: i32) -> ! {
    // SAFETY: numbers only; memory that was just mapped and belongs to nobody else.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Until it is where it is meant to be.
        read_word(ask);
        let bytes = (making.bytes + HUGE) as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mapped = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        let start = (mapped as u64).next_multiple_of(HUGE);
        libc::madvise(start as *mut _, making.bytes as usize, making.advice);
        let pages = || (0..making.bytes / PAGE_SIZE).filter(|&page| (making.fills)(page));
        let word = |page: u64| (start + page * PAGE_SIZE) as *mut u64;
        for page in pages() {
            word(page).write_volatile(content(word(page) as u64));
        }
        if making.locked {
            libc::mlock(start as *const _, making.bytes as usize);
        }
        if making.shared && libc::fork() == 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            loop {
                libc::pause();
            }
        }
        write_word(answer, start);
        if making.in_use {
            loop {
                for page in pages() {
                    word(page).write_volatile(word(page).read_volatile());
                }
            }
        }
        while let Some(asked) = read_word(ask) {
            let (memory, bytes) = (start as *mut _, making.bytes as usize);
            let middle = word(making.bytes / PAGE_SIZE / 2);
            let failed = match asked {
                GIVE_BACK => Some(libc::munmap(memory, bytes)),
                HIDE => Some(libc::mprotect(memory, bytes, libc::PROT_NONE)),
                SHOW => Some(libc::mprotect(memory, bytes, access)),
                LOCK_A_PAGE => Some(libc::mlock(middle.cast_const().cast(), PAGE_SIZE as usize)),
                _ => None,
            };
            if let Some(failed) = failed {
                write_word(answer, u64::from(failed == 0));
                continue;
            }
            if asked == REPLACE {
                let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                let mapped = libc::mmap(memory, bytes, access, flags, -1, 0);
                if mapped as u64 != start {
                    libc::_exit(1);
                }
                pages().for_each(|page| word(page).write_volatile(content(word(page) as u64)));
            }
            let intact = |page| word(page).read_volatile() == content(word(page) as u64);
            write_word(answer, u64::from(pages().all(intact)));
        }
        libc::_exit(0)
    }
}

fn pipe() -> (i32, i32) {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    (ends[0], ends[1])
}

fn read_word(from: i32) -> Option<u64> {
    let mut word = 0u64;
    // SAFETY: room for the eight bytes.
    let read = unsafe { libc::read(from, (&raw mut word).cast(), 8) };
    (read == 8).then_some(word)
}

fn write_word(to: i32, word: u64) {
    // SAFETY: the eight bytes of a word.
    unsafe { libc::write(to, (&raw const word).cast(), 8) };
}
