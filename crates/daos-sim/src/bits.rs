//! Sets of pages in a block: one bit for each of 512.
//!
//! Most windows are of one page, so nothing here goes over the whole set that
//! can do with the words in question.

use daos_core::PageBits;

/// Bits in a set.
pub(crate) const BITS: u32 = 512;
const WORDS: usize = BITS as usize / 64;

/// A set of pages in a block of 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bits(PageBits);

impl Bits {
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds `count` pages from page `first` on. Returns how many are new.
    pub fn insert(&mut self, first: u32, count: u32) -> u32 {
        let mut new = 0;
        for (word, mask) in masks(first, count) {
            new += (mask & !self.0[word]).count_ones();
            self.0[word] |= mask;
        }
        new
    }

    /// Finds which of `count` pages from page `first` on are not in the set, and
    /// sets their bits in `found`, in which page `first` has bit `to`. Returns
    /// how many they are.
    pub fn missing(&self, first: u32, count: u32, to: u32, found: &mut PageBits) -> u32 {
        let mut missing = 0;
        for (word, mask) in masks(first, count) {
            let pages = mask & !self.0[word];
            missing += pages.count_ones();
            let at = word as i32 * 64 + to as i32 - first as i32;
            let (at_word, at_bit) = (at.div_euclid(64), at.rem_euclid(64));
            // Bits that fall outside of `found` are none of the pages asked for.
            if let Some(low) = usize::try_from(at_word).ok().and_then(|w| found.get_mut(w)) {
                *low |= pages << at_bit;
            }
            if at_bit > 0
                && let Some(high) = found.get_mut((at_word + 1) as usize)
            {
                *high |= pages >> (64 - at_bit);
            }
        }
        missing
    }

    /// Whether a page is in the set.
    pub fn has(&self, page: u32) -> bool {
        self.0[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Drops the pages for which `keep` says no, and returns how many. It is
    /// asked by rising number.
    pub fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) -> u32 {
        let mut dropped = 0;
        for (index, word) in self.0.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !keep(index as u32 * 64 + bit) {
                    *word &= !(1 << bit);
                    dropped += 1;
                }
            }
        }
        dropped
    }
}

/// The words that hold `count` pages from page `first` on, and which bits of them.
fn masks(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = (first + count).min(BITS);
    let below = |n: u32| if n < 64 { (1u64 << n) - 1 } else { u64::MAX };
    (first as usize / 64..(end as usize).div_ceil(64).min(WORDS)).map(move |word| {
        let base = word as u32 * 64;
        (word, below(end - base) & !below(first.saturating_sub(base)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(words: &PageBits) -> Vec<u32> {
        (0..BITS).filter(|n| words[*n as usize / 64] >> (n % 64) & 1 == 1).collect()
    }

    proptest! {
        #[test]
        fn insert_adds_pages_and_counts_the_new(words: PageBits, first in 0..BITS, count in 0..=BITS) {
            let count = count.min(BITS - first);
            let mut bits = Bits(words);
            let new = bits.insert(first, count);
            prop_assert_eq!(new as usize, members(&bits.0).len() - members(&words).len());
            let mut expected = members(&words);
            expected.extend(first..first + count);
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(members(&bits.0), expected);
        }

        #[test]
        fn missing_finds_what_is_not_there(
            words: PageBits, first in 0..BITS, count in 0..=BITS, to in 0..BITS,
        ) {
            let count = count.min(BITS - first).min(BITS - to);
            let mut found = PageBits::default();
            let missing = Bits(words).missing(first, count, to, &mut found);
            let there = members(&words);
            let expected: Vec<u32> = (first..first + count)
                .filter(|n| !there.contains(n))
                .map(|n| n - first + to)
                .collect();
            prop_assert_eq!(missing as usize, expected.len());
            prop_assert_eq!(members(&found), expected);
        }

        #[test]
        fn retain_keeps_what_it_is_told_to(words: PageBits) {
            let mut bits = Bits(words);
            let dropped = bits.retain(|n| n % 3 == 0);
            prop_assert_eq!(dropped as usize, members(&words).len() - members(&bits.0).len());
            let mut expected = members(&words);
            expected.retain(|n| n % 3 == 0);
            prop_assert_eq!(members(&bits.0), expected);
        }
    }
}
