//! What a scenario consists of, in units of a page, whatever its size.

use daos_core::AddrRange;
use daos_workload::Mode;

/// Regions of memory, and when they are accessed.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioLayout {
    /// By rising address.
    pub regions: Vec<LayoutRegion>,
    /// One after the other, and again.
    pub phases: Vec<LayoutPhase>,
    /// Accesses in a sampling interval that make hot what is to be hot.
    pub accesses_a_sample: f64,
}

/// A contiguous region of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutRegion {
    /// Its pages, at least 1.
    pub pages: u64,
    /// Pages of addresses before it in which nothing is mapped.
    pub hole: u64,
}

/// A time in which memory is accessed in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutPhase {
    /// How long it lasts, in milliseconds.
    pub ms: u64,
    /// Accesses, side by side.
    pub patterns: Vec<LayoutPattern>,
}

/// The accesses to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutPattern {
    /// Its place among the regions.
    pub region: usize,
    /// Its share of the accesses, in proportion to the others; at least 1.
    pub weight: u64,
    /// Which of its pages, in which order.
    pub order: LayoutOrder,
}

/// Which pages of a region are accessed, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutOrder {
    /// Any, each as likely as the other.
    Random,
    /// In steps of so many pages from its start to its end.
    Stride(u64),
    /// Of each so many pages one, at random times.
    Singles(u64),
}

/// Longest time of a simulation or a run: what never changes lasts so long.
pub(super) const ALWAYS_MS: u64 = 24 * 3_600_000;

impl LayoutRegion {
    /// Regions of so many pages each, by rising address, without holes between them.
    pub(super) fn adjacent(pages: impl IntoIterator<Item = u64>) -> Vec<Self> {
        pages.into_iter().map(|pages| Self { pages, hole: 0 }).collect()
    }
}

impl LayoutPhase {
    /// Random accesses to the `hot` ones of the regions, to each of their pages as many.
    pub(super) fn uniform(
        ms: u64,
        regions: &[LayoutRegion],
        hot: impl IntoIterator<Item = usize>,
    ) -> Self {
        let order = LayoutOrder::Random;
        let pattern =
            |region: usize| LayoutPattern { region, weight: regions[region].pages, order };
        Self { ms, patterns: hot.into_iter().map(pattern).collect() }
    }
}

impl ScenarioLayout {
    /// Where the regions lie from `base` on, with pages of `page` bytes.
    pub fn ranges(&self, base: u64, page: u64) -> Vec<AddrRange> {
        let mut end = base;
        let placed = self.regions.iter().map(|region| {
            let start = end + region.hole * page;
            end = start + region.pages * page;
            AddrRange::new(start, end)
        });
        placed.collect()
    }

    /// The same in `masim`'s format. It has no place for holes and for the number of
    /// accesses.
    pub fn text(&self, title: &str, page: u64, mode: Mode) -> String {
        // Weights have 32 bits.
        let heaviest = self
            .phases
            .iter()
            .flat_map(|phase| &phase.patterns)
            .map(|pattern| pattern.weight)
            .max();
        let mode = match mode {
            Mode::Ro => "ro",
            Mode::Wo => "wo",
            Mode::Rw => "rw",
        };
        let scale = heaviest.unwrap_or(1).div_ceil(u64::from(u32::MAX));
        let mut text = format!("# {title}\n\n");
        for (at, region) in self.regions.iter().enumerate() {
            text += &format!("part{at}, {}\n", region.pages * page);
        }
        for (at, phase) in self.phases.iter().enumerate() {
            text += &format!("\nscene {at}\n{}ms\n", phase.ms);
            for LayoutPattern { region, weight, order } in &phase.patterns {
                let weight = (weight / scale).max(1);
                let order = match order {
                    LayoutOrder::Random => "random, 1".to_owned(),
                    LayoutOrder::Stride(pages) => format!("stride, {}", pages * page),
                    LayoutOrder::Singles(pages) => format!("singles, {}", pages * page),
                };
                text += &format!("part{region}, {order}, {weight}, {mode}\n");
            }
        }
        text
    }
}
