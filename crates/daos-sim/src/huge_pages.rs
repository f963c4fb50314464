//! How much of each region is in huge pages, and what that saved.

use crate::block::BLOCK_SIZE;
use crate::memory::MemoryModel;
use crate::workload::Workload;

/// The huge pages that are present.
#[derive(Debug, Clone)]
pub(crate) struct HugePages {
    /// How many, by region.
    blocks: Vec<u64>,
    /// What they saved up to `until_us`.
    gained_us: f64,
    until_us: u64,
}

impl HugePages {
    /// As memory is before anything is done to it.
    pub fn new(workload: &Workload) -> Self {
        let present = workload.options.huge_pages && workload.options.populate;
        let blocks = |range: &daos_core::AddrRange| {
            let (first, end) = (range.start.div_ceil(BLOCK_SIZE), range.end / BLOCK_SIZE);
            if present { end.saturating_sub(first) } else { 0 }
        };
        Self { blocks: workload.ranges.iter().map(blocks).collect(), gained_us: 0.0, until_us: 0 }
    }

    /// One more, in this region.
    pub fn add(&mut self, region: usize, workload: &Workload, model: &MemoryModel, now_us: u64) {
        self.account(workload, model, now_us);
        self.blocks[region] += 1;
    }

    /// One less.
    pub fn remove(&mut self, region: usize, workload: &Workload, model: &MemoryModel, now_us: u64) {
        self.account(workload, model, now_us);
        self.blocks[region] -= 1;
    }

    /// Bytes in them.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().sum::<u64>() * BLOCK_SIZE
    }

    /// What they saved up to now, in microseconds of the target's time.
    pub fn gained_us(&mut self, workload: &Workload, model: &MemoryModel, now_us: u64) -> f64 {
        self.account(workload, model, now_us);
        self.gained_us
    }

    /// A program that is faster by `gain` needs `1 / (1 + gain)` of the time.
    fn account(&mut self, workload: &Workload, model: &MemoryModel, now_us: u64) {
        let from_us = std::mem::replace(&mut self.until_us, now_us);
        if from_us == now_us {
            return;
        }
        let saved = |gain: f64| gain / (1.0 + gain);
        for (region, blocks) in self.blocks.iter().enumerate().filter(|(_, blocks)| **blocks > 0) {
            let share = (blocks * BLOCK_SIZE) as f64 / workload.ranges[region].len() as f64;
            let (random_us, stride_us) = workload.time_spent_on(region, from_us, now_us);
            let saved_us =
                random_us * saved(model.random_gain) + stride_us * saved(model.stride_gain);
            self.gained_us += share * saved_us;
        }
    }
}
