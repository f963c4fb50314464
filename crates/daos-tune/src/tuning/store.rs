//! The directory of a tuning: what is tuned, every sample as it comes, and the result.
//!
//! `tuning.json` says what is tuned for what, `samples.jsonl` has a line for each sample.
//! Whoever is interrupted finds them there and goes on.

use super::sample::SampleRecord;
use rustix::fs::{Dir, FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

const SUBJECT: &str = "tuning.json";
const SAMPLES: &str = "samples.jsonl";
const RESULT: &str = "result.json";
/// All that is made by us.
const ALL: [&str; 9] = [
    SUBJECT,
    SAMPLES,
    RESULT,
    "best.scheme",
    "best.toml",
    "plot.svg",
    "plot.png",
    "output.log",
    "output-beside.log",
];

/// What is tuned for what: samples of the same subject can stand beside each other,
/// however they are scored and whatever asked for them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(pub BTreeMap<String, String>);

impl Subject {
    /// The first thing in which another differs: its name, what it is here, and there.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str, &'a str)> {
        let none = "none";
        let of = |subject: &'a Self, key: &str| subject.0.get(key).map_or(none, String::as_str);
        let keys = self.0.keys().chain(other.0.keys());
        let differs = |key: &&String| self.0.get(*key) != other.0.get(*key);
        keys.into_iter().find(differs).map(|key| (key.as_str(), of(self, key), of(other, key)))
    }
}

/// What is done with each file and directory that was just made: as root does on behalf of
/// somebody, to whom it is to belong.
pub type Give = fn(&File);

/// A directory that a tuning is kept in.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    subject: Subject,
    give: Give,
    _lock: Lock,
}

/// What is wrong with the directory.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It holds something else.
    #[error("{0} holds other things than a tuning: move them away, or give another directory")]
    NotOurs(PathBuf),
    /// Somebody tunes there now.
    #[error(
        "another daos tunes in {0} now: give another directory with --out, or wait for its end"
    )]
    InUse(PathBuf),
    /// Another tuning.
    #[error(
        "{dir} holds a tuning with another {what}: there it is {there:?}, here {here:?}; give \
         another directory, or begin anew: remove it, or give daos tune --fresh"
    )]
    Differs {
        /// The directory.
        dir: PathBuf,
        /// In which regard.
        what: String,
        /// How it was.
        there: String,
        /// How it is to be.
        here: String,
    },
    /// A file that is none of ours any more.
    #[error(
        "{path}, line {line}: {why}; mend or remove it, or give daos tune --fresh to begin anew"
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It can't be read or written.
    #[error("cannot use {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// `source` happened at `path`.
fn io(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    |source| StoreError::Io { path: path.to_owned(), source }
}

impl Store {
    /// Opens or makes a directory for a tuning of `subject`, and reads the samples that
    /// are there, unless it is to be `fresh`: then they are removed.
    ///
    /// # Errors
    ///
    /// A directory that holds something else, or that can't be written.
    pub fn open(
        dir: &Path,
        subject: &Subject,
        fresh: bool,
    ) -> Result<(Self, Vec<SampleRecord>), StoreError> {
        Self::open_for(dir, subject, fresh, |_| ())
    }

