//! How well the simulator foretells real memory: the same workload in both, side by side.

use super::run_metrics::RunMetrics;
use super::testbed::{
    AccuracyPlan, AccuracyProgress, AccuracyResult, RealMemory, Simulator, Testbed, compare,
};
use crate::error::EvalError;
use crate::metrics::{Metric, write_json_line};
use daos_sim::CostModel;
use daos_workload::HugePages;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One monitor on one workload, in both.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationPair {
    /// On real memory.
    pub real: AccuracyResult,
    /// The same simulated, a run for each.
    pub simulated: AccuracyResult,
}

/// Runs all that is planned on real memory, and each run again in the simulator, with as
/// many accesses a second as the real one made.
pub fn validate(
    testbed: &RealMemory,
    model: CostModel,
    plan: &AccuracyPlan,
    tell: impl FnMut(AccuracyProgress<'_>),
) -> Result<Vec<ValidationPair>, EvalError> {
    let pairs = compare(testbed, plan, tell)?.into_iter().map(|real| {
        let again = (0..).zip(&real.runs).map(|(round, metrics)| {
            let accesses_per_sec = metrics.accesses_per_sec.map(|accesses| accesses as u64);
            let huge_pages = testbed.huge_pages == HugePages::Always;
            let simulator = Simulator {
                huge_pages,
                model,
                accesses_per_sec,
                as_on_real_memory: true,
                physical: None,
            };
            simulator.run(plan, &real.workload, real.monitor, round)
        });
        let runs = again.collect::<Result<Vec<RunMetrics>, _>>()?;
        let simulated = AccuracyResult { runs, ..real.clone() };
        Ok(ValidationPair { real, simulated })
    });
    pairs.collect()
}

/// The medians of a metric, and by how much the simulator is above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Difference {
    real: f64,
    simulated: f64,
    difference: f64,
}

impl ValidationPair {
    /// Of each metric that both have.
    fn differences(&self) -> impl Iterator<Item = (Metric, Difference)> {
        self.real.rows().into_iter().zip(self.simulated.rows()).filter_map(|(real, simulated)| {
            let metric = real.metric;
            let (real, simulated) = (real.median_range()?.median, simulated.median_range()?.median);
            Some((metric, Difference { real, simulated, difference: simulated - real }))
        })
    }
}

/// Writes a table for each monitor on each workload: what both showed, and the difference.
pub fn text(pairs: &[ValidationPair], out: &mut impl Write) -> io::Result<()> {
    for (at, pair) in pairs.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}, {}", pair.real.workload, pair.real.monitor.name())?;
        writeln!(out, "  {:24}{:>16}{:>16}{:>16}", "", "real", "simulated", "difference")?;
        for (metric, Difference { real, simulated, difference }) in pair.differences() {
            let cell = |value| metric.unit.number(value) + metric.unit.suffix();
            let [real, simulated, difference] = [real, simulated, difference].map(cell);
            writeln!(out, "  {:24}{real:>16}{simulated:>16}{difference:>16}", metric.name)?;
        }
    }
    Ok(())
}

/// Writes a list with an object for each monitor on each workload.
pub fn json(pairs: &[ValidationPair], out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct PairJson {
        workload: String,
        monitor: &'static str,
        figures: BTreeMap<&'static str, Difference>,
    }
    let pair = |pair: &ValidationPair| PairJson {
        workload: pair.real.workload.to_string(),
        monitor: pair.real.monitor.name(),
        figures: pair.differences().map(|(metric, values)| (metric.key, values)).collect(),
    };
    write_json_line(&pairs.iter().map(pair).collect::<Vec<_>>(), out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::testbed::WorkloadSpec;
    use crate::monitors::ComparedKind;

    fn pair() -> ValidationPair {
        let run = |recall, peak| RunMetrics {
            recall: Some(recall),
            peak_rss_bytes: peak,
            ..RunMetrics::default()
        };
        let real = AccuracyResult {
            workload: WorkloadSpec::File("block.cfg".into()),
            budget: None,
            monitor: ComparedKind::Product(daos_monitor::MonitorKind::Reference),
            runs: vec![run(0.9, Some(1.0)), run(0.8, None), run(1.0, None)],
        };
        let runs = vec![run(0.95, None), run(0.97, None), run(0.5, None)];
        let simulated = AccuracyResult { runs, ..real.clone() };
        ValidationPair { real, simulated }
    }

    #[test]
    fn medians_stand_side_by_side() {
        let mut out = Vec::new();
        text(&[pair()], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 3, "only what both have: {text}");
        assert_eq!(lines[2], ["recall", "90.0", "%", "95.0", "%", "5.0", "%"]);

        let mut out = Vec::new();
        json(&[pair()], &mut out).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(list[0]["figures"]["recall"]["simulated"], 0.95);
        assert!(list[0]["figures"].get("peak_rss_bytes").is_none());
    }
}
