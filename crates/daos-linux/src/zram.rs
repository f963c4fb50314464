//! zram: block devices that keep what is written to them in memory, compressed.
//!
//! The kernel's files under `/sys/block/zramN` do it all: writing a size makes the
//! device, `reset` empties it. A device whose size is 0 is nobody's. Where there is
//! none, the kernel is asked for another one.

use crate::kernel_files::selected;
use crate::swap_error::SwapError;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

/// How often, and how far apart, a device that is still looked at (by udev, say) is
/// asked for again.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// What is in a device, and what that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes that were written to it.
    pub stored_bytes: u64,
    /// What they are after compression.
    pub compressed_bytes: u64,
    /// Memory that they take, with what is lost between them.
    pub memory_bytes: u64,
    /// Most memory that they may take; 0 for as much as there is.
    pub limit_bytes: u64,
}

impl Usage {
    /// Whether there is no memory left for so many bytes more, if they don't compress.
    pub fn is_full_with(&self, bytes: u64) -> bool {
        self.limit_bytes > 0 && self.memory_bytes.saturating_add(bytes) > self.limit_bytes
    }
}

/// What this host has to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// A device that is there and that nobody uses, by its number.
    Unused(u32),
    /// The kernel makes another one when asked.
    Another,
    /// The kernel has no zram, or has not loaded it.
    Nothing,
}

/// Looks for a device to use, and changes nothing.
pub fn offer(root: &Path) -> Offer {
    if let Some(zram) = unused(root).first() {
        Offer::Unused(zram.number)
    } else if control(root).exists() {
        Offer::Another
    } else {
        Offer::Nothing
    }
}

/// The devices that nobody uses, by number.
pub(crate) fn unused(root: &Path) -> Vec<Zram> {
    let Ok(entries) = fs::read_dir(root.join("sys/block")) else { return Vec::new() };
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("zram")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let devices = numbers.into_iter().map(|number| Zram::new(root, number));
    devices.filter(|zram| zram.size_bytes() == Some(0)).collect()
}

/// Asks the kernel for another device. Loads its module first if need be.
pub(crate) fn add(root: &Path) -> Result<Zram, SwapError> {
    if !control(root).exists() {
        // What there is afterwards counts, not what modprobe says.
        let _ = ["modprobe", "/sbin/modprobe"].iter().any(|modprobe| {
            let mut command = Command::new(modprobe);
            command.arg("zram").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        });
        if let Some(zram) = unused(root).into_iter().next() {
            return Ok(zram);
        }
        if !control(root).exists() {
            return Err(SwapError::NoZram);
        }
    }
    let path = control(root).join("hot_add");
    let failed = |source| SwapError::io(format!("reading {}", path.display()), source);
    let number = fs::read_to_string(&path).map_err(failed)?;
    let number = number.trim().parse();
    let number = number.map_err(|_| failed(io::Error::other("not a number")))?;
    Ok(Zram::new(root, number))
}

fn control(root: &Path) -> PathBuf {
    root.join("sys/class/zram-control")
}

/// A device, by its number. That it exists is not said.
#[derive(Debug, Clone)]
pub(crate) struct Zram {
    root: PathBuf,
    pub(crate) number: u32,
}

impl Zram {
    pub(crate) fn new(root: &Path, number: u32) -> Self {
        Self { root: root.to_owned(), number }
    }

