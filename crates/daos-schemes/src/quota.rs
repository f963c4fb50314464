//! How much a scheme may do: bytes and time for each reset interval.

/// Quota of a scheme. The default is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Bytes acted on in each reset interval at most.
    pub bytes: Option<u64>,
    /// Microseconds spent on it at most, looking at the memory included.
    pub time_us: Option<u64>,
    /// The reset interval, in microseconds.
    pub reset_us: u64,
    /// What comes first when the quota binds.
    pub weights: Weights,
}

impl Default for Quota {
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
    fn default() -> Self {
        Self { size: 0.0, rate: 1.0, age: 1.0 }
    }
}
