//! The accesses themselves.
//!
//! A pattern gets its turn in batches: its order and mode are looked at once a
//! batch, and the loop over the batch holds nothing but the choice of the next
//! byte and the access to it. A round is one batch of every pattern.

use crate::config::{Mode, Order, Pattern};
use crate::singles::Singles;
use daos_core::{PAGE_SIZE, Rng};
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};

/// One pattern on its way over its region.
#[derive(Debug)]
pub(super) struct PatternWalk<'a> {
    bytes: &'a [AtomicU8],
    pattern: Pattern,
    /// Where a stride stands.
    offset: usize,
    /// Weight times accesses that it could not spend yet: what a round's share
    /// leaves over when it is divided by the total weight.
    credit: u64,
    /// Accesses made.
    accesses: u64,
}

impl<'a> PatternWalk<'a> {
    /// A walk of `bytes`. Strides start at `part` of `parts` of the way, so that
    /// several threads don't touch the same pages at the same time.
    pub fn new(bytes: &'a [AtomicU8], pattern: Pattern, part: u64, parts: u64) -> Self {
        let offset = match pattern.order {
            Order::Random | Order::Singles(_) => 0,
            Order::Stride(stride) => {
                let steps = (bytes.len() as u64).div_ceil(stride);
                (steps as u128 * u128::from(part) / u128::from(parts)) as u64 * stride
            }
        };
        Self { bytes, pattern, offset: offset as usize, credit: 0, accesses: 0 }
    }

    /// Accesses made.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Makes this pattern's share of a round of `accesses`. Shares are whole
    /// numbers; what is left over counts in the next round.
    pub fn round(&mut self, accesses: u64, total_weight: u64, rng: &mut Rng) {
        self.credit += accesses * u64::from(self.pattern.weight);
        let share = self.credit / total_weight;
        self.credit %= total_weight;
        self.accesses += share;
        match self.pattern.mode {
            Mode::Ro => self.walk(share, rng, |byte| {
                black_box(byte.load(Ordering::Relaxed));
            }),
            Mode::Wo => self.walk(share, rng, |byte| byte.store(1, Ordering::Relaxed)),
            Mode::Rw => self.walk(share, rng, |byte| {
                byte.store(byte.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }),
        }
    }

    #[inline(always)]
    fn walk(&mut self, count: u64, rng: &mut Rng, access: impl Fn(&AtomicU8)) {
        match self.pattern.order {
            Order::Random => {
                for _ in 0..count {
                    access(&self.bytes[rng.below(self.bytes.len() as u64) as usize]);
                }
            }
            Order::Singles(every) => {
                let singles = Singles::new(every, self.bytes.len() as u64);
                for _ in 0..count {
                    let page = singles.offset(rng.below(singles.groups));
                    access(&self.bytes[(page + rng.below(PAGE_SIZE)) as usize]);
                }
            }
            Order::Stride(stride) => {
                let mut offset = self.offset;
                for _ in 0..count {
                    access(&self.bytes[offset]);
                    offset = offset.saturating_add(stride as usize);
                    if offset >= self.bytes.len() {
                        offset = 0;
                    }
                }
                self.offset = offset;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<AtomicU8> {
        (0..len).map(|_| AtomicU8::new(0)).collect()
    }

    fn pattern(order: Order, weight: u32, mode: Mode) -> Pattern {
        Pattern { region: 0, order, weight, mode }
    }

    fn values(bytes: &[AtomicU8]) -> Vec<u8> {
        bytes.iter().map(|b| b.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn a_stride_wraps_and_goes_on_in_the_next_round() {
        let memory = bytes(10);
        let mut walk = PatternWalk::new(&memory, pattern(Order::Stride(4), 1, Mode::Rw), 0, 1);
        let rng = &mut Rng::new(0);
        walk.round(2, 1, rng);
        assert_eq!(values(&memory), [1, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        walk.round(2, 1, rng);
        assert_eq!(values(&memory), [2, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(walk.accesses(), 4);
    }

    #[test]
    fn threads_start_apart() {
        let memory = bytes(12);
        for part in 0..3 {
            let order = pattern(Order::Stride(2), 1, Mode::Wo);
            PatternWalk::new(&memory, order, part, 3).round(1, 1, &mut Rng::new(0));
        }
        assert_eq!(values(&memory), [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn shares_follow_the_weights_exactly() {
        let memory = bytes(4096);
        let rng = &mut Rng::new(0);
        let mut walks = [1, 2, 10_000].map(|weight| {
            PatternWalk::new(&memory, pattern(Order::Random, weight, Mode::Wo), 0, 1)
        });
        for _ in 0..10_003 {
            walks.iter_mut().for_each(|w| w.round(64, 10_003, rng));
        }
        assert_eq!(walks.map(|w| w.accesses()), [64, 128, 640_000]);
    }

    #[test]
    fn singles_reach_all_of_some_pages() {
        let memory = bytes(10 * 4096);
        let order = pattern(Order::Singles(3 * 4096), 1, Mode::Wo);
        PatternWalk::new(&memory, order, 0, 1).round(200_000, 1, &mut Rng::new(3));
        let touched: Vec<bool> = values(&memory).chunks(4096).map(|p| p.contains(&1)).collect();
        let singles = Singles::new(3 * 4096, 10 * 4096);
        let hit: Vec<bool> = (0..10).map(|page| singles.meets(page * 4096, 4096)).collect();
        assert_eq!(touched, hit);
        assert_eq!(hit.iter().filter(|hit| **hit).count(), 3);
    }

    #[test]
    fn random_accesses_reach_every_byte() {
        let memory = bytes(100);
        let mut walk = PatternWalk::new(&memory, pattern(Order::Random, 1, Mode::Wo), 0, 1);
        walk.round(5000, 1, &mut Rng::new(3));
        assert!(values(&memory).iter().all(|b| *b == 1));
    }
}
