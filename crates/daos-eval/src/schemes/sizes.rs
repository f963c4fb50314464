//! How large and how long the programs of the cases are.

/// How large and how long; the metrics of the cases are for the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sizes {
    /// By what sizes of memory are multiplied, more than 0, at most 1; `None`: 1.
    pub scale: Option<f64>,
    /// Seconds that a run takes, from when its memory is there; `None`: the case's own.
    pub seconds: Option<f64>,
    /// Another scheme than the case's: whatever `daos apply --scheme` takes.
    pub scheme: Option<String>,
}

impl Sizes {
    /// So many MiB, scaled, in MiB: at least 2, and a whole number of huge pages.
    pub(super) fn mib(&self, mib: u64) -> u64 {
        let scaled = (mib as f64 * self.scale.unwrap_or(1.0) / 2.0).round() as u64 * 2;
        scaled.max(2)
    }

    /// Milliseconds that a run takes, of which the case's own are `seconds`.
    pub(super) fn ms(&self, seconds: f64) -> u64 {
        ((self.seconds.unwrap_or(seconds) * 1e3) as u64).max(1)
    }

    /// The scheme, of which the case's own is `own`.
    pub(super) fn scheme(&self, own: &str) -> String {
        self.scheme.clone().unwrap_or_else(|| own.to_owned())
    }
}
