//! A service that goes on: watched for a while for each sample, in one session.
//!
//! Regions and ages stay known from sample to sample, so that a scheme need not wait for
//! its least age before it does anything. What a scheme before has paged out comes back
//! when it is used, for which there is time to settle; what is never used stays out, and
//! counts as resident in a baseline.

use super::command::{of_memory, prepared};
use super::metric::Metric;
use super::scoring::METRIC;
use crate::cli::{self, Good};
use crate::cmd::account::Told;
use crate::cmd::{monitoring, session};
use anyhow::{Context, Result};
use daos_core::text::safe;
use daos_core::{Action, Interval};
use daos_linux::{GuardedSwap, User};
use daos_schemes::{Pattern, Scheme};
use daos_session::{Live, Session};
use daos_tune::{Measurement, RSS, RunBounds, Workload};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// At least so long from one value of the metric to the next.
const PACE: Duration = Duration::from_secs(1);
/// The part of a sample after which it may be cut short.
const LEAST_SHARE: f64 = 0.2;

/// A service that may be tuned; nothing was changed yet.
#[derive(Debug)]
pub struct Prepared<'a> {
    args: &'a cli::Tune,
    prepared: session::Prepared,
    metric: Metric,
    user: Option<User>,
    stop: Arc<AtomicBool>,
}

/// A service under watch.
#[derive(Debug)]
pub struct Service<'a> {
    args: &'a cli::Tune,
    session: Session<Live>,
    swap: Option<GuardedSwap>,
    meter: Meter,
    stop: Arc<AtomicBool>,
    /// Bytes that were in swap before any scheme.
    swap_before: u64,
    /// How long it has been watched, in microseconds.
    watched_us: u64,
}

impl<'a> Prepared<'a> {
    /// Refuses what can't be done here.
    pub fn new(args: &'a cli::Tune, user: Option<User>, stop: Arc<AtomicBool>) -> Result<Self> {
        monitoring::monitor(&args.monitoring)?;
        let prepared = prepared(args)?;
        let metric = args.measuring.metric.as_deref().unwrap_or_default();
        let metric = Metric::new(metric, user.clone())?;
        Ok(Self { args, prepared, metric, user, stop })
    }

    /// Begins to watch.
    pub fn begin(self) -> Result<Service<'a>> {
        let Self { args, prepared, metric, user, stop } = self;
        let swap = prepared.set_up_swap(args.quiet)?;
        session::keep_rights_to_tune(user.as_ref())?;
        // Before monitoring, which asks for short turns of the CPU.
        let meter = Meter::new(metric, Arc::clone(&stop))?;
        let monitor = monitoring::monitor(&args.monitoring)?;
        let session = prepared.watch(None, monitor, None, &stop, swap.as_ref())?;
        let swap_before = session.source().swapped_bytes();
        Ok(Service { args, session, swap, meter, stop, swap_before, watched_us: 0 })
    }
}

impl Service<'_> {
    /// Goes on for a while, until the service ends, it is interrupted, or `enough`.
    /// Returns what came of the sample, if that is known by then.
    fn go_on(
        &mut self,
        time_us: u64,
        enough: impl Fn(&Meter, f64) -> bool,
    ) -> Result<Option<Measurement>> {
        let mut begun_us = None;
        while let Some(Interval { snapshot, .. }) = self.session.next_interval()? {
            self.watched_us = snapshot.end_us;
            session::tell_notes(&mut self.session);
            let begun_us = *begun_us.get_or_insert(snapshot.start_us);
            let elapsed_us = snapshot.end_us - begun_us;
            if elapsed_us >= time_us || enough(&self.meter, elapsed_us as f64 / time_us as f64) {
                return Ok(None);
            }
        }
        let stopped = self.stop.load(Ordering::Relaxed);
        Ok(Some(if stopped { Measurement::Interrupted } else { Measurement::Gone }))
    }

    /// Leaves `scheme` on until the service ends or Ctrl-C.
    pub fn keep(&mut self, scheme: Option<Scheme>, quiet: bool) -> Result<()> {
        let Some(scheme) = scheme else {
            if !quiet {
                daos_cli::say!("daos: nothing is applied");
            }
            return Ok(());
        };
        if !quiet {
            daos_cli::say!("daos: applying {} until Ctrl-C", safe(&scheme.label()));
        }
        self.session.replace_schemes(vec![scheme]);
        let bar = session::progress(!quiet, "applying", None);
        while let Some(interval) = self.session.next_interval()? {
            session::tell_notes(&mut self.session);
            if self.session.has_sampled(&interval.snapshot) {
                bar.set_message(Told::of(&self.session).line());
            }
        }
        bar.finish_and_clear();
        if !quiet {
            Told::of(&self.session).tell();
        }
        Ok(())
    }

    /// Watches no more, and puts the host back as it was.
    pub fn end(self) -> Result<()> {
        drop(self.session);
        Ok(self.swap.map_or(Ok(()), GuardedSwap::take_away)?)
    }
}

