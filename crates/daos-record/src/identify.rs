//! Is this file a record that this release can read? If not, what is it?

use crate::damage::Flaw;
use crate::error::ReadError;
use crate::frame::{MAGIC, PRELUDE, VERSION};
use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens `path` and returns it with its size in bytes, if it begins like a
/// record of a known version.
pub fn identify(path: &Path) -> Result<(File, u64), ReadError> {
    let owned = || path.to_owned();
    let open = |source| ReadError::Open { path: owned(), source };

    // Asked before it is opened: opening a pipe would wait for its other end.
    let file_type = fs::metadata(path).map_err(open)?.file_type();
    if !file_type.is_file() {
        return Err(ReadError::NotAFile { path: owned(), what: kind_of(file_type) });
    }
    let file = File::open(path).map_err(open)?;
    let begin = first_bytes(&file).map_err(open)?;
    let size = file.metadata().map_err(open)?.len();

    let shared = begin.len().min(MAGIC.len());
    if begin.is_empty() {
        return Err(ReadError::Empty(owned()));
    }
    if begin[..shared] != MAGIC[..shared] {
        return Err(ReadError::Foreign { path: owned(), looks_like: looks_like(&begin) });
    }
    let Some(version) = begin[shared..].first_chunk() else {
        let flaw = Flaw::Torn { needs: PRELUDE as u64, has: begin.len() as u64 };
        return Err(ReadError::Header { path: owned(), flaw });
    };
    match u32::from_le_bytes(*version) {
        VERSION => Ok((file, size)),
        version if version > VERSION => Err(ReadError::Newer { path: owned(), version }),
        _ => {
            let flaw = Flaw::Corrupt("its format version is 0");
            Err(ReadError::Header { path: owned(), flaw })
        }
    }
}

fn first_bytes(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(PRELUDE as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn kind_of(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a pipe"
    } else {
        "a device or a socket"
    }
}

fn looks_like(begin: &[u8]) -> &'static str {
    if begin.starts_with(b"\x7fELF") {
        "a program"
    } else if begin.starts_with(b"PERFILE2") {
        "a perf.data file of perf or damo"
    } else if begin.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        "text"
    } else {
        "data of another program"
    }
}
