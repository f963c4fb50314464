//! What `daos apply --stats` wrote: only what is of use here.

use crate::error::EvalError;
use serde::Deserialize;
use std::path::Path;

/// What schemes did, and what that cost.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Counters {
    /// From the first tick to the last snapshot.
    pub elapsed_us: u64,
    /// CPU time of monitoring.
    pub monitor_cpu_us: u64,
    /// What monitoring took of the target's.
    pub monitor_target_us: u64,
    /// CPU time of schemes.
    pub schemes_cpu_us: u64,
    /// What schemes took of the target's.
    pub schemes_target_us: u64,
    /// Each scheme's.
    pub schemes: Vec<SchemeCounters>,
}

/// What one scheme did.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct SchemeCounters {
    /// Bytes that it changed.
    pub applied_bytes: u64,
}

impl Counters {
    /// From the file.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let failed = |why| EvalError::Counters { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|err| failed(err.into()))
    }

    /// Bytes that were changed by all schemes together.
    pub fn applied_bytes(&self) -> u64 {
        self.schemes.iter().map(|scheme| scheme.applied_bytes).sum()
    }

    /// CPU time in percent of one CPU.
    fn percent(&self, us: u64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| 100.0 * us as f64 / self.elapsed_us as f64)
    }

    /// CPU time of monitoring, in percent of one CPU.
    pub fn monitor_percent(&self) -> Option<f64> {
        self.percent(self.monitor_cpu_us)
    }

    /// CPU time of schemes, in percent of one CPU.
    pub fn schemes_percent(&self) -> Option<f64> {
        self.percent(self.schemes_cpu_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_fields_do_no_harm() {
        let text = r#"{"elapsed_us":2000000,"dry_run":false,"monitor_cpu_us":10000,
            "monitor_target_us":0,"schemes_cpu_us":40000,"schemes_target_us":1,
            "schemes":[{"scheme":"a","applied_bytes":4096,"refused_bytes":{"gone":1}},
            {"scheme":"b","applied_bytes":8192}]}"#;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stats");
        std::fs::write(&path, text).unwrap();
        let counters = Counters::read(&path).unwrap();
        assert_eq!(counters.applied_bytes(), 12288);
        assert_eq!(counters.monitor_percent(), Some(0.5));
        assert_eq!(counters.schemes_percent(), Some(2.0));
        let error = Counters::read(&dir.path().join("none")).unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }
}
