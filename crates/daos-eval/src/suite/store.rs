//! The directory of an evaluation.
//!
//! | file | holds |
//! |---|---|
//! | `evaluation.json` | the machine, the workloads and the configurations |
//! | `runs.jsonl` | a line for each run, written as soon as it is made |
//! | `report.md`, `.json`, `.html` | what is made of them, and can be made again |
//! | `logs/` | what workloads and `daos` said last |
//! | `tuned/`, `schemes/` | tunings, and schemes that were given, of each workload |
//! | `records/` | what `daos record` wrote beside each workload, if asked for |
//! | `set-up/` | what made the input of workloads |
//! | `work/` | what workloads work on, while they may be run again |
//! | `set-up-2/`, `work-2/` | the same for the second of two copies at once |

use super::configuration::{BASELINE, Configuration};
use super::error::SuiteError;
use super::host::Machine;
use super::no_link::no_link;
use super::workload::Workload;
use daos_cli::WholeFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const HEADER: &str = "evaluation.json";
const RUNS: &str = "runs.jsonl";

/// What an evaluation is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Of this format: 1.
    pub version: u32,
    /// Where it is made.
    pub machine: Machine,
    /// Compressed swap for configurations that page out, in bytes.
    pub zram_bytes: u64,
    /// Which `daos` ran beside them; `None` in those of versions that did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daos: Option<String>,
    /// Whether runs are pairs: two copies at once, one of them as in [`BASELINE`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pairs: bool,
    /// The workloads so far, in order.
    pub workloads: Vec<Named>,
    /// The configurations so far, in order.
    pub configurations: Vec<Named>,
}

impl Header {
    /// Of nothing yet.
    pub fn new(machine: Machine) -> Self {
        Self {
            version: 1,
            machine,
            zram_bytes: 0,
            daos: None,
            pairs: false,
            workloads: Vec::new(),
            configurations: Vec::new(),
        }
    }
}

/// Something with a name, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub about: String,
    /// What decides what it does.
    pub definition: String,
}

/// A run, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawRun {
    /// The name of the workload.
    pub workload: String,
    /// The name of the configuration.
    pub config: String,
    /// In which round, from 0 on.
    pub round: u32,
    /// When it began, in seconds since 1970.
    pub at: u64,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// In a pair, what was measured of the copy that ran alone on the other CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Measured>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// It failed, and why.
    Failed {
        /// Why.
        failed: String,
    },
}

/// What was measured of a run. What is not of one moment is the mean over its time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds from its start to its end.
    pub runtime_s: f64,
    /// CPU time in user space, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Resident set of its processes, in bytes.
    pub rss_bytes: f64,
    /// The same in the last quarter of its time, in bytes.
    #[serde(default)]
    pub rss_late_bytes: f64,
    /// By how much less memory of the machine was free than before, in bytes; in a pair that is
    /// of both copies.
    pub memused_bytes: f64,
    /// What it had in swap, in bytes.
    pub swap_bytes: f64,
    /// What it had in huge pages, in bytes.
    pub huge_bytes: f64,
    /// CPU time of the `daos` beside it, in seconds.
    pub daos_cpu_s: f64,
    /// Resident set of that, in bytes.
    pub daos_rss_bytes: f64,
}

impl RawRun {
    /// What was measured, if the run did not fail.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Failed { .. } => None,
        }
    }
}

/// An evaluation on disk.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// What it is of.
    pub header: Header,
    /// All runs so far, as they were made. Of those of the same workload, configuration and
    /// round there is only the last.
    pub runs: Vec<RawRun>,
    /// What runs are added to; `None` if it is only read.
    file: Option<File>,
}

