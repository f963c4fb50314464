//! What is to be tuned, for what, and how: as the command line says, if it can be.

use super::scoring::scorer;
use crate::cli::{self, DEFAULT_TUNING, Good};
use anyhow::{Result, bail, ensure};
use daos_cli::{Usage, scheme_error};
use daos_core::units::display;
use daos_linux::Process;
use daos_linux::user::{User, give_to_caller};
use daos_schemes::{Scheme, toml};
use daos_session::SchemeSource;
use daos_tune::{Aim, Scorer, SearchSpace, Store, Subject, Sweep, Tuning, TuningLimits};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A tuning that may begin.
#[derive(Debug)]
pub struct Plan {
    scheme: Scheme,
    aggregation_us: u64,
    space: SearchSpace,
    aim: Aim,
    limits: TuningLimits,
    seed: u64,
    scorer: Scorer,
    in_pairs: bool,
    subject: Subject,
    /// Where it is kept; `None` for the usual place, anew.
    out: Option<PathBuf>,
    fresh: bool,
    quiet: bool,
}

impl Plan {
    /// Refuses what makes no sense. Changes nothing.
    pub fn new(args: &cli::Tune, user: Option<User>, stop: &Arc<AtomicBool>) -> Result<Self> {
        check_measured(args)?;
        check_times(args)?;
        let (measuring, limits) = (&args.measuring, &args.limits);
        let scheme = one_scheme(&args.scheme)?;
        let seed = args.monitoring.looking.seed;
        let (space, aim) = searched(&args.search, seed)?;
        Ok(Self {
            subject: subject(args, &scheme, &space)?,
            scorer: scorer(args, user, stop)?,
            in_pairs: measuring.pairs,
            scheme,
            aggregation_us: args.monitoring.looking.aggr,
            space,
            aim,
            limits: TuningLimits {
                time_s: limits.limit.map(|us| us as f64 / 1e6),
                samples: limits.samples.map(|samples| samples as usize),
            },
            seed,
            out: args.out.clone(),
            fresh: args.fresh,
            quiet: args.quiet,
        })
    }

    /// Opens the directory, and reads what is there of an earlier part.
    pub fn begin(self) -> Result<(Tuning, Store)> {
        let Self { space, aim, limits, seed, scorer, in_pairs, .. } = self;
        let scheme = (self.scheme, self.aggregation_us);
        // A mistake must not set aside what is there.
        let tuning = Tuning::new(scheme, space, aim, limits, seed, scorer)
            .map_err(|err| Usage(err.to_string()))?;
        let tuning = if in_pairs { tuning.in_pairs() } else { tuning };
        let dir = match &self.out {
            Some(dir) => dir.as_path(),
            None => {
                let dir = Path::new(DEFAULT_TUNING);
                if let Some(old) = Store::set_aside(dir)?
                    && !self.quiet
                {
                    daos_cli::say!(
                        "daos: the tuning that was in {DEFAULT_TUNING} is in {} now",
                        old.display()
                    );
                }
                dir
            }
        };
        let (store, records) = Store::open_for(dir, &self.subject, self.fresh, give_to_caller)?;
        if !records.is_empty() && !self.quiet {
            let count = records.len();
            daos_cli::say!(
                "daos: goes on with the {count} samples in {} (--fresh begins anew)",
                dir.display()
            );
        }
        Ok((tuning.after(records), store))
    }
}

/// Refuses what can't be measured of what is named.
fn check_measured(args: &cli::Tune) -> Result<()> {
    let (forms, measuring) = (&args.target.forms, &args.measuring);
    let is_service = !forms.pid.is_empty();
    if measuring.pairs && forms.command.is_empty() {
        refuse(
            "--pairs runs a command twice at once, each to its end: give one behind `--`, in \
             place of --pid or --sim",
        )?;
    }
    if is_service && (measuring.metric.is_none() || measuring.work_time.is_none()) {
        refuse(
            "a process that goes on has no run time: give --metric CMD, which prints \
                how it performs, and --work-time TIME for each sample",
        )?;
    }
    // Where another form is given, clap does not ask for the --pid that these require.
    let of_services =
        [("--apply", measuring.apply), ("--work-time", measuring.work_time.is_some())];
    if !is_service {
        let why = "is for a service that goes on: name it with --pid PID";
        Usage::refuse(&of_services, why)?;
    }
    if measuring.metric_is == Good::Total && !is_service {
        refuse("--metric-is total is a rate while a service goes on: name one with --pid PID")?;
    }
    if forms.sim.is_some() && measuring.metric.is_some() {
        refuse("--metric measures what runs; the simulator knows the run time itself")?;
    }
    Ok(())
}

