//! Swap: making a device one, turning it on and off.
//!
//! Turning it off brings all that is in it back into memory. The kernel does that also
//! when there is no room, and then kills processes to make some: so it is not asked to.

use crate::cgroup;
use crate::support::{Swap, SwapDevice};
use crate::swap_error::SwapError;
use crate::swap_header::{self, Uuid};
use daos_core::PAGE_SIZE;
use daos_core::text::safe;
use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The kernel takes no device of less than ten pages; one that is of use has more.
const LEAST_BYTES: u64 = 1 << 20;
/// The header of a device counts its pages in 32 bits.
const MOST_BYTES: u64 = u32::MAX as u64 * PAGE_SIZE;
/// What must be left when all is back in memory.
const RESERVE_BYTES: u64 = 64 << 20;
/// The same of a cgroup; the kernel charges it up to a quarter MiB a CPU in advance.
const CGROUP_RESERVE_BYTES: u64 = 8 << 20;

/// The highest priority there is: see swapon(2).
pub(crate) const FIRST: u16 = 0x7fff;
/// Says that a priority is given.
const PREFER: libc::c_int = 0x8000;

/// A bound on memory that leaves room for something. Zero would be none for the kernel.
pub(crate) fn valid_limit(bytes: u64) -> Result<u64, SwapError> {
    if bytes < LEAST_BYTES { Err(SwapError::Limit(bytes)) } else { Ok(bytes) }
}

/// A priority that swap can have.
pub(crate) fn valid_priority(priority: u16) -> Result<u16, SwapError> {
    if priority > FIRST { Err(SwapError::Priority(priority)) } else { Ok(priority) }
}

/// A size that a device can have, in whole pages.
pub(crate) fn valid_size(bytes: u64) -> Result<u64, SwapError> {
    if !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
        return Err(SwapError::Size(bytes));
    }
    Ok(bytes.next_multiple_of(PAGE_SIZE))
}

/// Writes what makes a device of `bytes` a swap device of this UUID, as mkswap(8) does.
pub(crate) fn format(device: &Path, bytes: u64, uuid: Uuid) -> Result<(), SwapError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).open(device)?;
        file.write_all(&swap_header::page(bytes, uuid))?;
        file.sync_all()
    };
    write().map_err(|err| SwapError::io(format!("writing to {}", device.display()), err))
}

/// Turns it on, to be used before others of a lower priority.
pub(crate) fn on(device: &Path, priority: u16) -> Result<(), SwapError> {
    let path = c_path(device)?;
    // SAFETY: the path is a string with its end; the kernel only reads it.
    match unsafe { libc::swapon(path.as_ptr(), PREFER | libc::c_int::from(priority)) } {
        0 => Ok(()),
        _ => Err(SwapError::io(format!("swapon {}", device.display()), io::Error::last_os_error())),
    }
}

/// Turns it off, if what is in it fits into memory. That takes some seconds a GiB.
///
/// Whether it fits is known only for this moment: what others take while it comes back
/// can still be too much.
pub(crate) fn off(root: &Path, device: &Path) -> Result<(), SwapError> {
    room_for(root, device)?;
    let path = c_path(device)?;
    // SAFETY: as above.
    if unsafe { libc::swapoff(path.as_ptr()) } == 0 {
        return Ok(());
    }
    let err = io::Error::last_os_error();
    if err.kind() == io::ErrorKind::OutOfMemory {
        let used_bytes = used_bytes(root, device).unwrap_or(0);
        let (place, room_bytes) = ("the machine".to_owned(), 0);
        return Err(SwapError::DoesNotFit { device: device.into(), used_bytes, place, room_bytes });
    }
    Err(SwapError::io(format!("swapoff {}", device.display()), err))
}

fn c_path(path: &Path) -> Result<CString, SwapError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|err| SwapError::io(path.display().to_string(), err.into()))
}

/// Bytes in a swap device; `None` if it is off.
pub(crate) fn used_bytes(root: &Path, device: &Path) -> Option<u64> {
    Some(in_use(root, device)?.used_bytes)
}

/// A device or file as swap that is on; `None` if it is off.
pub fn in_use(root: &Path, device: &Path) -> Option<SwapDevice> {
    let devices = SwapDevice::all(&root.join("proc"));
    devices.into_iter().find(|swap| Path::new(&swap.name) == device)
}

