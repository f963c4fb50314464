//! Monitor a process: `cargo run --example monitor_process -- PID` (as root).

use daos_bpf::VirtualMemory;
use daos_core::{HOT_RATE, MonitorAttrs, SnapshotSource};
use daos_linux::Process;
use daos_monitor::Reference;
use daos_session::Driver;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pid = std::env::args().nth(1).ok_or("usage: monitor_process PID")?.parse()?;
    let process = Process::open(pid)?;
    let mut memory = VirtualMemory::new()?;
    memory.add(process)?;

    let monitor = Reference::new(MonitorAttrs::default(), 42)?;
    let ten_seconds = Some(10_000_000);
    let mut driver = Driver::new(monitor, memory, Default::default(), ten_seconds)?;

    // Called once an aggregation interval: the paper's callback.
    while let Some(snapshot) = driver.next_snapshot()? {
        let regions = snapshot.targets.iter().flat_map(|t| &t.regions);
        let used: u64 = regions.filter(|r| r.access_rate >= HOT_RATE).map(|r| r.range.len()).sum();
        let cpu =
            100.0 * snapshot.cost.cpu_us as f64 / (snapshot.end_us - snapshot.start_us) as f64;
        println!(
            "{:6.1} s  {:4} regions  {:7.1} MiB hot  {:.2} % CPU, {} late, {} missed",
            snapshot.end_us as f64 / 1e6,
            snapshot.nr_regions(),
            used as f64 / (1 << 20) as f64,
            cpu,
            snapshot.cost.late_ticks,
            snapshot.cost.missed_ticks
        );
    }
    Ok(())
}
