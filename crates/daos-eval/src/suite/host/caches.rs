//! The kernel's caches.

use crate::suite::error::SuiteError;
use std::fs;
use std::path::Path;

/// Writes back what is dirty and drops the page cache and what the kernel keeps of files, as
/// the seeds do before each run: so runs find the same free memory.
pub fn drop_caches() -> Result<(), SuiteError> {
    rustix::fs::sync();
    let (path, value) = (Path::new("/proc/sys/vm/drop_caches"), "3");
    fs::write(path, value).map_err(|err| SuiteError::Host {
        path: path.to_owned(),
        value: value.to_owned(),
        why: err.to_string(),
    })
}