impl Workload for Service<'_> {
    type Error = anyhow::Error;

    fn measure(&mut self, scheme: Option<&Scheme>, bounds: &RunBounds) -> Result<Measurement> {
        let measuring = &self.args.measuring;
        let work_us = measuring.work_time.context("the plan asks for a work time")?;
        let settle_us = measuring.settle_us();
        let none = || Scheme::new(Pattern::ANY, Action::Stat);
        let least_age =
            scheme.map_or(0, |scheme| scheme.pattern.age.min.us(self.args.monitoring.looking.aggr));
        self.session.replace_schemes(vec![scheme.cloned().unwrap_or_else(none)]);
        // Nothing is older than it was watched.
        let settle_us =
            settle_us.max(least_age.saturating_add(settle_us).saturating_sub(self.watched_us));
        let left_us = (bounds.left_s * 1e6) as u64;
        let settle_us = settle_us.min(left_us.saturating_sub(work_us));
        if let Some(over) = self.go_on(settle_us, |_, _| false)? {
            return Ok(over);
        }
        self.session.forget_memory();
        self.meter.begin(work_us as f64 / 1e6, measuring.metric_is);
        let is_lost = |meter: &Meter, share: f64| {
            share >= LEAST_SHARE
                && meter.value().is_some_and(|value| bounds.will_be_lost(value, share))
        };
        let lost = std::cell::Cell::new(false);
        let enough = |meter: &Meter, share: f64| {
            lost.set(is_lost(meter, share));
            lost.get()
        };
        if let Some(over) = self.go_on(work_us, enough)? {
            return Ok(over);
        }
        // A metric that takes long is still measured: it needs the service as it is now.
        while self.meter.is_without_value() {
            if let Some(over) = self.go_on(PACE.as_micros() as u64, |_, _| false)? {
                return Ok(over);
            }
        }
        let value = match self.meter.end() {
            Ok(value) => value,
            Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(Measurement::Interrupted),
            Err(err) => return Ok(Measurement::Void(format!("{err:#}"))),
        };
        let memory = &self.session.account().memory;
        let mut values = of_memory(memory);
        if scheme.is_none() {
            let whole = memory.whole.mean.saturating_sub(self.swap_before);
            // What was in swap before may have come back.
            values.insert(RSS.to_owned(), whole.max(memory.resident.mean) as f64);
        }
        values.insert(METRIC.to_owned(), value);
        Ok(if lost.get() { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }
}

/// Runs the metric's command beside, again and again, while there is something to measure.
#[derive(Debug)]
struct Meter {
    /// Closed to end the thread.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Seen>>,
    is: Good,
}

/// To measure until the time is over; each value may take so many seconds.
#[derive(Debug)]
struct Order {
    number: u64,
    patience_s: f64,
}

/// What was measured for an order.
#[derive(Debug, Default)]
struct Seen {
    /// Which order it is for; it is over when another number stands here.
    number: u64,
    /// Values, each with the time when it was asked for.
    values: Vec<(Instant, f64)>,
    failed: Option<String>,
}

impl Meter {
    fn new(metric: Metric, stop: Arc<AtomicBool>) -> Result<Self> {
        let (orders, received) = channel();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let thread = thread::Builder::new()
            .name("metric".to_owned())
            .spawn(move || serve(&metric, &received, &shared, &stop))
            .context("starting a thread for the metric")?;
        Ok(Self { orders: Some(orders), thread: Some(thread), seen, is: Good::More })
    }

    fn begin(&mut self, work_s: f64, is: Good) {
        self.is = is;
        let Ok(mut seen) = self.seen.lock() else { return };
        *seen = Seen { number: seen.number + 1, ..Seen::default() };
        let order = Order { number: seen.number, patience_s: 3.0 * work_s + 10.0 };
        // Who receives it ends after this.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// Whether more time is needed: there is no value yet, and no failure.
    fn is_without_value(&self) -> bool {
        let waits = |seen: &Seen| seen.failed.is_none() && self.of(&seen.values).is_none();
        self.seen.lock().is_ok_and(|seen| waits(&seen))
    }

    /// What was measured so far.
    fn value(&self) -> Option<f64> {
        self.of(&self.seen.lock().ok()?.values)
    }

    fn of(&self, values: &[(Instant, f64)]) -> Option<f64> {
        let (first, last) = (values.first()?, values.last()?);
        if self.is == Good::Total {
            let seconds = last.0.duration_since(first.0).as_secs_f64();
            return (seconds > 0.0).then(|| (last.1 - first.1) / seconds);
        }
        Some(values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64)
    }

    /// Measures no more.
    fn end(&self) -> Result<f64> {
        let value = self.value();
        let mut seen = self.seen.lock().ok().context("the metric's thread has failed")?;
        let failed = seen.failed.take();
        seen.number += 1;
        match failed {
            Some(why) => anyhow::bail!(why),
            None => value.context("the metric was not measured"),
        }
    }
}

impl Drop for Meter {
    /// The command that runs now is ended.
    fn drop(&mut self) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.number += 1;
        }
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // One that has failed has ended, too.
            let _ = thread.join();
        }
    }
}

/// Measures for one order after the other.
fn serve(metric: &Metric, orders: &Receiver<Order>, seen: &Mutex<Seen>, stop: &AtomicBool) {
    for Order { number, patience_s } in orders {
        let is_over = || seen.lock().map_or(true, |seen| seen.number != number);
        let ends = || stop.load(Ordering::Relaxed) || is_over();
        while !ends() {
            let asked = Instant::now();
            let value = metric.once(None, patience_s, &ends);
            let Ok(mut seen) = seen.lock() else { return };
            if seen.number != number {
                break;
            }
            match value {
                Ok(value) => seen.values.push((asked, value)),
                Err(err) => {
                    seen.failed = Some(format!("{err:#}"));
                    break;
                }
            }
            drop(seen);
            thread::sleep(PACE.saturating_sub(asked.elapsed()));
        }
    }
}
