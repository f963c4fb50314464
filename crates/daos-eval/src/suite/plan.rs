//! What is to be run, in which order, and how long that takes.

use super::configuration::{BASELINE, Configuration};
use super::error::SuiteError;
use super::results::mean;
use super::store::Store;
use super::tuned;
use super::workload::{Suite, Workload};
use daos_linux::User;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run takes beside the workload's own time: caches, swap, the end of `daos`. Measured
/// on an idle machine, roughly.
const ASIDE_S: f64 = 2.0;

/// All that is to be done.
#[derive(Debug)]
pub struct Plan {
    /// The workloads.
    pub suite: Suite,
    /// The configurations.
    pub configurations: Vec<Configuration>,
    /// Rounds.
    pub runs: u32,
    /// The two halves of the CPUs, where two copies run at once, one of them as in the baseline;
    /// a round is two pairs then, in which the copies change sides.
    pub pairs: Option<[Vec<u32>; 2]>,
    /// The directory of the evaluation.
    pub out: PathBuf,
    /// Compressed swap for configurations that page out, in bytes.
    pub zram_bytes: u64,
    /// As whom workloads run; `None`: as who runs this.
    pub user: Option<User>,
    /// Whether what workloads work on is kept at the end.
    pub keep: bool,
    /// Whether what `daos record` writes beside workloads is kept.
    pub keep_records: bool,
    /// The `daos` that is evaluated.
    pub daos: PathBuf,
    /// This program, which scripts find in `$DAOS_EVAL`.
    pub eval: PathBuf,
    /// Set from outside to end early.
    pub stop: Arc<AtomicBool>,
}

/// A run that is to be made: places in the lists of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The round, from 0 on.
    pub round: u32,
    /// Which workload.
    pub workload: usize,
    /// Which configuration.
    pub configuration: usize,
}

impl Plan {
    /// All runs: in each round each workload in each configuration. Each round begins with
    /// another configuration, so that what it is to be first is shared; what is limited to what
    /// another left comes after all others. In pairs each is twice, one right after the other,
    /// and the baseline is beside all.
    pub fn steps(&self) -> Vec<Step> {
        let count = self.configurations.len();
        let is_beside =
            |at: &usize| self.pairs.is_some() && self.configurations[*at].name == BASELINE;
        let mut steps = Vec::new();
        for round in 0..self.runs {
            let mut order: Vec<usize> =
                (0..count).map(|at| (at + round as usize) % count).collect();
            order.sort_by_key(|&at| self.configurations[at].limit_of.is_some());
            for workload in 0..self.suite.workloads.len() {
                let step = |round, configuration| Step { round, workload, configuration };
                for configuration in order.iter().copied().filter(|at| !is_beside(at)) {
                    match self.pairs {
                        None => steps.push(step(round, configuration)),
                        Some(_) => steps.extend(
                            [2 * round, 2 * round + 1].map(|round| step(round, configuration)),
                        ),
                    }
                }
            }
        }
        steps
    }

    /// Those of them that were not made yet. What failed is tried again.
    pub fn left<'a>(&'a self, store: Option<&'a Store>) -> impl Iterator<Item = Step> + 'a {
        let is_done = move |step: &Step| {
            let (workload, configuration) = self.of(*step);
            let run = store?.find(&workload.name, &configuration.name, step.round);
            run?.measured().map(drop)
        };
        self.steps().into_iter().filter(move |step| is_done(step).is_none())
    }

    /// The workload and the configuration of a step.
    pub fn of(&self, step: Step) -> (&Workload, &Configuration) {
        (&self.suite.workloads[step.workload], &self.configurations[step.configuration])
    }

    /// About how many seconds a step takes, by what its like took before.
    pub fn seconds(&self, step: Step, store: Option<&Store>) -> f64 {
        let (workload, configuration) = self.of(step);
        let took = |config: &str| {
            let runs = store?.measured(&workload.name, config);
            mean(&runs.iter().map(|run| run.runtime_s).collect::<Vec<_>>())
        };
        // It is tuned for before the first of them.
        let is_tuned = || {
            step.round > 0
                || store.is_some_and(|store| tuned::is_done(store, workload, &configuration.name))
        };
        let tuning = match configuration.tuned() {
            Some(_) if !is_tuned() => f64::from(tuned::SAMPLES) * (ASIDE_S + workload.seconds),
            _ => 0.0,
        };
        let others = || self.configurations.iter().find_map(|other| took(&other.name));
        tuning + ASIDE_S + took(&configuration.name).or_else(others).unwrap_or(workload.seconds)
    }

