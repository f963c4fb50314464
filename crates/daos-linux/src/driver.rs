//! The one loop that sleeps: drives a [`Monitor`] in real time.
//!
//! A tick is due at a time, and the next one so long after that time as the monitor
//! asks for, so that a tick that comes late does not shift those behind it. Ticks
//! that are over before they could begin are left out and counted. The same wait
//! notices that a watched process has ended.

use crate::cpu;
use daos_core::{AccessCheck, AnyMonitor, Monitor, Snapshot, SnapshotSource, Spent, TargetInfo};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Longest sleep without a look at the stop flag, in nanoseconds.
const NAP_NS: i64 = 100_000_000;

/// What the epoll set tells of the timer; anything else is a watched process.
const TIMER: u64 = u64::MAX;

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
    timer: OwnedFd,
    stop_flag: Arc<AtomicBool>,
    deadline_us: Option<u64>,
    start_us: u64,
    next_tick_us: u64,
    cpu_us: u64,
    begun: bool,
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
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
        Ok(Self {
            monitor,
            access,
            epoll,
            timer,
            stop_flag,
            deadline_us: duration_us,
            start_us: 0,
            next_tick_us: 0,
            cpu_us: 0,
            begun: false,
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

    /// One tick of the monitor, its bill, and the timer for the next.
    fn tick(&mut self, now_us: u64) -> Result<Option<Snapshot>, DriverError<A::Error>> {
        let snapshot = self
            .monitor
            .tick(&mut self.access, now_us - self.start_us)
            .map_err(DriverError::Access)?;
        self.next_tick_us += self.monitor.wait_us();
        let late_us = cpu::monotonic_us().saturating_sub(self.next_tick_us);
        let missed = late_us / self.monitor.attrs().sample_us;
        self.missed_ticks += u32::try_from(missed).unwrap_or(u32::MAX);
        self.next_tick_us += missed * self.monitor.attrs().sample_us;
        let cpu_us = cpu::used_us();
        self.monitor.charge(Spent {
            monitor_us: (cpu_us - std::mem::replace(&mut self.cpu_us, cpu_us)) as f64,
            target_us: self.access.take_target_us(),
        });
        timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec { it_interval: timespec(0), it_value: timespec(self.next_tick_us) },
        )
        .map_err(io::Error::from)?;
        Ok(snapshot)
    }

    /// Sleeps until the next tick. `false` when something else woke it.
    fn wait(&mut self) -> Result<bool, DriverError<A::Error>> {
        let mut events = [std::mem::MaybeUninit::<epoll::Event>::uninit(); 16];
        let nap = Timespec { tv_sec: 0, tv_nsec: NAP_NS };
        let woken = match epoll::wait(&self.epoll, &mut events[..], Some(&nap)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(false),
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
        let mut ticked = false;
        let mut ended = false;
        for event in woken.iter() {
            ticked |= event.data.u64() == TIMER;
            ended |= event.data.u64() != TIMER;
        }
        if ended {
            self.monitor.update(&mut self.access).map_err(DriverError::Access)?;
        }
        Ok(ticked && self.take_ticks()?)
    }

    /// Whether the tick is due; counts it if it is late.
    fn take_ticks(&mut self) -> io::Result<bool> {
        let mut due = [0; 8];
        match rustix::io::read(&self.timer, &mut due) {
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let late_us = cpu::monotonic_us().saturating_sub(self.next_tick_us);
        self.late_ticks += u32::from(late_us > self.monitor.attrs().sample_us / 10);
        Ok(true)
    }

    fn over(&self, now_us: u64) -> Option<Stop> {
        if self.stop_flag.load(Ordering::Relaxed) {
            Some(Stop::Asked)
        } else if self.deadline_us.is_some_and(|deadline| deadline <= now_us) {
            Some(Stop::Duration)
        } else if !self.monitor.has_targets() {
            Some(Stop::TargetsEnded)
        } else {
            None
        }
    }
}

/// A duration or a time of the monotonic clock.
fn timespec(us: u64) -> Timespec {
    Timespec { tv_sec: (us / 1_000_000) as i64, tv_nsec: (us % 1_000_000 * 1000) as i64 }
}

impl<A: AccessCheck, M: Monitor> SnapshotSource for Driver<A, M> {
    type Error = DriverError<A::Error>;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Self::Error> {
        self.begin()?;
        while self.stop.is_none() {
            let ticked = self.wait()?;
            let now_us = cpu::monotonic_us();
            self.stop = self.over(now_us);
            if !ticked {
                continue;
            }
            if let Some(mut snapshot) = self.tick(now_us)? {
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
