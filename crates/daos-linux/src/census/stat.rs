//! `/proc/PID/stat`: what the kernel says of a process in one line.

use crate::kernel_files;
use daos_core::PAGE_SIZE;
use std::path::Path;

/// The flag of a kernel thread.
const PF_KTHREAD: u64 = 0x0020_0000;

/// What is needed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: u32,
    /// Device number of its controlling terminal; 0 for none.
    pub(crate) terminal: i64,
    /// In [clock ticks](crate::process::ticks_now) since the machine was started.
    pub(crate) start_ticks: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) is_kernel_thread: bool,
    has_ended: bool,
}

impl Stat {
    /// `None` when there is no such process.
    pub(crate) fn read(root: &Path, pid: u32) -> Option<Self> {
        Self::parse(&kernel_files::text(&root.join(format!("proc/{pid}/stat"))).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        // The name is in parentheses and may hold anything, these too.
        let fields: Vec<&str> = line.rsplit_once(") ")?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let is_over = matches!(*fields.first()?, "Z" | "X" | "x");
        let pages = number(21)?;
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            terminal: fields.get(4)?.parse().ok()?,
            start_ticks: number(19)?,
            resident_bytes: pages.saturating_mul(PAGE_SIZE),
            is_kernel_thread: number(6)? & PF_KTHREAD != 0,
            has_ended: is_over && pages == 0,
        })
    }

    pub(crate) fn has_no_memory(&self) -> bool {
        self.is_kernel_thread || self.has_ended
    }
}

/// Who process `pid` acts as.
pub(crate) fn effective_uid(root: &Path, pid: u32) -> Option<u32> {
    let status = kernel_files::text(&root.join(format!("proc/{pid}/status"))).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let line = "7 (a) S 1 (b) S 3 7 7 34816 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 4096 12 18446744073709551615";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.terminal, stat.start_ticks), (3, 34816, 4711));
        assert_eq!((stat.resident_bytes, stat.has_no_memory()), (12 << 12, false));
        let thread = line.replace(" 64 ", " 2129984 ");
        assert!(Stat::parse(&thread).unwrap().has_no_memory());
        let ended = line.replace(") S 3", ") Z 3").replace(" 12 1844", " 0 1844");
        assert!(Stat::parse(&ended).unwrap().has_no_memory());
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn of_this_process() {
        let stat = Stat::read(Path::new("/"), std::process::id()).unwrap();
        assert!(stat.resident_bytes > 1 << 20 && !stat.has_no_memory());
        assert!(stat.start_ticks <= crate::process::ticks_now());
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(effective_uid(Path::new("/"), std::process::id()), Some(uid));
    }
}
