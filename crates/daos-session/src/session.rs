//! The loop that all commands share.

use crate::account::Account;
use crate::memory_series::MemoryUse;
use crate::schemes::ActiveSchemes;
use daos_core::{ActionSink, CpuCost, Interval, Metrics, Snapshot, SnapshotSource, TargetInfo};
use daos_schemes::Scheme;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// What a session goes over: gives snapshots, and lends the memory that they are of.
pub trait Source: SnapshotSource {
    /// The memory: it is looked at and acted on.
    type Memory: ActionSink;

    /// Lends the memory, and what is measured beside it, between two snapshots. Says what CPU
    /// time that took: none of it is charged to the monitor.
    fn lend<T>(
        &mut self,
        work: impl FnOnce(&mut Self::Memory, &mut dyn Metrics) -> T,
    ) -> (T, CpuCost);

    /// Whether this scheme can be applied to the memory; if not, why, and what to do about it.
    fn supports(&self, scheme: &Scheme) -> Result<(), String>;

    /// What the targets take of memory at the end of this snapshot, where it is time to look
    /// and they still live.
    fn sample_memory(&mut self, snapshot: &Snapshot) -> Option<MemoryUse>;

    /// The next sample is due at once.
    fn forget_samples(&mut self) {}

    /// What a user should know of the targets, since this was last asked: a line each.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// What ends a session before its time.
#[derive(Debug, Error)]
pub enum SessionError<W: Error + 'static, A: Error + 'static> {
    /// There can be no more snapshots.
    #[error(transparent)]
    Source(W),
    /// The memory can't be looked at or acted on any more.
    #[error("applying the schemes")]
    Schemes(#[source] A),
}

/// The error of a session over `S`.
pub type ErrorOf<S> = SessionError<
    <S as SnapshotSource>::Error,
    <<S as Source>::Memory as daos_core::AccessCheck>::Error,
>;

/// A source under schemes, if there are any.
#[derive(Debug)]
pub struct Session<S> {
    source: S,
    schemes: ActiveSchemes,
    account: Account,
    notes: Vec<String>,
    new_schemes: bool,
    stop: Option<Arc<AtomicBool>>,
    /// When the last sample of the memory was taken.
    sampled_us: Option<u64>,
}

impl<S: Source> Session<S> {
    /// Nothing was seen and done yet.
    pub fn new(source: S, schemes: ActiveSchemes) -> Self {
        Self {
            source,
            schemes,
            account: Account::default(),
            notes: Vec::new(),
            new_schemes: false,
            stop: None,
            sampled_us: None,
        }
    }

    /// Sets `stop`, which is to end the source, when the terminal that the session was started
    /// from is closed.
    pub fn stopping(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The next interval: what was seen in it, and what schemes did then. `None` when there
    /// will be no more.
    ///
    /// # Errors
    ///
    /// [`SessionError`] when the source or the memory behind it failed.
    pub fn next_interval(&mut self) -> Result<Option<Interval>, ErrorOf<S>> {
        let snapshot = self.source.next_snapshot().map_err(SessionError::Source)?;
        let Some(snapshot) = snapshot else { return Ok(None) };
        self.account.elapsed_us = snapshot.end_us;
        self.account.monitor.monitor_us += snapshot.cost.cpu_us as f64;
        self.account.monitor.target_us += snapshot.cost.target_us as f64;
        let mut done = Vec::new();
        if !self.schemes.is_empty() {
            self.reload();
            let schemes = &mut self.schemes;
            let (passed, spent) =
                self.source.lend(|memory, metrics| schemes.pass(&snapshot, memory, metrics));
            done = passed.map_err(SessionError::Schemes)?;
            self.account.schemes.monitor_us += spent.monitor_us;
            self.account.schemes.target_us += spent.target_us;
            if let Some(sample) = self.source.sample_memory(&snapshot) {
                self.account.memory.add(snapshot.end_us, sample);
                self.sampled_us = Some(snapshot.end_us);
            }
        }
        Ok(Some(Interval { snapshot, done }))
    }

    /// Reads the schemes again where it was asked for or a file has changed.
    fn reload(&mut self) {
        let source = &self.source;
        match self.schemes.reload_if_asked(|scheme| source.supports(scheme)) {
            Ok(false) => {}
            Ok(true) => {
                self.new_schemes = true;
                let labels = self.schemes.labels().join("; ");
                self.notes.push(format!("read the schemes again: {labels}"));
            }
            Err(err) => self.notes.push(format!("{err}; the schemes stay as they were")),
        }
        if self.schemes.is_abandoned()
            && let Some(stop) = &self.stop
        {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// What it goes over.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// What it goes over, to be looked at between two intervals.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Ends it, and gives back what it went over, the schemes with their counters, and the
    /// account.
    pub fn into_parts(self) -> (S, ActiveSchemes, Account) {
        (self.source, self.schemes, self.account)
    }

    /// The schemes at work.
    pub fn schemes(&self) -> &ActiveSchemes {
        &self.schemes
    }

    /// Goes on with these schemes. Regions, ages and what was done stay known; what the targets
    /// take of memory is sampled anew.
    pub fn replace_schemes(&mut self, schemes: Vec<Scheme>) {
        self.schemes.replace(schemes);
        self.forget_memory();
    }

    /// What it cost so far.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The samples of memory begin anew.
    pub fn forget_memory(&mut self) {
        self.account.memory = Default::default();
        self.source.forget_samples();
    }

    /// Whether the memory was sampled at the end of this snapshot: there is news to show.
    pub fn has_sampled(&self, snapshot: &Snapshot) -> bool {
        self.sampled_us == Some(snapshot.end_us)
    }

    /// What a user should know, since this was last asked: a line each.
    pub fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.source.take_notes());
        notes
    }

    /// The schemes, as reports name them, if they were read again since this was last asked.
    pub fn take_new_schemes(&mut self) -> Option<Vec<String>> {
        std::mem::take(&mut self.new_schemes).then(|| self.schemes.labels())
    }

    /// Targets that are new, or whose mappings changed, since this was last asked.
    pub fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.source.changed_targets()
    }
}
