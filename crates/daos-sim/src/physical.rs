//! The memory of several processes in one physical space.
//!
//! A page frame is accessed as often as whoever has it accesses the page. So a physical space is a
//! space whose regions are pieces of the processes' regions, in shuffled order: accesses that are
//! spread over a region are spread over its pieces, by their sizes, and nothing else of the
//! simulator has to know. A region that is gone over from end to end stays in one piece: its pieces
//! would be gone over all at once.

use crate::frames::Frames;
use crate::options::SimOptions;
use crate::space::{Misplaced, SimSpace};
use crate::workload::TARGET;
use daos_core::ownership::{Shares, add_share};
use daos_core::{
    AddrRange, HUGE_PAGE_SIZE, MappedFrames, Mapping, Owner, Ownership, PAGE_SIZE, PageFrames, Rng,
    TargetId,
};
use daos_workload::{Config, Order, Pattern, Phase, Region};
use std::convert::Infallible;
use thiserror::Error;

/// What the accesses of a process in a phase weigh together. Chosen: the largest that has room, so
/// that the smallest piece has its share.
const WEIGHT: f64 = (1u64 << 31) as f64;
/// Most pieces. Chosen: what each does is looked up among all, which takes seconds with so many.
pub const MOST_PIECES: u64 = 1 << 17;
/// Process number of the first.
const FIRST_PID: u32 = 1000;

/// Why processes can't share a physical space.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PhysicalError {
    /// There are none.
    #[error("a physical space without processes: name at least one")]
    Nobody,
    /// Their phases don't go together.
    #[error("{0}: its phases are not as long as those of the first process; all change at once")]
    Phases(String),
    /// There are more than [`MOST_PIECES`].
    #[error(
        "{0} pieces of memory, and {MOST_PIECES} are the most: simulate less, or larger pieces"
    )]
    Pieces(u64),
    /// The pieces can't be laid out.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
}

/// A piece of a region of a process.
#[derive(Debug, Clone, Copy)]
struct Piece {
    process: usize,
    region: usize,
    bytes: u64,
}

impl SimSpace {
    /// The RAM that `processes` have, in pieces of `piece_bytes` or less: one behind the other, in
    /// an order that the seed of `options` draws. Regions with strides are not cut. Each process
    /// makes as many of the accesses as any other, when it makes any.
    ///
    /// # Errors
    ///
    /// [`PhysicalError`] where there is none, their phases are not of the same lengths, or there
    /// are too many pieces.
    pub fn physical(
        processes: &[Config],
        piece_bytes: u64,
        options: SimOptions,
    ) -> Result<Self, PhysicalError> {
        let first = processes.first().ok_or(PhysicalError::Nobody)?;
        let lengths = |config: &Config| -> Vec<u64> {
            config.phases.iter().map(|phase| phase.duration_ms).collect()
        };
        if let Some(other) = processes.iter().find(|config| lengths(config) != lengths(first)) {
            return Err(PhysicalError::Phases(other.name.clone()));
        }
        let least = processes.iter().map(Config::bytes).fold(0, u64::saturating_add)
            / piece_bytes.max(PAGE_SIZE);
        if least > MOST_PIECES {
            return Err(PhysicalError::Pieces(least));
        }
        let mut pieces = pieces(processes, piece_bytes);
        shuffle(&mut pieces, &mut Rng::new(options.seed));
        let ranges = lay_out(&pieces, options.base);
        let ownership = ownership(processes, &pieces, &ranges);
        let config = config(processes, &pieces);
        let mut space = Self::placed(config, ranges, options)?;
        let whole = AddrRange::new(space.ranges()[0].start, space.ranges()[pieces.len() - 1].end);
        space.mappings = vec![Mapping { range: whole, name: "System RAM".into(), shared: false }];
        space.ownership = Some(ownership);
        Ok(space)
    }
}

