//! The one loop that sleeps: drives a [`Monitor`] in real time.
//!
//! A tick is due at a time, and the next one so long after that time as the monitor
//! asks for, so that a tick that comes late does not shift those behind it. Ticks
//! that are over before they could begin are left out and counted. The same wait
//! notices that a watched process has ended. It is the only system call that waiting
//! takes: in the caches that a busy target leaves behind, each costs microseconds.

use daos_core::{AccessCheck, CpuCost, Snapshot, SnapshotSource, TargetInfo};
use daos_linux::cpu;
use daos_monitor::{AnyMonitor, Monitor};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Longest sleep without a look at the stop flag, in microseconds.
const NAP_US: u64 = 500_000;

/// Why monitoring ended, once it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Every target has ended.
    TargetsEnded,
    /// The duration asked for is over.
    Duration,
    /// The stop flag was set, as by Ctrl-C.
    Asked,
}

/// What ends monitoring before its time.
#[derive(Debug, Error)]
pub enum DriverError<E: std::error::Error> {
    /// The primitives failed.
    #[error(transparent)]
    Access(E),
    /// The timer or the wait failed.
    #[error("waiting for the next tick: {0}")]
    Wait(#[from] io::Error),
}

/// A [`Monitor`] over some [`AccessCheck`], ticking in real time.
#[derive(Debug)]
pub struct Driver<A, M = AnyMonitor> {
    monitor: M,
    access: A,
    epoll: OwnedFd,
    stop_flag: Arc<AtomicBool>,
    deadline_us: Option<u64>,
    start_us: u64,
    next_tick_us: u64,
    cpu_us: u64,
    begun: bool,
    /// Whether it goes on without targets: others may come.
    goes_on: bool,
    late_ticks: u32,
    missed_ticks: u32,
    stop: Option<Stop>,
}

impl<A: AccessCheck, M: Monitor> Driver<A, M> {
    /// Ready to run until `stop_flag` is set or `duration_us` have passed.
    pub fn new(
        monitor: M,
        access: A,
        stop_flag: Arc<AtomicBool>,
        duration_us: Option<u64>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            monitor,
            access,
            epoll,
            stop_flag,
            deadline_us: duration_us,
            start_us: 0,
            next_tick_us: 0,
            cpu_us: 0,
            begun: false,
            goes_on: false,
            late_ticks: 0,
            missed_ticks: 0,
            stop: None,
        })
    }

    /// Notices at once when the process behind `pidfd` ends, and not only at the
    /// next regions update.
    pub fn watch(&mut self, pidfd: impl AsFd) -> io::Result<()> {
        let events = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        Ok(epoll::add(&self.epoll, pidfd, epoll::EventData::new_u64(0), events)?)
    }

    /// Goes on when all targets have ended: there may be others later.
    pub fn going_on(self, goes_on: bool) -> Self {
        Self { goes_on, ..self }
    }

    /// Why monitoring ended; `None` while it goes on.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// `CLOCK_MONOTONIC` at the first tick, in microseconds: time 0 of the snapshots.
    pub fn start_us(&self) -> u64 {
        self.start_us
    }

    /// The primitives.
    pub fn access(&self) -> &A {
        &self.access
    }

    /// Runs `work` on the primitives between two ticks, and says what CPU time it took:
    /// none of it is charged to the monitor.
    pub fn apart<T>(&mut self, work: impl FnOnce(&mut A) -> T) -> (T, CpuCost) {
        let monitor_us = cpu::used_us() - self.cpu_us;
        let target_us = self.access.take_target_us();
        let result = work(&mut self.access);
        let cpu_us = cpu::used_us();
        let spent = CpuCost {
            monitor_us: (cpu_us - self.cpu_us - monitor_us) as f64,
            target_us: self.access.take_target_us(),
        };
        self.cpu_us = cpu_us - monitor_us;
        self.monitor.charge_beside(CpuCost { monitor_us: 0.0, target_us });
        (result, spent)
    }

    /// Runs `work` on the primitives beside ticks. It is charged to the monitor, which learns
    /// nothing from it of what ticks cost.
    pub fn beside<T>(&mut self, work: impl FnOnce(&mut A) -> T) -> T {
        let begun_us = cpu::used_us();
        let result = work(&mut self.access);
        let took_us = cpu::used_us() - begun_us;
        self.cpu_us += took_us;
        self.monitor.charge_beside(CpuCost { monitor_us: took_us as f64, target_us: 0.0 });
        result
    }

    /// The first tick: reads the targets, arms, and starts the clock. Done by the
    /// first [`next_snapshot`](SnapshotSource::next_snapshot) if not before.
    pub fn begin(&mut self) -> Result<(), DriverError<A::Error>> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        cpu::ask_for_short_turns();
        self.start_us = cpu::monotonic_us();
        self.cpu_us = cpu::used_us();
        self.deadline_us = self.deadline_us.map(|d| d.saturating_add(self.start_us));
        self.next_tick_us = self.start_us;
        self.tick(self.start_us)?;
        Ok(())
    }

    /// One tick of the monitor, its bill, and when the next is due.
    fn tick(&mut self, now_us: u64) -> Result<Option<Snapshot>, DriverError<A::Error>> {
        let snapshot = self
            .monitor
            .tick(&mut self.access, now_us - self.start_us)
            .map_err(DriverError::Access)?;
        let over_us = cpu::monotonic_us();
        let cpu_us = cpu::used_us();
        let spent = CpuCost {
            monitor_us: (cpu_us - std::mem::replace(&mut self.cpu_us, cpu_us)) as f64,
            target_us: self.access.take_target_us(),
        };
        self.monitor.charge(spent, over_us - self.start_us);
        // One that came early, as a target ended, is waited from.
        self.next_tick_us = self.next_tick_us.min(now_us) + self.monitor.wait_us();
        let late_us = over_us.saturating_sub(self.next_tick_us);
        let missed = late_us / self.monitor.attrs().sample_us;
        let missed_ticks = u32::try_from(missed).unwrap_or(u32::MAX);
        self.missed_ticks = self.missed_ticks.saturating_add(missed_ticks);
        self.next_tick_us += missed * self.monitor.attrs().sample_us;
        Ok(snapshot)
    }

    /// Sleeps until the next tick, or until something else wakes it: the end of a target,
    /// of the duration, or of a nap. Says whether the tick is due, and whether a target
    /// has ended.
    fn wait(&mut self) -> Result<(bool, bool), DriverError<A::Error>> {
        let mut events = [std::mem::MaybeUninit::<epoll::Event>::uninit(); 16];
        let now_us = cpu::monotonic_us();
        let due_us = self.next_tick_us.min(self.deadline_us.unwrap_or(u64::MAX));
        let timeout = timespec(due_us.saturating_sub(now_us).min(NAP_US));
        let ended = match epoll::wait(&self.epoll, &mut events[..], Some(&timeout)) {
            Ok((events, _)) => !events.is_empty(),
            Err(Errno::INTR) => false,
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
        let now_us = cpu::monotonic_us();
        let late_us = now_us.saturating_sub(self.next_tick_us);
        self.late_ticks += u32::from(late_us > self.monitor.attrs().sample_us / 10);
        Ok((now_us >= self.next_tick_us, ended))
    }

    fn over(&self, now_us: u64) -> Option<Stop> {
        if self.stop_flag.load(Ordering::Relaxed) {
            Some(Stop::Asked)
        } else if self.deadline_us.is_some_and(|deadline| deadline <= now_us) {
            Some(Stop::Duration)
        } else if !self.goes_on && !self.monitor.has_targets() {
            Some(Stop::TargetsEnded)
        } else {
            None
        }
    }
}

