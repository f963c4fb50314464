//! What a wake-up of a monitor costs it and its target: synthetic rounds against a
//! process that touches memory at random. As root:
//!
//! ```text
//! cargo run --release -p daos-bpf --example rounds -- [KEY=VALUE]...
//! ```
//!
//! | key | what | default |
//! |---|---|---|
//! | `mib` | memory of the target, in pages of 4 KiB | 1024 |
//! | `hot` | MiB of it that the target touches, at its start | a tenth |
//! | `check` | windows read in the rest of it at the first wake-up | 300 |
//! | `of` | pages of each of those | 16 |
//! | `align` | pages of which their first is a multiple | 8 |
//! | `arm` | windows armed at the first wake-up and checked at the second | 100 |
//! | `pages` | pages of each of those | 1 |
//! | `s` | seconds, half of them with monitoring | 20 |
//! | `cpu` | CPU to keep the target on | any |
//!
//! Each interval of 100 ms has two wake-ups, 5 ms apart. Every half second
//! monitoring goes on or off, and the target's speed in both is compared.

use daos_bpf::VirtualMemory;
use daos_core::{AccessCheck, Observation, PAGE_SIZE, Rng, TargetId, Window};
use daos_linux::Process;
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a page table maps, in bytes.
const TABLE: u64 = 2 << 20;
/// Touches of the target between two updates of its counter.
const STRIDE: u64 = 1024;

struct Options {
    mib: u64,
    hot: u64,
    check: usize,
    of: u64,
    align: u64,
    arm: usize,
    pages: u32,
    s: u64,
    cpu: Option<usize>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        mib: 1024,
        hot: 0,
        check: 300,
        of: 16,
        align: 8,
        arm: 100,
        pages: 1,
        s: 20,
        cpu: None,
    };
    for arg in std::env::args().skip(1) {
        let (key, value) = arg.split_once('=').ok_or("arguments are KEY=VALUE")?;
        let value: u64 = value.parse()?;
        match key {
            "mib" => options.mib = value,
            "hot" => options.hot = value,
            "check" => options.check = value as usize,
            "of" => options.of = value,
            "align" => options.align = value,
            "arm" => options.arm = value as usize,
            "pages" => options.pages = value as u32,
            "s" => options.s = value,
            "cpu" => options.cpu = Some(value as usize),
            _ => return Err(format!("no such key: {key}").into()),
        }
    }
    if options.hot == 0 {
        options.hot = (options.mib / 10).max(1);
    }
    Ok(options)
}

/// A mapping that a forked child has too, at the same address.
fn map(bytes: u64, flags: i32) -> *mut u8 {
    let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let len = (bytes + TABLE) as usize;
    // SAFETY: a new mapping, which replaces none.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "no memory");
    (start as u64).next_multiple_of(TABLE) as *mut u8
}

/// The target: writes all of its memory once, then touches the hot part for ever.
fn touch(start: *mut u8, options: &Options, counter: &AtomicU64) -> ! {
    // SAFETY: system calls on numbers and on the mapping `start`, which is ours.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if let Some(cpu) = options.cpu {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
        libc::madvise(start.cast(), (options.mib << 20) as usize, libc::MADV_NOHUGEPAGE);
    }
    for page in 0..options.mib << 8 {
        // SAFETY: inside the mapping.
        unsafe { start.add((page * PAGE_SIZE) as usize).write_volatile(1) };
    }
    let mut state = 1u64;
    let bytes = options.hot << 20;
    loop {
        counter.fetch_add(1, Ordering::Relaxed);
        for _ in 0..STRIDE {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = ((u128::from(state) * u128::from(bytes)) >> 64) as usize;
            // SAFETY: inside the mapping.
            unsafe { start.add(at).read_volatile() };
        }
    }
}

fn cpu_us() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// CPU time by part, in microseconds, a value for each round.
#[derive(Default)]
struct Parts {
    names: Vec<&'static str>,
    values: Vec<Vec<f64>>,
    last: f64,
}

impl Parts {
    fn charge(&mut self, name: &'static str) {
        let now = cpu_us();
        let us = now - std::mem::replace(&mut self.last, now);
        let known = self.names.iter().position(|n| *n == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name);
            self.values.push(Vec::new());
            self.names.len() - 1
        });
        self.values[at].push(us);
    }
}

fn sleep_until(due: Instant) {
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let memory = map(options.mib << 20, libc::MAP_PRIVATE);
    let counter: *const AtomicU64 = map(PAGE_SIZE, libc::MAP_SHARED).cast();
    // SAFETY: the mapping is zeroed, aligned, and stays for as long as we run.
    let counter = unsafe { &*counter };
    // SAFETY: there is one thread yet.
    let child = unsafe { libc::fork() };
    if child == 0 {
        touch(memory, &options, counter);
    }
    let result = measure(&options, memory as u64, counter, child as u32);
    // SAFETY: the child is ours and has not been waited for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    result
}

