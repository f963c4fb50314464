//! Files that are seen under their name only once they are whole.

use daos_linux::user::give_to_caller;
use daos_record::place::{self, User};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// A file to be written. A pipe, a terminal, `/dev/null` or a link is written to as it is;
/// other devices, and for root a link that another user may have put there, are refused;
/// anything else is replaced at once, by [`finish`](Self::finish).
#[derive(Debug)]
pub enum WholeFile {
    /// A pipe, a terminal, `/dev/null`, or what a link leads to.
    Special(BufWriter<File>),
    /// A file that is put in its place when it is whole.
    Replaced(BufWriter<File>, TempPath, PathBuf),
}

impl WholeFile {
    /// Opens it: nothing is seen of that yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        if !is_to_be_replaced(path) {
            let file = open_special(path, OpenOptions::new().write(true).create(true))?;
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            return Ok(Self::Special(BufWriter::new(file)));
        }
        let mut builder = Builder::new();
        let (file, temporary) =
            new_beside(path, builder.permissions(Permissions::from_mode(mode(path))))?;
        give_to_caller(&file);
        Ok(Self::Replaced(BufWriter::new(file), temporary, path.to_owned()))
    }

    /// Whether it could be written, without doing so.
    pub fn check(path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if is_to_be_replaced(path) {
            return new_beside(path, &mut Builder::new()).map(drop);
        }
        open_special(path, OpenOptions::new().append(true)).map(drop)
    }

    /// Puts it in its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Self::Replaced(_, temporary, path) = self {
            temporary.persist(path).map_err(|err| err.error)?;
        }
        Ok(())
    }
}

/// A new file in the directory of `path`. No error names it, as nobody has heard of it.
fn new_beside(path: &Path, builder: &mut Builder<'_, '_>) -> io::Result<(File, TempPath)> {
    let directory = place::directory(path);
    directory.metadata()?;
    let file = builder.tempfile_in(directory).map_err(|err| io::Error::from(err.kind()))?;
    Ok(file.into_parts())
}

/// Opens what is written to as it is, if it is safe to do so.
fn open_special(path: &Path, options: &OpenOptions) -> io::Result<File> {
    if User::current().follows_untrusted_link(path) {
        return Err(refused("a link that another user may have put there is not followed"));
    }
    // Before it is opened, which some devices notice, and after, should it be another then.
    if path.metadata().is_ok_and(|found| !may_be_opened(&found)) {
        return Err(refused("devices are not written to"));
    }
    let file = options.open(path)?;
    let found = file.metadata()?;
    let is_safe = may_be_opened(&found)
        && (!found.file_type().is_char_device() || place::is_void(&found) || file.is_terminal());
    if is_safe { Ok(file) } else { Err(refused("devices are not written to")) }
}

/// Whether it is no device, or may be one that takes text.
fn may_be_opened(found: &Metadata) -> bool {
    /// Of consoles, serial lines and pseudo-terminals (Documentation/admin-guide/devices.txt).
    const TERMINALS: [u32; 3] = [4, 5, 204];
    let major = ((found.rdev() >> 8) & 0xfff) as u32;
    let is_terminal = TERMINALS.contains(&major) || (136..=143).contains(&major);
    let file_type = found.file_type();
    !file_type.is_block_device()
        && (!file_type.is_char_device() || place::is_void(found) || is_terminal)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The permissions of a file in the place of `path`: those of what is there, if another user
/// can't have chosen them; else, as of any new file, what the umask leaves.
fn mode(path: &Path) -> u32 {
    match path.symlink_metadata() {
        Ok(found) if User::current().trusts(found.uid()) => found.mode() & 0o777,
        _ => 0o666,
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Special(out) => out.write(bytes),
            Self::Replaced(out, ..) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Special(out) => out.flush(),
            Self::Replaced(out, ..) => out.flush(),
        }
    }
}

fn is_to_be_replaced(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |found| found.is_file())
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

    #[test]
    fn devices_are_refused_and_pipes_are_not() {
        for path in ["/dev/zero", "/dev/urandom"].map(Path::new) {
            let why = WholeFile::create(path).unwrap_err().to_string();
            assert!(why.contains("devices are not written to"), "{why}");
            assert!(WholeFile::check(path).is_err());
        }
        let mut out = WholeFile::create(Path::new("/dev/null")).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        let mut out = WholeFile::create(Path::new(&path)).unwrap();
        out.write_all(b"new").unwrap();
        out.finish().unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "new");
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        WholeFile::create(&path).unwrap().finish().unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn root_follows_no_link_of_a_stranger() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        // Only root can give a link away; for others it is their own.
        let is_given = std::os::unix::fs::lchown(&link, Some(12345), None).is_ok();
        assert_eq!(WholeFile::create(&link).is_err(), is_given);
    }
}
