//! What is run: programs, as a TOML file lists them.

use super::error::SuiteError;
use crate::under_test::available_memory;
use daos_cli::is_program;
use daos_core::units;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The suite that comes with the program.
const DEFAULT: &str = include_str!("../../../../workloads/suite.toml");
/// A server of several processes, of whose memory a tenth is in use.
const SERVICE: &str = include_str!("../../../../workloads/service.toml");
/// Seconds that a workload takes if it does not say. Chosen.
const USUAL_SECONDS: f64 = 60.0;
/// How many times as long as it says a run may take, and at least this many seconds. Chosen:
/// what pages in and out all the time is slower by less.
const OVERTIME: (f64, f64) = (20.0, 600.0);

/// Workloads, and where they were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// In the order of the file.
    pub workloads: Vec<Workload>,
    /// The directory of the file, which commands find in `$SUITE`; `None` for the suite that
    /// comes with the program, which needs none.
    pub directory: Option<PathBuf>,
}

/// A program that does the same work whenever it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What tables call it: letters, digits and `-_./`.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub about: String,
    /// Programs that it calls, by name or path, and files that it reads.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The Debian packages that these are in.
    #[serde(default)]
    pub packages: Vec<String>,
    /// How to get what it needs where no package has it, in words.
    #[serde(default)]
    pub install: Option<String>,
    /// A script for the shell that makes its input, once.
    #[serde(default)]
    pub setup: Option<String>,
    /// The script for the shell that is measured.
    pub command: String,
    /// Where both are run: by default a directory of its own, which is made for it.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// About how many seconds it takes alone.
    #[serde(default = "usual_seconds")]
    pub seconds: f64,
    /// Whether it is a command that was given, of which nothing is known: it takes as long as it
    /// takes.
    #[serde(skip)]
    pub is_given: bool,
    /// About how much memory it takes, such as `700M`.
    #[serde(default)]
    pub memory: Option<String>,
    /// Whether two copies can run at once, each with its own `$COPY` and directory.
    #[serde(default)]
    pub pairs: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    /// Of all workloads that do not say it themselves.
    #[serde(default)]
    install: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    pairs: Option<bool>,
    #[serde(default)]
    workload: Vec<Workload>,
}

fn usual_seconds() -> f64 {
    USUAL_SECONDS
}

impl Suite {
    /// The one that comes with the program.
    pub fn built_in() -> Result<Self, SuiteError> {
        Self::parse(Path::new("workloads/suite.toml"), DEFAULT)
            .map(|suite| Self { directory: None, ..suite })
    }

    /// A server that is mostly idle, for this many seconds.
    pub fn service(seconds: u64) -> Result<Self, SuiteError> {
        let text = SERVICE.replace("SECONDS", &seconds.to_string());
        Self::parse(Path::new("workloads/service.toml"), &text)
            .map(|suite| Self { directory: None, ..suite })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let read = fs::read_to_string(path);
        let text = read.map_err(|why| SuiteError::Read { path: path.to_owned(), why })?;
        Self::parse(path, &text)
    }

    /// A command line as the only workload, run where we are.
    pub fn of_command(command: &[String]) -> Result<Self, SuiteError> {
        let here = std::env::current_dir()
            .map_err(|why| SuiteError::Read { path: PathBuf::from("."), why })?;
        let first = Path::new(command.first().map_or("", String::as_str)).file_name();
        let name: String = first
            .unwrap_or_default()
            .to_string_lossy()
            .chars()
            .filter(|letter| is_allowed(*letter))
            .collect();
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let workload = Workload {
            name: if name.is_empty() { "command".to_owned() } else { name },
            about: command.join(" "),
            needs: Vec::new(),
            packages: Vec::new(),
            install: None,
            setup: None,
            // The process that is started is the one that uses the memory.
            command: format!("exec {}", words.join(" ")),
            directory: Some(here),
            seconds: USUAL_SECONDS,
            is_given: true,
            memory: None,
            pairs: Some(true),
        };
        Ok(Self { workloads: vec![workload], directory: None })
    }

