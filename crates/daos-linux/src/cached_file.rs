//! Files by what the kernel numbers them, opened, and pages of theirs dropped from memory.
//!
//! Who finds page cache finds an inode, not a path. A file handle (`open_by_handle_at(2)`) leads
//! from there to the file, on file systems whose handles hold nothing but the inode and its
//! generation: ext4, XFS and F2FS do, Btrfs and those over others (overlayfs) don't.

use crate::kernel_files::unescaped;
use daos_core::AddrRange;
use rustix::fs::{Advice, Mode, OFlags, fadvise, major, minor, open};
use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File systems whose handles are known to hold nothing else.
const FILE_SYSTEMS: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "f2fs"];
/// Bytes of a handle that there is room for: more than those that are understood have.
const ROOM: usize = 16;
/// Handles of an inode's number and its generation: 32 bits each (`FILEID_INO32_GEN`), or 64 and 32
/// (XFS).
const INODE_32: (i32, usize) = (1, 8);
const INODE_64: (i32, usize) = (0x81, 12);

/// What names a file to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// Major and minor number of its device.
    pub device: (u32, u32),
    /// Its inode.
    pub inode: u64,
    /// Which one of those that had this number.
    pub generation: u32,
}

/// As the kernel has it.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    id: [u8; ROOM],
}

