//! What a full scan knows of the pages of a page table.

use super::{HIGHEST, SAMPLES};
use daos_core::access::{MAX_WINDOW_PAGES, has_page};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, PageBits, TargetId, Window};

/// The mapped pages of a page table.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// Address of the first page.
    pub start: u64,
    /// How many pages.
    pub pages: u32,
    /// Pages in use when it was read to be armed.
    pub young: u32,
    /// Pages of which nothing can be said.
    pub unobservable: u32,
    /// Samples since it is known that the pages in use are as many as they are.
    pub age: u32,
    /// Samples so far, of which the last few are kept.
    samples: u32,
    in_use: u32,
    history: [PageBits; SAMPLES],
}

impl Table {
    pub fn range(&self) -> AddrRange {
        AddrRange::new(self.start, self.start + u64::from(self.pages) * PAGE_SIZE)
    }

    pub fn window(&self, target: TargetId) -> Window {
        Window { target, start: self.start, pages: self.pages }
    }

    /// Takes in a sample. Where it is not said which pages were accessed, it is taken to be
    /// the first ones.
    pub fn take(&mut self, seen: &Observation) {
        let slot = self.samples as usize % SAMPLES;
        self.history[slot] = seen.pages.unwrap_or_else(|| first(seen.accessed));
        self.samples = self.samples.saturating_add(1);
        self.unobservable = seen.unobservable;
        let changed = seen.accessed.abs_diff(self.in_use) > self.in_use.max(seen.accessed) / 10;
        self.age = if changed { 0 } else { self.age.saturating_add(1) };
        self.in_use = seen.accessed;
    }

    /// Whether no page was accessed in the samples that are kept.
    pub fn is_idle(&self) -> bool {
        self.history.iter().flatten().all(|word| *word == 0)
    }

    /// The access frequency of a page.
    pub fn frequency(&self, page: u32) -> u32 {
        let known = self.samples.min(SAMPLES as u32);
        let accessed = self.history.iter().filter(|bits| has_page(bits, page)).count() as u32;
        (accessed * HIGHEST).checked_div(known).unwrap_or(0)
    }
}

fn first(pages: u32) -> PageBits {
    let mut bits = PageBits::default();
    for page in 0..pages.min(MAX_WINDOW_PAGES) {
        bits[page as usize / 64] |= 1 << (page % 64);
    }
    bits
}

/// The tables of `ranges`, sorted, with what is known of those that stayed as they were.
pub(super) fn follow(known: Vec<Table>, ranges: &[AddrRange]) -> Vec<Table> {
    let mut known = known.into_iter().peekable();
    let mut tables = Vec::new();
    for range in ranges {
        for part in range.blocks(HUGE_PAGE_SIZE) {
            let (start, pages) = (part.start, part.pages() as u32);
            while known.next_if(|table| table.start < start).is_some() {}
            let same = known.next_if(|table| table.start == start && table.pages == pages);
            if pages > 0 {
                tables.push(same.unwrap_or(Table { start, pages, ..Table::default() }));
            }
        }
    }
    tables
}
