//! A subregion: a part of a target's memory with one probe in it.
//!
//! Subregions are what the monitor samples by. They are small where there is something to
//! find out and large where there is not, and they are aggregated into regions.

use super::estimate::RateEstimate;
use daos_core::{AddrRange, PAGE_SIZE, Rng};

/// The access rate below which memory counts as idle. Chosen: one access in a thousand
/// sampling intervals.
const IDLE: f64 = 0.001;
/// Ages that differ by no more than this are alike, in microseconds. Chosen: one regions
/// update interval by default.
const AGES_ALIKE_US: u64 = 1_000_000;

/// Trials that the estimate of a part rests on at most when its subregion is split. Chosen:
/// it may be another one there.
const TRIALS_OF_PART: f64 = 4.0;
/// What each pair of samples leaves of the pairs before. Chosen: the last ten count.
const KEEP_PAIRS: f64 = 0.9;
/// Accessed pages from which on pairs of samples tell whether pages differ. Chosen.
const ENOUGH_PAIRS: f64 = 3.0;
/// By how much likelier than the mean page one that was accessed is to be accessed again,
/// where pages differ. Chosen: as [`super::page_map`] has it, and some more.
const REPEAT_EXCESS: f64 = 0.4;

/// Some neighbouring pages that stand for all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Subregion {
    /// Page-aligned, never empty.
    pub range: AddrRange,
    /// The pages that are sampled: inside the range, at most 512.
    pub probe: AddrRange,
    /// Since when the bits of the probe's pages are known to be clear: what is found set
    /// was accessed since. `None` when some may have been set before.
    pub armed_us: Option<u64>,
    /// The access rate.
    pub estimate: RateEstimate,
    /// Since when the rate is what it is.
    pub since_us: u64,
    /// The aggregation interval in which it is to be sampled next.
    pub due: u64,
    /// What is known of it does not hold or was not sampled yet: it comes first.
    pub unsure: bool,
    /// Its pages are known one by one: it needs no probe.
    pub has_page_map: bool,
    /// Nothing is in memory here.
    pub absent: bool,
    /// Huge pages map it, as far as is known: edges lie between them.
    pub huge: bool,
    /// The share of the last sample that could not be observed, 0 to 1.
    pub unobserved: f64,
    /// Pages of the probe that its first sample found accessed.
    pub first_sample: u64,
    /// Of pages sampled twice: those accessed both times, the first time, and all.
    pub repeats: [f64; 3],
    /// How often the probe has been sampled where it is.
    pub nr_samples: u8,
    /// The aggregation interval in which the edge to the subregion on the left was last seen
    /// to be where it is; 0 for never.
    pub edge_seen: u64,
    /// The aggregation interval until which that edge is remembered when it has gone.
    pub edge_remembered_until: u64,
}

impl Subregion {
    /// A subregion of which nothing is known, to be sampled at once.
    pub fn new(range: AddrRange, now_us: u64) -> Self {
        debug_assert!(!range.is_empty());
        Self {
            range,
            probe: range,
            armed_us: None,
            estimate: RateEstimate::default(),
            since_us: now_us,
            due: 0,
            unsure: true,
            has_page_map: false,
            absent: false,
            huge: false,
            unobserved: 0.0,
            first_sample: 0,
            repeats: [0.0; 3],
            nr_samples: 0,
            edge_seen: 0,
            edge_remembered_until: 0,
        }
    }

    /// A part of this subregion: it keeps what is known of the whole until it is sampled.
    pub fn part(&self, range: AddrRange) -> Self {
        Self {
            estimate: self.estimate.resting_on_at_most(TRIALS_OF_PART),
            since_us: self.since_us,
            unobserved: self.unobserved,
            huge: self.huge,
            repeats: self.repeats,
            ..Self::new(range, self.since_us)
        }
    }

    /// Puts the probe, of at most `pages` pages, somewhere inside.
    pub fn place_probe(&mut self, pages: u64, rng: &mut Rng) {
        let room = self.range.pages();
        let pages = pages.min(room);
        let first = if room > pages { rng.below(room - pages + 1) } else { 0 };
        self.set_probe(self.range.start + first * PAGE_SIZE, pages);
    }

