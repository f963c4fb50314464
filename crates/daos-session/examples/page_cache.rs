//! A primitive of one's own: which parts of a file are read, through the page
//! cache, without root or eBPF.
//!
//! `cargo run --example page_cache -- FILE`, and read parts of the file meanwhile.
//!
//! Arming a page drops it from the page cache; whoever reads it brings it back,
//! and `cachestat(2)` (Linux 6.5) sees that. Everything else, the regions, their
//! adjustment and the loop, comes with the library.

use daos_core::{
    AccessCheck, AddrRange, Capabilities, MonitorAttrs, Observation, PAGE_SIZE, SnapshotSource,
    Target, TargetId, Window,
};
use daos_monitor::Reference;
use daos_session::Driver;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A file; its "addresses" are offsets.
struct PageCache {
    file: File,
}

impl PageCache {
    /// Pages of the window that are in the page cache.
    fn cached(&self, window: &Window) -> io::Result<u32> {
        let range: [u64; 2] = [window.start, window.range().len()];
        // nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted
        let mut stat = [0u64; 5];
        const CACHESTAT: libc::c_long = 451;
        let fd = self.file.as_raw_fd();
        // SAFETY: both pointers are to arrays of the size that the call takes.
        let failed = unsafe { libc::syscall(CACHESTAT, fd, &range, &mut stat, 0) };
        if failed == 0 { Ok(stat[0] as u32) } else { Err(io::Error::last_os_error()) }
    }
}

impl AccessCheck for PageCache {
    type Error = io::Error;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "page-cache", max_window_pages: 512, page_bits: false, sparse: false }
    }

    fn targets(&mut self) -> io::Result<Vec<Target>> {
        let pages = self.file.metadata()?.len() / PAGE_SIZE;
        let ranges = vec![AddrRange::new(0, pages * PAGE_SIZE)];
        Ok(vec![Target { id: TargetId(0), ranges, is_listed: true, resident_bytes: None }])
    }

    fn arm(&mut self, windows: &[Window]) -> io::Result<()> {
        for window in windows {
            let (start, len) = (window.start as i64, window.range().len() as i64);
            // SAFETY: only numbers go in. Clean, unmapped pages are dropped; others stay.
            unsafe {
                libc::posix_fadvise(self.file.as_raw_fd(), start, len, libc::POSIX_FADV_DONTNEED)
            };
        }
        Ok(())
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> io::Result<()> {
        for window in windows {
            let cached = self.cached(window)?;
            found.push(Observation { present: cached, accessed: cached, ..Default::default() });
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: page_cache FILE")?;
    let attrs = MonitorAttrs {
        sample_us: 50_000,
        aggregation_us: 1_000_000,
        max_regions: 100,
        ..MonitorAttrs::default()
    };
    let monitor = Reference::new(attrs, 1)?;
    let access = PageCache { file: File::open(&path)? };
    let ten_seconds = Some(10_000_000);
    let mut driver = Driver::new(monitor, access, Default::default(), ten_seconds)?;
    while let Some(snapshot) = driver.next_snapshot()? {
        let regions = || snapshot.targets.iter().flat_map(|t| &t.regions);
        let read: u64 = regions().filter(|r| r.access_rate > 0.0).map(|r| r.range.len()).sum();
        println!(
            "{:4.1} s: {:6.1} MiB of {path} are being read, in {} regions",
            snapshot.end_us as f64 / 1e6,
            read as f64 / f64::from(1 << 20),
            regions().count()
        );
    }
    Ok(())
}