    fn parse(path: &Path, text: &str) -> Result<Self, SuiteError> {
        let wrong = |why: String| SuiteError::Suite { path: path.to_owned(), why };
        let SuiteFile { install, needs, pairs, workload: mut workloads } =
            toml::from_str(text).map_err(|err| wrong(err.to_string()))?;
        if workloads.is_empty() {
            return Err(wrong("it has no [[workload]]".to_owned()));
        }
        for at in 0..workloads.len() {
            let (before, rest) = workloads.split_at_mut(at);
            let workload = &mut rest[0];
            workload.check().map_err(&wrong)?;
            if before.iter().any(|other| other.name == workload.name) {
                return Err(wrong(format!("there are two workloads {:?}", workload.name)));
            }
            workload.install = workload.install.take().or_else(|| install.clone());
            workload.needs.extend(needs.iter().cloned());
            workload.pairs = workload.pairs.or(pairs);
        }
        // The parent of a name alone is nothing.
        let directory = path.parent().map(|dir| Path::new(".").join(dir));
        let directory = directory.map(|dir| fs::canonicalize(&dir).unwrap_or(dir));
        Ok(Self { workloads, directory })
    }

    /// Only those of these names, in the order of the suite; a name may be one up to a `/`,
    /// which stands for all that begin so.
    pub fn only(self, names: &[String]) -> Result<Self, SuiteError> {
        let is_named = |workload: &Workload, name: &String| {
            let rest = workload.name.strip_prefix(name.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let unknown = names.iter().find(|name| !self.workloads.iter().any(|w| is_named(w, name)));
        if let Some(name) = unknown {
            let names: Vec<&str> = self.workloads.iter().map(|w| &*w.name).collect();
            let there_are = names.join(", ");
            return Err(SuiteError::UnknownWorkload { name: name.clone(), there_are });
        }
        let is_wanted = |w: &Workload| names.is_empty() || names.iter().any(|n| is_named(w, n));
        let workloads = self.workloads.into_iter().filter(is_wanted).collect();
        Ok(Self { workloads, ..self })
    }
}

impl Workload {
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let parts = || name.split('/');
        if !name.chars().all(is_allowed) || parts().any(|part| part.trim_matches('.').is_empty()) {
            return Err(format!(
                "{name:?} is no name for a workload; use letters, digits and -_./"
            ));
        }
        if self.command.trim().is_empty() {
            return Err(format!("the workload {name} has no command"));
        }
        if !(self.seconds > 0.0 && self.seconds <= 86_400.0) {
            return Err(format!("the workload {name}: seconds are more than 0, at most a day"));
        }
        let memory = self.memory.as_deref().map(units::bytes).transpose();
        memory.map_err(|err| format!("the workload {name}: memory: {err}"))?;
        Ok(())
    }

    /// About how many bytes it takes, if it says.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory.as_deref().and_then(|text| units::bytes(text).ok())
    }

    /// Refuses it if so many copies are more than the machine has room for.
    pub(crate) fn check_memory(&self, copies: u64) -> Result<(), SuiteError> {
        if let Some(bytes) = self.memory_bytes()
            && let need = bytes.saturating_mul(copies)
            && let Some(have) = available_memory::short_for(need)?
        {
            return Err(SuiteError::Memory { need, have });
        }
        Ok(())
    }

    /// Seconds after which a run of it is ended, if it took at most `longest` seconds alone;
    /// `None` if it may take any time.
    pub fn most_seconds(&self, longest: Option<f64>) -> Option<f64> {
        match longest {
            None if self.is_given => None,
            longest => {
                Some((OVERTIME.0 * self.seconds.max(longest.unwrap_or(0.0))).max(OVERTIME.1))
            }
        }
    }

    /// Whether two copies of it can run at once: what has a directory of its own, unless it says
    /// otherwise.
    pub fn can_pair(&self) -> bool {
        self.pairs.unwrap_or(self.directory.is_none())
    }

    /// What it needs and this machine lacks.
    pub fn missing(&self) -> Vec<&str> {
        let needs = self.needs.iter().map(String::as_str);
        needs.filter(|need| !is_there(need)).collect()
    }

    /// What decides what it does, to tell whether it is still the same.
    pub fn definition(&self) -> String {
        let setup = self.setup.as_deref().unwrap_or_default();
        let directory = self.directory.as_deref().unwrap_or(Path::new(""));
        format!("{}\n---\n{setup}\n---\n{}", self.command.trim(), directory.display())
    }
}

fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_./".contains(letter)
}