    /// As in `/proc/swaps`.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.number))
    }

    /// Where it is opened.
    pub(crate) fn node(&self) -> PathBuf {
        self.root.join(format!("dev/zram{}", self.number))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(format!("sys/block/zram{}", self.number)).join(name)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.file(name), text)
    }

    /// `None` when there is no such device.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        fs::read_to_string(self.file("disksize")).ok()?.trim().parse().ok()
    }

    /// Makes it a device of this size. Whether it could be had: not when somebody else
    /// was faster.
    pub(crate) fn take(&self, bytes: u64) -> Result<bool, SwapError> {
        match self.write("disksize", &bytes.to_string()) {
            Ok(()) => Ok(true),
            Err(err) if is_busy(&err) || err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(err) => {
                let path = self.file("disksize");
                Err(SwapError::io(format!("writing {bytes} to {}", path.display()), err))
            }
        }
    }

    /// Bounds the memory that it takes; what would be more is not written to it and stays
    /// where it is. A reset forgets the bound.
    pub(crate) fn limit(&self, bytes: u64) -> Result<(), SwapError> {
        let path = self.file("mem_limit");
        self.write("mem_limit", &bytes.to_string())
            .map_err(|err| SwapError::io(format!("writing {bytes} to {}", path.display()), err))
    }

    /// How it compresses: the word in brackets.
    pub(crate) fn algorithm(&self) -> Option<String> {
        let text = fs::read_to_string(self.file("comp_algorithm")).ok()?;
        Some(selected(&text)).filter(|name| !name.is_empty())
    }

    /// Throws away what is in it, and makes it nobody's. That forgets how it was to
    /// compress, so `algorithm` is set again.
    pub(crate) fn reset(&self, algorithm: Option<&str>) -> Result<(), SwapError> {
        let path = self.file("reset");
        patiently(|| self.write("reset", "1"))
            .map_err(|err| SwapError::io(format!("writing to {}", path.display()), err))?;
        if let Some(before) = algorithm.filter(|&name| self.algorithm().as_deref() != Some(name)) {
            let path = self.file("comp_algorithm");
            self.write("comp_algorithm", before)
                .map_err(|err| SwapError::io(format!("writing to {}", path.display()), err))?;
        }
        Ok(())
    }

    /// Gives a device back that the kernel was asked for.
    pub(crate) fn remove(&self) -> Result<(), SwapError> {
        let path = control(&self.root).join("hot_remove");
        patiently(|| fs::write(&path, self.number.to_string())).map_err(|err| {
            SwapError::io(format!("writing {} to {}", self.number, path.display()), err)
        })
    }

    /// `None` when it is nobody's, or gone.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let text = fs::read_to_string(self.file("mm_stat")).ok()?;
        let mut fields = text.split_whitespace().map(|field| field.parse().ok());
        let mut next = || fields.next().flatten();
        let (stored_bytes, compressed_bytes, memory_bytes) = (next()?, next()?, next()?);
        let limit_bytes = next().unwrap_or(0);
        Some(Usage { stored_bytes, compressed_bytes, memory_bytes, limit_bytes })
    }
}

/// Does it again while the device is busy, for some seconds.
fn patiently(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 1..TRIES {
        match attempt() {
            Err(err) if is_busy(&err) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    attempt()
}

fn is_busy(err: &io::Error) -> bool {
    err.kind() == io::ErrorKind::ResourceBusy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(devices: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, size) in devices {
            let dir = root.path().join("sys/block").join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("disksize"), size).unwrap();
        }
        root
    }

    #[test]
    fn only_devices_of_no_size_are_unused() {
        let root =
            tree(&[("zram10", "0\n"), ("zram0", "1024\n"), ("zram2", "0\n"), ("sda", "0\n")]);
        let numbers: Vec<u32> = unused(root.path()).iter().map(|zram| zram.number).collect();
        assert_eq!(numbers, [2, 10]);
        assert_eq!(offer(root.path()), Offer::Unused(2));
    }

    #[test]
    fn the_kernel_may_have_more_to_offer() {
        let root = tree(&[("zram0", "1024\n")]);
        assert_eq!(offer(root.path()), Offer::Nothing);
        fs::create_dir_all(control(root.path())).unwrap();
        assert_eq!(offer(root.path()), Offer::Another);
        fs::write(control(root.path()).join("hot_add"), "7\n").unwrap();
        assert_eq!(add(root.path()).unwrap().path(), Path::new("/dev/zram7"));
    }

    #[test]
    fn usage_is_the_first_four_numbers() {
        let root = tree(&[("zram0", "1024\n")]);
        let zram = Zram::new(root.path(), 0);
        assert_eq!(zram.usage(), None);
        let usage = |limit_bytes: u64| {
            let text = format!("    4096      700     1000 {limit_bytes:8}     4096 1 0 0 0\n");
            zram.write("mm_stat", &text).unwrap();
            zram.usage().unwrap()
        };
        let of = |limit_bytes| Usage {
            stored_bytes: 4096,
            compressed_bytes: 700,
            memory_bytes: 1000,
            limit_bytes,
        };
        assert_eq!((usage(0), usage(3000)), (of(0), of(3000)));
        assert!(!of(0).is_full_with(1 << 40) && !of(3000).is_full_with(2000));
        assert!(of(3000).is_full_with(2001));
    }

    #[test]
    fn a_reset_brings_back_how_it_compressed() {
        let root = tree(&[("zram0", "1024\n")]);
        let zram = Zram::new(root.path(), 0);
        zram.write("comp_algorithm", "[lzo-rle] lzo lz4\n").unwrap();
        zram.reset(Some("lzo-rle")).unwrap();
        assert_eq!(fs::read_to_string(zram.file("comp_algorithm")).unwrap(), "[lzo-rle] lzo lz4\n");
        zram.reset(Some("lz4")).unwrap();
        assert_eq!(fs::read_to_string(zram.file("comp_algorithm")).unwrap(), "lz4");
    }

    #[test]
    fn waits_for_who_is_busy_and_for_nobody_else() {
        let mut left = 3;
        let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
        let attempt = || {
            left -= 1;
            if left == 0 { Ok(()) } else { Err(busy()) }
        };
        patiently(attempt).unwrap();
        let mut tries = 0;
        let denied = patiently(|| {
            tries += 1;
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        });
        assert_eq!((denied.is_err(), tries), (true, 1));
    }
}
