//! Files that are seen under their name only once they are whole.

use daos_linux::user::give_to_caller;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to be written. A device, a pipe or a link is written to as it is; anything else is
/// replaced at once, by [`finish`](Self::finish).
#[derive(Debug)]
pub enum WholeFile {
    /// A device, a pipe or a link.
    Special(BufWriter<File>),
    /// A file that is put in its place when it is whole.
    Replaced(BufWriter<NamedTempFile>, PathBuf),
}

impl WholeFile {
    /// Opens it: nothing is seen of that yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        if !is_to_be_replaced(path) {
            return Ok(Self::Special(BufWriter::new(File::create(path)?)));
        }
        // As any new file: what the umask leaves.
        let permissions = Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let file = builder.permissions(permissions).tempfile_in(directory(path))?;
        give_to_caller(file.as_file());
        Ok(Self::Replaced(BufWriter::new(file), path.to_owned()))
    }

    /// Whether it could be written, without doing so.
    pub fn check(path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if is_to_be_replaced(path) {
            return NamedTempFile::new_in(directory(path)).map(drop);
        }
        OpenOptions::new().append(true).open(path).map(drop)
    }

    /// Puts it in its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Self::Replaced(file, path) = self {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.persist(path).map_err(|err| err.error)?;
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Special(out) => out.write(bytes),
            Self::Replaced(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Special(out) => out.flush(),
            Self::Replaced(out, _) => out.flush(),
        }
    }
}

fn is_to_be_replaced(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |found| found.is_file())
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_seen_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "old").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        drop(WholeFile::create(&dir.path().join("b")).unwrap());
        assert_eq!(dir.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "much longer").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        WholeFile::check(&link).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"much longer");
        let mut out = WholeFile::create(&link).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(link.is_symlink());
        assert!(WholeFile::check(dir.path()).is_err());
        assert!(WholeFile::check(&dir.path().join("no/where")).is_err());
    }
}
