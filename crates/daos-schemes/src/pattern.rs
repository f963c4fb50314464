//! Which memory a scheme is for: regions of some size, access rate and age.

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

/// Regions of some size, access rate and age (the paper's §3.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Size of the region in bytes.
    pub size: Bounds<u64>,
    /// Its access rate: the share of checks that found it accessed, 0 to 1.
    pub rate: Bounds<f64>,
    /// How long its access rate has been what it is.
    pub age: Bounds<Age>,
}

impl Pattern {
    /// Every region there is.
    pub const ANY: Self = Self {
        size: Bounds { min: 0, max: u64::MAX },
        rate: Bounds { min: 0.0, max: 1.0 },
        age: Bounds { min: Age::MIN, max: Age::MAX },
    };

    /// Whether only memory that was not accessed at all fits.
    pub fn is_of_idle(&self) -> bool {
        self.rate.max == 0.0
    }
}
