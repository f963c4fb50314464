//! Sets of pages of a page table.

use crate::access::{PageBits, has_page};
use crate::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};

const WORDS: usize = std::mem::size_of::<PageBits>() / 8;

/// A set of pages of one page table, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pages(pub PageBits);

impl Pages {
    /// The pages `from..to`.
    #[inline]
    pub fn range(from: u32, to: u32) -> Self {
        let mut pages = Self::default();
        for (word, bits) in pages.0.iter_mut().enumerate() {
            let (start, end) = (word as u32 * 64, word as u32 * 64 + 64);
            let (low, high) = (from.clamp(start, end) - start, to.clamp(start, end) - start);
            let below = |n: u32| if n == 64 { u64::MAX } else { (1 << n) - 1 };
            *bits = below(high) & !below(low);
        }
        pages
    }

    /// Number of pages.
    #[inline]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether no page is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Whether this page is in it.
    #[inline]
    pub fn has(&self, page: u32) -> bool {
        has_page(&self.0, page)
    }

    /// Pages in both.
    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn::<_, WORDS, _>(|i| self.0[i] & other.0[i]))
    }

    /// Pages in any of both.
    #[inline]
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn::<_, WORDS, _>(|i| self.0[i] | other.0[i]))
    }

    /// Pages of this one that are not in the other.
    #[inline]
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn::<_, WORDS, _>(|i| self.0[i] & !other.0[i]))
    }

    /// Its pages, by rising number.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut rest = *bits;
            std::iter::from_fn(move || {
                let page = (rest != 0).then(|| word as u32 * 64 + rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(page)
            })
        })
    }

    /// The `n`-th page of the set, counted from 0.
    pub fn nth(&self, n: u32) -> Option<u32> {
        self.iter().nth(n as usize)
    }

    /// Its pages as runs of neighbours, by rising number.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let from = self.next(at, true)?;
            let to = self.next(from, false).unwrap_or(64 * WORDS as u32);
            at = to;
            Some((from, to))
        })
    }

    /// The first page from `at` on that is in it, or that is not.
    fn next(&self, at: u32, is_in: bool) -> Option<u32> {
        let mut mask = u64::MAX << (at % 64);
        (at as usize / 64..WORDS).find_map(|word| {
            let bits = if is_in { self.0[word] } else { !self.0[word] } & mask;
            mask = u64::MAX;
            (bits != 0).then(|| word as u32 * 64 + bits.trailing_zeros())
        })
    }

    /// How many runs it has if pages between two of them are passed over where they are no more
    /// than so many, and how many pages that is.
    pub fn bridged(&self, most_gap: u32) -> (u32, u32) {
        let (mut runs, mut gaps) = (0, 0);
        let mut end = None;
        for (from, to) in self.ranges() {
            match end.map(|end| from - end) {
                Some(gap) if gap <= most_gap => gaps += gap,
                _ => runs += 1,
            }
            end = Some(to);
        }
        (runs, gaps)
    }

    /// From the first to behind the last; `None` if there is none.
    pub fn span(&self) -> Option<(u32, u32)> {
        let first = self.0.iter().position(|word| *word != 0)?;
        let last = self.0.iter().rposition(|word| *word != 0)?;
        let from = first as u32 * 64 + self.0[first].trailing_zeros();
        Some((from, last as u32 * 64 + 64 - self.0[last].leading_zeros()))
    }

    /// How many runs of neighbouring pages are in it.
    pub fn runs(&self) -> u32 {
        let mut before = 0;
        let mut runs = 0;
        for word in self.0 {
            runs += (word & !(word << 1 | before)).count_ones();
            before = word >> 63;
        }
        runs
    }
}

/// The number of the page at `addr` among those that its page table maps.
pub fn nr_in_table(addr: u64) -> u32 {
    (addr % HUGE_PAGE_SIZE / PAGE_SIZE) as u32
}

/// The addresses of so many pages from the one with a number.
pub fn page_range(start: u64, from: u32, to: u32) -> AddrRange {
    AddrRange::new(start + u64::from(from) * PAGE_SIZE, start + u64::from(to) * PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_what_they_say(from in 0u32..=512, len in 0u32..=512) {
            let to = (from + len).min(512);
            let pages = Pages::range(from, to);
            prop_assert!(pages.iter().eq(from..to));
            prop_assert_eq!(pages.len(), to - from);
            prop_assert_eq!(pages.runs(), u32::from(to > from));
        }

        #[test]
        fn runs_are_counted(words in any::<[u64; 8]>()) {
            let pages = Pages(words);
            let starts = pages.iter().filter(|&page| page == 0 || !pages.has(page - 1)).count();
            prop_assert_eq!(pages.runs() as usize, starts);
            let ranges: Vec<_> = pages.ranges().collect();
            prop_assert_eq!(ranges.len(), starts);
            prop_assert_eq!(pages.bridged(0), (starts as u32, 0));
            let span = pages.iter().last().map_or(0, |last| last + 1 - pages.nth(0).unwrap());
            prop_assert_eq!(pages.bridged(512), (u32::from(span > 0), span - pages.len()));
            prop_assert_eq!(pages.span(), pages.nth(0).map(|first| (first, first + span)));
            prop_assert!(pages.iter().eq(ranges.into_iter().flat_map(|(from, to)| from..to)));
        }
    }
}
