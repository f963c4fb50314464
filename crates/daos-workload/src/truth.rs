//! What a run truly accessed: one JSON line a phase.
//!
//! A line is written when its phase ends and reaches the file at once, so that a
//! run that is killed leaves the truth of all phases it finished. Every region
//! is listed in every phase, also those that were left alone: cold memory is
//! half of the truth.

use crate::config::{Mode, Order};
use crate::rate;
use daos_core::{AddrRange, PAGE_SIZE};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What was accessed in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseTruth {
    /// When it began, in microseconds on `CLOCK_MONOTONIC`.
    pub start_us: u64,
    /// When it ended.
    pub end_us: u64,
    /// By rising address; a region with several patterns has an entry for each.
    pub regions: Vec<RegionTruth>,
}

/// What one pattern accessed in one region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionTruth {
    /// The name of the region.
    pub name: String,
    /// Its first byte, page-aligned.
    pub start: u64,
    /// The first byte behind it, page-aligned.
    pub end: u64,
    /// In which order.
    pub pattern: PatternKind,
    /// Bytes a step, of a stride; of which one page is accessed, of singles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<u64>,
    /// The weight in the configuration; 0 if idle.
    pub weight: u32,
    /// Accesses made, exactly.
    pub accesses: u64,
    /// What an access did.
    pub mode: Mode,
}

/// The order of accesses, as the truth names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// Any byte, each as likely as the other.
    Random,
    /// From start to end in steps.
    Stride,
    /// Any byte of some pages.
    Singles,
    /// None: the region was left alone.
    Idle,
}

impl PhaseTruth {
    /// The true access rate of each region: the chance that a page of it is
    /// accessed within `sample_us` microseconds, 0 to 1, over all its patterns
    /// (see [`rate::touched`] for what that means for each).
    pub fn access_rates(&self, sample_us: u64) -> Vec<(AddrRange, f64)> {
        let elapsed_us = self.end_us.saturating_sub(self.start_us).max(1);
        let share = sample_us as f64 / elapsed_us as f64;
        self.regions
            .chunk_by(|a, b| a.start == b.start)
            .map(|entries| {
                let rate = rate::any(entries.iter().map(|e| e.touched(share)));
                (entries[0].range(), rate)
            })
            .collect()
    }

    /// Reads back what a [`TruthWriter`] wrote.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, TruthError> {
        let failed = |why| TruthError::Read { path: path.to_owned(), why };
        let lines = BufReader::new(File::open(path).map_err(failed)?).lines();
        lines
            .enumerate()
            .map(|(at, line)| {
                serde_json::from_str(&line.map_err(failed)?).map_err(|why| TruthError::Line {
                    path: path.to_owned(),
                    line: at + 1,
                    why,
                })
            })
            .collect()
    }
}

impl RegionTruth {
    /// The addresses of the region.
    pub fn range(&self) -> AddrRange {
        AddrRange::new(self.start, self.end)
    }

    /// Which bytes were accessed, in which order; `None` if it was left alone.
    pub fn order(&self) -> Option<Order> {
        let step = self.stride.unwrap_or(PAGE_SIZE);
        match self.pattern {
            PatternKind::Idle => None,
            PatternKind::Random => Some(Order::Random),
            PatternKind::Stride => Some(Order::Stride(step.max(1))),
            PatternKind::Singles => Some(Order::Singles(step.max(PAGE_SIZE))),
        }
    }

    /// The chance that a page is touched by this share of the accesses.
    fn touched(&self, share: f64) -> f64 {
        let Some(order) = self.order() else { return 0.0 };
        let len = self.range().len().max(1);
        rate::touched(order, len, PAGE_SIZE, self.accesses as f64 * share)
    }
}

/// Why the truth could not be written or read.
#[derive(Debug, Error)]
pub enum TruthError {
    /// The file can't be made or written to.
    #[error("cannot write the truth to {path}: {why}", path = .path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The file can't be read.
    #[error("cannot read the truth from {path}: {why}", path = .path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// A line is not the truth of a phase.
    #[error("{path}:{line}: not the truth of a phase: {why}", path = .path.display())]
    Line {
        /// The path of the file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        why: serde_json::Error,
    },
}

/// Writes the truth of a run, phase by phase.
#[derive(Debug)]
pub struct TruthWriter {
    path: PathBuf,
    file: File,
}

impl TruthWriter {
    /// Makes the file, or empties it.
    pub fn create(path: &Path) -> Result<Self, TruthError> {
        match File::create(path) {
            Ok(file) => Ok(Self { path: path.to_owned(), file }),
            Err(why) => Err(TruthError::Write { path: path.to_owned(), why }),
        }
    }

    /// Appends a line. It is in the file when this returns.
    pub fn write(&mut self, phase: &PhaseTruth) -> Result<(), TruthError> {
        let line = serde_json::to_string(phase).expect("numbers and strings make JSON");
        self.file
            .write_all((line + "\n").as_bytes())
            .map_err(|why| TruthError::Write { path: self.path.clone(), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(start: u64, pattern: PatternKind, accesses: u64) -> RegionTruth {
        RegionTruth {
            name: "a".into(),
            start,
            end: start + (1 << 20),
            pattern,
            stride: (pattern == PatternKind::Stride).then_some(4096),
            weight: 1,
            accesses,
            mode: Mode::Rw,
        }
    }

    #[test]
    fn the_line_has_the_promised_shape() {
        let phase = PhaseTruth {
            start_us: 5,
            end_us: 6,
            regions: vec![entry(4096, PatternKind::Random, 7)],
        };
        let line = serde_json::to_string(&phase).unwrap();
        assert_eq!(
            line,
            r#"{"start_us":5,"end_us":6,"regions":[{"name":"a","start":4096,"end":1052672,"pattern":"random","weight":1,"accesses":7,"mode":"rw"}]}"#
        );
        assert_eq!(serde_json::from_str::<PhaseTruth>(&line).unwrap(), phase);
    }

    #[test]
    fn rates_of_one_region_are_put_together() {
        let phase = PhaseTruth {
            start_us: 0,
            end_us: 1_000_000,
            regions: vec![
                entry(0, PatternKind::Random, 51_200),
                entry(0, PatternKind::Stride, 25_600),
                entry(4 << 20, PatternKind::Idle, 0),
            ],
        };
        // In 5 ms: 256 random accesses to 256 pages, and a walk over half of them.
        let rates = phase.access_rates(5000);
        assert_eq!(rates.len(), 2);
        assert!((rates[0].1 - (1.0 - (-1f64).exp() * 0.5)).abs() < 1e-9);
        assert_eq!(rates[1].1, 0.0);
    }

    #[test]
    fn a_bad_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("truth");
        std::fs::write(&path, "{\"start_us\":1,\"end_us\":2,\"regions\":[]}\nnonsense\n").unwrap();
        let error = PhaseTruth::read_all(&path).unwrap_err().to_string();
        assert!(error.contains("truth:2: not the truth"), "{error}");
        let error = TruthWriter::create(dir.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the truth to /"), "{error}");
    }
}
