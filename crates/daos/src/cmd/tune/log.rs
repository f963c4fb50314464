//! What the runs of a command write, run after run.

use anyhow::{Context, Result};
use daos_tune::Store;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that all of it goes to.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Adds to a file of this name, or makes it.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        Ok(Self { file: store.append_to(name)?, path: store.path(name) })
    }

    /// Says which run follows. What that prints can be read from what is returned.
    pub fn begin(&mut self, sample: usize, what: &str) -> Result<File> {
        let failed = |verb: &str| format!("cannot {verb} {}", self.path.display());
        writeln!(self.file, "--- sample {sample}: {what}").with_context(|| failed("write"))?;
        let open = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, std::io::Error>(file)
        };
        open().with_context(|| failed("read"))
    }

    /// To be written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
