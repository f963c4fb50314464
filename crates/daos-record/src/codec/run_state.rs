//! The page runs of the last snapshot, from which those of the next follow.
//!
//! Writer and reader keep the same: the runs of each target, with the ages that they have one
//! interval later if nothing is accessed. Only what turned out otherwise is in the record.
//!
//! Runs that are as expected take no bytes, so a few bytes could make a reader go through
//! millions, again and again. So they may be [repeated](Repeats) only so often.

use super::rates::{self, Rates};
use super::runs::{self, Edits};
use super::stored::{StoredRun, StoredSnapshot, count};
use super::varint;
use crate::frame;
use daos_core::{PageRuns, RunBlock, Snapshot, TargetId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many runs all snapshots have, and how many of these the record holds.
#[derive(Debug, Clone, Copy, Default)]
struct Repeats {
    held: u64,
    new: u64,
}

impl Repeats {
    /// Runs that snapshots may have without any that are new. Chosen: five minutes of 5000
    /// runs; a reader takes less than a second for them.
    const FREE: u64 = 1 << 24;
    /// Runs that snapshots may have for each that is new. Chosen: a list that is written again
    /// every 128 snapshots takes few bytes, and a record of a megabyte, where each new run takes
    /// three bytes at least, has 60 million runs at most.
    const FOR_EACH_NEW: u64 = 128;

    fn with(self, held: usize, new: u64) -> Self {
        let held = self.held.saturating_add(held as u64);
        Self { held, new: self.new.saturating_add(new) }
    }

    fn are_allowed(self) -> bool {
        self.held <= self.new.saturating_mul(Self::FOR_EACH_NEW).saturating_add(Self::FREE)
    }
}

/// What a writer keeps. Blocks of runs that are [later](RunBlock::is_later) ones of those before
/// are not gone through.
#[derive(Debug, Default)]
pub struct WrittenRuns {
    /// By target of the last snapshot; those without runs are left out.
    targets: BTreeMap<TargetId, Written>,
    aggregation_us: u64,
    repeats: Repeats,
    /// The number of the snapshot that is being written, and what is kept of it.
    number: u64,
    next: Next,
}

#[derive(Debug, Default)]
struct Next {
    targets: BTreeMap<TargetId, Written>,
    aggregation_us: u64,
    repeats: Repeats,
}

/// The runs of a target in the last snapshot.
#[derive(Debug)]
struct Written {
    pages: PageRuns,
    /// Of each block, when what a reader has of it was written.
    blocks: Arc<Vec<WrittenBlock>>,
}

/// A block as it was written.
#[derive(Debug, Clone)]
struct WrittenBlock {
    block: RunBlock,
    aggregation_us: u64,
    /// In the snapshot with this number.
    number: u64,
}

impl WrittenBlock {
    /// Whether those in use can be told to have this rate, or have it.
    fn used_rate_may_become(&self, rate: Option<f64>) -> bool {
        rate.is_some() || self.block.used_rate().is_none()
    }

    /// The runs that a reader expects in snapshot `number`.
    fn expected(&self, number: u64) -> impl Iterator<Item = StoredRun> + '_ {
        let later = u32::try_from(number - self.number).unwrap_or(u32::MAX);
        self.block.iter().map(move |run| StoredRun::of(run, self.aggregation_us).later(later))
    }
}

/// How the runs of a target become others: first some rates, then the rest.
#[derive(Debug, Default)]
struct Changes {
    rates: Rates,
    edits: Edits,
}

/// Appends a frame of what a target becomes, as `encode` appends it.
fn append_of(
    id: TargetId,
    kind: u8,
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut Vec<u8>),
) -> Result<(), &'static str> {
    frame::append(out, kind, |out| {
        varint::put(out, id.0.into());
        encode(out);
        Ok(())
    })
}

