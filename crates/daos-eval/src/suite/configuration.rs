//! The ways to run a workload.

use super::error::SuiteError;
use daos_session::SchemeSource;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flag of `daos` for the memory of the machine instead of that of processes.
const PHYSICAL: &str = "--paddr";

/// Seconds from one scan of all pages to the next.
const SCAN_S: u32 = 1;

/// Its flag for schemes to act on system daemons, too.
const INCLUDE_SYSTEM: &str = "--include-system";

/// The host's policy for huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HugePages {
    /// For memory that asks for them: what all configurations but one have.
    Madvise,
    /// For all memory.
    Always,
}

/// What memory `daos` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watched {
    /// That of the workload's processes, by virtual address.
    Workload,
    /// That of the machine, by physical address.
    Machine,
}

/// What `daos` does beside the workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// It monitors and records.
    Record,
    /// Not `daos`, but what it is compared with: a scan of all pages, again and again.
    Scan,
    /// It applies a scheme: whatever `daos apply --scheme` takes.
    Apply(String),
    /// It applies a scheme of each workload's own, from a directory of them.
    ApplyOwn(PathBuf),
    /// It applies a scheme as it was tuned for the workload.
    ApplyTuned(String),
}

/// Where what is paged out goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Swap {
    /// Compressed memory.
    Zram,
    /// A file in the directory of the evaluation.
    File,
}

/// A way to run a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// What tables call it.
    pub name: String,
    /// What runs, in words.
    pub about: String,
    /// The policy for huge pages.
    pub huge_pages: HugePages,
    /// What runs beside the workload.
    pub daos: Option<(Task, Watched)>,
    /// The workload runs in a cgroup whose limit is the resident set that it had on average in
    /// this configuration.
    pub limit_of: Option<String>,
    /// Swap that is there for the time, where something may be paged out.
    pub swap: Option<Swap>,
}

/// An entry of the table.
struct Known {
    name: &'static str,
    about: &'static str,
    huge_pages: HugePages,
    record: Option<Watched>,
    is_scanned: bool,
    apply: Option<(&'static str, Watched)>,
    is_tuned: bool,
    limit_of: Option<&'static str>,
}

const ORIG: Known = Known {
    name: "orig",
    about: "the workload alone, huge pages where they are asked for",
    huge_pages: HugePages::Madvise,
    record: None,
    is_scanned: false,
    apply: None,
    is_tuned: false,
    limit_of: None,
};

/// The seeds' configurations, and what to compare them with.
const TABLE: &[Known] = &[
    ORIG,
    Known {
        name: "rec",
        about: "monitored and recorded by virtual address",
        record: Some(Watched::Workload),
        ..ORIG
    },
    Known {
        name: "prec",
        about: "the machine monitored and recorded by physical address",
        record: Some(Watched::Machine),
        ..ORIG
    },
    Known {
        name: "scan",
        about: "all its pages read once a second, which rec is compared with",
        is_scanned: true,
        ..ORIG
    },
    Known {
        name: "thp",
        about: "alone, huge pages for all memory (always)",
        huge_pages: HugePages::Always,
        ..ORIG
    },
    Known {
        name: "ethp",
        about: "huge pages for what is accessed (scheme ethp)",
        apply: Some(("ethp", Watched::Workload)),
        ..ORIG
    },
    Known {
        name: "prcl",
        about: "what is idle is paged out (scheme prcl)",
        apply: Some(("prcl", Watched::Workload)),
        ..ORIG
    },
    Known {
        name: "reclaim",
        about: "the same, but what comes back is left alone (scheme reclaim)",
        apply: Some(("reclaim", Watched::Workload)),
        ..ORIG
    },
    Known {
        name: "prcl-tuned",
        about: "as prcl, tuned for each workload before (daos tune, 10 samples)",
        apply: Some(("prcl", Watched::Workload)),
        is_tuned: true,
        ..ORIG
    },
    Known {
        name: "pprcl",
        about: "what is idle is paged out, by physical address (scheme pprcl)",
        apply: Some(("pprcl", Watched::Machine)),
        ..ORIG
    },
    Known {
        name: "limit",
        about: "alone, limited to the memory that prcl left on average: the kernel's own reclaim",
        limit_of: Some("prcl"),
        ..ORIG
    },
    Known {
        name: "rec-limit",
        about: "limited as limit is, and monitored and recorded",
        record: Some(Watched::Workload),
        limit_of: Some("prcl"),
        ..ORIG
    },
    Known {
        name: "lock",
        about: "limited as limit is, and what is hot is kept in memory (scheme lock)",
        apply: Some(("lock", Watched::Workload)),
        limit_of: Some("prcl"),
        ..ORIG
    },
];

/// The configuration that others are compared with.
pub const BASELINE: &str = ORIG.name;

/// All that have a name, with what they are.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|known| (known.name, known.about))
}

