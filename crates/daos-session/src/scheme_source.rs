//! What `--scheme ARG` means: a file, a scheme that comes with the program, or a text.
//!
//! A source can be read again, since a file may be edited while `daos` runs.

use daos_core::Action;
use daos_schemes::nearest::nearest;
use daos_schemes::{Scheme, TextError, builtin};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use thiserror::Error;

/// Memory that is left alone, as an example.
const PATTERN: &str = "4K max min min 5s max";
/// Most bytes of a file of schemes. What is larger is something else.
const MOST_BYTES: u64 = 1 << 20;

/// Why there are no schemes.
#[derive(Debug, Error)]
pub enum SchemeSourceError {
    /// The argument names nothing that there is: what it could be.
    #[error("{0}")]
    Unknown(String),
    /// The text of a file, or of the argument itself, makes no sense.
    #[error(transparent)]
    Text(Box<TextError>),
    /// A file can't be read.
    #[error("cannot read the schemes in {name}: {why}")]
    Read {
        /// The file.
        name: String,
        /// Why not.
        why: io::Error,
    },
}

impl SchemeSourceError {
    /// Whether something was asked for that makes no sense, wherever it is written; and not
    /// that it can't be read.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::Text(_))
    }
}

/// Where schemes come from.
#[derive(Debug)]
pub struct SchemeSource {
    origin: Origin,
    /// Of the file as it was last read.
    stamp: Option<Stamp>,
}

#[derive(Debug)]
enum Origin {
    /// A file, by its path.
    File(PathBuf),
    /// A text and its name in errors, which can't change.
    Fixed { text: String, name: String },
}

/// Tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
        }
    }
}

impl SchemeSource {
    /// What `arg` names: a file that exists; a built-in's name; or, with white space in
    /// it, a text, in which a `;` is as good as a new line. Nothing but a pipe is read yet.
    ///
    /// # Errors
    ///
    /// [`SchemeSourceError`] for anything else, and for a pipe that can't be read.
    pub fn new(arg: &str) -> Result<Self, SchemeSourceError> {
        let fixed = |text: String, name: &str| Self {
            origin: Origin::Fixed { text, name: name.to_owned() },
            stamp: None,
        };
        match std::fs::metadata(arg) {
            Ok(found) if found.is_file() => {
                return Ok(Self { origin: Origin::File(arg.into()), stamp: None });
            }
            // A pipe, as of `<(…)`, can be read but once.
            Ok(found) if !found.is_dir() => {
                let text = File::open(arg).and_then(text_of);
                let text = text.map_err(|source| unreadable(arg, source))?;
                return Ok(fixed(text, arg));
            }
            _ => {}
        }
        if let Some((file, text)) = builtin::get(arg) {
            return Ok(fixed(text.to_owned(), file));
        }
        if arg.contains(char::is_whitespace) {
            let is_toml = arg.trim_start().starts_with('[');
            let text = if is_toml { arg.to_owned() } else { arg.replace(';', "\n") };
            return Ok(fixed(text, "--scheme"));
        }
        Err(SchemeSourceError::Unknown(unknown(arg)))
    }

    /// Reads the schemes: those that a file has now.
    ///
    /// # Errors
    ///
    /// [`SchemeSourceError`] when they can't be read, or make no sense.
    pub fn read(&mut self) -> Result<Vec<Scheme>, SchemeSourceError> {
        let parse = |text: &str, name: &str| {
            daos_schemes::parse(text, name).map_err(|err| SchemeSourceError::Text(err.into()))
        };
        match &self.origin {
            Origin::File(path) => {
                let name = path.display().to_string();
                let failed = |source| unreadable(&name, source);
                // What can't be read has not changed again until it is another file.
                self.stamp = std::fs::metadata(path).ok().as_ref().map(Stamp::of);
                let file = File::open(path).map_err(failed)?;
                self.stamp = Some(Stamp::of(&file.metadata().map_err(failed)?));
                let text = text_of(file).map_err(failed)?;
                parse(&text, &name)
            }
            Origin::Fixed { text, name } => parse(text, name),
        }
    }

    /// Whether the file is another than was last read, or is gone. What is no file never
    /// changes.
    pub fn changed_since_last_read(&self) -> bool {
        match &self.origin {
            Origin::File(path) => {
                std::fs::metadata(path).ok().as_ref().map(Stamp::of) != self.stamp
            }
            Origin::Fixed { .. } => false,
        }
    }
}

fn unreadable(name: &str, why: io::Error) -> SchemeSourceError {
    SchemeSourceError::Read { name: name.to_owned(), why }
}

/// All of a file, which has to be text.
fn text_of(file: File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("larger than 1 MiB, so it holds no schemes"));
    }
    Ok(text)
}