/// A duration.
fn timespec(us: u64) -> Timespec {
    Timespec { tv_sec: (us / 1_000_000) as i64, tv_nsec: (us % 1_000_000 * 1000) as i64 }
}

impl<A: AccessCheck, M: Monitor> SnapshotSource for Driver<A, M> {
    type Error = DriverError<A::Error>;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Self::Error> {
        self.begin()?;
        while self.stop.is_none() {
            let (ticked, ended) = self.wait()?;
            let now_us = cpu::monotonic_us();
            self.stop = self.over(now_us);
            // At the end the last snapshot may be due, but no tick yet.
            let nothing_left = self.stop == Some(Stop::TargetsEnded);
            if !ended && (nothing_left || (!ticked && self.stop.is_none())) {
                continue;
            }
            let snapshot = self.tick(now_us)?;
            if ended {
                self.monitor.update(&mut self.access).map_err(DriverError::Access)?;
                self.stop = self.over(now_us);
            }
            if let Some(mut snapshot) = snapshot {
                snapshot.cost.late_ticks = std::mem::take(&mut self.late_ticks);
                snapshot.cost.missed_ticks = std::mem::take(&mut self.missed_ticks);
                return Ok(Some(snapshot));
            }
        }
        Ok(None)
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.access.changed_targets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{Capabilities, MonitorAttrs, Observation, Target, Window};
    use std::convert::Infallible;

    #[derive(Debug)]
    struct Nothing;

    impl AccessCheck for Nothing {
        type Error = Infallible;

        fn capabilities(&self) -> Capabilities {
            Capabilities { name: "none", max_window_pages: 1, page_bits: false, sparse: false }
        }

        fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
            Ok(Vec::new())
        }

        fn arm(&mut self, _: &[Window]) -> Result<(), Infallible> {
            Ok(())
        }

        fn check(&mut self, _: &[Window], _: &mut Vec<Observation>) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// Ticks every `wait_us`; an interval of `interval_us` is over at the first tick
    /// behind its end.
    #[derive(Debug)]
    struct Clockwork {
        attrs: MonitorAttrs,
        wait_us: u64,
        interval_us: u64,
        end_us: u64,
        ticks: Vec<u64>,
    }

    impl Monitor for Clockwork {
        fn attrs(&self) -> &MonitorAttrs {
            &self.attrs
        }

        fn has_targets(&self) -> bool {
            true
        }

        fn tick<A: AccessCheck + ?Sized>(
            &mut self,
            _: &mut A,
            now_us: u64,
        ) -> Result<Option<Snapshot>, A::Error> {
            self.ticks.push(now_us);
            Ok((now_us >= self.end_us).then(|| {
                self.end_us += self.interval_us;
                Snapshot { end_us: now_us, ..Snapshot::default() }
            }))
        }

        fn update<A: AccessCheck + ?Sized>(&mut self, _: &mut A) -> Result<(), A::Error> {
            Ok(())
        }

        fn wait_us(&self) -> u64 {
            self.wait_us
        }

        fn charge(&mut self, _: CpuCost, _: u64) {}

        fn charge_beside(&mut self, _: CpuCost) {}
    }

    fn driver(wait_us: u64, interval_us: u64, duration_us: u64) -> Driver<Nothing, Clockwork> {
        let attrs = MonitorAttrs::default();
        let clockwork =
            Clockwork { attrs, wait_us, interval_us, end_us: interval_us, ticks: Vec::new() };
        Driver::new(clockwork, Nothing, Arc::default(), Some(duration_us)).unwrap()
    }

    #[test]
    fn ticks_are_never_early_and_the_duration_ends_in_time() {
        let mut driver = driver(10_000, 20_000, 100_000);
        let snapshots = std::iter::from_fn(|| driver.next_snapshot().unwrap()).count();
        assert!((3..=5).contains(&snapshots), "{snapshots}");
        assert_eq!(driver.stop(), Some(Stop::Duration));
        let ticks = &driver.monitor.ticks;
        assert!(ticks.iter().zip(0..).all(|(&at, n)| at >= 10_000 * n), "{ticks:?}");
    }

    #[test]
    fn what_is_due_at_the_end_is_handed_out_though_no_tick_is() {
        let mut driver = driver(1_000_000, 30_000, 50_000);
        let last = driver.next_snapshot().unwrap().expect("its interval was over before");
        assert!((50_000..900_000).contains(&last.end_us), "{}", last.end_us);
        assert_eq!(driver.stop(), Some(Stop::Duration));
        assert_eq!(driver.next_snapshot().unwrap(), None);
    }

    #[test]
    fn a_tick_that_comes_early_is_waited_from() {
        let mut driver = driver(10_000_000, 10_000_000, 100_000_000);
        driver.begin().unwrap();
        let early_us = driver.start_us + 1_000;
        driver.tick(early_us).unwrap();
        assert_eq!(driver.next_tick_us, early_us + 10_000_000);
    }

    #[test]
    fn the_stop_flag_ends_a_long_wait() {
        let mut driver = driver(10_000_000, 10_000_000, 10_000_000);
        driver.stop_flag.store(true, Ordering::Relaxed);
        assert_eq!(driver.next_snapshot().unwrap(), None);
        assert_eq!(driver.stop(), Some(Stop::Asked));
        assert_eq!(
            driver.monitor.ticks.len(),
            2,
            "the first, and one that a snapshot may have been due at"
        );
    }
}