    /// Puts the probe in the middle.
    pub fn centre_probe(&mut self, pages: u64) {
        let pages = pages.min(self.range.pages());
        let first = (self.range.pages() - pages) / 2;
        self.set_probe(self.range.start + first * PAGE_SIZE, pages);
    }

    /// Puts the probe there.
    pub fn set_probe(&mut self, start: u64, pages: u64) {
        self.probe = AddrRange::new(start, start + pages * PAGE_SIZE);
        debug_assert!(self.range.start <= self.probe.start && self.probe.end <= self.range.end);
        self.armed_us = None;
        self.nr_samples = 0;
    }

    /// Cuts it to what lies in `range`, of which some does.
    pub fn clip(&mut self, range: AddrRange) {
        if let Some(inside) = self.range.intersect(&range) {
            if inside.start != self.range.start {
                self.edge_seen = 0;
                self.edge_remembered_until = 0;
            }
            self.range = inside;
            if self.probe.intersect(&inside) != Some(self.probe) {
                self.centre_probe(self.probe.pages());
            }
        }
    }

    /// Takes in the neighbour on the right.
    pub fn absorb(&mut self, next: &Self) {
        let (left, right) = (self.range.pages(), next.range.pages());
        if right > left {
            self.probe = next.probe;
            self.armed_us = next.armed_us;
            self.nr_samples = next.nr_samples;
            self.unsure = next.unsure;
            self.absent = next.absent;
            self.has_page_map = next.has_page_map;
            self.due = next.due;
        }
        let share = right as f64 / (left + right) as f64;
        self.unobserved += (next.unobserved - self.unobserved) * share;
        let ages = u128::from(self.since_us) * u128::from(left)
            + u128::from(next.since_us) * u128::from(right);
        self.since_us = (ages / u128::from(left + right)) as u64;
        self.estimate = self.estimate.with(&next.estimate, share);
        self.range.end = next.range.end;
    }

    /// Takes in which of the first pages of the probe were accessed in its latest
    /// sample.
    pub fn compare(&mut self, accessed: u64) {
        match self.nr_samples {
            1 => self.first_sample = accessed,
            2 => {
                let both = (self.first_sample & accessed).count_ones();
                let first = self.first_sample.count_ones();
                let all = self.probe.pages().min(64);
                let new = [f64::from(both), f64::from(first), all as f64];
                self.repeats
                    .iter_mut()
                    .zip(new)
                    .for_each(|(sum, new)| *sum = *sum * KEEP_PAIRS + new);
            }
            _ => {}
        }
    }

    /// Whether its pages differ: those that were accessed are accessed again, far more
    /// often than the mean page.
    pub fn is_mixed(&self) -> bool {
        let [both, first, all] = self.repeats;
        !self.huge && first >= ENOUGH_PAIRS && both / first > first / all + REPEAT_EXCESS
    }

    /// Whether both are idle, but one has been so much longer: what turned cold a moment
    /// ago is not as old as the cold memory around it.
    pub fn is_of_another_age(&self, other: &Self, now_us: u64) -> bool {
        let age = |subregion: &Self| now_us.saturating_sub(subregion.since_us);
        let (young, old) = (age(self).min(age(other)), age(self).max(age(other)));
        let idle = self.estimate.rate() < IDLE && other.estimate.rate() < IDLE;
        idle && old > 2 * young + AGES_ALIKE_US
    }

    /// Whether all of it lies in the aligned block of so many bytes around `address`, in
    /// which nothing is in memory.
    pub fn is_in_hole(&self, address: u64, bytes: u64) -> bool {
        bytes > 0
            && address / bytes == self.range.start / bytes
            && (self.range.end - 1) / bytes == self.range.start / bytes
    }

    /// Whether reading the probe says what happened since it was armed: where nothing
    /// is in use. Everything else has to be armed for each sample.
    pub fn can_be_rechecked(&self) -> bool {
        self.armed_us.is_some()
    }
}
