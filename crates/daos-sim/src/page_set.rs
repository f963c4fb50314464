//! Sets of pages in a block of 2 MiB: one bit for each of 512.
//!
//! Most windows are of one page, so nothing here goes over the whole set that
//! can do with the words in question.

use daos_core::{PageBits, Rng};
use std::ops::{BitAnd, BitOr, Sub};

/// Pages in a block.
pub(crate) const BLOCK_PAGES: u32 = 512;
const WORDS: usize = BLOCK_PAGES as usize / 64;

/// What was added to a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Added {
    /// Pages that were not in it before.
    pub pages: u32,
    /// Runs of neighbours that they make.
    pub runs: u32,
}

/// A set of pages in a block of 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PageSet(PageBits);

impl PageSet {
    /// No page.
    pub const NONE: &Self = &Self([0; WORDS]);

    /// `count` pages from page `first` on.
    pub fn run(first: u32, count: u32) -> Self {
        let mut run = Self::default();
        run.insert(first, count);
        run
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    /// How many pages are in it.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Its first `most` pages.
    pub fn take(&self, most: u32) -> Self {
        let (mut taken, mut left) = (*self, most);
        taken.retain_all(|_| {
            let take = left > 0;
            left = left.saturating_sub(1);
            take
        });
        taken
    }

    /// Each of its pages with the same chance, 0 to 1, independent of the others. What is
    /// drawn is how many pages to leave out before the next one, so that a small chance
    /// takes one draw for all of them.
    pub fn sample(&self, chance: f64, rng: &mut Rng) -> Self {
        let mut sample = Self::default();
        if chance <= 0.0 {
            return sample;
        }
        let log_left_out = (-chance).ln_1p();
        // A cast of a float to an integer saturates.
        let mut draw = || ((1.0 - rng.unit()).ln() / log_left_out) as u32;
        let mut left_out = draw();
        for (word, sampled) in self.0.iter().zip(&mut sample.0) {
            let (mut left, mut pages) = (*word, word.count_ones());
            while left_out < pages {
                for _ in 0..left_out {
                    left &= left - 1;
                }
                *sampled |= left & left.wrapping_neg();
                left &= left - 1;
                pages -= left_out + 1;
                left_out = draw();
            }
            left_out -= pages;
        }
        sample
    }

    /// Drops `count` pages from page `first` on.
    pub fn remove(&mut self, first: u32, count: u32) {
        for (word, mask) in masks(first, count) {
            self.0[word] &= !mask;
        }
    }

    /// Adds `count` pages from page `first` on.
    pub fn insert(&mut self, first: u32, count: u32) -> Added {
        self.insert_but(first, count, Self::NONE)
    }

    /// The same without the pages in `except`.
    pub fn insert_but(&mut self, first: u32, count: u32, except: &Self) -> Added {
        let mut added = Added::default();
        let mut before = 0;
        for (word, mask) in masks(first, count) {
            let new = mask & !self.0[word] & !except.0[word];
            added.pages += new.count_ones();
            added.runs += (new & !(new << 1 | before)).count_ones();
            before = new >> 63;
            self.0[word] |= new;
        }
        added
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

    /// Adds a page. Returns whether it is new.
    pub fn insert_one(&mut self, page: u32) -> bool {
        let (word, bit) = (&mut self.0[page as usize / 64], 1 << (page % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether a page is in the set.
    pub fn has(&self, page: u32) -> bool {
        self.0[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Drops the pages for which `keep` says no, and returns how many. It is
    /// asked by rising number.
    pub fn retain_all(&mut self, mut keep: impl FnMut(u32) -> bool) -> u32 {
        let words = self.0.iter_mut().enumerate().filter(|(_, word)| **word != 0);
        words.map(|(index, word)| retain_in(word, index, u64::MAX, &mut keep)).sum()
    }

    /// The same for `count` pages from page `first` on; the others stay.
    pub fn retain(&mut self, first: u32, count: u32, mut keep: impl FnMut(u32) -> bool) -> u32 {
        let parts = masks(first, count);
        parts.map(|(index, mask)| retain_in(&mut self.0[index], index, mask, &mut keep)).sum()
    }
}

impl BitOr for PageSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl BitAnd for PageSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

/// What is in the one and not in the other.
impl Sub for PageSet {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }
}

/// Of the bits of `mask` in a word, drops those for which `keep` says no; their number.
#[inline]
fn retain_in(word: &mut u64, index: usize, mask: u64, keep: &mut impl FnMut(u32) -> bool) -> u32 {
    let mut left = *word & mask;
    let mut dropped = 0;
    while left != 0 {
        let bit = left.trailing_zeros();
        left &= left - 1;
        if !keep(index as u32 * 64 + bit) {
            *word &= !(1 << bit);
            dropped += 1;
        }
    }
    dropped
}

/// The words that hold `count` pages from page `first` on, and which bits of them.
fn masks(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = (first + count).min(BLOCK_PAGES);
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
        (0..BLOCK_PAGES).filter(|n| words[*n as usize / 64] >> (n % 64) & 1 == 1).collect()
    }

    #[test]
    fn a_sample_has_each_page_with_the_same_chance() {
        let (odd, mut rng) = (PageSet([0xaaaa_aaaa_aaaa_aaaa; WORDS]), daos_core::Rng::new(5));
        for chance in [0.0, 0.001, 0.02, 0.3, 0.9, 1.0] {
            let mut found = [0u32; BLOCK_PAGES as usize];
            for _ in 0..4000 {
                members(&odd.sample(chance, &mut rng).0)
                    .iter()
                    .for_each(|n| found[*n as usize] += 1);
            }
            let sigma = (4000.0 * chance * (1.0 - chance)).sqrt();
            for (page, found) in found.iter().enumerate() {
                let expected = if page % 2 == 1 { 4000.0 * chance } else { 0.0 };
                let off = (f64::from(*found) - expected).abs();
                assert!(off <= 5.0 * sigma, "page {page}, chance {chance}: {found}");
            }
        }
    }

    proptest! {
        #[test]
        fn insert_adds_pages_and_counts_the_new(words: PageBits, first in 0..BLOCK_PAGES, count in 0..=BLOCK_PAGES) {
            let count = count.min(BLOCK_PAGES - first);
            let mut bits = PageSet(words);
            let added = bits.insert(first, count);
            let before = members(&words);
            let new: Vec<u32> = members(&bits.0).into_iter().filter(|n| !before.contains(n)).collect();
            prop_assert_eq!(added.pages as usize, new.len());
            let runs = new.chunk_by(|a, b| a + 1 == *b).count();
            prop_assert_eq!(added.runs as usize, runs);
            let (mut one, mut other) = (PageSet(words), PageSet(words));
            prop_assert_eq!(one.insert_one(first), other.insert(first, 1).pages == 1);
            prop_assert_eq!(one, other);
            let mut expected = members(&words);
            expected.extend(first..first + count);
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(members(&bits.0), expected);
        }

        #[test]
        fn sets_are_combined(one: PageBits, other: PageBits, most in 0..=BLOCK_PAGES) {
            let (a, b) = (members(&one), members(&other));
            let (one, other) = (PageSet(one), PageSet(other));
            let all: Vec<u32> = (0..BLOCK_PAGES).collect();
            let which = |keep: &dyn Fn(&u32) -> bool| {
                all.iter().copied().filter(|n| keep(n)).collect::<Vec<_>>()
            };
            prop_assert_eq!(members(&(one | other).0), which(&|n| a.contains(n) || b.contains(n)));
            prop_assert_eq!(members(&(one & other).0), which(&|n| a.contains(n) && b.contains(n)));
            prop_assert_eq!(members(&(one - other).0), which(&|n| a.contains(n) && !b.contains(n)));
            prop_assert_eq!(one.count() as usize, a.len());
            prop_assert_eq!(members(&one.take(most).0), &a[..a.len().min(most as usize)]);
            let mut but = other;
            let added = but.insert_but(0, BLOCK_PAGES, &one);
            prop_assert_eq!(added.pages, (PageSet::run(0, BLOCK_PAGES) - one - other).count());
            prop_assert_eq!(but, PageSet::run(0, BLOCK_PAGES) - (one - other));
        }

        #[test]
        fn missing_finds_what_is_not_there(
            words: PageBits, first in 0..BLOCK_PAGES, count in 0..=BLOCK_PAGES, to in 0..BLOCK_PAGES,
        ) {
            let count = count.min(BLOCK_PAGES - first).min(BLOCK_PAGES - to);
            let mut found = PageBits::default();
            let missing = PageSet(words).missing(first, count, to, &mut found);
            let there = members(&words);
            let expected: Vec<u32> = (first..first + count)
                .filter(|n| !there.contains(n))
                .map(|n| n - first + to)
                .collect();
            prop_assert_eq!(missing as usize, expected.len());
            prop_assert_eq!(members(&found), expected);
        }

        #[test]
        fn retain_keeps_what_it_is_told_to(words: PageBits, first in 0..BLOCK_PAGES, count in 0..=BLOCK_PAGES) {
            let count = count.min(BLOCK_PAGES - first);
            let mut bits = PageSet(words);
            let dropped = bits.retain(first, count, |n| n % 3 == 0);
            prop_assert_eq!(dropped as usize, members(&words).len() - members(&bits.0).len());
            let mut expected = members(&words);
            expected.retain(|n| n % 3 == 0 || !(first..first + count).contains(n));
            prop_assert_eq!(members(&bits.0), expected);

            let (mut whole, mut all) = (PageSet(words), PageSet(words));
            prop_assert_eq!(whole.retain(0, BLOCK_PAGES, |n| n % 3 == 0), all.retain_all(|n| n % 3 == 0));
            prop_assert_eq!(whole, all);
        }

        #[test]
        fn remove_drops_pages(words: PageBits, first in 0..BLOCK_PAGES, count in 0..=BLOCK_PAGES) {
            let count = count.min(BLOCK_PAGES - first);
            let mut bits = PageSet(words);
            bits.remove(first, count);
            let mut expected = members(&words);
            expected.retain(|n| !(first..first + count).contains(n));
            prop_assert_eq!(members(&bits.0), expected);
        }
    }
}