impl SimSpace {
    /// The memory of `processes` as one target, by virtual address: one behind the other. Its pages
    /// lie in physical memory in pieces of `piece_bytes` or less, in an order that the seed of
    /// `options` draws; a region with strides lies in one piece. Where, [`PageFrames`] tells, and
    /// [`frames`](Self::frames_of).
    ///
    /// # Errors
    ///
    /// [`PhysicalError`] as with [`physical`](Self::physical), but for the number of pieces.
    pub fn scattered(
        processes: &[Config],
        piece_bytes: u64,
        options: SimOptions,
    ) -> Result<Self, PhysicalError> {
        let whole = pieces(processes, 1 << 48);
        let ranges = lay_out(&whole, options.base);
        let mut space = Self::placed(config(processes, &whole), ranges, options)?;
        let cut = space.ranges().iter().zip(&whole).flat_map(|(range, piece)| {
            let bytes = if is_cut(processes, piece) { piece_bytes.max(PAGE_SIZE) } else { 1 << 48 };
            let bytes = bytes.next_multiple_of(PAGE_SIZE);
            (range.start..range.end)
                .step_by(bytes as usize)
                .map(move |start| AddrRange::new(start, range.end.min(start.saturating_add(bytes))))
        });
        let mut cut: Vec<_> = cut.collect();
        shuffle(&mut cut, &mut Rng::new(options.seed));
        let mut physical = 0;
        let place = |pages: AddrRange| {
            let mapped = MappedFrames { pages, physical };
            physical += pages.len();
            mapped
        };
        let frames = cut.into_iter().map(place).collect();
        space.frames = Some(Frames::new(frames));
        Ok(space)
    }

    /// Where the pages of `range` lie in physical memory, by rising virtual address; nowhere, if
    /// the space is not [scattered](Self::scattered).
    pub fn frames_of(&self, range: AddrRange) -> impl Iterator<Item = MappedFrames> + '_ {
        self.frames.iter().flat_map(move |frames| frames.of(range))
    }

    /// The physical memory of a [scattered](Self::scattered) space, which begins at 0.
    pub fn ram(&self) -> Option<AddrRange> {
        self.frames.as_ref()?.whole()
    }
}

impl PageFrames for SimSpace {
    type Error = Infallible;

    /// Each page table is read once.
    fn frames(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        mut each: impl FnMut(MappedFrames),
    ) -> Result<(), Infallible> {
        for range in ranges.iter().filter(|_| target == TARGET) {
            for table in range.blocks(HUGE_PAGE_SIZE) {
                self.counters.windows_read += 1;
                self.counters.entries_read += table.pages();
            }
            self.frames_of(*range).for_each(&mut each);
        }
        Ok(())
    }
}

/// Whether the pages of a region may lie anywhere: all are accessed at random.
fn is_cut(processes: &[Config], piece: &Piece) -> bool {
    let phases = &processes[piece.process].phases;
    let mut patterns = phases.iter().flat_map(|phase| &phase.patterns);
    patterns.all(|pattern| pattern.region != piece.region || pattern.order == Order::Random)
}

/// All memory of all processes, in pieces.
fn pieces(processes: &[Config], piece_bytes: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (process, config) in processes.iter().enumerate() {
        for (region, Region { len, .. }) in config.regions.iter().enumerate() {
            let patterns = config.phases.iter().flat_map(|phase| &phase.patterns);
            let steps = patterns.filter(|pattern| pattern.region == region).map(step);
            let step = steps.max().unwrap_or(PAGE_SIZE);
            let most = piece_bytes.clamp(PAGE_SIZE, 1 << 48).next_multiple_of(step);
            let mut left = *len;
            while left > 0 {
                let bytes = left.min(most);
                pieces.push(Piece { process, region, bytes });
                left -= bytes;
            }
        }
    }
    pieces
}

/// Puts them in an order of which each is as likely.
fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

/// Bytes of a region that have to stay together, in whole pages.
fn step(pattern: &Pattern) -> u64 {
    match pattern.order {
        Order::Random => PAGE_SIZE,
        Order::Stride(_) => 1 << 48,
        Order::Singles(bytes) => bytes.min(1 << 48).next_multiple_of(PAGE_SIZE),
    }
}

