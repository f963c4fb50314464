//! Schemes at work, and read again when they change.

use crate::scheme_source::{SchemeSource, SchemeSourceError};
use daos_core::{ActionSink, Done, Metrics, SchemeStats, Snapshot};
use daos_schemes::engine::dry_run::Counted;
use daos_schemes::{DryRun, Engine, Scheme};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time between two looks whether a file has changed. Chosen: who edits one does not notice a
/// second, and a look costs a system call a file.
const FILES_CHECKED: Duration = Duration::from_secs(1);

/// Why schemes can't be applied.
#[derive(Debug, Error)]
pub enum SchemesError {
    /// They can't be read.
    #[error(transparent)]
    Source(#[from] SchemeSourceError),
    /// They can't be applied here.
    #[error("scheme `{label}` can't be applied here: {why}")]
    Unsupported {
        /// The scheme.
        label: String,
        /// What is missing, and what to do about it.
        why: String,
    },
}

/// Whether a scheme can be applied to this memory; if not, why, and what to do about it.
pub(crate) fn supports(memory: &impl ActionSink, scheme: &Scheme) -> Result<(), String> {
    acts_on(memory, scheme)?;
    tells_refaults(memory, scheme)
}

/// Whether what a scheme does can be done to this memory. One that leaves anonymous memory alone
/// needs no swap.
pub(crate) fn acts_on(memory: &impl ActionSink, scheme: &Scheme) -> Result<(), String> {
    match memory.supports(scheme.action) {
        Err(_) if scheme.action.needs_swap() && !scheme.takes_anonymous() => Ok(()),
        supported => supported,
    }
}

/// Whether it is told what comes back of this memory, if `scheme` has a bound on that.
pub(crate) fn tells_refaults(memory: &impl ActionSink, scheme: &Scheme) -> Result<(), String> {
    if scheme.max_refault.is_some() && memory.has_owners() {
        return Err(
            "what comes back (max_refault) can't be told by physical address, beside `record \
                    --paddr` or with a filter by address: use --all instead of --paddr, or a \
                    scheme without that bound, such as pprcl"
                .to_owned(),
        );
    }
    Ok(())
}

/// An engine, and where its schemes come from.
#[derive(Debug)]
pub struct ActiveSchemes {
    sources: Vec<SchemeSource>,
    engine: Engine,
    /// What was counted instead of done.
    dry_run: Option<Counted>,
    hangup: Arc<AtomicBool>,
    checked: Instant,
    /// Which of the standard streams were a terminal at the start, and whether that was closed.
    terminals: [bool; 3],
    abandoned: bool,
}

impl Default for ActiveSchemes {
    /// None.
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl ActiveSchemes {
    /// Reads the schemes that `args` name, as [`SchemeSource::new`] has it. With `dry_run`, they
    /// only count.
    ///
    /// # Errors
    ///
    /// [`SchemeSourceError`] when one is not there, or makes no sense.
    pub fn read(args: &[String], dry_run: bool) -> Result<Self, SchemeSourceError> {
        let sources: Result<Vec<_>, _> = args.iter().map(|arg| SchemeSource::new(arg)).collect();
        let mut sources = sources?;
        let schemes = read(&mut sources)?;
        let dry_run = dry_run.then(Counted::default);
        Ok(Self { sources, dry_run, ..Self::of(schemes) })
    }

    /// These schemes, which are not read from anywhere.
    pub fn of(schemes: Vec<Scheme>) -> Self {
        Self {
            engine: Engine::new(schemes),
            sources: Vec::new(),
            dry_run: None,
            hangup: Arc::default(),
            checked: Instant::now(),
            terminals: terminals(),
            abandoned: false,
        }
    }

    /// Goes on with other schemes, which are not read from anywhere. What was done stays
    /// known.
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

    /// Whether the terminal that this was started from is gone.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// A flag that makes the schemes be read again; `None` if there are none.
    pub fn reload_flag(&self) -> Option<Arc<AtomicBool>> {
        (!self.is_empty()).then(|| Arc::clone(&self.hangup))
    }

    /// Refuses schemes that can't be applied: `supports` says why.
    ///
    /// # Errors
    ///
    /// [`SchemesError::Unsupported`] for the first of them. Never in a dry run.
    pub fn check(
        &self,
        supports: impl Fn(&Scheme) -> Result<(), String>,
    ) -> Result<(), SchemesError> {
        if self.is_dry_run() { Ok(()) } else { check(self.schemes(), supports) }
    }

    /// Reads the schemes again if a file has changed, or a signal said so, and says whether it
    /// did. What was done stays known.
    ///
    /// # Errors
    ///
    /// What can't be read, or `supports` refuses, changes nothing.
    pub fn reload_if_asked(
        &mut self,
        supports: impl Fn(&Scheme) -> Result<(), String>,
    ) -> Result<bool, SchemesError> {
        let asked = self.hangup.swap(false, Ordering::Relaxed);
        if !asked && self.checked.elapsed() < FILES_CHECKED {
            return Ok(false);
        }
        // The same signal says that the terminal was closed.
        self.abandoned |= asked && is_one_gone(self.terminals, terminals());
        self.checked = Instant::now();
        if !asked && !self.sources.iter().any(SchemeSource::changed_since_last_read) {
            return Ok(false);
        }
        let schemes = read(&mut self.sources)?;
        if !self.is_dry_run() {
            check(schemes.iter(), supports)?;
        }
        self.engine.replace(schemes);
        Ok(true)
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
                counted.forget_ended(snapshot);
                let mut counting = DryRun::new(sink, counted);
                self.engine.pass(snapshot, &mut counting, metrics)?;
                // Nothing was done that a record could hold.
                Ok(Vec::new())
            }
            None => self.engine.pass(snapshot, sink, metrics),
        }
    }
}

/// Which of the standard streams are a terminal that is there.
fn terminals() -> [bool; 3] {
    [stdin().is_terminal(), stdout().is_terminal(), stderr().is_terminal()]
}

/// Whether a stream was a terminal, and is none any more.
fn is_one_gone(before: [bool; 3], now: [bool; 3]) -> bool {
    before.into_iter().zip(now).any(|(was, is)| was && !is)
}

/// Reads all of them also when one is bad, so that each is read once for each change.
fn read(sources: &mut [SchemeSource]) -> Result<Vec<Scheme>, SchemeSourceError> {
    let read: Vec<_> = sources.iter_mut().map(SchemeSource::read).collect();
    Ok(read.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

fn check<'a>(
    mut schemes: impl Iterator<Item = &'a Scheme>,
    supports: impl Fn(&Scheme) -> Result<(), String>,
) -> Result<(), SchemesError> {
    schemes.try_for_each(|scheme| {
        let unsupported = |why| SchemesError::Unsupported { label: scheme.label(), why };
        supports(scheme).map_err(unsupported)
    })
}