    /// Refuses what can't be done, before anything is run.
    pub fn check(&self, store: Option<&Store>) -> Result<(), SuiteError> {
        if self.pairs.is_some() {
            self.check_pairs()?;
        }
        self.check_own_schemes()?;
        for configuration in &self.configurations {
            configuration.check(&self.daos)?;
            if let Some(other) = &configuration.limit_of {
                let is_there = self.configurations.iter().any(|one| one.name == *other);
                let was_run = |store: &Store| store.runs.iter().any(|run| run.config == *other);
                if !is_there && !store.is_some_and(was_run) {
                    let why = format!("it is limited to what {other} leaves: add {other}");
                    let name = configuration.name.clone();
                    return Err(SuiteError::Configuration { name, why });
                }
            }
        }
        Ok(())
    }

    fn check_pairs(&self) -> Result<(), SuiteError> {
        self.configurations.iter().try_for_each(Configuration::check_pairs)?;
        if self.configurations.iter().all(|one| one.name == BASELINE) {
            let why = "it is beside each other one in pairs: add one, such as rec".to_owned();
            return Err(SuiteError::Configuration { name: BASELINE.to_owned(), why });
        }
        let single = self.suite.workloads.iter().filter(|one| !one.can_pair());
        let single: Vec<&str> = single.map(|one| &*one.name).collect();
        if single.is_empty() { Ok(()) } else { Err(SuiteError::NoPairs(single.join(", "))) }
    }

    /// Leaves out the workloads that can't run twice at once, unless these are all, and returns
    /// their names.
    pub fn leave_out_single(&mut self) -> Vec<String> {
        let workloads = &mut self.suite.workloads;
        if !workloads.iter().any(Workload::can_pair) {
            return Vec::new();
        }
        let single = workloads.extract_if(.., |one| !one.can_pair());
        single.map(|one| one.name).collect()
    }

    /// Leaves out the workloads whose programs are not there, and returns their names.
    pub fn leave_out_missing(&mut self) -> Vec<String> {
        let all = std::mem::take(&mut self.suite.workloads);
        let (there, missing) = all.into_iter().partition(|one| one.missing().is_empty());
        self.suite.workloads = there;
        missing.into_iter().map(|one: Workload| one.name).collect()
    }
}

