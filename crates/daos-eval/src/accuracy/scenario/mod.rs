//! Spaces to find the hot memory in: how much, in which shape, of which pages.
//!
//! A [`Scenario`] is laid out in units of its pages ([`ScenarioLayout`]), and becomes what the
//! simulator and `daos-eval workload` run: a configuration in `masim`'s format. To add a
//! shape: a module that lays it out, and a line in [`Shape`].

mod blocks;
mod layout;
mod moving;
mod share_out;
mod singles;
mod sparse;
mod stripes;
mod sweep;
mod zipf;

pub use layout::{LayoutOrder, LayoutPattern, LayoutPhase, LayoutRegion, ScenarioLayout};

use crate::error::EvalError;
use daos_core::rng::mix;
use daos_core::{AddrRange, PAGE_SIZE, Rng};
use daos_sim::{SimOptions, SimSpace};
use daos_workload::{Config, Mode};
use serde::{Serialize, Serializer};
use std::fmt;

/// A space and what is done in it. The same seed draws the same one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scenario {
    /// Where the hot memory lies, and when.
    pub shape: Shape,
    /// Size of the memory in bytes; of [`Shape::Sparse`] that of the addresses.
    pub bytes: u64,
    /// The share of it that is hot at a time, 0 to 1.
    pub hot: f64,
    /// Bytes in a page.
    #[serde(serialize_with = "page_bytes")]
    pub page: PageSize,
    /// Blocks of [`Shape::Blocks`] and of each set of [`Shape::Phased`] and
    /// [`Shape::TwoRates`], unless the hot memory has fewer pages.
    pub blocks: u32,
    /// Accesses of a hot page in a second, on average over all that is hot; `None` for
    /// nine in ten sampling intervals if it is simulated, and for as many as the machine makes
    /// if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// Where hot memory lies, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One block in the middle.
    Block,
    /// Blocks of different sizes, scattered.
    Blocks,
    /// Every so many pages one.
    Stripes,
    /// A block that moves by its own length every five seconds.
    Moving,
    /// Two sets of blocks that take turns of five seconds.
    Phased,
    /// Parts in shuffled order, the n-th used 1/n^0.99 as often as the first.
    Zipf,
    /// Thousands of mappings with holes between them, some of them hot.
    Sparse,
    /// A tenth of the space that turns hot when another tenth turns cold.
    Turning,
    /// Single pages among cold ones, at places that look like chance.
    Singles,
    /// A store of small objects: an index in one block, and single pages of objects.
    Kv,
    /// One block that is gone over from end to end.
    Sweep,
    /// Blocks, and as many again that are accessed a tenth as often.
    TwoRates,
}

impl Shape {
    /// All of them, in the order in which they are shown.
    pub const ALL: &[Self] = &[
        Self::Block,
        Self::Blocks,
        Self::Stripes,
        Self::Moving,
        Self::Phased,
        Self::Zipf,
        Self::Sparse,
        Self::Turning,
        Self::Singles,
        Self::Kv,
        Self::Sweep,
        Self::TwoRates,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Blocks => "blocks",
            Self::Stripes => "stripes",
            Self::Moving => "moving",
            Self::Phased => "phased",
            Self::Zipf => "zipf",
            Self::Sparse => "sparse",
            Self::Turning => "turning",
            Self::Singles => "singles",
            Self::Kv => "kv",
            Self::Sweep => "sweep",
            Self::TwoRates => "two-rates",
        }
    }

    /// The size that it has whatever is asked for, in bytes.
    pub fn own_bytes(self) -> Option<u64> {
        (self == Self::Sparse).then_some(sparse::BYTES)
    }

    /// The hot share that it has whatever is asked for.
    pub fn own_hot(self) -> Option<f64> {
        match self {
            Self::Turning => Some(moving::TURNING),
            Self::Kv => Some(singles::STORE),
            _ => None,
        }
    }

    /// All accesses, as a multiple of those to what is hot.
    fn accesses_a_hot_one(self) -> f64 {
        match self {
            Self::TwoRates => 1.0 + 1.0 / blocks::SLOWER as f64,
            _ => 1.0,
        }
    }
}

