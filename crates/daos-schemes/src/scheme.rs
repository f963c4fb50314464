//! A scheme: which memory, what to do to it, and what keeps that within bounds.

use daos_core::{Action, AddrRange, Metric};

/// "Memory like this: do that to it" (the paper's §3.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// What it is called in reports; its text if it has no name.
    pub name: Option<String>,
    /// Which memory.
    pub pattern: Pattern,
    /// What to do to it.
    pub action: Action,
    /// How much of it, in which time.
    pub quota: Quota,
    /// In which state of the system at all.
    pub watermarks: Option<Watermarks>,
    /// Which memory is exempt, or alone meant. The first filter that matches some memory
    /// decides about it; memory that none matches gets the opposite of the last one's
    /// verdict.
    pub filters: Vec<Filter>,
    /// What the quota is to reach, which is then set by feedback.
    pub goal: Option<Goal>,
    /// How much of what it pages out may come back: where more does, it asks for longer ages
    /// than its pattern.
    pub max_refault: Option<RefaultBound>,
    /// Microseconds between two times that it is applied; every aggregation interval
    /// if not given.
    pub apply_interval_us: Option<u64>,
}

impl Scheme {
    /// What is measured for its watermarks and its goal.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let of_watermarks = self.watermarks.as_ref().map(|marks| marks.metric);
        of_watermarks.into_iter().chain(self.goal.map(|goal| goal.metric))
    }

    /// A scheme without bounds.
    pub fn new(pattern: Pattern, action: Action) -> Self {
        Self {
            name: None,
            pattern,
            action,
            quota: Quota::default(),
            watermarks: None,
            filters: Vec::new(),
            goal: None,
            max_refault: None,
            apply_interval_us: None,
        }
    }

    /// Whether it matters for it where memory is.
    pub fn goes_by_address(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter.filter_type, FilterType::Addresses(_)))
    }

    /// Whether its filters let it act on anonymous memory, of some process at some address.
    pub fn takes_anonymous(&self) -> bool {
        for filter in &self.filters {
            let meant = match filter.filter_type {
                FilterType::Anonymous => Some(!filter.inverted),
                FilterType::File => Some(filter.inverted),
                // Some of it, perhaps: what is kept out so may be let in by the next.
                FilterType::Addresses(_) | FilterType::Cgroup(_) | FilterType::Huge => None,
            };
            match meant {
                Some(true) => return filter.allow,
                None if filter.allow => return true,
                Some(false) | None => {}
            }
        }
        self.filters.last().is_none_or(|last| !last.allow)
    }

    /// What displays call it: its name, or its text if it has none.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| crate::text::format(self))
    }
}

/// Regions of some size, access rate and age (the paper's §3.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Size of the region in bytes.
    pub size: Bounds<u64>,
    /// Its access rate.
    pub rate: Bounds<Rate>,
    /// How long its access rate has been what it is.
    pub age: Bounds<Age>,
}

impl Pattern {
    /// Every region there is.
    pub const ANY: Self = Self {
        size: Bounds { min: 0, max: u64::MAX },
        rate: Bounds { min: Rate::MIN, max: Rate::MAX },
        age: Bounds { min: Age::MIN, max: Age::MAX },
    };

    /// Whether only memory that was not accessed at all fits.
    pub fn is_of_idle(&self) -> bool {
        self.rate.max.share(0) == 0.0
    }
}

/// From the least to the most, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<T> {
    /// The least that fits.
    pub min: T,
    /// The most that fits.
    pub max: T,
}

impl<T: PartialOrd> Bounds<T> {
    /// Whether a value lies between them.
    pub fn holds(&self, value: T) -> bool {
        self.min <= value && value <= self.max
    }
}

/// How often memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// The share of sampling intervals in which a page is accessed, 0 to 1.
    Share(f64),
    /// Accesses a second and page, at least 0.
    PerSecond(f64),
}

impl Rate {
    /// Not accessed at all.
    pub const MIN: Self = Self::Share(0.0);
    /// However often.
    pub const MAX: Self = Self::Share(1.0);
    /// The sampling interval where none is known, in microseconds: the paper's.
    const SAMPLE_US: u64 = 5_000;

