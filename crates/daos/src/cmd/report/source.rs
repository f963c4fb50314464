//! The record that a report is made of.

use anyhow::{Result, bail};
use daos_core::units::display;
use daos_core::{AddrRange, Interval, TargetId, TargetInfo};
use daos_record::{Flaw, ReadError, Record};
use daos_report::info::{Info, NO_END};
use daos_report::schemes::RecordedScheme;
use std::cell::Cell;
use std::path::Path;

/// An opened record. What is wrong with it is told on standard error, and no error here.
pub struct Source {
    pub record: Record,
    /// Whether a frame was come to that can't be decoded.
    undecodable: Cell<bool>,
}

impl Source {
    /// Opens the record at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let record = Record::open(path)?;
        if let Some(damage) = record.damage() {
            daos_cli::say!("daos: {damage}");
        } else if record.end().is_none() {
            daos_cli::say!("daos: note: {}: its end is {NO_END}", path.display());
        }
        Ok(Self { record, undecodable: Cell::new(false) })
    }

    /// Says so on standard error where `time`, in microseconds since the record began, is
    /// behind all of it.
    pub fn tell_if_behind_the_end(&self, time: Option<(u64, u64)>) {
        let end_us = self.record.extent().end_us;
        if let Some((from_us, _)) = time.filter(|&(from_us, _)| from_us >= end_us) {
            daos_cli::say!(
                "daos: note: the record ends at {} s, so there is nothing from {} s on",
                display::seconds(end_us),
                display::seconds(from_us)
            );
        }
    }

    /// Whether it is of the machine's RAM, which has no processes as targets.
    pub fn is_by_physical_address(&self) -> bool {
        self.record.header().backend == "ebpf-paddr"
    }

    /// 0, or 1 when the record is corrupt. One that is merely cut short, since its
    /// recorder was killed, is whole up to there.
    pub fn status(&self) -> i32 {
        let corrupt = |flaw: &Flaw| matches!(flaw, Flaw::Corrupt(_));
        let damaged = self.record.damage().is_some_and(|damage| corrupt(&damage.flaw));
        i32::from(damaged || self.undecodable.get())
    }

    /// Its intervals, up to the first frame that can't be decoded.
    pub fn intervals(&self) -> impl Iterator<Item = Result<Interval, ReadError>> {
        self.record.intervals().map_while(|interval| match interval {
            Err(error @ ReadError::Undecodable { .. }) => {
                if !self.undecodable.replace(true) {
                    daos_cli::say!("daos: {error}");
                }
                None
            }
            interval => Some(interval),
        })
    }

    /// Its intervals, cut to `address`.
    pub fn intervals_in(
        &self,
        address: Option<AddrRange>,
    ) -> impl Iterator<Item = Result<Interval, ReadError>> {
        self.intervals().map(move |interval| {
            let mut interval = interval?;
            if let Some(address) = address {
                interval.crop(address);
            }
            Ok(interval)
        })
    }

    /// `target` as an id, if the record has such a one.
    pub fn target(&self, target: Option<u32>) -> Result<Option<TargetId>> {
        let id = target.map(TargetId);
        let known = || self.record.targets().any(|info| Some(info.id) == id);
        if id.is_some() && !known() {
            let ids: Vec<_> = self.record.targets().map(|info| info.id.0.to_string()).collect();
            bail!(
                "the record has no target {}; by number, as `daos report info` says, it has {}",
                target.unwrap_or(0),
                ids.join(", ")
            );
        }
        Ok(id)
    }

    /// What was watched.
    pub fn targets(&self) -> Vec<TargetInfo> {
        self.record.targets().cloned().collect()
    }

    /// The schemes that acted, with the counters of those that the record's end has.
    pub fn schemes(&self) -> Vec<RecordedScheme> {
        let mut ends = self.record.end().map_or(Vec::new(), |end| end.schemes.clone());
        let mut known: Vec<RecordedScheme> = Vec::new();
        for label in self.record.schemes() {
            let end = ends.iter().position(|end| end.label == *label);
            let stats = end.map(|index| ends.remove(index).stats);
            known.push(RecordedScheme { label: label.clone(), stats });
        }
        known
    }

    /// The aggregation interval that was asked for in microseconds, unless the monitor chose
    /// it. To keep its bound it may have stretched some.
    pub fn aggregation_us(&self) -> Option<u64> {
        let header = self.record.header();
        (!header.auto_intervals).then_some(header.attrs.aggregation_us)
    }

    /// How the record came about.
    pub fn info(&self) -> Info {
        let header = self.record.header();
        let extent = self.record.extent();
        Info {
            attributes: header.attrs,
            seed: header.seed,
            targets: self.record.targets().map(Into::into).collect(),
            backend: header.backend.clone(),
            monitor: header.monitor.clone(),
            max_overhead_percent: header.max_overhead_percent,
            auto_intervals: header.auto_intervals,
            schemes: self.record.schemes().to_vec(),
            host: header.host.hostname.clone(),
            kernel: header.host.kernel.clone(),
            version: header.daos_version.clone(),
            created_unix_s: header.created_unix_s,
            command: header.command.clone(),
            end: self.record.end().map(|end| end.reason.clone()),
            exit_status: self.record.end().and_then(|end| end.exit_status),
            duration_us: extent.end_us,
            snapshots: extent.snapshots,
            damage: self.record.damage().map(ToString::to_string),
        }
    }
}
