//! The scan beside a program, for what it costs alone: what it finds is nobody's.

use super::page_scan::PageScan;
use super::run::ANY_COST;
use daos_core::SnapshotSource;
use daos_session::{LiveError, Targets};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

/// From when on memory is idle, in microseconds: as in `daos-eval accuracy`.
const IDLE_US: u64 = 5_000_000;

/// Scans all pages of a process and of what it starts, every so many microseconds, until it has
/// ended or `stop` is set.
///
/// # Errors
///
/// [`LiveError`] when the process can't be watched.
pub fn scan_beside(pid: u32, every_us: u64, stop: Arc<AtomicBool>) -> Result<(), LiveError> {
    let (to, _) = mpsc::channel();
    let monitor = PageScan::new(every_us, IDLE_US, to);
    let targets = Targets::open(&[pid], true, false, Some(ANY_COST))?;
    let mut live = targets.watch(None, monitor, None, stop)?;
    while live.next_snapshot()?.is_some() {}
    Ok(())
}