impl WrittenRuns {
    /// Appends frames to `out` for each target of `snapshot` whose runs are not as
    /// expected or have been repeated as often as they may, or says what in them breaks the
    /// rules. What was written counts once it is [`taken_over`](Self::take_over).
    pub fn append_changes(
        &mut self,
        snapshot: &Snapshot,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let aggregation_us = snapshot.aggregation_us;
        self.next = Next { aggregation_us, repeats: self.repeats, ..Next::default() };
        let mut ids = BTreeSet::new();
        for target in &snapshot.targets {
            if !ids.insert(target.id) {
                return Err("two targets have the same id");
            }
            let held = target.pages.len();
            let old = self.targets.get(&target.id);
            let mut changes = Changes::default();
            let mut blocks = self.follow(old, &target.pages, &mut changes)?;
            let Changes { mut rates, mut edits } = changes;
            let with = |edits: &Edits| self.next.repeats.with(held, edits.nr_new() as u64);
            let old = old.map_or(0, |old| old.pages.len());
            if !with(&edits).are_allowed() {
                let anew: Vec<_> = target.pages.blocks().map(|block| self.written(block)).collect();
                let runs = anew.iter().flat_map(|block| block.expected(self.number));
                (rates, edits) = (Rates::default(), Edits::anew(old, runs.collect()));
                blocks = anew.into();
            }
            if !rates.is_empty() {
                append_of(target.id, frame::RATES, out, |out| rates::encode(old, &rates, out))?;
            }
            if !edits.is_empty() {
                append_of(target.id, frame::PAGES, out, |out| runs::encode(old, &edits, out))?;
            }
            self.next.repeats = with(&edits);
            if held > 0 {
                self.next
                    .targets
                    .insert(target.id, Written { pages: target.pages.clone(), blocks });
            }
        }
        Ok(())
    }

    /// A reader has what was appended.
    pub fn take_over(&mut self) {
        let Next { targets, aggregation_us, repeats } = std::mem::take(&mut self.next);
        (self.targets, self.aggregation_us, self.repeats) = (targets, aggregation_us, repeats);
        self.number += 1;
    }

    /// How `old` runs become `pages`, and what is written of each block then.
    fn follow(
        &self,
        old: Option<&Written>,
        pages: &PageRuns,
        changes: &mut Changes,
    ) -> Result<Arc<Vec<WrittenBlock>>, &'static str> {
        runs::check_number(pages.len())?;
        let aggregation_us = self.next.aggregation_us;
        let is_even = self.aggregation_us == aggregation_us;
        if let Some(old) = old.filter(|old| is_even && pages.is_later(&old.pages, aggregation_us)) {
            return Ok(old.blocks.clone());
        }
        let old = old.map_or(&[][..], |old| &old.blocks[..]);
        let mut blocks = Vec::with_capacity(pages.blocks().len());
        // What the next block that stays is behind: old blocks, and new ones, from there on.
        let (mut from, mut to, mut end) = (0, 0, 0);
        // The next old block, and the runs before it.
        let (mut at, mut runs_before) = (0, 0);
        for block in pages.blocks() {
            let before = old[at..].iter().take_while(|old| old.block.start() < block.start());
            let (blocks_before, runs) =
                before.fold((0, 0), |(blocks, runs), old| (blocks + 1, runs + old.block.len()));
            (at, runs_before) = (at + blocks_before, runs_before + runs);
            let stays = |old: &&WrittenBlock| {
                let later_us = aggregation_us.saturating_mul(self.number - old.number);
                old.aggregation_us == aggregation_us
                    && old.used_rate_may_become(block.used_rate())
                    && block.is_later_but_for_rates(&old.block, later_us)
            };
            let Some(same) = old.get(at).filter(stays) else {
                blocks.push(self.written(block));
                continue;
            };
            end = self.replace(&old[from..at], &blocks[to..], end, &mut changes.edits)?;
            if block.start() < end {
                return Err("runs of pages are not sorted and disjoint");
            }
            end = block.end();
            changes.edits.keep(block.len(), end);
            let mut same = same.clone();
            if let Some(rate) = block.used_rate() {
                if same.block.used_rate().map(count) != Some(count(rate)) {
                    changes.rates.set(runs_before, block.len(), count(rate));
                }
                same.block = same.block.with_used_rate(rate);
            }
            (at, runs_before) = (at + 1, runs_before + block.len());
            blocks.push(same);
            (from, to) = (at, blocks.len());
        }
        self.replace(&old[from..], &blocks[to..], end, &mut changes.edits)?;
        Ok(blocks.into())
    }

    /// The runs of `old` blocks become those of `blocks`, behind the one that ends at `end`.
    /// Returns where the last of them ends.
    fn replace(
        &self,
        old: &[WrittenBlock],
        blocks: &[WrittenBlock],
        end: u64,
        edits: &mut Edits,
    ) -> Result<u64, &'static str> {
        if old.is_empty() && blocks.is_empty() {
            return Ok(end);
        }
        let expected = |blocks: &[WrittenBlock]| -> Vec<StoredRun> {
            blocks.iter().flat_map(|block| block.expected(self.number)).collect()
        };
        let runs = expected(blocks);
        runs::check(end, &runs)?;
        edits.replace(&expected(old), &runs);
        Ok(runs.last().map_or(end, |run| run.range.end))
    }

    /// A block that is written now.
    fn written(&self, block: RunBlock) -> WrittenBlock {
        let aggregation_us = self.next.aggregation_us;
        WrittenBlock { block, aggregation_us, number: self.number }
    }
}