/// A word for the shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path that exists, or a program in `PATH`.
fn is_there(need: &str) -> bool {
    if need.contains('/') { Path::new(need).exists() } else { is_program(need) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Suite, String> {
        Suite::parse(Path::new("/tmp/a.toml"), text).map_err(|err| err.to_string())
    }

    #[test]
    fn a_run_is_ended_when_it_takes_far_longer_than_is_known() {
        let given = &Suite::of_command(&["sleep".into(), "1300".into()]).unwrap().workloads[0];
        assert_eq!(given.most_seconds(None), None, "nothing is known of it");
        assert_eq!(given.most_seconds(Some(1300.0)), Some(26_000.0));
        let text = "[[workload]]\nname = \"a\"\ncommand = \"x\"\nseconds = 40";
        let named = &parse(text).unwrap().workloads[0];
        assert_eq!(named.most_seconds(None), Some(800.0));
        assert_eq!(named.most_seconds(Some(50.0)), Some(1000.0));
        assert_eq!(named.most_seconds(Some(3.0)), Some(800.0));
    }

    #[test]
    fn what_comes_with_the_program_can_be_read() {
        let suite = Suite::built_in().unwrap();
        assert!(suite.workloads.len() >= 10);
        let service = Suite::service(90).unwrap();
        assert_eq!(service.workloads[0].seconds, 90.0);
        let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        assert_eq!(Suite::read(&workloads.join("store.toml")).unwrap().workloads.len(), 1);
        assert_eq!(Suite::read(&workloads.join("periods.toml")).unwrap().workloads.len(), 1);
        assert_eq!(Suite::read(&workloads.join("kernels.toml")).unwrap().workloads.len(), 12);
        assert_eq!(Suite::read(&workloads.join("parallel.toml")).unwrap().workloads.len(), 3);
        let seeds = Suite::read(&workloads.join("parsec3.toml")).unwrap();
        assert_eq!(seeds.workloads.len(), 24);
        assert!(seeds.workloads.iter().all(|w| w.install.is_some() && !w.needs.is_empty()));
        assert!(seeds.workloads.iter().all(|w| w.setup.is_some() && w.can_pair()));
        assert!(seeds.workloads.iter().all(|w| w.memory_bytes().is_some()));
        assert_eq!(seeds.only(&["splash2x".to_owned()]).unwrap().workloads.len(), 12);
    }

    #[test]
    fn mistakes_are_told() {
        let workload = |rest: &str| parse(&format!("[[workload]]\nname = \"a\"\n{rest}"));
        for (got, says) in [
            (parse(""), "no [[workload]]"),
            (workload("comand = \"x\""), "unknown field"),
            (workload("command = \" \""), "no command"),
            (workload("command = \"x\"\nseconds = 0"), "seconds"),
            (workload("command = \"x\"\nmemory = \"big\""), "memory"),
            (parse("[[workload]]\nname = \"../a\"\ncommand = \"x\""), "no name for a workload"),
            (parse("[[workload]]\nname = \"a b\"\ncommand = \"x\""), "no name for a workload"),
            (workload("command = \"x\"\n[[workload]]\nname = \"a\"\ncommand = \"y\""), "two"),
        ] {
            let error = got.unwrap_err();
            assert!(error.contains(says) && error.contains("a.toml"), "{error}");
        }
    }

    #[test]
    fn some_are_chosen() {
        let text = "[[workload]]\nname = \"a/x\"\ncommand = \"x\"\n[[workload]]\nname = \"ab\"\ncommand = \"x\"\nneeds = [\"sh\", \"no-such-program\", \"/no/such\"]";
        let suite = parse(text).unwrap();
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let chosen = suite.clone().only(&names).map_err(|err| err.to_string())?;
            Ok::<_, String>(chosen.workloads.into_iter().map(|w| w.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["a/x", "ab"]);
        assert_eq!(names(&["a"]).unwrap(), ["a/x"]);
        assert_eq!(names(&["ab", "a/x"]).unwrap(), ["a/x", "ab"]);
        assert!(names(&["b"]).unwrap_err().contains("a/x, ab"));
        assert_eq!(suite.workloads[1].missing(), ["no-such-program", "/no/such"]);
    }

    #[test]
    fn a_command_line_is_a_workload() {
        let words = ["/bin/echo", "it's", "a b"].map(str::to_owned);
        let suite = Suite::of_command(&words).unwrap();
        let workload = &suite.workloads[0];
        assert_eq!(workload.name, "echo");
        assert_eq!(workload.command, r"exec '/bin/echo' 'it'\''s' 'a b'");
    }
}