impl Store {
    /// Reads what is there, to show it.
    pub fn read(dir: &Path) -> Result<Self, SuiteError> {
        let path = dir.join(HEADER);
        let failed = |why| SuiteError::Read { path: path.clone(), why };
        let text = fs::read_to_string(&path).map_err(failed)?;
        let header: Header = serde_json::from_str(&text).map_err(|err| failed(err.into()))?;
        if header.version != 1 {
            let why = format!("version {} is not known; use a newer daos-eval", header.version);
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
        let (runs, _) = read_runs(&dir.join(RUNS))?;
        Ok(Self { dir: dir.to_owned(), header, runs, file: None })
    }

    /// Makes the directory, or goes on in one that is there. `new` is what it is made with now.
    ///
    /// # Errors
    ///
    /// It holds something else, or what is asked for is not what it was made with.
    pub fn open(
        dir: &Path,
        new: Header,
        workloads: &[Workload],
        configurations: &[Configuration],
    ) -> Result<Self, SuiteError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |why| SuiteError::Write { path, why }
        };
        fs::create_dir_all(dir).map_err(failed(dir))?;
        let is_there = dir.join(HEADER).exists();
        if !is_there && fs::read_dir(dir).map_err(failed(dir))?.next().is_some() {
            let why = "is not empty, and no evaluation".to_owned();
            return Err(SuiteError::Mismatch { path: dir.to_owned(), why });
        }
        let before = if is_there { Self::read(dir)?.header } else { new.clone() };
        let mismatch = |why: &str| SuiteError::Mismatch { path: dir.to_owned(), why: why.into() };
        if let Some(how) = before.machine.differs_from(&new.machine) {
            return Err(mismatch(&format!("was made on another machine or kernel ({how})")));
        }
        if let (Some(before), Some(new)) = (&before.daos, &new.daos)
            && before != new
        {
            return Err(mismatch(&format!("was made with another daos ({before}; this is {new})")));
        }
        if before.zram_bytes != new.zram_bytes {
            return Err(mismatch("was made with another --zram"));
        }
        if before.pairs != new.pairs {
            let how = if before.pairs { "with --pairs" } else { "without --pairs" };
            return Err(mismatch(&format!("was made {how}")));
        }
        // Which one made the runs of an older version is not known.
        let daos = if is_there { before.daos.clone() } else { new.daos };
        let mut header = Header { daos, ..before };
        for workload in workloads {
            let (about, definition) = (workload.about.clone(), workload.definition());
            let named = Named { name: workload.name.clone(), about, definition };
            add(&mut header.workloads, named)
                .map_err(|name| mismatch(&format!("has runs of another workload {name}")))?;
        }
        for configuration in configurations {
            let (about, definition) = (configuration.about.clone(), configuration.definition());
            let named = Named { name: configuration.name.clone(), about, definition };
            add(&mut header.configurations, named)
                .map_err(|name| mismatch(&format!("has runs of another configuration {name}")))?;
        }
        let path = dir.join(HEADER);
        let text =
            serde_json::to_string_pretty(&header).map_err(|err| failed(&path)(err.into()))?;
        write_whole(&path, text.as_bytes())?;
        let path = dir.join(RUNS);
        let file = no_link().read(true).append(true).create(true).open(&path);
        let file = file.map_err(failed(&path))?;
        let (runs, whole) = read_runs(&path)?;
        // A line that was not finished when the machine or the process ended.
        file.set_len(whole).map_err(failed(&path))?;
        Ok(Self { dir: dir.to_owned(), header, runs, file: Some(file) })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a run down.
    pub fn add(&mut self, run: RawRun) -> Result<(), SuiteError> {
        let path = self.dir.join(RUNS);
        let failed = |why| SuiteError::Write { path: path.clone(), why };
        let mut line = serde_json::to_vec(&run).map_err(|err| failed(err.into()))?;
        line.push(b'\n');
        if let Some(file) = &mut self.file {
            file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        put(&mut self.runs, run);
        Ok(())
    }

    /// The run of this workload, configuration and round, if it was made.
    pub fn find(&self, workload: &str, config: &str, round: u32) -> Option<&RawRun> {
        let is_it =
            |run: &&RawRun| run.workload == workload && run.config == config && run.round == round;
        self.runs.iter().find(is_it)
    }

    /// What was measured of a workload in a configuration, by round. Of pairs, those copies that
    /// ran alone are what was measured in [`BASELINE`], beside whichever configuration.
    pub fn measured(&self, workload: &str, config: &str) -> Vec<&Measured> {
        let is_alone = self.header.pairs && config == BASELINE;
        let mut by_round = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.workload == workload) {
            let measured = match is_alone {
                true => run.beside.as_ref(),
                false => run.measured().filter(|_| run.config == config),
            };
            by_round.extend(measured.map(|measured| ((run.round, &run.config), measured)));
        }
        by_round.into_values().collect()
    }