fn unknown(arg: &str) -> String {
    if let Some(action) = Action::named(arg) {
        let pattern = if action.prefers_hot() { "min max 5% max min max" } else { PATTERN };
        return format!(
            "--scheme {arg:?} is an action; a scheme says also which memory it is for, in seven \
             fields, such as \"{pattern} {action}\""
        );
    }
    let names: Vec<&str> = builtin::names().collect();
    let name = arg.split('.').next().unwrap_or(arg);
    let meant = nearest(name, names.iter().copied());
    let meant = meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    format!(
        "--scheme {arg:?} is no file, no built-in scheme ({}), and no text of seven fields, such \
         as \"{PATTERN} pageout\"{meant}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_schemes::text;
    use std::path::Path;

    const PRCL: &str = "4K max min min 5s max pageout";

    fn source(arg: &str) -> SchemeSource {
        SchemeSource::new(arg).unwrap_or_else(|err| panic!("{arg}: {err}"))
    }

    fn lines(source: &mut SchemeSource) -> Vec<String> {
        source.read().unwrap_or_else(|err| panic!("{err}")).iter().map(text::format).collect()
    }

    fn file(dir: &Path, name: &str, content: &str) -> String {
        let path = dir.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_file_in_either_form() {
        let dir = tempfile::tempdir().unwrap();
        let table = "[[scheme]]\nsize = ['4K', 'max']\nfrequency = [0, 0]\nage = ['5s', 'max']\n\
                     action = 'pageout'\n";
        let text = format!("# mine\n{PRCL}\n");
        for (name, content) in
            [("a.scheme", text.as_str()), ("b.toml", table), ("c c", table), ("prcl", &text)]
        {
            assert_eq!(lines(&mut source(&file(dir.path(), name, content))), [PRCL], "{name}");
        }
        let error = source(&file(dir.path(), "d.toml", &text)).read().unwrap_err();
        assert!(error.to_string().contains("d.toml:2:"), "{error}");
        assert!(error.is_usage(), "as on the command line");
    }

    #[test]
    fn a_built_in() {
        assert_eq!(lines(&mut source("prcl")), [PRCL]);
        assert_eq!(lines(&mut source("prcl.scheme")), [PRCL]);
        assert_eq!(lines(&mut source("ethp")).len(), 2);
        let mut prcl = source("prcl");
        assert!(!prcl.changed_since_last_read());
        prcl.read().unwrap();
        assert!(!prcl.changed_since_last_read());
    }

    #[test]
    fn a_text() {
        let two = format!("{PRCL} ; 2M null 80% null 1m null thp;");
        let wanted = [PRCL, "2M max 80% max 1m max hugepage"];
        assert_eq!(lines(&mut source(&two)), wanted);
        assert_eq!(lines(&mut source(&two.replace(';', "\n"))), wanted);
        let toml = "[[scheme]]\nname = 'a;b'\nsize = [0, 1]\nfrequency = [0, 1]\nage = [0, 1]\n\
                    action = 'stat'";
        assert_eq!(source(toml).read().unwrap()[0].label(), "a;b");
        let error = source(&format!("{PRCL}; 4K max min min 5s pageout")).read().unwrap_err();
        assert!(error.is_usage());
        let error = error.to_string();
        assert!(error.starts_with("--scheme:2:20: 6 fields instead of 7"), "{error}");
    }

    #[test]
    fn as_json() {
        let prcl = source("prcl").read().unwrap();
        let wanted = serde_json::json!({"scheme": [{
            "size": ["4K", "max"],
            "frequency": ["min", "min"],
            "age": ["5s", "max"],
            "action": "pageout",
        }]});
        assert_eq!(serde_json::to_value(daos_schemes::toml::tables(&prcl)).unwrap(), wanted);
    }

    #[test]
    fn anything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for arg in ["prlc", "ethp.toml", "no/such/file", "", dir.path().to_str().unwrap()] {
            let error = SchemeSource::new(arg).unwrap_err();
            assert!(error.is_usage());
            let error = error.to_string();
            assert!(error.contains("prcl, reclaim, pprcl, ethp, lock, prcl-gentle"), "{error}");
            assert!(error.contains(PRCL), "{error}");
        }
        let error = SchemeSource::new("prlc.scheme").unwrap_err().to_string();
        assert!(error.contains("did you mean prcl?"), "{error}");
        let bytes = file(dir.path(), "bytes", "");
        std::fs::write(&bytes, [0xff, 0xfe]).unwrap();
        let error = source(&bytes).read().unwrap_err();
        assert!(error.to_string().contains("bytes") && !error.is_usage(), "{error}");
        std::fs::write(&bytes, vec![b'#'; 2 << 20]).unwrap();
        let error = source(&bytes).read().unwrap_err().to_string();
        assert!(error.contains("larger than 1 MiB"), "{error}");
    }

    #[test]
    fn an_action_is_no_scheme_but_part_of_one() {
        for (action, scheme) in [
            ("stat", "\"4K max min min 5s max stat\""),
            ("thp", "\"min max 5% max min max hugepage\""),
        ] {
            let error = SchemeSource::new(action).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(scheme), "{error}");
        }
    }

    #[test]
    fn a_pipe_is_read_once() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, PRCL.as_bytes()).unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let mut pipe = source(&path);
        assert_eq!(lines(&mut pipe), [PRCL]);
        assert_eq!(lines(&mut pipe), [PRCL]);
        assert!(!pipe.changed_since_last_read());
    }

    #[test]
    fn a_file_that_changes_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "a.scheme", PRCL);
        let mut source = source(&path);
        assert!(source.changed_since_last_read(), "it was never read");
        assert_eq!(lines(&mut source), [PRCL]);
        assert!(!source.changed_since_last_read());

        // Rewritten in place, and replaced by a file of the same size and time.
        std::fs::write(&path, format!("{PRCL} # more")).unwrap();
        assert!(source.changed_since_last_read());
        assert_eq!(lines(&mut source), [PRCL]);
        let other = file(dir.path(), "b.scheme", &format!("{PRCL} # less"));
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        File::options().append(true).open(&other).unwrap().set_modified(time).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(source.changed_since_last_read());
        assert_eq!(lines(&mut source), [PRCL]);

        // What is wrong, or gone, is said once.
        std::fs::write(&path, "nonsense").unwrap();
        assert!(source.read().is_err() && !source.changed_since_last_read());
        std::fs::remove_file(&path).unwrap();
        assert!(source.changed_since_last_read());
        let error = source.read().unwrap_err().to_string();
        assert!(error.contains("a.scheme") && error.contains("No such file"), "{error}");
        assert!(!source.changed_since_last_read());
        file(dir.path(), "a.scheme", PRCL);
        assert!(source.changed_since_last_read());
        assert_eq!(lines(&mut source), [PRCL]);
    }
}
