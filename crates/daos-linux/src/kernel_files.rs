//! How files of `/proc` and `/sys` are read: their lines, lists and choices.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::{fs, io};

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

/// The word in brackets: `always [madvise] never`.
pub(crate) fn selected(choices: &str) -> String {
    let word = choices.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or_default().to_owned()
}

/// What `read` finds in the directory of a process, which is that of its main thread,
/// or, when that has ended before the others, in another's.
pub(crate) fn of_a_live_thread<T>(dir: &Path, read: impl Fn(&Path) -> Option<T>) -> Option<T> {
    read(dir).or_else(|| {
        let threads = fs::read_dir(dir.join("task")).ok()?;
        threads.flatten().find_map(|thread| read(&thread.path()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_bytes() {
        assert_eq!(kib_field("MemTotal:  12 kB\nMemFree: 3 kB\n", "MemFree"), Some(3072));
        assert_eq!(kib_field("MemTotal:  12 kB\n", "MemFre"), None);
    }

    #[test]
    fn choices_are_in_brackets() {
        assert_eq!(selected("always [madvise] never\n"), "madvise");
        assert_eq!(selected(""), "");
    }
}
