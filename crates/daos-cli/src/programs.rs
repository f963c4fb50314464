//! Programs that commands are to start.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where a program of this name is: a file, or one in a directory of `PATH`; `None` if there is
/// none.
pub fn find_program(word: &OsStr) -> Option<PathBuf> {
    if word.as_encoded_bytes().contains(&b'/') {
        return Some(Path::new(word).to_owned()).filter(|file| file.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(word)).find(|file| file.is_file())
}

/// Whether there is one.
pub fn is_program(word: &str) -> bool {
    find_program(word.as_ref()).is_some()
}
