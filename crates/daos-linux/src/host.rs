//! What this machine is, for records and for `daos doctor`. Facts only.

use daos_core::{Host, PAGE_SIZE};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::{fs, io};

/// This machine.
pub fn here() -> Host {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    Host {
        kernel: text(uname.release()),
        arch: text(uname.machine()),
        hostname: text(uname.nodename()),
        cpus,
        mem_total_bytes: meminfo(Path::new("/proc"), "MemTotal").unwrap_or(0),
        page_size: PAGE_SIZE,
    }
}

/// A line of `/proc/meminfo`, in bytes.
pub fn meminfo(proc: &Path, name: &str) -> Option<u64> {
    kib_field(&fs::read_to_string(proc.join("meminfo")).ok()?, name)
}

/// A line of `/proc/PID/status` that counts memory, in bytes: `VmRSS`, `VmHWM`, …
pub fn process_memory(proc: &Path, pid: u32, name: &str) -> Option<u64> {
    kib_field(&text(&proc.join(pid.to_string()).join("status")).ok()?, name)
}

/// Peak resident set of this process in bytes; 0 when it can't be read.
pub fn my_peak_rss() -> u64 {
    process_memory(Path::new("/proc"), std::process::id(), "VmHWM").unwrap_or(0)
}

/// What a file of `/proc` says. The kernel cuts names of processes where it will, also inside a
/// character.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// The first `bytes` of what such a file says, or all of it.
pub(crate) fn start_of(path: &Path, bytes: u64) -> io::Result<String> {
    let mut start = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

/// A line of such a file that holds KiB, in bytes.
pub(crate) fn kib_field(text: &str, name: &str) -> Option<u64> {
    let kib: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// What a line of such a file says.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim())
}

/// A path of a list of the kernel, which writes blanks as `\040`.
pub(crate) fn unescaped(path: &str) -> Option<String> {
    let mut parts = path.split('\\');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(3)?;
        plain.push(char::from(u8::from_str_radix(code, 8).ok()?));
        plain.push_str(rest);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_bytes() {
        assert_eq!(kib_field("MemTotal:  12 kB\nMemFree: 3 kB\n", "MemFree"), Some(3072));
        assert_eq!(kib_field("MemTotal:  12 kB\n", "MemFre"), None);
    }
}