    /// As a share of sampling intervals of so many microseconds, 0 where that is not known:
    /// accesses are taken to come at random times.
    pub fn share(self, sample_us: u64) -> f64 {
        let sample_us = if sample_us == 0 { Self::SAMPLE_US } else { sample_us };
        match self {
            Self::Share(share) => share,
            Self::PerSecond(rate) => -f64::exp_m1(-rate * sample_us as f64 / 1e6),
        }
    }
}

/// How long an access rate has been what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// In microseconds.
    Time(u64),
    /// In aggregation intervals.
    Intervals(u64),
}

impl Age {
    /// No time at all.
    pub const MIN: Self = Self::Time(0);
    /// Forever.
    pub const MAX: Self = Self::Time(u64::MAX);

    /// In microseconds, where an aggregation interval is `aggregation_us` long.
    pub fn us(self, aggregation_us: u64) -> u64 {
        match self {
            Self::Time(us) => us,
            Self::Intervals(count) => count.saturating_mul(aggregation_us),
        }
    }
}

/// How much a scheme may do in each reset interval. The default is without limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Bytes acted on in each reset interval at most.
    pub bytes: Option<u64>,
    /// Microseconds spent on it at most, sampling the memory included.
    pub time_us: Option<u64>,
    /// The reset interval, in microseconds.
    pub reset_us: u64,
    /// What comes first when the quota binds.
    pub weights: Weights,
}

impl Default for Quota {
    /// The reset interval is one second, as in the kernel's `DAMON_RECLAIM`.
    fn default() -> Self {
        Self { bytes: None, time_us: None, reset_us: 1_000_000, weights: Weights::default() }
    }
}

impl Quota {
    /// Whether it can bind at all.
    pub fn is_limited(&self) -> bool {
        self.bytes.is_some() || self.time_us.is_some()
    }
}

/// How much size, access rate and age count for what comes first. Only their
/// proportions matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of the size: larger regions first.
    pub size: f64,
    /// Of the access rate.
    pub rate: f64,
    /// Of the age.
    pub age: f64,
}

impl Default for Weights {
    /// Chosen: what tells hot memory from cold counts, and equally; its size does not.
    fn default() -> Self {
        Self { size: 0.0, rate: 1.0, age: 1.0 }
    }
}

/// "This metric at this value": the scheme does as much as it takes. Its quota of bytes
/// is set by feedback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// What is measured.
    pub metric: Metric,
    /// Its value to be reached, on the metric's scale.
    pub target: f64,
}

/// How much of what was paged out may be accessed again, and so come back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefaultBound {
    /// A share of the working set: of what is accessed within the least age of the pattern.
    /// Above 0.
    pub share: f64,
    /// In so many microseconds, at least 1.
    pub per_us: u64,
}

/// The state of the system in which a scheme is active. It is inactive while the metric is
/// above `high` or below `low`, and from then on until it has come back to `mid` or below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watermarks {
    /// What is measured.
    pub metric: Metric,
    /// How often, in microseconds.
    pub interval_us: u64,
    /// Above: there is nothing to be done.
    pub high: f64,
    /// At or below: begin.
    pub mid: f64,
    /// Below: it is too late for this scheme.
    pub low: f64,
}

/// Which memory a scheme must leave alone, or is alone meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Which memory matches.
    pub filter_type: FilterType,
    /// Whether it is memory that is *not* like that which matches.
    pub inverted: bool,
    /// Whether what matches may be acted on.
    pub allow: bool,
}

/// What a filter goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterType {
    /// These addresses.
    Addresses(AddrRange),
    /// Anonymous memory: heaps, stacks, what programs allocate.
    Anonymous,
    /// Memory that maps files. Without one that allows it, `pageout` and `cold` leave files
    /// alone that are mapped to be shared.
    File,
    /// Memory of processes in this cgroup, by its path, or below it.
    Cgroup(String),
    /// Memory that huge pages map already.
    Huge,
}
