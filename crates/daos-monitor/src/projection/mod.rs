//! What is known of processes, told by page frame.
//!
//! Page frames of 4 KiB that lie side by side say nothing of each other where the kernel gives them
//! out as they come. What does is that they follow each other in a process. So physical memory is
//! watched where it is used, by the page tables of its owners, and what a monitor found there is
//! *projected* onto the page frames that the tables name: a byte for each of them. Neighbours that
//! are alike make up regions and, where these are mixed, runs of pages.
//!
//! A round over all page tables takes a few microseconds for each. Whoever drives it goes on in
//! small [steps](Projection::step), as far as a bound allows; until the next round is over, the
//! last holds, and what was idle grows older.
//!
//! | module | holds |
//! |---|---|
//! | this one | the rounds |
//! | `kind` | what is known of a frame, in a byte |
//! | `segments` | neighbours that are alike |
//! | `regions` | regions, and runs of pages, of them |

mod kind;
mod regions;
mod segments;

use daos_core::{
    AddrRange, HUGE_PAGE_SIZE, MonitorAttrs, PAGE_SIZE, PageFrames, PageRuns, Part, RegionSnapshot,
    Snapshot, TargetId, TargetSnapshot, WITHIN_US, WorkingSets,
};
use kind::Kind;
use segments::{Segments, Sums};

/// Bytes of a target that one step goes over. Chosen: 32 page tables, of which each takes some
/// five microseconds.
const READ_IN_A_STEP: u64 = 32 * HUGE_PAGE_SIZE;
/// Blocks of 2 MiB that one step goes over when all are read. Chosen: it takes as long.
const BLOCKS_IN_A_STEP: usize = 64;
/// Most parts that one step goes over. Chosen: as many as those tables have pages.
const PARTS_IN_A_STEP: usize = 32 * 512;

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stepped {
    /// Page frames that were found, or gone over.
    pub frames: u64,
    /// Segments of alike frames that were told, at the end of a round.
    pub told: u64,
    /// Whether all memory is read now.
    pub is_read: bool,
    /// Whether the round is over.
    pub is_over: bool,
}

/// Where a round goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// With the memory of this target from this address on.
    Target(TargetId, u64),
    /// With this block: all memory is read.
    Block(usize),
}

/// What is known of each page frame.
#[derive(Debug)]
pub struct Projection {
    nr_regions: (usize, usize),
    /// Blocks of RAM, by rising address.
    blocks: Vec<AddrRange>,
    /// Number of the first frame.
    first: u64,
    /// Of each frame from that on, as far as the round has come.
    kinds: Vec<Kind>,
    /// Of the frames of each kind and, once all is read, of one of them.
    sums: Vec<Sums>,
    at: At,
    segments: Segments,
    found: Found,
    rounds: u64,
    /// Kept for their allocations.
    ranges: Vec<AddrRange>,
    parts: Vec<Part>,
}

/// What the last round has found, and when it was over.
#[derive(Debug, Default)]
struct Found {
    regions: Vec<RegionSnapshot>,
    runs: PageRuns,
    at_us: u64,
}

impl Projection {
    /// Nothing is known yet of `ram`, which is sorted and disjoint. There are as many regions as
    /// `attrs` say.
    pub fn new(attrs: &MonitorAttrs, ram: &[AddrRange]) -> Self {
        let frame = |range: Option<&AddrRange>, of: fn(&AddrRange) -> u64| {
            range.map_or(0, |range| of(range) / PAGE_SIZE)
        };
        let (first, end) = (frame(ram.first(), |r| r.start), frame(ram.last(), |r| r.end));
        Self {
            nr_regions: (attrs.min_regions as usize, attrs.max_regions as usize),
            blocks: ram.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)).collect(),
            first,
            kinds: vec![Kind::NOTHING; (end - first) as usize],
            sums: vec![Sums::default(); usize::from(u8::MAX) + 1],
            at: At::Target(TargetId(0), 0),
            segments: Segments::default(),
            found: Found::default(),
            rounds: 0,
            ranges: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// How many rounds are over.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Goes on a little, with what `snapshot`, the last one of the owners, says of their memory.
    ///
    /// # Errors
    ///
    /// Those of `frames`.
    pub fn step<F: PageFrames + ?Sized>(
        &mut self,
        snapshot: &Snapshot,
        frames: &mut F,
    ) -> Result<Stepped, F::Error> {
        match self.at {
            At::Target(id, addr) => self.read(snapshot, id, addr, frames),
            At::Block(block) => Ok(self.go_over(block, snapshot.end_us)),
        }
    }