/// Where the pieces lie, in their order.
fn lay_out(pieces: &[Piece], base: u64) -> Vec<AddrRange> {
    let mut start = base.min(1 << 56).next_multiple_of(HUGE_PAGE_SIZE);
    let place = |piece: &Piece| {
        let range = AddrRange::new(start, start + piece.bytes.next_multiple_of(PAGE_SIZE));
        start = range.end;
        range
    };
    pieces.iter().map(place).collect()
}

/// One workload of all: what accesses a region accesses its pieces, each by its size.
fn config(processes: &[Config], pieces: &[Piece]) -> Config {
    let mut all = processes[0].clone();
    let named = |(at, piece): (usize, &Piece)| {
        let name = &processes[piece.process].regions[piece.region].name;
        Region { name: format!("{}.{name}.{at}", piece.process), len: piece.bytes }
    };
    all.regions = pieces.iter().enumerate().map(named).collect();
    all.name = format!("{} and {} more processes", all.name, processes.len() - 1);
    for (number, phase) in all.phases.iter_mut().enumerate() {
        phase.patterns.clear();
        for (at, piece) in pieces.iter().enumerate() {
            let of = &processes[piece.process];
            let Phase { patterns, .. } = &of.phases[number];
            let total = of.phases[number].total_weight().max(1) as f64;
            let share = piece.bytes as f64 / of.regions[piece.region].len as f64;
            for pattern in patterns.iter().filter(|pattern| pattern.region == piece.region) {
                let weight = WEIGHT * f64::from(pattern.weight) / total * share;
                let weight = weight.round().max(1.0) as u32;
                phase.patterns.push(Pattern { region: at, weight, ..*pattern });
            }
        }
    }
    all
}