/// Whether there is room for what is in a swap device, so that it can be switched off: in other
/// swap or in memory, and in the cgroups that the pages are charged to. If a cgroup is full, the
/// kernel kills its processes at `swapoff`, even if other swap has room.
fn room_for(root: &Path, device: &Path) -> Result<(), SwapError> {
    let swap = Swap::read(&root.join("proc"));
    let Some(ours) = in_use(root, device) else { return Ok(()) };
    let free_elsewhere = swap.free_bytes().saturating_sub(ours.size_bytes - ours.used_bytes);
    let refuse = |used_bytes, place, room_bytes| {
        Err(SwapError::DoesNotFit { device: device.into(), used_bytes, place, room_bytes })
    };
    let available = crate::host::meminfo(&root.join("proc"), "MemAvailable").unwrap_or(0);
    let room = (available + free_elsewhere).saturating_sub(RESERVE_BYTES);
    if ours.used_bytes > room.max(free_elsewhere) {
        return refuse(ours.used_bytes, "the machine".to_owned(), room);
    }
    for group in cgroup::all(root) {
        let (Some(swapped), Some(room)) = (group.swap_bytes(), group.room_bytes()) else {
            continue;
        };
        let room = room.saturating_sub(CGROUP_RESERVE_BYTES);
        // In which device it is the kernel does not say: all of it may be in this one.
        let swapped = swapped.min(ours.used_bytes);
        if swapped > room {
            // Who may make cgroups chooses their names.
            let place = format!("cgroup {}", safe(&group.path));
            return refuse(swapped, place, room);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sizes_are_whole_pages_within_bounds() {
        assert_eq!(valid_size((1 << 20) + 1).unwrap(), (1 << 20) + 4096);
        assert_eq!(valid_size(4 << 30).unwrap(), 4 << 30);
        assert!(matches!(valid_size(4096), Err(SwapError::Size(4096))));
        assert!(valid_size(u64::MAX).is_err());
    }

    #[test]
    fn bounds_and_priorities_are_the_kernels() {
        assert!(matches!(valid_limit(0), Err(SwapError::Limit(0))), "it would be no bound");
        assert_eq!(valid_limit(1 << 20).unwrap(), 1 << 20);
        assert_eq!(valid_priority(32767).unwrap(), 32767);
        assert!(matches!(valid_priority(32768), Err(SwapError::Priority(32768))));
    }

    /// A host with `/dev/zram0` of 1 GiB, and other swap of 1 GiB.
    fn host(used_mib: u64, other_used_mib: u64, available_mib: u64) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir_all(proc.join("self")).unwrap();
        let (used, other_used) = (used_mib << 10, other_used_mib << 10);
        let swaps = format!(
            "Filename Type Size Used Priority\n\
             /dev/zram0 partition 1048576 {used} 32767\n/dev/sdb partition 1048576 {other_used} -2\n"
        );
        fs::write(proc.join("swaps"), swaps).unwrap();
        let meminfo = format!(
            "MemAvailable: {} kB\nSwapTotal: 2097152 kB\nSwapFree: {} kB\n",
            available_mib << 10,
            2097152 - used - other_used
        );
        fs::write(proc.join("meminfo"), meminfo).unwrap();
        root
    }

    fn fits(root: &tempfile::TempDir) -> bool {
        let error = room_for(root.path(), Path::new("/dev/zram0")).err();
        assert!(matches!(error, None | Some(SwapError::DoesNotFit { .. })), "{error:?}");
        error.is_none()
    }

    #[test]
    fn what_comes_back_needs_room() {
        assert!(fits(&host(512, 1024, 600)), "memory has room");
        assert!(!fits(&host(512, 1024, 550)), "not with what must be left");
        assert!(fits(&host(512, 0, 0)), "other swap has room");
        assert!(fits(&host(512, 768, 400)), "they have together");
        assert!(!fits(&host(512, 768, 300)));
        assert!(fits(&host(0, 1024, 0)), "nothing to come back");
    }

    #[test]
    fn what_comes_back_needs_room_in_its_cgroup() {
        // Whether other swap has room or not, and whatever is in it.
        needs_room_in_its_cgroup(&host(512, 0, 8192));
        needs_room_in_its_cgroup(&host(512, 1024, 8192));
    }

    fn needs_room_in_its_cgroup(root: &tempfile::TempDir) {
        let mount = "35 31 0:32 / /cg rw - cgroup cgroup rw,memory\n";
        fs::write(root.path().join("proc/self/mountinfo"), mount).unwrap();
        let group = root.path().join("cg/job");
        fs::create_dir_all(&group).unwrap();
        let set = |limit_mib: u64, swap_mib: u64| {
            fs::write(group.join("memory.limit_in_bytes"), (limit_mib << 20).to_string()).unwrap();
            fs::write(group.join("memory.usage_in_bytes"), (256u64 << 20).to_string()).unwrap();
            let stat = format!("total_swap {}\ntotal_active_file 0\n", swap_mib << 20);
            fs::write(group.join("memory.stat"), stat).unwrap();
        };
        set(1024, 512);
        assert!(fits(root));
        set(512, 512);
        let error = room_for(root.path(), Path::new("/dev/zram0")).unwrap_err().to_string();
        assert!(
            error.contains("the 512 MiB that cgroup /job may have in it do not fit"),
            "{error}"
        );
        assert!(error.contains("daos doctor --clean"), "{error}");
        set(512, 128);
        assert!(fits(root), "there is room for a quarter of it");
        set(512, 0);
        assert!(fits(root), "it has none of it");
        // All that the device holds may be the group's, but no more.
        set(1024, 1536);
        assert!(fits(root));
        set(512, 1536);
        assert!(!fits(root));
        fs::rename(&group, root.path().join("cg/\x1b[2J")).unwrap();
        let error = room_for(root.path(), Path::new("/dev/zram0")).unwrap_err().to_string();
        assert!(error.contains("[2J") && !error.contains('\x1b'), "{error:?}");
    }
}