/// Size of the pages that share an accessed bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB.
    Small,
    /// 2 MiB.
    Huge,
}

impl PageSize {
    /// Bytes in a page.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Small => PAGE_SIZE,
            Self::Huge => 2 << 20,
        }
    }
}

fn page_bytes<S: Serializer>(page: &PageSize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(page.bytes())
}

/// Most memory of a scenario, in bytes: 16 TiB.
const MAX_BYTES: u64 = 16 << 40;
/// Fewest pages: with fewer there are no shapes.
const MIN_PAGES: u64 = 64;
/// Most of the memory that can be hot, so that all shapes have room.
const MAX_HOT: f64 = 0.4;

impl Scenario {
    /// Refuses what can't be drawn.
    pub fn validate(&self) -> Result<(), EvalError> {
        let wrong = |what: String| Err(EvalError::Scenario(what));
        let min = MIN_PAGES * self.page.bytes();
        if self.bytes < min || self.bytes > MAX_BYTES {
            let (min, size) = (Bytes(min), Bytes(self.bytes));
            let page = Bytes(self.page.bytes());
            return wrong(format!(
                "a space of {size}: with pages of {page} it must have {min} to {}",
                Bytes(MAX_BYTES)
            ));
        }
        if !(self.hot > 0.0 && self.hot <= MAX_HOT) {
            let (hot, max) = (100.0 * self.hot, 100.0 * MAX_HOT);
            return wrong(format!("{hot} % hot: it must be more than 0 and at most {max} %"));
        }
        if self.blocks == 0 {
            return wrong("0 blocks: there must be at least 1".into());
        }
        Ok(())
    }

    /// Bytes that are mapped.
    pub fn mapped_bytes(&self) -> u64 {
        if self.shape == Shape::Sparse { self.bytes / 2 } else { self.bytes }
    }

    /// Draws it.
    pub fn layout(&self, seed: u64) -> Result<ScenarioLayout, EvalError> {
        self.validate()?;
        let mut rng = Rng::new(seed);
        let units = self.bytes / self.page.bytes();
        let hot = ((units as f64 * self.hot).round() as u64).max(1);
        let blocks = u64::from(self.blocks);
        Ok(match self.shape {
            Shape::Block => blocks::one(units, hot),
            Shape::Blocks => blocks::scattered(units, hot, blocks, &mut rng),
            Shape::Phased => blocks::phased(units, hot, blocks, &mut rng),
            Shape::Singles => singles::draw(units, hot),
            Shape::Kv => singles::store(units),
            Shape::Sweep => sweep::draw(units, hot),
            Shape::TwoRates => blocks::two_rates(units, hot, blocks, &mut rng),
            Shape::Stripes => stripes::draw(units, hot),
            Shape::Moving => moving::draw(units, self.hot),
            Shape::Turning => moving::turning(units),
            Shape::Zipf => zipf::draw(units, self.hot, &mut rng),
            Shape::Sparse => sparse::draw(units, self.hot, &mut rng),
        })
    }

    /// Accesses in a second by all that is hot, if it is said.
    pub fn accesses_per_sec(&self) -> Option<f64> {
        let pages = (self.mapped_bytes() / self.page.bytes()) as f64;
        let hot = (pages * self.hot).round().max(1.0);
        self.rate.map(|rate| (rate * hot * self.shape.accesses_a_hot_one()).max(1.0))
    }

    /// Its configuration in `masim`'s format, as text, with accesses that do `mode`.
    pub fn config_text(&self, seed: u64, mode: Mode) -> Result<String, EvalError> {
        Ok(self.layout(seed)?.text(&self.to_string(), self.page.bytes(), mode))
    }

