//! The schemes that were named, at work, and read again when they change.

use crate::cli;
use anyhow::Result;
use daos_cli::SchemeSource;
use daos_core::Snapshot;
use daos_core::{ActionSink, Done, Metrics, SchemeStats};
use daos_record::SchemeEnd;
use daos_schemes::engine::dry_run::Counted;
use daos_schemes::{DryRun, Engine, Scheme};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks whether a file has changed.
const LOOK: Duration = Duration::from_secs(1);

/// An engine, and where its schemes come from.
#[derive(Debug)]
pub struct Rules {
    sources: Vec<SchemeSource>,
    engine: Engine,
    /// What was counted instead of done.
    dry_run: Option<Counted>,
    hangup: Arc<AtomicBool>,
    looked: Instant,
    /// Whether there was a terminal at the start, and whether it was closed.
    had_terminal: bool,
    abandoned: bool,
    /// They were read again, and nobody has asked for them yet.
    changed: bool,
}

impl Rules {
    /// Reads the schemes that were named.
    pub fn new(args: &cli::Managing) -> Result<Self> {
        let mut sources = Vec::new();
        for scheme in &args.schemes {
            sources.push(SchemeSource::new(scheme)?);
        }
        let schemes = read(&mut sources)?;
        let dry_run = args.dry_run.then(Counted::default);
        Ok(Self { sources, dry_run, ..Self::of(schemes) })
    }

    /// These schemes, which are not read from anywhere.
    pub fn of(schemes: Vec<Scheme>) -> Self {
        Self {
            engine: Engine::new(schemes),
            sources: Vec::new(),
            dry_run: None,
            hangup: Arc::default(),
            looked: Instant::now(),
            changed: false,
            had_terminal: std::io::stderr().is_terminal(),
            abandoned: false,
        }
    }

    /// Goes on with other schemes, which are not read from anywhere. Regions, ages and
    /// what was done stay known.
    pub fn replace(&mut self, schemes: Vec<Scheme>) {
        self.sources.clear();
        self.engine.replace(schemes);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.schemes().next().is_none()
    }

    /// Whether they only count.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    /// The schemes in force.
    pub fn schemes(&self) -> impl Iterator<Item = &Scheme> {
        self.engine.stats().map(|(scheme, _)| scheme)
    }

    /// The schemes in force with their counters.
    pub fn stats(&self) -> impl Iterator<Item = (&Scheme, &SchemeStats)> {
        self.engine.stats()
    }

    /// The schemes, as reports name them.
    pub fn labels(&self) -> Vec<String> {
        self.schemes().map(Scheme::label).collect()
    }

    /// Each scheme's name and counters.
    pub fn outcome(&self) -> Vec<SchemeEnd> {
        let end = |(scheme, stats): (&Scheme, &SchemeStats)| SchemeEnd {
            label: scheme.label(),
            stats: stats.clone(),
        };
        self.stats().map(end).collect()
    }

    /// Whether the terminal that this was started from is gone.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// The schemes, if they were read again since this was last asked.
    pub fn take_changed(&mut self) -> Option<Vec<String>> {
        std::mem::take(&mut self.changed).then(|| self.labels())
    }

    /// A flag that makes the schemes be read again; `None` if there are none.
    pub fn reload_flag(&self) -> Option<Arc<AtomicBool>> {
        (!self.is_empty()).then(|| Arc::clone(&self.hangup))
    }

    /// Reads the schemes again if a file has changed, or a signal said so. What can't be
    /// read, or `check` refuses, changes nothing, and is said. Regions, ages and what was done stay known.
    pub fn reload_if_asked(&mut self, check: impl Fn(&[Scheme]) -> Result<()>) {
        let asked = self.hangup.swap(false, Ordering::Relaxed);
        if !asked && self.looked.elapsed() < LOOK {
            return;
        }
        // The same signal says that the terminal was closed.
        self.abandoned |= asked && self.had_terminal && !std::io::stderr().is_terminal();
        self.looked = Instant::now();
        if !asked && !self.sources.iter().any(SchemeSource::changed_since_last_read) {
            return;
        }
        let schemes = read(&mut self.sources).and_then(|schemes| {
            check(&schemes)?;
            Ok(schemes)
        });
        match schemes {
            Ok(schemes) => {
                self.engine.replace(schemes);
                self.changed = true;
                daos_cli::say!("daos: read the schemes again: {}", self.labels().join("; "));
            }
            Err(err) => daos_cli::say!("daos: {err:#}; the schemes stay as they were"),
        }
    }

    /// Applies them to the memory behind `sink`, as `snapshot` shows it: what was done.
    pub fn pass<S: ActionSink>(
        &mut self,
        snapshot: &Snapshot,
        sink: &mut S,
        metrics: &mut dyn Metrics,
    ) -> Result<Vec<Done>, S::Error> {
        match &mut self.dry_run {
            Some(counted) => {
                let mut counting = DryRun::new(sink, counted);
                self.engine.pass(snapshot, &mut counting, metrics)?;
                // Nothing was done that a record could hold.
                Ok(Vec::new())
            }
            None => self.engine.pass(snapshot, sink, metrics),
        }
    }
}

/// Reads all of them also when one is bad, so that each is read once for each change.
fn read(sources: &mut [SchemeSource]) -> Result<Vec<Scheme>> {
    let read: Vec<Result<Vec<Scheme>>> = sources.iter_mut().map(SchemeSource::read).collect();
    Ok(read.into_iter().collect::<Result<Vec<_>>>()?.concat())
}