/// What a reader keeps.
#[derive(Debug, Default)]
pub struct ReadRuns {
    /// By target of the last snapshot; those without runs are left out.
    expected: BTreeMap<TargetId, Vec<StoredRun>>,
    /// Read already, for the snapshot that comes next: new rates, and runs.
    rated: BTreeSet<TargetId>,
    read: BTreeMap<TargetId, Vec<StoredRun>>,
    repeats: Repeats,
}

impl ReadRuns {
    /// Takes in what a frame of rates of page runs holds; `None` when it holds anything else. At
    /// most one of a target stands before a snapshot, and before its page runs.
    pub fn read_rates(&mut self, mut payload: &[u8]) -> Option<()> {
        let id = TargetId(varint::take_u32(&mut payload)?);
        let is_first = self.rated.insert(id) && !self.read.contains_key(&id);
        let expected = self.expected.get_mut(&id).filter(|_| is_first)?;
        rates::apply(expected, &mut payload)
    }

    /// Takes in what a frame of page runs holds; `None` when it holds anything else.
    pub fn read(&mut self, mut payload: &[u8]) -> Option<()> {
        let id = TargetId(varint::take_u32(&mut payload)?);
        let expected = self.expected.get(&id).map_or(&[][..], |expected| expected);
        let (runs, new) = runs::decode(expected, &mut payload)?;
        self.repeats = self.repeats.with(0, new);
        self.read.insert(id, runs).is_none().then_some(())
    }