fn measure(
    options: &Options,
    start: u64,
    counter: &AtomicU64,
    child: u32,
) -> Result<(), Box<dyn Error>> {
    while counter.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (began, cpu) = (Instant::now(), cpu_us());
    let mut access = VirtualMemory::new()?;
    println!("loaded and calibrated in {:?}, CPU {:.0} us", began.elapsed(), cpu_us() - cpu);
    let target = access.add(Process::open(child)?)?;
    println!("prices: {:?}", access.prices());
    access.targets()?;
    arm_all(&mut access, target, start, options.mib)?;

    daos_linux::cpu::ask_for_short_turns();
    let mut rng = Rng::new(1);
    let mut found: Vec<Observation> = Vec::new();
    let mut parts = Parts::default();
    let mut speeds = [Vec::new(), Vec::new()];
    let (mut armed_young, mut rounds, mut target_us) = (0u64, 0u64, 0.0);
    let mut due = Instant::now();
    for half in 0..options.s * 2 {
        let on = half % 2 == 1;
        let (began, count) = (Instant::now(), counter.load(Ordering::Relaxed));
        for _ in 0..5 {
            due += Duration::from_millis(100);
            let begin = due - Duration::from_micros(5000 + rng.below(90_000));
            if !on {
                sleep_until(due);
                continue;
            }
            let (hot, all) = (options.hot << 8, options.mib << 8);
            let window =
                |first: u64, pages| Window { target, start: start + first * PAGE_SIZE, pages };
            let mut sentinels: Vec<_> = (0..options.check)
                .map(|_| {
                    let first = rng.below((all - hot - options.of) / options.align);
                    window(hot + first * options.align, options.of as u32)
                })
                .collect();
            let pages = u64::from(options.pages);
            let mut hot: Vec<_> = (0..options.arm)
                .map(|_| window(rng.below(hot / pages) * pages, options.pages))
                .collect();
            sentinels.sort_by_key(|w| w.start);
            hot.sort_by_key(|w| w.start);
            hot.dedup();
            parts.last = cpu_us();
            sleep_until(begin);
            parts.charge("wake 1");
            found.clear();
            access.check(&sentinels, &mut found)?;
            parts.charge("check 1");
            access.arm(&hot)?;
            parts.charge("arm");
            sleep_until(begin + Duration::from_millis(5));
            parts.charge("wake 2");
            found.clear();
            access.check(&hot, &mut found)?;
            parts.charge("check 2");
            target_us += access.take_target_us();
            armed_young += found.iter().map(|o| u64::from(o.accessed)).sum::<u64>();
            rounds += 1;
        }
        sleep_until(due);
        let done = counter.load(Ordering::Relaxed) - count;
        speeds[usize::from(on)].push(done as f64 / began.elapsed().as_secs_f64());
    }
    let mut total = 0.0;
    for (name, values) in parts.names.iter().zip(&mut parts.values) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        total += mean;
        println!("{name:8} {:7.1} us median, {mean:7.1} us mean", median(values));
    }
    println!("monitor  {total:7.1} us mean a round, {:.3} % of a CPU", total / 1000.0);
    let rounds = rounds.max(1) as f64;
    println!("target   {:7.1} us a round by its own estimate", target_us / rounds);
    let mut ratios: Vec<_> =
        speeds[1].iter().zip(&speeds[0]).map(|(on, off)| 100.0 * (off / on - 1.0)).collect();
    println!("slowdown {:7.3} % median of pairs", median(&mut ratios));
    println!("found    {:7.1} pages accessed of those armed, a round", armed_young as f64 / rounds);
    Ok(())
}

/// Arms everything, so that what is not touched again is cold.
fn arm_all(
    access: &mut VirtualMemory,
    target: TargetId,
    start: u64,
    mib: u64,
) -> Result<(), Box<dyn Error>> {
    let windows: Vec<_> =
        (0..mib / 2).map(|i| Window { target, start: start + (i << 21), pages: 512 }).collect();
    // Twice: pages just faulted in may not be on a list yet.
    for _ in 0..2 {
        let began = Instant::now();
        let cpu = cpu_us();
        for windows in windows.chunks(64) {
            access.arm(windows)?;
        }
        println!("armed {mib} MiB in {:?}, CPU {:.0} us", began.elapsed(), cpu_us() - cpu);
    }
    let mut found = Vec::new();
    let began = Instant::now();
    access.check(&windows, &mut found)?;
    let accessed: u32 = found.iter().map(|o| o.accessed).sum();
    println!("{accessed} of {} pages are young, read in {:?}", mib << 8, began.elapsed());
    Ok(())
}