/// Who has which part.
fn ownership(processes: &[Config], pieces: &[Piece], ranges: &[AddrRange]) -> Ownership {
    let mut blocks: Vec<(AddrRange, Shares<usize>)> = Vec::new();
    for (piece, range) in pieces.iter().zip(ranges) {
        for part in range.blocks(HUGE_PAGE_SIZE) {
            match blocks.last_mut() {
                Some((block, shares))
                    if block.start / HUGE_PAGE_SIZE == part.start / HUGE_PAGE_SIZE =>
                {
                    block.end = part.end;
                    add_share(shares, piece.process, part.len());
                }
                _ => blocks.push((part, vec![(piece.process, part.len())])),
            }
        }
    }
    let blocks = blocks.iter().map(|(range, shares)| (*range, shares));
    Ownership::of_blocks(blocks, |process| Owner {
        pid: Some(FIRST_PID + process as u32),
        name: processes[process].name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn process(name: &str, text: &str) -> Config {
        Config::parse(name, text).unwrap()
    }

    fn two() -> [Config; 2] {
        let idle = "hot, 4M\ncold, 12M\n\none\n10s\nhot, random, 1, 1\n";
        let even = "all, 8M\n\none\n10s\nall, stride, 64, 3\n";
        [process("a.cfg", idle), process("b.cfg", even)]
    }

    fn options(accesses_per_sec: u64) -> SimOptions {
        SimOptions { accesses_per_sec, ..SimOptions::default() }
    }

    #[test]
    fn a_frame_is_accessed_as_often_as_its_page() {
        let apart = two().map(|config| SimSpace::new(config, options(50_000)));
        let together = SimSpace::physical(&two(), 64 << 10, options(100_000)).unwrap();
        let bytes = |space: &SimSpace, rate: f64| -> u64 {
            let truth = space.truth(0, 1_000_000, 20_000);
            let near = truth.iter().filter(|truth| (truth.rate - rate).abs() < 1e-3);
            near.map(|truth| truth.range.len()).sum()
        };
        for space in &apart {
            for truth in space.truth(0, 1_000_000, 20_000) {
                let alike: u64 = apart.iter().map(|space| bytes(space, truth.rate)).sum();
                assert_eq!(bytes(&together, truth.rate), alike, "{truth:?}");
            }
        }
        assert_eq!(together.config().bytes(), 24 * MIB);
    }

    #[test]
    fn pieces_are_scattered_and_their_owners_known() {
        let [first, _] = two();
        let second = process("c.cfg", "all, 8M\n\none\n10s\nall, random, 1, 3\n");
        let two = [first, second];
        let space = SimSpace::physical(&two, 64 << 10, options(1)).unwrap();
        let info = space.target_info();
        let ownership = info.ownership.unwrap();
        assert!(ownership.is_sound());
        let names: Vec<_> = ownership.owners.iter().map(|owner| owner.pid).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let all = ownership.within(AddrRange::new(0, u64::MAX));
        let of = |pid: u32| {
            let place = ownership.owners.iter().position(|o| o.pid == Some(pid)).unwrap();
            all[&(place as u32)]
        };
        assert_eq!((of(1000), of(1001)), (16.0 * MIB as f64, 8.0 * MIB as f64));
        // A block of 2 MiB has some of both.
        assert!(ownership.parts.iter().filter(|part| part.shares.len() == 2).count() > 8);
        assert_eq!(info.mappings.len(), 1);
        let other = SimOptions { seed: 1, ..options(1) };
        let other = SimSpace::physical(&two, 64 << 10, other).unwrap();
        assert_ne!(other.config().regions, space.config().regions);
    }

    #[test]
    fn scattered_pages_lie_somewhere_each_and_none_twice() {
        let space = SimSpace::scattered(&two(), 64 << 10, options(1)).unwrap();
        let whole = space.ranges()[0].start..space.ranges().last().unwrap().end;
        let whole = AddrRange::new(whole.start, whole.end);
        let mut frames: Vec<_> = space.frames_of(whole).map(|mapped| mapped.frames()).collect();
        frames.sort_unstable();
        assert_eq!(frames.iter().map(AddrRange::len).sum::<u64>(), 24 * MIB);
        assert_eq!(AddrRange::joined(frames.iter().copied()), [space.ram().unwrap()]);
        // What is gone over in strides stays in one piece.
        let all = *space.ranges().last().unwrap();
        assert_eq!(space.frames_of(all).count(), 1);
        let hot = space.ranges()[0];
        assert_eq!(space.frames_of(hot).count() as u64, hot.len() / (64 << 10));
        let part = AddrRange::new(hot.start + 4096, hot.start + 8192);
        let [first, inside] = [hot, part].map(|range| space.frames_of(range).next().unwrap());
        assert_eq!((inside.pages, inside.physical), (part, first.physical + 4096));
    }

    #[test]
    fn what_has_to_stay_together_does_and_phases_go_together() {
        let text = "a, 1M\nb, 1M\n\none\n10s\na, stride, 64, 1\nb, singles, 16K, 1\n";
        let config = process("s.cfg", text);
        let space = SimSpace::physical(&[config], PAGE_SIZE, options(1)).unwrap();
        let mut sizes: Vec<_> = space.ranges().iter().map(AddrRange::len).collect();
        sizes.sort_unstable();
        assert_eq!((sizes.pop(), sizes), (Some(MIB), vec![16 << 10; 64]));
        let short = process("short.cfg", "all, 1M\n\none\n1s\nall, random, 1, 1\n");
        let [first, _] = two();
        let refused = SimSpace::physical(&[first, short], PAGE_SIZE, options(1)).unwrap_err();
        assert!(refused.to_string().starts_with("short.cfg: its phases"), "{refused}");
        let large = process("l.cfg", "all, 1G\n\none\n10s\nall, random, 1, 1\n");
        let refused = SimSpace::physical(&[large], PAGE_SIZE, options(1)).unwrap_err();
        assert_eq!(refused, PhysicalError::Pieces(1 << 18));
        let nobody = SimSpace::physical(&[], PAGE_SIZE, options(1)).unwrap_err();
        assert_eq!(nobody, PhysicalError::Nobody);
    }
}
