//! A pair: two copies of the command at once, each on half of the CPUs, one with the scheme and
//! one alone. What the machine does meanwhile, it does to both.
//!
//! A thread that stays on a copy's CPUs runs it and watches it, so what the monitor and the
//! scheme take is taken from that copy, and the other has its CPUs for itself.

use super::run::{Run, RunEnd, Seen};
use anyhow::{Context, Result, anyhow};
use daos_core::Side;
use daos_linux::halves::stay_on;
use daos_schemes::Scheme;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread::{ScopedJoinHandle, scope};
use std::time::Duration;

/// How long a copy ran, once it has ended; `None` if it went wrong.
type Over = OnceLock<Option<Duration>>;

/// Runs `own` with the scheme on this side, `beside` alone on the other, until both have ended.
/// When one goes wrong, the other is given up. `is_lost` says by the time that the first has
/// taken, and that which the other took, whether the first is to be ended.
pub fn at_once(
    [own, beside]: [Run<'_>; 2],
    scheme: Option<&Scheme>,
    side: Side,
    halves: &[Vec<u32>; 2],
    is_lost: &(dyn Fn(Duration, Duration) -> bool + Sync),
) -> Result<[Seen; 2]> {
    let (own_over, beside_over) = (Over::new(), Over::new());
    let own_ends = |elapsed| match beside_over.get()? {
        None => Some(RunEnd::GivenUp),
        Some(took) => is_lost(elapsed, *took).then_some(RunEnd::Lost),
    };
    let beside_ends = |_| own_over.get()?.is_none().then_some(RunEnd::GivenUp);
    let own = Run { ends: &own_ends, ..own };
    let beside = Run { ends: &beside_ends, ..beside };
    scope(|scope| {
        // Both begin when all is prepared for the one that is watched.
        let (begins, begun) = channel();
        let own_over = &own_over;
        let own = scope.spawn(move || {
            // Nobody listens any more where the other has begun.
            let begins = || {
                let _ = begins.send(());
            };
            copy(own, scheme, side, halves, own_over, begins)
        });
        let beside = begun.recv().map(|()| {
            scope.spawn(|| copy(beside, None, side.other(), halves, &beside_over, || ()))
        });
        let own = joined(own);
        let beside = beside.map(joined);
        let own = own?;
        Ok([own, beside.context("the other copy did not begin")??])
    })
}

/// Runs one, on its side.
fn copy(
    run: Run<'_>,
    scheme: Option<&Scheme>,
    side: Side,
    halves: &[Vec<u32>; 2],
    over: &Over,
    begins: impl FnOnce(),
) -> Result<Seen> {
    let cpus: &Vec<u32> = side.of(halves);
    let seen = stay_on(cpus)
        .with_context(|| format!("cannot stay on the CPUs {cpus:?}"))
        .and_then(|()| Run { side: Some(side), ..run }.once(scheme, begins));
    let went_well = |seen: &Seen| seen.ended == RunEnd::Itself(Some(0));
    let seen_well = seen.as_ref().ok().filter(|seen| went_well(seen));
    // It was not set before.
    let _ = over.set(seen_well.map(|seen| seen.runtime));
    seen
}

/// What a thread came to.
pub fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a sample ended in a way it never should"))?
}