/// Complains of workloads whose programs are not there, and says how to get them.
pub fn refuse_missing(workloads: &[Workload]) -> Result<(), SuiteError> {
    let mut lines = Vec::new();
    let mut packages = BTreeSet::new();
    let mut words = BTreeSet::new();
    for workload in workloads {
        let missing = workload.missing();
        if missing.is_empty() {
            continue;
        }
        lines.push(format!("{} needs {}", workload.name, missing.join(", ")));
        packages.extend(workload.packages.iter().map(String::as_str));
        words.extend(workload.install.as_deref());
    }
    if lines.is_empty() {
        return Ok(());
    }
    let mut how = Vec::new();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        how.push(format!("`sudo apt install --no-install-recommends {}`", packages.join(" ")));
    }
    how.extend(words.into_iter().map(str::to_owned));
    how.push("or leave these workloads out, with --skip-missing or --only".to_owned());
    let (lines, how) = (lines.join("; "), how.join(", "));
    Err(SuiteError::Missing(format!("programs are missing: {lines}; {how}")))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::suite::host::Machine;
    use crate::suite::store::{Header, Measured, Outcome, RawRun};
    use daos_core::Side;

    fn plan(configs: &[&str], runs: u32) -> Plan {
        let suite = Suite::of_command(&["sleep".to_owned(), "1".to_owned()]).unwrap();
        plan_of(suite, configs, runs)
    }

    /// Of these workloads, with these configurations.
    pub fn plan_of(suite: Suite, configs: &[&str], runs: u32) -> Plan {
        let configs: Vec<String> = configs.iter().map(|name| (*name).to_owned()).collect();
        Plan {
            suite,
            configurations: Configuration::parse_all(&configs).unwrap(),
            runs,
            pairs: None,
            out: PathBuf::new(),
            zram_bytes: 4,
            user: None,
            keep: false,
            keep_records: false,
            daos: "true".into(),
            eval: PathBuf::new(),
            stop: Arc::default(),
        }
    }

    #[test]
    fn configurations_take_turns() {
        let plan = plan(&["orig", "limit", "rec", "prcl"], 2);
        let order: Vec<(u32, &str)> =
            plan.steps().into_iter().map(|step| (step.round, &*plan.of(step).1.name)).collect();
        let first = [(0, "orig"), (0, "rec"), (0, "prcl"), (0, "limit")];
        assert_eq!(order[..4], first);
        assert_eq!(order[4..], [(1, "rec"), (1, "prcl"), (1, "orig"), (1, "limit")]);
        assert!(plan.check(None).is_ok());
    }

    #[test]
    fn copies_of_a_pair_change_sides() {
        let in_turn = plan(&["orig", "rec", "prcl"], 2);
        let plan = Plan { pairs: Some([vec![0], vec![1]]), ..in_turn };
        assert!(plan.check(None).is_ok());
        let order: Vec<(u32, &str)> =
            plan.steps().into_iter().map(|step| (step.round, &*plan.of(step).1.name)).collect();
        assert_eq!(order[..4], [(0, "rec"), (1, "rec"), (0, "prcl"), (1, "prcl")]);
        assert_eq!(order[4..], [(2, "rec"), (3, "rec"), (2, "prcl"), (3, "prcl")]);
        let sides = order[4..].iter().map(|(round, _)| Side::of_round(*round).number());
        assert_eq!(sides.collect::<Vec<_>>(), [1, 2, 1, 2]);
    }

    #[test]
    fn what_cannot_run_twice_at_once_is_told() {
        let paired =
            |configs: &[&str]| Plan { pairs: Some([vec![0], vec![1]]), ..plan(configs, 1) };
        let refused = |plan: &Plan| plan.check(None).unwrap_err().to_string();
        assert!(refused(&paired(&["orig"])).contains("add one"));
        assert!(refused(&paired(&["orig", "thp"])).contains("huge pages"));
        let mut plan = paired(&["orig", "rec"]);
        plan.suite.workloads[0].pairs = Some(false);
        assert!(plan.leave_out_single().is_empty(), "nothing else is left");
        assert!(refused(&plan).contains("sleep cannot run twice at once"));
        let other = Workload { name: "b".into(), pairs: None, ..plan.suite.workloads[0].clone() };
        plan.suite.workloads.push(other);
        // It has no directory of its own.
        assert!(refused(&plan).contains("sleep, b cannot"));
        plan.suite.workloads[1].directory = None;
        assert_eq!(plan.leave_out_single(), ["sleep"]);
        assert!(plan.check(None).is_ok());
    }

    #[test]
    fn what_was_measured_is_not_run_again() {
        let plan = plan(&["orig", "rec"], 2);
        let dir = tempfile::tempdir().unwrap();
        let machine =
            Machine { kernel: "6".into(), processor: "x".into(), cpus: 1, memory_bytes: 1 };
        let (workloads, configurations) = (&plan.suite.workloads, &plan.configurations);
        let header = Header { zram_bytes: 4, ..Header::new(machine) };
        let mut store = Store::open(dir.path(), header, workloads, configurations).unwrap();
        let mut add = |config: &str, outcome| {
            let (workload, config) = ("sleep".to_owned(), config.to_owned());
            store.add(RawRun { workload, config, round: 0, at: 0, outcome, beside: None }).unwrap();
        };
        let measured = Measured { runtime_s: 8.0, ..Measured::default() };
        add("orig", Outcome::Measured(measured));
        add("rec", Outcome::Failed { failed: "x".into() });
        let left: Vec<Step> = plan.left(Some(&store)).collect();
        assert_eq!(left.len(), 3);
        assert_eq!((left[0].round, &*plan.of(left[0]).1.name), (0, "rec"));
        // By what the same workload took in another configuration.
        assert_eq!(plan.seconds(left[0], Some(&store)), 8.0 + ASIDE_S);
        assert_eq!(plan.seconds(left[0], None), 60.0 + ASIDE_S);
    }

    #[test]
    fn what_is_missing_is_told_with_how_to_get_it() {
        let mut plan = plan(&["orig", "limit"], 1);
        let workload = &mut plan.suite.workloads[0];
        workload.needs = vec!["no-such-program".into(), "sh".into()];
        workload.packages = vec!["b".into(), "a".into()];
        let error = refuse_missing(&plan.suite.workloads).unwrap_err().to_string();
        assert!(error.contains("sleep needs no-such-program;"), "{error}");
        assert!(error.contains("apt install --no-install-recommends a b"), "{error}");
        assert!(error.contains("--skip-missing"), "{error}");
        let error = plan.check(None).unwrap_err().to_string();
        assert!(error.contains("add prcl"), "{error}");
        assert_eq!(plan.leave_out_missing(), ["sleep"]);
        assert!(refuse_missing(&plan.suite.workloads).is_ok());
    }
}