/// Refuses times that leave none for samples.
fn check_times(args: &cli::Tune) -> Result<()> {
    let (measuring, limits) = (&args.measuring, &args.limits);
    if limits.limit.is_none() && limits.samples.is_none() && args.search.sweep.is_empty() {
        refuse("how long may it take? Give --limit TIME, such as 10m, or --samples N")?;
    }
    if limits.limit == Some(0) || measuring.work_time == Some(0) {
        refuse("a time of 0 leaves nothing to measure")?;
    }
    if let (Some(limit), Some(work)) = (limits.limit, measuring.work_time) {
        let one = work.saturating_add(measuring.settle_us());
        if limit < one.saturating_mul(2) {
            refuse(&format!(
                "each sample takes {} with the time to settle, so --limit leaves no time for \
                 one beside the first baseline: give it ten times that",
                display::duration(one)
            ))?;
        }
    }
    Ok(())
}

/// Which parameters are searched, and how: for the best, or all of a sweep.
fn searched(search: &cli::Search, seed: u64) -> Result<(SearchSpace, Aim)> {
    let usage = |err: &dyn std::fmt::Display| Usage(err.to_string());
    if search.sweep.is_empty() {
        let params = search.params.iter().map(String::as_str);
        let space = match search.params.is_empty() {
            true => Ok(SearchSpace::default()),
            false => SearchSpace::parse(params),
        };
        return Ok((space.map_err(|err| usage(&err))?, Aim::Best(search.method)));
    }
    let sweeps = search.sweep.iter().map(String::as_str);
    let sweep = Sweep::parse(sweeps, search.repeat as usize, seed).map_err(|err| usage(&err))?;
    Ok((daos_tune::Search::space(&sweep).clone(), Aim::Sweep(sweep)))
}

fn refuse(what: &str) -> Result<()> {
    bail!(Usage(what.to_owned()))
}

/// The scheme that is tuned: thresholds of several would be hard to tell apart.
fn one_scheme(arg: &str) -> Result<Scheme> {
    let mut schemes =
        SchemeSource::new(arg).and_then(|mut source| source.read()).map_err(scheme_error)?;
    let count = schemes.len();
    ensure!(
        count == 1,
        Usage(format!(
            "--scheme {arg} has {count} schemes, and one is tuned at a time: give the text of one"
        ))
    );
    Ok(schemes.remove(0))
}

/// What samples have to have in common to stand beside each other.
fn subject(args: &cli::Tune, scheme: &Scheme, space: &SearchSpace) -> Result<Subject> {
    let (forms, measuring) = (&args.target.forms, &args.measuring);
    let mut names = Vec::new();
    for &pid in &forms.pid {
        // Its number changes when it is started again.
        names.push(format!("process {}", Process::open(pid)?.name()));
    }
    let workload = match &forms.sim {
        Some(file) => format!("simulation of {}", file.display()),
        None if names.is_empty() => shell(&forms.command),
        None => names.join(" and "),
    };
    let ranges = space.params().iter().map(|param| {
        let [low, high] = [param.low, param.high].map(|value| param.threshold.show(value));
        format!("{}={low}..{high}", param.threshold.name())
    });
    let looking = &args.monitoring.looking;
    let mut all = vec![
        ("workload", workload),
        ("scheme", toml::format(std::slice::from_ref(scheme))),
        ("param", ranges.collect::<Vec<_>>().join(" ")),
        ("monitor", format!("{} {:?}", args.monitoring.monitor.name(), looking.attrs())),
    ];
    let seconds = |us: u64| format!("{} s", us as f64 / 1e6);
    let given = [
        ("metric", measuring.metric.clone()),
        ("work-time", measuring.work_time.map(seconds)),
        ("settle", measuring.settle.map(seconds)),
        ("zram", measuring.zram.bytes.map(|bytes| bytes.to_string())),
        ("zram-limit", measuring.zram.limit_bytes.map(|bytes| bytes.to_string())),
        ("zram-priority", measuring.zram.priority.map(|priority| priority.to_string())),
        ("metric-is", measuring.metric.as_ref().map(|_| format!("{:?}", measuring.metric_is))),
        ("max-overhead", looking.max_overhead.map(|share| format!("{} %", 100.0 * share))),
        ("auto-intervals", looking.auto_intervals.then(|| "chosen".to_owned())),
        ("pairs", measuring.pairs.then(|| "two at once".to_owned())),
        ("children", args.target.children.then(|| "watched".to_owned())),
    ];
    all.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
    Ok(Subject(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

/// Words as one would type them.
fn shell(words: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    let typed = |word: &String| match word.chars().all(is_plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(typed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_apart() {
        let typed = |words: &[&str]| shell(&words.iter().map(|w| (*w).into()).collect::<Vec<_>>());
        assert_eq!(typed(&["sh", "-c", "a b"]), "sh -c 'a b'");
        assert_eq!(typed(&["echo", "it's", ""]), r"echo 'it'\''s' ''");
    }
}