/// Those of a server that is mostly idle: alone, and with what is idle for 30 s, as in the
/// paper's Figure 9, paged out to compressed memory and to a file.
pub fn service() -> Vec<Configuration> {
    let scheme = "4K max min min 30s max pageout";
    let zram = Configuration::of_scheme("zram", scheme);
    let file = Configuration::of_scheme("file", scheme).with_file_swap();
    vec![Configuration::of(&ORIG), zram, file]
}

impl Configuration {
    /// What `text` stands for: a name of the table, a file of schemes, `NAME=SCHEME`, or
    /// `NAME=DIR` of schemes by the names of workloads.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        if let Some(known) = TABLE.iter().find(|known| known.name == text) {
            return Ok(Self::of(known));
        }
        let (name, scheme) = match text.split_once('=') {
            Some((name, scheme)) => (name.to_owned(), scheme),
            None if Path::new(text).is_file() => {
                let stem = Path::new(text).file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), text)
            }
            None => {
                let there_are = known().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
                return Err(SuiteError::UnknownConfiguration { name: text.to_owned(), there_are });
            }
        };
        let wrong = |why: String| SuiteError::Configuration { name: name.clone(), why };
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_allowed) {
            return Err(wrong("a name is of letters, digits and -_.".to_owned()));
        }
        if TABLE.iter().any(|known| known.name == name) {
            return Err(wrong("it has a meaning; give the scheme another name".to_owned()));
        }
        match schemes(scheme) {
            Ok(_) => Ok(Self::of_scheme(&name, scheme)),
            Err(_) if Path::new(scheme).is_dir() => Ok(Self {
                name,
                about: format!("the scheme of each workload in {scheme}"),
                daos: Some((Task::ApplyOwn(scheme.into()), Watched::Workload)),
                ..Self::of(&ORIG)
            }),
            Err(why) => Err(wrong(why)),
        }
    }

    /// A scheme beside the workload.
    fn of_scheme(name: &str, scheme: &str) -> Self {
        let of = Self {
            name: name.to_owned(),
            about: format!("scheme {scheme}"),
            daos: Some((Task::Apply(scheme.to_owned()), Watched::Workload)),
            ..Self::of(&ORIG)
        };
        Self { swap: of.pages_out().then_some(Swap::Zram), ..of }
    }

    /// The same with its swap on a file.
    pub fn with_file_swap(self) -> Self {
        Self { swap: Some(Swap::File), about: format!("{}, swap on a file", self.about), ..self }
    }

    fn of(known: &Known) -> Self {
        let record = known.record.map(|watched| (Task::Record, watched));
        let scan = known.is_scanned.then_some((Task::Scan, Watched::Workload));
        let apply = known.apply.map(|(scheme, at)| match known.is_tuned {
            true => (Task::ApplyTuned(scheme.to_owned()), at),
            false => (Task::Apply(scheme.to_owned()), at),
        });
        let of = Self {
            name: known.name.to_owned(),
            about: known.about.to_owned(),
            huge_pages: known.huge_pages,
            daos: record.or(scan).or(apply),
            limit_of: known.limit_of.map(str::to_owned),
            swap: None,
        };
        Self { swap: of.pages_out().then_some(Swap::Zram), ..of }
    }

    /// The one that others are compared with.
    pub fn baseline() -> Self {
        Self::of(&ORIG)
    }

    /// Several, each once.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, SuiteError> {
        let mut all: Vec<Self> = Vec::new();
        for text in texts {
            let one = Self::parse(text)?;
            if all.iter().any(|other| other.name == one.name) {
                let why = "it is given twice".to_owned();
                return Err(SuiteError::Configuration { name: one.name, why });
            }
            all.push(one);
        }
        Ok(all)
    }

    /// Whether anything of it pages out, so that there has to be swap.
    fn pages_out(&self) -> bool {
        let pages_out = match &self.daos {
            Some((Task::Apply(scheme) | Task::ApplyTuned(scheme), _)) => schemes(scheme)
                .is_ok_and(|schemes| schemes.iter().any(|scheme| scheme.action.needs_swap())),
            _ => false,
        };
        pages_out || self.limit_of.is_some()
    }

    /// The scheme that is tuned for each workload before, if one is.
    pub fn tuned(&self) -> Option<&str> {
        match &self.daos {
            Some((Task::ApplyTuned(scheme), _)) => Some(scheme),
            _ => None,
        }
    }

    /// The directory that has a scheme of each workload's own, if it has one for each.
    pub fn own_schemes(&self) -> Option<&Path> {
        match &self.daos {
            Some((Task::ApplyOwn(dir), _)) => Some(dir),
            _ => None,
        }
    }

    /// With this scheme instead.
    pub fn with_scheme(&self, scheme: &str) -> Self {
        Self { about: self.about.clone(), ..Self::of_scheme(&self.name, scheme) }
    }

    /// With the scheme that a tuning found; nothing beside the workload where it found none.
    pub fn with_tuned(&self, found: Option<String>) -> Self {
        let daos = found.map(|scheme| (Task::Apply(scheme), Watched::Workload));
        Self { daos, ..self.clone() }
    }

    /// Refuses what this `daos` can't do.
    pub fn check(&self, daos: &Path) -> Result<(), SuiteError> {
        let Some((task, watched)) = &self.daos else { return Ok(()) };
        if *task == Task::Scan {
            return Ok(());
        }
        let unsupported = |why: String| SuiteError::Unsupported { name: self.name.clone(), why };
        if let Task::Apply(scheme) | Task::ApplyTuned(scheme) = task {
            schemes(scheme).map_err(unsupported)?;
        }
        let subcommand = task.subcommand();
        let help = Command::new(daos).args([subcommand, "--help"]).output();
        let help = help.map_err(|err| unsupported(format!("{}: {err}", daos.display())))?;
        let help = String::from_utf8_lossy(&help.stdout);
        if *watched == Watched::Machine && !help.contains(PHYSICAL) {
            return Err(unsupported(format!(
                "it monitors no physical memory yet (`daos {subcommand}` has no {PHYSICAL}); leave {} out",
                self.name
            )));
        }
        Ok(())
    }

    /// Refuses what would be of both of two copies that run at once.
    pub fn check_pairs(&self) -> Result<(), SuiteError> {
        let why = match (self.huge_pages, &self.daos) {
            (HugePages::Always, _) => "the policy for huge pages is the whole machine's",
            (_, Some((_, Watched::Machine))) if !self.acts_on_machine() => {
                "it looks at the memory of the whole machine"
            }
            _ => return Ok(()),
        };
        let why =
            format!("{why}, so it would be of both copies of a pair; leave it or --pairs out");
        Err(SuiteError::Configuration { name: self.name.clone(), why })
    }

    /// Whether a scheme acts on all of the machine, unless it is told on what.
    pub fn acts_on_machine(&self) -> bool {
        matches!(self.daos, Some((Task::Apply(_) | Task::ApplyTuned(_), Watched::Machine)))
    }

    /// Whether it writes a record.
    pub fn records(&self) -> bool {
        matches!(self.daos, Some((Task::Record, _)))
    }

    /// Which of two programs it is that runs beside the workload: `daos`, or `daos-eval`, which
    /// has what that is compared with.
    pub fn program<T>(&self, daos: T, eval: T) -> T {
        if matches!(self.daos, Some((Task::Scan, _))) { eval } else { daos }
    }

    /// The words behind that program, to do it beside process `pid`; a record goes to `record`.
    pub fn words(&self, pid: u32, record: &Path, seed: u32) -> Option<Vec<String>> {
        let (task, watched) = self.daos.as_ref()?;
        if *task == Task::Scan {
            return Some(
                ["scan".into(), format!("--pid={pid}"), format!("--every={SCAN_S}s")].into(),
            );
        }
        let mut words = vec![task.subcommand().to_owned(), "--quiet".to_owned()];
        match task {
            Task::Record => words.push(format!("--output={}", record.display())),
            Task::Scan => {}
            Task::Apply(scheme) | Task::ApplyTuned(scheme) => {
                words.push(format!("--scheme={scheme}"));
            }
            Task::ApplyOwn(dir) => words.push(format!("--scheme={}/WORKLOAD", dir.display())),
        }
        words.push(format!("--seed={seed}"));
        match watched {
            Watched::Workload => words.extend([format!("--pid={pid}"), "--children".to_owned()]),
            Watched::Machine => {
                // Where nobody has a terminal, workloads look like system daemons.
                let is_applied = !matches!(task, Task::Record);
                words.extend(is_applied.then(|| INCLUDE_SYSTEM.to_owned()));
                words.push(PHYSICAL.to_owned());
            }
        }
        Some(words)
    }

    /// What decides what it does, to tell whether it is still the same.
    pub fn definition(&self) -> String {
        // By what it says, wherever it stands.
        let daos = match &self.daos {
            Some((Task::Apply(scheme), watched)) => format!("{:?} {watched:?}", schemes(scheme)),
            Some((Task::ApplyTuned(scheme), watched)) => {
                format!("tuned {:?} {watched:?}", schemes(scheme))
            }
            // Each is kept, and compared with what it was.
            Some((Task::ApplyOwn(_), watched)) => format!("own {watched:?}"),
            Some((Task::Record, watched)) => format!("record {watched:?}"),
            Some((Task::Scan, watched)) => format!("scan {SCAN_S} s {watched:?}"),
            None => String::new(),
        };
        let swap = if self.swap == Some(Swap::File) { " swap on a file" } else { "" };
        format!("{:?} {:?} {daos}{swap}", self.huge_pages, self.limit_of)
    }
}