    /// The same, and all that is made in it is handed to `give` when it is still empty.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_for(
        dir: &Path,
        subject: &Subject,
        fresh: bool,
        give: Give,
    ) -> Result<(Self, Vec<SampleRecord>), StoreError> {
        if !dir.exists() {
            make(dir, give).map_err(io(dir))?;
        }
        let _lock = Lock::take(dir)?;
        let store = Self { dir: dir.to_owned(), subject: subject.clone(), give, _lock };
        let path = store.path(SUBJECT);
        let is_ours = path.exists();
        // One without samples is in nobody's way.
        if is_ours && (fresh || !store.path(SAMPLES).exists()) {
            clear(dir)?;
        }
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(io(&path))?;
            let there: Subject = serde_json::from_str(&text).map_err(|err| {
                StoreError::Malformed { path: path.clone(), line: err.line(), why: err.to_string() }
            })?;
            if let Some((what, there, here)) = there.difference(subject) {
                let (what, there, here) = (what.to_owned(), there.to_owned(), here.to_owned());
                return Err(StoreError::Differs { dir: store.dir, what, there, here });
            }
            let records = store.records()?;
            return Ok((store, records));
        }
        if !is_ours && dir.read_dir().map_err(io(dir))?.next().is_some() {
            return Err(StoreError::NotOurs(store.dir));
        }
        store.write_json(SUBJECT, subject)?;
        Ok((store, Vec::new()))
    }

    /// Moves a tuning out of the way, to a name that ends in `.old`, in place of what may
    /// be there. Returns that name; `None` if there is nothing to move.
    ///
    /// # Errors
    ///
    /// What is there is no tuning, or can't be moved.
    pub fn set_aside(dir: &Path) -> Result<Option<PathBuf>, StoreError> {
        let holds = |dir: &Path, name| dir.join(name).exists();
        if !holds(dir, SUBJECT) {
            return Ok(None);
        }
        let _lock = Lock::take(dir)?;
        if !holds(dir, SAMPLES) {
            // Not worth the place of one that has samples.
            clear(dir)?;
            return Ok(None);
        }
        let mut name = dir.as_os_str().to_owned();
        name.push(".old");
        let old = PathBuf::from(name);
        if old.exists() {
            let is_ours = |name: &OsStr| ALL.iter().any(|ours| name == *ours);
            let mut entries = old.read_dir().map_err(io(&old))?.flatten();
            if entries.any(|entry| !is_ours(&entry.file_name())) || !holds(&old, SUBJECT) {
                return Err(StoreError::NotOurs(old));
            }
            let _lock = Lock::take(&old)?;
            clear(&old)?;
            fs::remove_dir(&old).map_err(io(&old))?;
        }
        fs::rename(dir, &old).map_err(io(dir))?;
        Ok(Some(old))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// What it is tuned for, in words.
    pub fn workload(&self) -> &str {
        self.subject.0.get("workload").map_or("", String::as_str)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a sample.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn add(&self, record: &SampleRecord) -> Result<(), StoreError> {
        let path = self.path(SAMPLES);
        let mut line = serde_json::to_vec(record).map_err(io::Error::from).map_err(io(&path))?;
        line.push(b'\n');
        // In one go: whoever is killed leaves a line or none.
        self.append_to(SAMPLES)?.write_all(&line).map_err(io(&path))
    }

    /// Opens a file to be added to, which is made if there is none.
    ///
    /// # Errors
    ///
    /// It can't be opened, or is a link, which may lead anywhere.
    pub fn append_to(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path(name);
        let mut options = File::options();
        options.append(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                (self.give)(&file);
                Ok(file)
            }
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                options.open(&path).map_err(io(&path))
            }
            Err(err) => Err(io(&path)(err)),
        }
    }

    /// Writes the result, whole or not at all.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write_result(&self, result: &impl Serialize) -> Result<(), StoreError> {
        self.write_json(RESULT, result)
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.path(name);
        let write = || {
            // As any new file: what the umask leaves.
            let permissions = Permissions::from_mode(0o666);
            let mut builder = tempfile::Builder::new();
            let mut file = builder.permissions(permissions).tempfile_in(&self.dir)?;
            (self.give)(file.as_file());
            file.write_all(content)?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(io(&path))
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    ///
    /// It can't be removed.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        remove(&self.path(name))
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from);
        let text = text.map_err(io(&self.path(name)))?;
        self.write(name, format!("{text}\n").as_bytes())
    }

    /// The samples. A last line that does not end was being written when somebody was
    /// killed: it is removed.
    fn records(&self) -> Result<Vec<SampleRecord>, StoreError> {
        let path = self.path(SAMPLES);
        let text = match fs::read_to_string(&path) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(io(&path))?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            self.write(SAMPLES, &text.as_bytes()[..whole])?;
        }
        let record = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|err| StoreError::Malformed {
                path: path.clone(),
                line: at + 1,
                why: err.to_string(),
            })
        };
        text[..whole].lines().enumerate().map(record).collect()
    }
}