    /// The next part of the memory of targets.
    fn read<F: PageFrames + ?Sized>(
        &mut self,
        snapshot: &Snapshot,
        id: TargetId,
        addr: u64,
        frames: &mut F,
    ) -> Result<Stepped, F::Error> {
        let Some(target) = snapshot.targets.iter().find(|target| target.id >= id) else {
            return Ok(self.end_reading());
        };
        let addr = if target.id == id { addr } else { 0 };
        self.ranges.clear();
        self.parts.clear();
        let mut left = READ_IN_A_STEP;
        for mut part in target.parts_from(addr) {
            part.range.end = part.range.end.min(part.range.start.saturating_add(left));
            part.range.push_joined(&mut self.ranges);
            self.parts.push(part);
            left -= part.range.len();
            if left == 0 || self.parts.len() == PARTS_IN_A_STEP {
                break;
            }
        }
        self.at = match self.parts.last() {
            Some(last) => At::Target(target.id, last.range.end),
            None => At::Target(TargetId(target.id.0.saturating_add(1)), 0),
        };
        if target.id == TargetId(u32::MAX) && self.parts.is_empty() {
            return Ok(self.end_reading());
        }
        let Self { kinds, sums, parts, first, .. } = self;
        let mut parts = parts.iter();
        let mut part = parts.next();
        // Of the part that is gone through.
        let (mut kind, mut of_part) = (part.map_or(Kind::NOTHING, Kind::of), 0);
        let mut stepped = Stepped::default();
        let mut count = |part: &Part, kind: Kind, pages: u64| {
            sums[usize::from(kind.0)].add(&Sums::of(part, pages, snapshot.end_us));
            stepped.frames += pages;
        };
        frames.frames(target.id, &self.ranges, |mapped| {
            let mut rest = mapped;
            while let Some(now) = part.filter(|_| !rest.pages.is_empty()) {
                if now.range.end <= rest.pages.start {
                    count(now, kind, std::mem::take(&mut of_part));
                    part = parts.next();
                    kind = part.map_or(Kind::NOTHING, Kind::of);
                    continue;
                }
                let end = rest.pages.end.min(now.range.end);
                let pages = (end - rest.pages.start) / PAGE_SIZE;
                let frame = (rest.physical / PAGE_SIZE).wrapping_sub(*first) as usize;
                let these = kinds.get_mut(frame..frame.saturating_add(pages as usize));
                if let Some(these) = these {
                    these.iter_mut().for_each(|known| *known = (*known).max(kind));
                    of_part += pages;
                }
                rest.physical += end - rest.pages.start;
                rest.pages.start = end;
            }
        })?;
        if let Some(part) = part {
            count(part, kind, of_part);
        }
        Ok(stepped)
    }

    /// All memory is read.
    fn end_reading(&mut self) -> Stepped {
        self.sums.iter_mut().for_each(|sums| *sums = sums.of_a_page());
        self.at = At::Block(0);
        Stepped { is_read: true, ..Stepped::default() }
    }

    /// The next blocks, now that all is known that is. Behind the last, the round is over.
    fn go_over(&mut self, block: usize, now_us: u64) -> Stepped {
        let end = (block + BLOCKS_IN_A_STEP).min(self.blocks.len());
        let mut stepped = Stepped::default();
        for range in &self.blocks[block..end] {
            let frame = |addr: u64| (addr / PAGE_SIZE - self.first) as usize;
            let kinds = &self.kinds[frame(range.start)..frame(range.end)];
            if kinds.iter().all(|kind| kind.is_nothing()) {
                continue;
            }
            stepped.frames += kinds.len() as u64;
            self.segments.push(range.start, kinds, &self.sums);
        }
        self.at = At::Block(end);
        if end == self.blocks.len() {
            stepped.told = self.segments.all.len() as u64;
            stepped.is_over = true;
            self.end_round(now_us);
        }
        stepped
    }

    fn end_round(&mut self, now_us: u64) {
        let (regions, runs) = regions::regions(&self.segments.all, self.nr_regions, now_us);
        self.found = Found { regions, runs: runs.into(), at_us: now_us };
        self.rounds += 1;
        self.at = At::Target(TargetId(0), 0);
        self.segments.begin_again();
        self.kinds.fill(Kind::NOTHING);
        self.sums.fill(Sums::default());
    }

    /// What is known by page frame, at the end of `snapshot`, which is of the owners: one target
    /// instead of them, of which so much is resident.
    pub fn project(
        &self,
        snapshot: Snapshot,
        id: TargetId,
        resident_bytes: Option<u64>,
    ) -> Snapshot {
        let passed_us = snapshot.end_us.saturating_sub(self.found.at_us);
        let grown = |region: &RegionSnapshot| RegionSnapshot {
            age_us: region.age_us.saturating_add(passed_us),
            ..*region
        };
        let mut pages = self.found.runs.clone();
        pages.grow(passed_us);
        let target = TargetSnapshot {
            id,
            resident_bytes,
            regions: self.found.regions.iter().map(grown).collect(),
            pages,
            working_sets: (self.rounds > 0).then(|| working_sets(&snapshot)),
        };
        Snapshot { targets: vec![target], ..snapshot }
    }
}

/// How much all targets together access within which time.
fn working_sets(snapshot: &Snapshot) -> WorkingSets {
    let within = |us| {
        let of = |target| snapshot.bytes_accessed(target, us);
        snapshot.targets.iter().map(of).sum()
    };
    WorkingSets::new(WITHIN_US.map(within))
}

#[cfg(test)]
mod tests;