impl Task {
    fn subcommand(&self) -> &'static str {
        match self {
            Task::Record => "record",
            Task::Scan => "scan",
            Task::Apply(_) | Task::ApplyOwn(_) | Task::ApplyTuned(_) => "apply",
        }
    }
}

/// What `scheme` names, or what is wrong with it.
pub(super) fn schemes(scheme: &str) -> Result<Vec<daos_schemes::Scheme>, String> {
    let source = SchemeSource::new(scheme);
    source.and_then(|mut source| source.read()).map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(text).map_err(|err| err.to_string())
    }

    #[test]
    fn the_seeds_configurations_have_names() {
        let words = |name: &str| parse(name).unwrap().words(7, Path::new("r"), 3);
        assert_eq!(words("orig"), None);
        assert_eq!(words("thp"), None);
        assert_eq!(words("scan").unwrap().join(" "), "scan --pid=7 --every=1s");
        let program = |name: &str| parse(name).unwrap().program("daos", "daos-eval");
        assert_eq!((program("rec"), program("scan")), ("daos", "daos-eval"));
        assert_eq!(words("rec-limit"), words("rec"));
        assert_eq!(parse("rec-limit").unwrap().swap, Some(Swap::Zram));
        let rec = words("rec").unwrap().join(" ");
        assert_eq!(rec, "record --quiet --output=r --seed=3 --pid=7 --children");
        let prcl = words("prcl").unwrap().join(" ");
        assert_eq!(prcl, "apply --quiet --scheme=prcl --seed=3 --pid=7 --children");
        let tuned = parse("prcl-tuned").unwrap();
        let found = tuned.with_tuned(Some("4K max min min 9s max pageout".to_owned()));
        assert!(found.words(7, Path::new("r"), 3).unwrap().join(" ").contains(" 9s max pageout"));
        assert_eq!(tuned.with_tuned(None).words(7, Path::new("r"), 3), None);
        assert_eq!(words("prec").unwrap().last().unwrap(), PHYSICAL);
        let pprcl = words("pprcl").unwrap().join(" ");
        assert_eq!(pprcl, "apply --quiet --scheme=pprcl --seed=3 --include-system --paddr");
        assert_eq!(parse("thp").unwrap().huge_pages, HugePages::Always);
        let swapping: Vec<&str> = known()
            .map(|(name, _)| name)
            .filter(|name| parse(name).unwrap().swap.is_some())
            .collect();
        assert!(
            ["prcl", "limit", "lock"].iter().all(|name| swapping.contains(name)),
            "{swapping:?}"
        );
        assert!(!["orig", "rec", "thp", "ethp"].iter().any(|name| swapping.contains(name)));
    }

    #[test]
    fn any_scheme_is_one() {
        let slow = parse("slow=4K max min min 30s max pageout").unwrap();
        assert_eq!(slow.name, "slow");
        assert!(slow.swap.is_some() && slow.definition() != parse("prcl").unwrap().definition());
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.scheme");
        std::fs::write(&file, "min max 5% max min max hugepage\n").unwrap();
        let mine = parse(&file.display().to_string()).unwrap();
        assert!(mine.name == "mine" && mine.swap.is_none());
    }

    #[test]
    fn mistakes_are_told() {
        assert!(parse("prlc").unwrap_err().contains("orig, rec, prec, scan, thp, ethp, prcl"));
        assert!(parse("a b=prcl").unwrap_err().contains("letters"));
        assert!(parse("orig=prcl").unwrap_err().contains("another name"));
        assert!(parse("x=4K max").unwrap_err().contains("fields"));
        let twice = ["rec", "rec"].map(str::to_owned);
        assert!(Configuration::parse_all(&twice).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn what_is_of_both_copies_has_no_pairs() {
        let check = |name: &str| parse(name).unwrap().check_pairs().map_err(|err| err.to_string());
        for name in ["rec", "scan", "rec-limit", "ethp", "prcl", "limit", "lock", "prcl-tuned"] {
            assert_eq!(check(name), Ok(()));
        }
        // It can be told on which copy to act.
        assert_eq!(check("pprcl"), Ok(()));
        assert!(parse("pprcl").unwrap().acts_on_machine());
        assert!(!["prec", "prcl"].iter().any(|name| parse(name).unwrap().acts_on_machine()));
        assert!(check("thp").unwrap_err().contains("policy for huge pages"));
        assert!(check("prec").unwrap_err().contains("leave it or --pairs out"));
        assert_eq!(Configuration::baseline(), parse(BASELINE).unwrap());
    }

    #[test]
    fn a_daos_that_cannot_do_it_is_told() {
        let error = parse("prec").unwrap().check(Path::new("true")).unwrap_err().to_string();
        assert!(error.contains("--paddr") && error.contains("leave prec out"), "{error}");
        assert!(parse("rec").unwrap().check(Path::new("true")).is_ok());
        assert!(parse("rec").unwrap().check(Path::new("/no/such/daos")).is_err());
    }
}