/// Makes a directory, and those that it is in.
fn make(dir: &Path, give: Give) -> io::Result<()> {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => make(parent, give)?,
        _ => {}
    }
    fs::create_dir(dir)?;
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let made = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(dir)?;
    // One that is not empty was put in its place, and is not to be handed out.
    let entries = Dir::read_from(&made)?.filter_map(Result::ok);
    let is_empty = entries.map(|entry| entry.file_name().to_owned()).all(|name| {
        let name = name.to_bytes();
        name == b"." || name == b".."
    });
    if is_empty {
        give(&made);
    }
    Ok(())
}

/// Keeps others out of a directory until it is dropped.
#[derive(Debug)]
struct Lock(File);

impl Lock {
    fn take(dir: &Path) -> Result<Self, StoreError> {
        let opened = File::open(dir).map_err(io(dir))?;
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(opened)),
            Err(Errno::WOULDBLOCK) => Err(StoreError::InUse(dir.to_owned())),
            Err(err) => Err(io(dir)(err.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Not by closing alone: a process that was just forked has the directory open until
        // it executes its program, and would keep the lock.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Removes what is ours.
fn clear(dir: &Path) -> Result<(), StoreError> {
    ALL.iter().try_for_each(|name| remove(&dir.join(name)))
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(io(path)(err)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Values;
    use crate::search::Why;
    use crate::space::At;

    fn subject(workload: &str) -> Subject {
        Subject([("workload".to_owned(), workload.to_owned())].into())
    }

    fn record(runtime: f64) -> SampleRecord {
        SampleRecord {
            at: At::NoScheme,
            why: Why::Baseline,
            metrics: Values::from([("runtime".to_owned(), runtime)]),
            beside: None,
            cut_short: false,
            cut_at_loss: None,
            void: None,
            took_s: runtime,
        }
    }

    #[test]
    fn all_that_is_made_is_handed_out_and_nothing_else() {
        use std::os::unix::fs::PermissionsExt;
        // The mark of what was handed out.
        let give: Give = |made| made.set_permissions(Permissions::from_mode(0o700)).unwrap();
        let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        let dir = root.path().join("a/b");
        let (store, _) = Store::open_for(&dir, &subject("x"), false, give).unwrap();
        store.add(&record(1.0)).unwrap();
        store.write("plot.svg", b"").unwrap();
        assert_eq!(mode(root.path()), 0o755);
        let made = [&dir, &root.path().join("a"), &store.path(SAMPLES), &store.path("plot.svg")];
        for path in made.map(PathBuf::as_path) {
            assert_eq!(mode(path), 0o700, "{path:?}");
        }

        let other = root.path().join("other");
        fs::write(&other, "").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        store.remove(SAMPLES).unwrap();
        for name in ["output.log", SAMPLES] {
            std::os::unix::fs::symlink(&other, store.path(name)).unwrap();
        }
        assert!(store.append_to("output.log").is_err(), "a link is not followed");
        assert!(store.add(&record(1.0)).is_err(), "neither is that one");
        assert_eq!(fs::read(&other).unwrap(), b"");
        assert_eq!(mode(&other), 0o644);
    }

    #[test]
    fn goes_on_where_it_was() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        let (store, none) = Store::open(&dir, &subject("x"), false).unwrap();
        assert_eq!(none, []);
        for other in [Store::open(&dir, &subject("x"), true).err(), Store::set_aside(&dir).err()] {
            assert!(matches!(other, Some(StoreError::InUse(_))), "{other:?}");
        }
        store.add(&record(1.0)).unwrap();
        store.add(&record(0.1 + 0.2)).unwrap();
        // Killed in the middle of a line.
        let mut samples = File::options().append(true).open(store.path(SAMPLES)).unwrap();
        samples.write_all(b"{\"at\":null,\"wh").unwrap();
        drop(store);
        let (store, records) = Store::open(&dir, &subject("x"), false).unwrap();
        assert_eq!(records, [record(1.0), record(0.1 + 0.2)]);
        store.add(&record(3.0)).unwrap();
        drop(store);
        assert_eq!(Store::open(&dir, &subject("x"), false).unwrap().1.len(), 3);
        assert_eq!(Store::open(&dir, &subject("y"), true).unwrap().1, []);
        assert_eq!(Store::open(&dir, &subject("y"), false).unwrap().1, []);
    }

    #[test]
    fn what_is_not_its_own_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.tex"), "x").unwrap();
        for fresh in [false, true] {
            let err = Store::open(root.path(), &subject("x"), fresh).unwrap_err();
            assert!(matches!(err, StoreError::NotOurs(_)), "{err}");
        }
        assert!(root.path().join("thesis.tex").exists());

        let dir = root.path().join("tuning");
        Store::open(&dir, &subject("without samples"), false).unwrap();
        Store::open(&dir, &subject("x"), false).unwrap().0.add(&record(1.0)).unwrap();
        let err = Store::open(&dir, &subject("y"), false).unwrap_err().to_string();
        assert!(err.contains("another workload") && err.contains("\"x\", here \"y\""), "{err}");
        fs::write(dir.join(SAMPLES), "{}\n").unwrap();
        let err = Store::open(&dir, &subject("x"), false).unwrap_err().to_string();
        assert!(err.contains("samples.jsonl, line 1"), "{err}");
    }

    #[test]
    fn an_older_one_is_set_aside() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("t");
        assert_eq!(Store::set_aside(&dir).unwrap(), None);
        for seconds in [1.0, 2.0] {
            let (store, records) = Store::open(&dir, &subject("x"), false).unwrap();
            assert_eq!(records, []);
            store.add(&record(seconds)).unwrap();
            drop(store);
            let old = root.path().join("t.old");
            assert_eq!(Store::set_aside(&dir).unwrap(), Some(old.clone()));
            assert_eq!(Store::open(&old, &subject("x"), false).unwrap().1, [record(seconds)]);
        }
        // One without samples is not worth the place of another.
        assert_eq!(Store::set_aside(&dir).unwrap(), None);
        Store::open(&dir, &subject("x"), false).unwrap();
        assert_eq!(Store::set_aside(&dir).unwrap(), None);
        let old = root.path().join("t.old");
        assert_eq!(Store::open(&old, &subject("x"), false).unwrap().1, [record(2.0)]);
        // What has been put beside it is not lost, and neither is what it was put beside.
        Store::open(&dir, &subject("x"), false).unwrap().0.add(&record(3.0)).unwrap();
        fs::write(old.join("notes"), "x").unwrap();
        assert!(Store::set_aside(&dir).is_err());
        assert_eq!(Store::open(&old, &subject("x"), false).unwrap().1, [record(2.0)]);
        // They don't stand in the way of a fresh one.
        assert_eq!(Store::open(&old, &subject("x"), true).unwrap().1, []);
        assert!(old.join("notes").exists());
    }

    #[test]
    fn what_differs_is_named() {
        let subject = |list: &[(&str, &str)]| {
            Subject(list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        let (a, b) = (subject(&[("x", "1"), ("y", "2")]), subject(&[("x", "1")]));
        assert_eq!(a.difference(&a), None);
        assert_eq!(a.difference(&b), Some(("y", "2", "none")));
        assert_eq!(b.difference(&a), Some(("y", "none", "2")));
    }
}