    /// The pairs of a workload in a configuration, by round: that copy, and the one that ran
    /// alone at the same time.
    pub fn pairs(&self, workload: &str, config: &str) -> Vec<(&Measured, &Measured)> {
        let mut by_round = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.workload == workload && run.config == config) {
            let pair = run.measured().zip(run.beside.as_ref());
            by_round.extend(pair.map(|pair| (run.round, pair)));
        }
        by_round.into_values().collect()
    }

    /// Writes a file of the evaluation, at once.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), SuiteError> {
        write_whole(&self.dir.join(name), content)
    }
}

fn write_whole(path: &Path, content: &[u8]) -> Result<(), SuiteError> {
    let failed = |why| SuiteError::Write { path: path.to_owned(), why };
    let mut file = WholeFile::create(path).map_err(failed)?;
    file.write_all(content).and_then(|()| file.finish()).map_err(failed)
}

/// Adds something, unless it is there; its name if that stands for something else there.
fn add(all: &mut Vec<Named>, new: Named) -> Result<(), String> {
    match all.iter().find(|one| one.name == new.name) {
        Some(one) if one.definition != new.definition => Err(new.name),
        Some(_) => Ok(()),
        None => {
            all.push(new);
            Ok(())
        }
    }
}

/// In the place of the one that it repeats, if there is one.
fn put(runs: &mut Vec<RawRun>, run: RawRun) {
    let is_same = |other: &&mut RawRun| {
        (&other.workload, &other.config, other.round) == (&run.workload, &run.config, run.round)
    };
    match runs.iter_mut().find(is_same) {
        Some(place) => *place = run,
        None => runs.push(run),
    }
}

