//! Does an action to a range of a process's memory, and says what came of it and what it
//! took. As root:
//!
//! ```text
//! cargo run --release -p daos-bpf --example act -- PID ACTION START END [TIMES PERIOD_MS]
//! ```
//!
//! Addresses are in decimal, or in hexadecimal behind 0x.

use daos_bpf::VirtualMemory;
use daos_core::{AccessCheck, Action, ActionSink, AddrRange, BATCH_BYTES, PAGE_SIZE};
use daos_linux::{Process, cpu};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [pid, action, start, end, often @ ..] = args.as_slice() else {
        return Err("PID ACTION START END [TIMES PERIOD_MS]".into());
    };
    let action = Action::ALL.iter().find(|a| a.name() == action).ok_or("no such action")?;
    let range = AddrRange::new(number(start)?, number(end)?).page_aligned();
    let times = often.first().map_or(Ok(1), |times| number(times))?;
    let period_ms = often.get(1).map_or(Ok(100), |period| number(period))?;

    let process = Process::open(pid.parse()?)?;
    process.may_be_acted_on()?;
    let mut memory = VirtualMemory::new()?;
    memory.supports(*action)?;
    let target = memory.add(process)?;
    for _ in 0..times {
        memory.targets()?;
        let (from_us, cpu_us) = (memory.clock_us(), cpu::used_us());
        let (mut applied, mut bloat) = (0, 0);
        let mut refused = Vec::new();
        for start in (range.start..range.end).step_by(BATCH_BYTES as usize) {
            let batch = AddrRange::new(start, range.end.min(start + BATCH_BYTES));
            let outcome = memory.apply(*action, target, &[batch])?;
            applied += outcome.applied_bytes;
            bloat += outcome.bloat_bytes;
            refused.extend(outcome.refused);
        }
        let (took_us, cpu_us) = (memory.clock_us() - from_us, cpu::used_us() - cpu_us);
        println!(
            "{action}: applied {applied} bytes, bloat {bloat}, refused {refused:?}, {took_us:.0} us \
             (CPU {cpu_us} us), {:.3} us a page asked about",
            took_us / (range.len() / PAGE_SIZE).max(1) as f64
        );
        std::thread::sleep(Duration::from_millis(period_ms));
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    }
}