impl FileId {
    /// Opens it for reading, where its file system is mounted at `mount`.
    ///
    /// # Errors
    ///
    /// Where the file system gives other handles, where somebody has a lease on the file, which we
    /// would break, and where it is no regular file or is gone. Needs CAP_DAC_READ_SEARCH.
    pub fn open(&self, mount: &Path) -> io::Result<File> {
        let locks = fs::read_to_string("/proc/locks")?;
        if has_lease(&locks, self) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let root = open(mount, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let mut handle = Handle { bytes: ROOM as u32, kind: 0, id: [0; ROOM] };
        let (mut mount_id, raw): (c_int, *mut Handle) = (0, &raw mut handle);
        // What its handles are like is told by that of the root.
        // SAFETY: the handle has as much room as it says, and all pointers live until it returns.
        let result = unsafe {
            libc::name_to_handle_at(
                root.as_raw_fd(),
                c"".as_ptr(),
                raw.cast(),
                &mut mount_id,
                libc::AT_EMPTY_PATH,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        handle.name(self)?;
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let handle = (&raw mut handle).cast();
        // SAFETY: as above.
        let fd = unsafe { libc::open_by_handle_at(root.as_raw_fd(), handle, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel gave it, and nobody else has it.
        let file = unsafe { File::from_raw_fd(fd) };
        let found = file.metadata()?;
        let device = (major(found.dev()), minor(found.dev()));
        if !found.is_file() || found.ino() != self.inode || device != self.device {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file)
    }
}

/// What is mounted where.
#[derive(Debug, Clone)]
pub struct Mounts(String);

impl Mounts {
    /// As it is now.
    ///
    /// # Errors
    ///
    /// Where there is no `/proc`.
    pub fn read() -> io::Result<Self> {
        fs::read_to_string("/proc/self/mountinfo").map(Self)
    }

    /// Where a device is mounted, if its file system is one whose handles are known. No other is
    /// touched: some are somebody's program, or a server that may not answer.
    pub fn point_of(&self, device: (u32, u32)) -> Option<PathBuf> {
        let device = format!("{}:{}", device.0, device.1);
        let points = self.0.lines().filter_map(|line| {
            let (mount, file_system) = line.split_once(" - ")?;
            let mut fields = mount.split(' ').skip(2);
            let is_it = fields.next()? == device;
            let is_known = FILE_SYSTEMS.contains(&file_system.split(' ').next()?);
            (is_it && is_known).then(|| unescaped(fields.nth(1)?)).flatten()
        });
        points.map(PathBuf::from).find(|point| point.is_dir())
    }
}

/// Whether somebody has a lease on the file, or a delegation, as `/proc/locks` says.
fn has_lease(locks: &str, file: &FileId) -> bool {
    let (major, minor) = file.device;
    let name = format!("{major:02x}:{minor:02x}:{}", file.inode);
    let is_of_it = |line: &str| {
        let mut fields = line.split_whitespace().skip_while(|field| *field == "->").skip(1);
        matches!(fields.next(), Some("LEASE" | "DELEG")) && fields.any(|field| field == name)
    };
    locks.lines().any(is_of_it)
}

impl Handle {
    /// Makes it that of `file`, where it holds nothing else than what that has.
    fn name(&mut self, file: &FileId) -> io::Result<()> {
        let kind = (self.kind, self.bytes as usize);
        let split = match kind {
            INODE_32 if file.inode <= u32::MAX.into() => 4,
            INODE_64 => 8,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        self.id[..split].copy_from_slice(&file.inode.to_le_bytes()[..split]);
        self.id[split..split + 4].copy_from_slice(&file.generation.to_le_bytes());
        Ok(())
    }
}

/// What an open file is called now.
pub fn path_of(file: &File) -> io::Result<PathBuf> {
    fs::read_link(Path::new("/proc/self/fd").join(file.as_raw_fd().to_string()))
}

/// Has the kernel drop what it keeps of these bytes of a file in memory. What is to be written, or
/// is mapped by somebody, stays.
///
/// # Errors
///
/// What the kernel says, such as of a file that has no page cache.
pub fn drop_from_memory(file: &File, bytes: AddrRange) -> io::Result<()> {
    // No length means all that follows.
    let Some(len) = NonZeroU64::new(bytes.len()) else { return Ok(()) };
    Ok(fadvise(file, bytes.start, Some(len), Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_device_is_mounted() {
        let mounts = "28 1 254:0 / / rw - ext4 /dev/vda rw\n\
                      29 28 0:5 / /dev rw shared:2 - devtmpfs none rw\n\
                      30 28 8:1 / /no\\040such\\134dir rw - xfs /dev/sda1 rw\n\
                      31 28 8:1 / / rw - xfs /dev/sda1 rw\n";
        let mounts = Mounts(mounts.to_owned());
        assert_eq!(mounts.point_of((254, 0)), Some("/".into()));
        assert_eq!(mounts.point_of((0, 5)), None, "another file system");
        assert_eq!(mounts.point_of((8, 1)), Some("/".into()), "the first is not reached");
        assert_eq!(mounts.point_of((8, 2)), None);
        assert_eq!(unescaped("/no\\040such\\134dir").as_deref(), Some("/no such\\dir"));
    }

    #[test]
    fn leases_are_seen() {
        let locks = "1: POSIX  ADVISORY  WRITE 812 fe:00:17 0 EOF\n\
                     2: LEASE  ACTIVE    WRITE 812 fe:00:18 0 EOF\n\
                     2: -> DELEG  BREAKER    READ 812 fe:01:18 0 EOF\n";
        let file = |minor, inode| FileId { device: (254, minor), inode, generation: 1 };
        assert!(has_lease(locks, &file(0, 18)) && !has_lease(locks, &file(0, 17)));
        assert!(!has_lease(locks, &file(0, 1)) && !has_lease("", &file(0, 18)));
    }

    #[test]
    fn handles_name_an_inode_and_its_generation() {
        let file = FileId { device: (8, 1), inode: 0x0102_0304, generation: 7 };
        let handle =
            |(kind, bytes): (i32, usize)| Handle { kind, bytes: bytes as u32, id: [9; ROOM] };
        let mut short = handle(INODE_32);
        short.name(&file).unwrap();
        assert_eq!(short.id[..8], [4, 3, 2, 1, 7, 0, 0, 0]);
        let mut long = handle(INODE_64);
        long.name(&file).unwrap();
        assert_eq!(long.id[..12], [4, 3, 2, 1, 0, 0, 0, 0, 7, 0, 0, 0]);
        assert!(handle((0x4d, 20)).name(&file).is_err());
        let large = FileId { inode: 1 << 32, ..file };
        assert!(handle(INODE_32).name(&large).is_err(), "there is no room for its number");
    }
}