    /// Gives the targets of `snapshot`, which was just read, their runs; `None` when they are
    /// repeated more often than they may.
    pub fn fill(&mut self, snapshot: &mut StoredSnapshot) -> Option<()> {
        let mut before = std::mem::take(&mut self.expected);
        for target in &mut snapshot.targets {
            let read = self.read.remove(&target.id);
            target.pages = read.or_else(|| before.remove(&target.id)).unwrap_or_default();
            self.repeats = self.repeats.with(target.pages.len(), 0);
            if !target.pages.is_empty() {
                let next = target.pages.iter().map(|run| run.later(1)).collect();
                self.expected.insert(target.id, next);
            }
        }
        self.read.clear();
        self.rated.clear();
        self.repeats.are_allowed().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::stored::StoredTarget;
    use daos_core::{AddrRange, PAGE_SIZE, PageRun, TargetSnapshot};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const RUNS: u64 = 100_000;
    /// More than may have these runs if they are new once.
    const SNAPSHOTS: u64 = Repeats::FREE / RUNS + Repeats::FOR_EACH_NEW + 1;

    fn run(first: u64, pages: u64, access_rate: f64, age_us: u64) -> PageRun {
        let start = first * PAGE_SIZE;
        PageRun { range: AddrRange::new(start, start + pages * PAGE_SIZE), access_rate, age_us }
    }

    fn snapshot(aggregation_us: u64, pages: PageRuns) -> Snapshot {
        let targets = vec![TargetSnapshot { pages, ..TargetSnapshot::default() }];
        Snapshot { aggregation_us, targets, ..Snapshot::default() }
    }

    /// What `reader` makes of a snapshot of which these frames were written; `None` if it refuses
    /// it.
    fn read(reader: &mut ReadRuns, bytes: &[u8]) -> Option<Vec<StoredRun>> {
        let mut frames = frame::Frames::new(bytes, 0..bytes.len() as u64);
        while let Some((kind, payload)) = frames.next().unwrap() {
            match kind {
                frame::RATES => reader.read_rates(payload)?,
                _ => reader.read(payload)?,
            }
        }
        let targets = vec![StoredTarget::default()];
        let mut snapshot = StoredSnapshot { targets, ..StoredSnapshot::default() };
        reader.fill(&mut snapshot)?;
        Some(snapshot.targets.remove(0).pages)
    }

    #[test]
    fn runs_are_written_anew_before_they_are_repeated_too_often() {
        // All in use, so that they stay as they are.
        let runs: PageRuns = (0..RUNS).map(|at| run(2 * at, 1, 0.1, 0)).collect();
        let stored: Vec<_> = runs.iter().map(|run| StoredRun::of(run, 0)).collect();
        let whole = snapshot(0, runs);
        let mut writer = WrittenRuns::default();
        let (mut reader, mut careless) = <(ReadRuns, ReadRuns)>::default();
        let mut written = 0;
        for moment in 0..SNAPSHOTS {
            let mut bytes = Vec::new();
            writer.append_changes(&whole, &mut bytes).unwrap();
            writer.take_over();
            written += usize::from(!bytes.is_empty());
            assert!(read(&mut reader, &bytes).as_ref() == Some(&stored), "{moment}");
            // Who is told but once refuses the last.
            let told = if moment == 0 { &bytes[..] } else { &[] };
            assert_eq!(read(&mut careless, told).is_some(), moment < SNAPSHOTS - 1, "{moment}");
        }
        assert_eq!(written, 2);
    }

    fn later(blocks: &[RunBlock]) -> Vec<RunBlock> {
        blocks.iter().map(|block| block.later(10)).collect()
    }

    /// What becomes of a block from one snapshot to the next.
    #[derive(Debug, Clone)]
    enum Fate {
        Stays,
        IsFoundAnew,
        IsUsedAt(u32),
        Becomes(Vec<(u64, u64, u32, u64)>),
    }

    fn fates() -> impl Strategy<Value = Fate> {
        let runs = vec((0..3u64, 1..3u64, 0..3u32, 0..50u64), 0..6);
        prop_oneof![
            3 => Just(Fate::Stays),
            1 => Just(Fate::IsFoundAnew),
            2 => (1..9u32).prop_map(Fate::IsUsedAt),
            2 => runs.prop_map(Fate::Becomes)
        ]
    }

    proptest! {
        #[test]
        fn blocks_of_runs_come_back(
            steps in vec((vec(fates(), 5), prop_oneof![4 => Just((10, 10)), 1 => (5..30u64, 10..12u64)]), 1..12),
        ) {
            let (mut writer, mut reader) = (WrittenRuns::default(), ReadRuns::default());
            let mut blocks = vec![RunBlock::new(&[]); 5];
            for (fates, (passed_us, aggregation_us)) in steps {
                for (at, (block, fate)) in blocks.iter_mut().zip(fates).enumerate() {
                    *block = match fate {
                        Fate::Stays => block.later(passed_us),
                        Fate::IsFoundAnew => RunBlock::new(&block.iter().collect::<Vec<_>>()),
                        Fate::IsUsedAt(rate) => block.later(passed_us).with_used_rate(f64::from(rate) / 9.0),
                        Fate::Becomes(runs) => {
                            let mut end = 100 * at as u64;
                            let mut place = |(gap, pages, rate, age_us): (u64, u64, u32, u64)| {
                                let start = end + gap;
                                end = start + pages;
                                run(start, pages, f64::from(rate) / 10.0, if rate > 0 { 0 } else { age_us })
                            };
                            RunBlock::new(&runs.into_iter().map(&mut place).collect::<Vec<_>>())
                        }
                    };
                }
                let now = snapshot(aggregation_us, blocks.iter().cloned().collect());
                let mut bytes = Vec::new();
                writer.append_changes(&now, &mut bytes).unwrap();
                writer.take_over();
                let runs = now.targets[0].pages.iter();
                let stored = runs.map(|run| StoredRun::of(run, aggregation_us)).collect();
                prop_assert_eq!(read(&mut reader, &bytes), Some(stored));
            }
        }
    }

    #[test]
    fn what_is_known_already_is_not_written() {
        let mut writer = WrittenRuns::default();
        let mut written = |blocks: &[RunBlock]| {
            let mut bytes = Vec::new();
            let now = snapshot(10, blocks.iter().cloned().collect());
            writer.append_changes(&now, &mut bytes).unwrap();
            writer.take_over();
            bytes.len()
        };
        let runs =
            |from: u64| (from..from + 100).map(|at| run(2 * at, 1, 0.0, 5)).collect::<Vec<_>>();
        let mut blocks = [0, 100, 200].map(|from| RunBlock::new(&runs(from)));
        assert!(written(&blocks) > 900);
        blocks = blocks.map(|block| block.later(10));
        assert_eq!(written(&blocks), 0);
        blocks = blocks.map(|block| block.later(10));
        blocks[1] = RunBlock::new(&[runs(100), vec![run(399, 1, 0.0, 5)]].concat()).later(20);
        assert!((1..30).contains(&written(&blocks)));
        // Rates of all that are in use.
        let used: Vec<_> = (500..600).map(|at| run(2 * at, 1, 0.5, 0)).collect();
        let mut blocks = [&later(&blocks)[..], &[RunBlock::new(&used)]].concat();
        assert!(written(&blocks) > 300);
        blocks = later(&blocks);
        blocks[3] = blocks[3].clone().with_used_rate(0.7);
        assert!((1..30).contains(&written(&blocks)));
        assert_eq!(written(&later(&blocks)), 0);
    }
}
