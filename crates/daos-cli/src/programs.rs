//! Programs that commands are to start.

use std::path::Path;

/// Whether there is a program of this name: a file, or one in a directory of `PATH`.
pub fn is_program(word: &str) -> bool {
    if word.contains('/') {
        return Path::new(word).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(word).is_file())
}