    /// It in the simulator. Unless `accesses_per_sec` are given, there are so many that pages
    /// of hot blocks are accessed in `sample_us` microseconds with a chance of 0.9.
    pub fn space(
        &self,
        seed: u64,
        sample_us: u64,
        accesses_per_sec: Option<u64>,
    ) -> Result<SimSpace, EvalError> {
        let layout = self.layout(seed)?;
        let (config, options) = self.drawn(&layout, seed, sample_us, accesses_per_sec)?;
        let ranges: Vec<AddrRange> = layout.ranges(options.base, self.page.bytes());
        SimSpace::placed(config, ranges, options)
            .map_err(|error| EvalError::Scenario(error.to_string()))
    }

    /// The RAM of a simulated machine of so many bytes in which `processes` do that, each with its
    /// share of the memory and drawn by itself; it was given out in pieces of `piece_bytes`. By
    /// virtual address if it `is_projected`, else by physical.
    pub fn physical(
        &self,
        seed: u64,
        sample_us: u64,
        accesses_per_sec: Option<u64>,
        (processes, piece_bytes): (u32, u64),
        is_projected: bool,
    ) -> Result<SimSpace, EvalError> {
        let many = u64::from(processes.max(1));
        let pages = self.bytes / self.page.bytes() / many;
        let one = Self { bytes: pages * self.page.bytes(), ..*self };
        let (mut configs, mut all) = (Vec::new(), None);
        for process in 0..many {
            let own = mix(seed.wrapping_mul(many).wrapping_add(process));
            let layout = one.layout(own)?;
            let (config, options) = one.drawn(&layout, seed, sample_us, accesses_per_sec)?;
            let sum = all.map_or(0, |all: SimOptions| all.accesses_per_sec);
            let accesses_per_sec = sum.saturating_add(options.accesses_per_sec);
            all = Some(SimOptions { accesses_per_sec, ..options });
            configs.push(config);
        }
        let space = if is_projected { SimSpace::scattered } else { SimSpace::physical };
        space(&configs, piece_bytes, all.unwrap_or_default())
            .map_err(|error| EvalError::Scenario(error.to_string()))
    }

    /// What it is to the simulator, as `layout` has it.
    fn drawn(
        &self,
        layout: &ScenarioLayout,
        seed: u64,
        sample_us: u64,
        accesses_per_sec: Option<u64>,
    ) -> Result<(Config, SimOptions), EvalError> {
        let name = self.to_string();
        let config = Config::parse(&name, &layout.text(&name, self.page.bytes(), Mode::default()))?;
        let of_rate = self.accesses_per_sec().map(|accesses| accesses.ceil() as u64);
        let accesses_per_sec = accesses_per_sec.or(of_rate);
        let enough = (layout.accesses_a_sample * 1e6 / sample_us as f64).ceil() as u64;
        let options = SimOptions {
            seed,
            accesses_per_sec: accesses_per_sec.unwrap_or(enough),
            huge_pages: self.page == PageSize::Huge,
            sparse: self.shape == Shape::Sparse,
            ..SimOptions::default()
        };
        Ok((config, options))
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, size, page) = (self.shape.name(), Bytes(self.bytes), Bytes(self.page.bytes()));
        let hot = (100.0 * self.hot * 1e6).round() / 1e6;
        write!(f, "{shape}, {size}, {hot} % hot, pages of {page}")?;
        self.rate.map_or(Ok(()), |rate| write!(f, ", {rate}/s"))
    }
}

/// Bytes as people read them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let (shift, unit) = units.into_iter().find(|u| self.0 >> u.0 > 0).unwrap_or((0, "B"));
        let shown = (self.0 as f64 / (1u64 << shift) as f64 * 10.0).round() / 10.0;
        write!(f, "{shown} {unit}")
    }
}

#[cfg(test)]
mod tests;
