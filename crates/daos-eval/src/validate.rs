//! How well the simulator foretells real memory: the same work in both, side by side.

use crate::error::BenchError;
use crate::figures::{FIGURES, Figure, Figures};
use crate::ground::{Ground, Outcome, Plan, Step, compare};
use crate::real::RealMemory;
use crate::simulated::Simulator;
use crate::spread::Spread;
use daos_sim::CostModel;
use daos_workload::HugePages;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One monitor on one work, in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// On real memory.
    pub real: Outcome,
    /// The same simulated, a run for each.
    pub simulated: Vec<Figures>,
}

/// Runs all that is planned on real memory, and each run again in the simulator, with as
/// many accesses a second as the real one made.
pub fn validate(
    ground: &RealMemory,
    model: CostModel,
    plan: &Plan,
    tell: impl FnMut(Step<'_>),
) -> Result<Vec<Pair>, BenchError> {
    let pairs = compare(ground, plan, tell)?.into_iter().map(|real| {
        let again = (0..).zip(&real.runs).map(|(round, figures)| {
            let accesses_per_sec = figures.accesses_per_sec.map(|accesses| accesses as u64);
            let huge_pages = ground.huge_pages == HugePages::Always;
            let simulator =
                Simulator { huge_pages, model, accesses_per_sec, as_on_real_memory: true };
            simulator.run(plan, &real.work, real.monitor, round)
        });
        let simulated = again.collect::<Result<_, _>>()?;
        Ok(Pair { real, simulated })
    });
    pairs.collect()
}

/// The medians of a figure, and by how much the simulator is above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Compared {
    real: f64,
    simulated: f64,
    difference: f64,
}

/// `None` if one of them does not have the figure.
fn compared(pair: &Pair, figure: &Figure) -> Option<Compared> {
    let median = |runs: &[Figures]| Some(Spread::of(runs.iter().map(figure.of))?.median);
    let (real, simulated) = (median(&pair.real.runs)?, median(&pair.simulated)?);
    Some(Compared { real, simulated, difference: simulated - real })
}

/// Writes a table for each monitor on each work: what both showed, and the difference.
pub fn text(pairs: &[Pair], out: &mut impl Write) -> io::Result<()> {
    for (at, pair) in pairs.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}, {}", pair.real.work, pair.real.monitor.name())?;
        writeln!(out, "  {:24}{:>16}{:>16}{:>16}", "", "real", "simulated", "difference")?;
        for figure in FIGURES {
            let Some(Compared { real, simulated, difference }) = compared(pair, figure) else {
                continue;
            };
            let cell = |value| figure.unit.number(value) + figure.unit.suffix();
            let [real, simulated, difference] = [real, simulated, difference].map(cell);
            writeln!(out, "  {:24}{real:>16}{simulated:>16}{difference:>16}", figure.name)?;
        }
    }
    Ok(())
}

/// Writes a list with an object for each monitor on each work.
pub fn json(pairs: &[Pair], out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct PairJson {
        workload: String,
        monitor: &'static str,
        figures: BTreeMap<&'static str, Compared>,
    }
    let list: Vec<PairJson> = pairs
        .iter()
        .map(|pair| PairJson {
            workload: pair.real.work.to_string(),
            monitor: pair.real.monitor.name(),
            figures: FIGURES.iter().filter_map(|f| Some((f.key, compared(pair, f)?))).collect(),
        })
        .collect();
    serde_json::to_writer(&mut *out, &list)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::MonitorKind;
    use crate::work::Work;

    fn pair() -> Pair {
        let run = |recall, peak| Figures {
            recall: Some(recall),
            peak_rss_bytes: peak,
            ..Figures::default()
        };
        let real = Outcome {
            work: Work::File("block.cfg".into()),
            budget: None,
            monitor: MonitorKind::Reference,
            runs: vec![run(0.9, Some(1.0)), run(0.8, None), run(1.0, None)],
        };
        Pair { real, simulated: vec![run(0.95, None), run(0.97, None), run(0.5, None)] }
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
