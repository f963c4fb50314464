//! The cases, by name.

use super::sizes::Sizes;
use super::trial::{Configuration, Trial};
use super::{busy, ethp, lock, prcl};
use crate::error::EvalError;
use crate::metrics::Measurement;

/// Something that a scheme is for, or must leave alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// A program of which an eighth is in use is reclaimed from.
    Prcl,
    /// A program that uses all of its memory is not.
    Busy,
    /// Huge pages where they pay.
    Ethp,
    /// Hot memory stays while a stream of cold memory goes by.
    Lock,
}

impl Case {
    /// All of them.
    pub const ALL: &[Case] = &[Case::Prcl, Case::Busy, Case::Ethp, Case::Lock];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Case::Prcl => "prcl",
            Case::Busy => "busy",
            Case::Ethp => "ethp",
            Case::Lock => "lock",
        }
    }

    /// What it is about, in words that follow its name.
    pub fn about(self, sizes: &Sizes) -> String {
        match self {
            Case::Prcl => prcl::about(sizes),
            Case::Busy => busy::about(sizes),
            Case::Ethp => ethp::about(sizes),
            Case::Lock => lock::about(sizes),
        }
    }

    /// Refuses what could not work on this host.
    pub(super) fn refuse(self) -> Result<(), EvalError> {
        match self {
            Case::Ethp => ethp::refuse(),
            _ => Ok(()),
        }
    }

    /// The ways in which it is run.
    pub fn configurations(self, sizes: &Sizes) -> Vec<Configuration> {
        match self {
            Case::Prcl => prcl::configurations(sizes),
            Case::Busy => busy::configurations(sizes),
            Case::Ethp => ethp::configurations(sizes),
            Case::Lock => lock::configurations(sizes),
        }
    }

    /// Swap that has to be there while all configurations are run, in bytes.
    pub(super) fn swap_bytes(self, sizes: &Sizes) -> Option<u64> {
        match self {
            Case::Lock => Some(lock::swap_bytes(sizes)),
            _ => None,
        }
    }

    /// What a round shows; `trials` are those of the configurations, in their order. Each round
    /// has the same metrics.
    pub fn measurements(self, sizes: &Sizes, trials: &[Trial]) -> Vec<Measurement> {
        match self {
            Case::Prcl => prcl::measurements(sizes, trials),
            Case::Busy => busy::measurements(trials),
            Case::Ethp => ethp::measurements(trials),
            Case::Lock => lock::measurements(trials),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_workload::Config;

    #[test]
    fn every_arm_is_a_workload() {
        for scale in [1.0, 0.25, 0.01, 0.000_001] {
            let sizes = Sizes { scale: Some(scale), ..Sizes::default() };
            for case in Case::ALL {
                let configurations = case.configurations(&sizes);
                assert!(configurations.len() >= 2, "{case:?}");
                for configuration in &configurations {
                    let config = Config::parse(configuration.name, &configuration.workload);
                    let config = config.unwrap_or_else(|err| panic!("{case:?} {scale}: {err}"));
                    assert!(config.phases.last().unwrap().duration_ms >= 1000, "{configuration:?}");
                    if let Some(watched) = configuration.watched_bytes {
                        let alike = config.regions.iter().filter(|r| r.len == watched).count();
                        assert_eq!(alike, 1, "it has to be found by its size");
                    }
                }
                assert!(!case.about(&sizes).is_empty());
            }
        }
    }

    #[test]
    fn lengths_and_schemes_can_be_others() {
        let sizes = Sizes {
            scale: None,
            seconds: Some(7.0),
            scheme: Some("min max min max min max cold".into()),
        };
        for case in Case::ALL {
            for configuration in case.configurations(&sizes) {
                let config = Config::parse(configuration.name, &configuration.workload).unwrap();
                let seconds = config.duration_us() as f64 / 1e6;
                assert!((seconds - 7.0).abs() < 0.1, "{case:?}: {seconds}");
            }
            // The last configuration of each has the scheme, which is another than its own.
            assert_eq!(case.configurations(&sizes).pop().unwrap().scheme, sizes.scheme);
        }
    }

    #[test]
    fn the_metrics_of_a_round_do_not_depend_on_what_it_showed() {
        let sizes = Sizes::default();
        for case in Case::ALL {
            let trials = vec![Trial::default(); case.configurations(&sizes).len()];
            let measurements = case.measurements(&sizes, &trials);
            assert!(
                measurements.iter().all(|measurement| measurement.value.is_none()),
                "{measurements:?}"
            );
            let mut keys: Vec<&str> = measurements.iter().map(|f| f.metric.key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), measurements.len(), "{case:?}");
        }
    }
}