/// The runs in a file, and how many bytes of it are whole lines. None if there is no file.
fn read_runs(path: &Path) -> Result<(Vec<RawRun>, u64), SuiteError> {
    let failed = |why| SuiteError::Read { path: path.to_owned(), why };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(err) => return Err(failed(err)),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut runs = Vec::new();
    for (at, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let run = serde_json::from_slice(line).map_err(|err| {
            let why = format!("line {}: {err}", at + 1);
            failed(io::Error::new(io::ErrorKind::InvalidData, why))
        })?;
        put(&mut runs, run);
    }
    Ok((runs, whole as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::workload::Suite;

    fn header(pairs: bool) -> Header {
        let (kernel, processor) = ("6.1".into(), "x".into());
        let machine = Machine { kernel, processor, cpus: 2, memory_bytes: 1 << 30 };
        Header { zram_bytes: 4, pairs, ..Header::new(machine) }
    }

    fn run(config: &str, round: u32, runtime_s: f64) -> RawRun {
        let measured = Measured { runtime_s, ..Measured::default() };
        RawRun {
            workload: "sleep".into(),
            config: config.into(),
            round,
            at: 1,
            outcome: Outcome::Measured(measured),
            beside: None,
        }
    }

    fn open(dir: &Path, seconds: &str, configs: &[&str]) -> Result<Store, String> {
        let suite = Suite::of_command(&["sleep".to_owned(), seconds.to_owned()]).unwrap();
        let configs: Vec<String> = configs.iter().map(|name| (*name).to_owned()).collect();
        let configs = Configuration::parse_all(&configs).unwrap();
        Store::open(dir, header(false), &suite.workloads, &configs).map_err(|err| err.to_string())
    }

    #[test]
    fn what_was_measured_is_there_again() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("a/b");
        let mut store = open(&dir, "1", &["orig"]).unwrap();
        let failed = Outcome::Failed { failed: "no luck".into() };
        store.add(RawRun { outcome: failed, ..run("orig", 0, 0.0) }).unwrap();
        store.add(run("orig", 1, 2.0)).unwrap();
        // It went well the second time.
        store.add(run("orig", 0, 1.25)).unwrap();
        let again = Store::read(&dir).unwrap();
        assert_eq!((&again.runs, &again.header), (&store.runs, &store.header));
        let seconds: Vec<f64> =
            again.measured("sleep", "orig").iter().map(|run| run.runtime_s).collect();
        assert_eq!(seconds, [1.25, 2.0]);
        assert!(again.find("sleep", "orig", 2).is_none());
    }

    #[test]
    fn a_line_that_was_not_finished_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = open(dir.path(), "1", &["orig"]).unwrap();
        store.add(run("orig", 0, 1.0)).unwrap();
        let path = dir.path().join(RUNS);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"workload\":\"sl");
        fs::write(&path, &bytes).unwrap();
        let mut store = open(dir.path(), "1", &["orig", "rec"]).unwrap();
        store.add(run("rec", 0, 3.0)).unwrap();
        assert_eq!(Store::read(dir.path()).unwrap().runs.len(), 2);
    }

    #[test]
    fn another_evaluation_is_not_mixed_in() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path(), "1", &["orig"]).unwrap();
        open(dir.path(), "1", &["rec", "orig"]).unwrap();
        let error = open(dir.path(), "2", &["orig"]).unwrap_err();
        assert!(error.contains("another workload sleep; choose another --out"), "{error}");
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("mine"), "").unwrap();
        assert!(open(other.path(), "1", &["orig"]).unwrap_err().contains("no evaluation"));
        assert!(Store::read(other.path()).unwrap_err().to_string().contains(HEADER));
        let error = Store::open(dir.path(), header(true), &[], &[]).unwrap_err().to_string();
        assert!(error.contains("made without --pairs; choose another --out"), "{error}");
    }

    #[test]
    fn runs_of_another_daos_or_machine_are_not_mixed_in() {
        let dir = tempfile::tempdir().unwrap();
        let open = |header: Header| Store::open(dir.path(), header, &[], &[]);
        let of = |daos: &str| Header { daos: Some(daos.into()), ..header(false) };
        open(of("build 1")).unwrap();
        assert_eq!(open(header(false)).unwrap().header.daos.as_deref(), Some("build 1"));
        let why = open(of("build 2")).unwrap_err().to_string();
        assert!(why.contains("another daos (build 1; this is build 2)"), "{why}");
        let with = |machine: Machine| open(Header { machine, ..of("build 1") });
        let machine = header(false).machine;
        with(Machine { memory_bytes: (1 << 30) - 8192, ..machine.clone() }).unwrap();
        let why = with(Machine { memory_bytes: 1 << 31, ..machine }).unwrap_err().to_string();
        assert!(why.contains("memory 1.0 GiB instead of 2.0 GiB"), "{why}");
    }

    #[test]
    fn a_copy_that_ran_alone_counts_as_the_baseline() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), header(true), &[], &[]).unwrap();
        let pair = |config: &str, round: u32, here: f64, there: f64| {
            let beside = Measured { runtime_s: there, ..Measured::default() };
            RawRun { beside: Some(beside), ..run(config, round, here) }
        };
        store.add(pair("rec", 1, 3.0, 2.5)).unwrap();
        store.add(pair("rec", 0, 2.0, 1.5)).unwrap();
        store.add(pair("prcl", 0, 9.0, 1.0)).unwrap();
        let failed = Outcome::Failed { failed: "no luck".into() };
        store.add(RawRun { outcome: failed, ..run("prcl", 1, 0.0) }).unwrap();
        let store = Store::read(dir.path()).unwrap();
        let seconds = |config: &str| -> Vec<f64> {
            store.measured("sleep", config).iter().map(|run| run.runtime_s).collect()
        };
        assert_eq!((seconds("rec"), seconds("prcl")), (vec![2.0, 3.0], vec![9.0]));
        assert_eq!(seconds("orig"), [1.0, 1.5, 2.5]);
        let pairs: Vec<(f64, f64)> =
            store.pairs("sleep", "rec").iter().map(|(a, b)| (a.runtime_s, b.runtime_s)).collect();
        assert_eq!(pairs, [(2.0, 1.5), (3.0, 2.5)]);
        assert_eq!(store.pairs("sleep", "prcl").len(), 1);
    }
}
