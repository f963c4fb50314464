//! What the runs of a program show, and those of all programs together.
//!
//! Shares are of the median without a scheme. Scores are the paper's Listing 2: the mean of
//! what is gained in time (negative where it is slower) and in resident memory while less
//! than a tenth is lost; else the worst score, of which one is known: that of no scheme, 0.

use super::trial::ProgramTrial;
use crate::metrics::{Goal, Measurement, MetricRow, Unit};
use daos_core::median;
use daos_tune::{Scoring, listing_2};

/// Where the scheme as it is slows a program by more than this share, tuning has something to
/// remove.
pub const SLOW: f64 = 0.05;
/// Of that it should remove this share.
const REMOVED: f64 = 0.9;
/// By how much scores should be better on average, as a share of those of the scheme as it is.
const BETTER: f64 = 0.15;
/// Listing 2's service level: the share by which a program may be slower.
const LEVEL: f64 = Scoring::MAX_LOSS;

/// A round: the program run in each way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgramRound {
    /// Alone.
    pub alone: ProgramTrial,
    /// With the scheme as it is.
    pub manual: ProgramTrial,
    /// With the tuned scheme.
    pub tuned: ProgramTrial,
}

/// What came of the runs in one way, as shares of what was without a scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeToAlone {
    /// By how much it is slower.
    pub slowdown: f64,
    /// The score.
    pub score: f64,
}

/// What a program gains.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains {
    /// The metrics, for a table.
    pub rows: Vec<MetricRow>,
    /// With the scheme as it is.
    pub manual: RelativeToAlone,
    /// With the tuned scheme.
    pub tuned: RelativeToAlone,
}

/// The medians of the runs without a scheme.
struct Alone {
    work_s: f64,
    cpu_s: f64,
    resident_bytes: f64,
}

impl Alone {
    fn of(rounds: &[ProgramRound]) -> Option<Self> {
        let of = |value: fn(&ProgramTrial) -> f64| {
            median(rounds.iter().map(|round| value(&round.alone)))
        };
        Some(Self {
            work_s: of(|ran| ran.work_s)?,
            cpu_s: of(|ran| ran.cpu_s)?,
            resident_bytes: of(|ran| ran.resident_bytes)?,
        })
    }

    fn slowdown(&self, ran: &ProgramTrial) -> f64 {
        ran.work_s / self.work_s - 1.0
    }

    fn slowdown_by_cpu(&self, ran: &ProgramTrial) -> f64 {
        ran.cpu_s / self.cpu_s - 1.0
    }

    fn saved(&self, ran: &ProgramTrial) -> f64 {
        1.0 - ran.resident_bytes / self.resident_bytes
    }

    fn saved_with_zram(&self, ran: &ProgramTrial) -> f64 {
        1.0 - (ran.resident_bytes + ran.zram_bytes) / self.resident_bytes
    }

    /// The score of many runs: that of their medians.
    fn way<'a>(
        &self,
        runs: impl Iterator<Item = &'a ProgramTrial> + Clone,
    ) -> Option<RelativeToAlone> {
        let slowdown = median(runs.clone().map(|ran| self.slowdown(ran)))?;
        let saved = median(runs.map(|ran| self.saved(ran)))?;
        let score = listing_2(-slowdown, saved, LEVEL, 0.0, Some(0.0));
        Some(RelativeToAlone { slowdown, score })
    }
}

/// Of the slowdown of the scheme as it is the share that tuning removes; `None` if there is
/// too little of it.
pub fn removed(manual: RelativeToAlone, tuned: RelativeToAlone) -> Option<f64> {
    (manual.slowdown > SLOW).then(|| 1.0 - tuned.slowdown / manual.slowdown)
}

impl Gains {
    /// `None` without a round.
    pub fn of(rounds: &[ProgramRound]) -> Option<Self> {
        let alone = Alone::of(rounds)?;
        let manual = alone.way(rounds.iter().map(|round| &round.manual))?;
        let tuned = alone.way(rounds.iter().map(|round| &round.tuned))?;
        let row = |key, name, unit, value: &dyn Fn(&ProgramRound) -> f64| {
            let metric = Measurement::new(key, name, unit, None).metric;
            MetricRow { metric, values: rounds.iter().map(|round| Some(value(round))).collect() }
        };
        use Unit::{Bytes, Number, Seconds, Share};
        let broken = |of: fn(&ProgramRound) -> &ProgramTrial| {
            let count = rounds.iter().filter(|round| alone.slowdown(of(round)) >= LEVEL).count();
            Some(count as f64)
        };
        let rows = vec![
            row("work_alone_s", "time of its work, no scheme", Seconds, &|r| r.alone.work_s),
            row("work_manual_s", "… scheme as it is", Seconds, &|r| r.manual.work_s),
            row("work_tuned_s", "… tuned", Seconds, &|r| r.tuned.work_s),
            row("slowdown_manual", "slowdown, as it is", Share, &|r| alone.slowdown(&r.manual)),
            row("slowdown_tuned", "… tuned", Share, &|r| alone.slowdown(&r.tuned)),
            MetricRow::of_all(
                Measurement::new("removed", "… removed by tuning", Share, removed(manual, tuned))
                    .with_goal(Goal::AtLeast(REMOVED)),
            ),
            row("slowdown_by_cpu_manual", "same by its own CPU time, as it is", Share, &|r| {
                alone.slowdown_by_cpu(&r.manual)
            }),
            row("slowdown_by_cpu_tuned", "… tuned", Share, &|r| alone.slowdown_by_cpu(&r.tuned)),
            row("resident_alone", "resident, no scheme", Bytes, &|r| r.alone.resident_bytes),
            row("saved_manual", "memory saved, as it is", Share, &|r| alone.saved(&r.manual)),
            row("saved_tuned", "… tuned", Share, &|r| alone.saved(&r.tuned)),
            row("saved_with_zram_manual", "same, swap counted, as it is", Share, &|r| {
                alone.saved_with_zram(&r.manual)
            }),
            row("saved_with_zram_tuned", "… tuned", Share, &|r| alone.saved_with_zram(&r.tuned)),
            MetricRow::of_all(Measurement::new(
                "score_manual",
                "score, as it is",
                Share,
                Some(manual.score),
            )),
            MetricRow::of_all(Measurement::new("score_tuned", "… tuned", Share, Some(tuned.score))),
            MetricRow::of_all(Measurement::new(
                "broken_manual",
                "runs slower by a tenth, as it is",
                Number,
                broken(|round| &round.manual),
            )),
            MetricRow::of_all(Measurement::new(
                "broken_tuned",
                "… tuned",
                Number,
                broken(|round| &round.tuned),
            )),
        ];
        // A goal is for what there is.
        let rows = rows.into_iter().filter(|row| row.values.iter().any(Option::is_some));
        Some(Self { rows: rows.collect(), manual, tuned })
    }
}

/// What all programs show together.
pub fn of_all(gains: &[Gains]) -> Vec<MetricRow> {
    let removed: Vec<f64> = gains.iter().filter_map(|one| removed(one.manual, one.tuned)).collect();
    let least = removed.iter().copied().min_by(f64::total_cmp);
    let mean = |score: fn(&Gains) -> f64| {
        let sum: f64 = gains.iter().map(score).sum();
        (!gains.is_empty()).then(|| sum / gains.len() as f64)
    };
    let (manual, tuned) = (mean(|one| one.manual.score), mean(|one| one.tuned.score));
    let better = manual
        .zip(tuned)
        .and_then(|(manual, tuned)| (manual != 0.0).then(|| (tuned - manual) / manual.abs()));
    let measurements = [
        Measurement::new("programs", "programs", Unit::Number, Some(gains.len() as f64)),
        Measurement::new(
            "slowed",
            "… slowed by more than 5 %",
            Unit::Number,
            Some(removed.len() as f64),
        ),
        Measurement::new("least_removed", "least slowdown removed of these", Unit::Share, least)
            .with_goal(Goal::AtLeast(REMOVED)),
        Measurement::new("mean_score_manual", "mean score, as it is", Unit::Share, manual),
        Measurement::new("mean_score_tuned", "… tuned", Unit::Share, tuned),
        Measurement::new("better", "… better by", Unit::Share, better)
            .with_goal(Goal::AtLeast(BETTER)),
    ];
    let measurements = measurements.into_iter().filter(|measurement| measurement.value.is_some());
    measurements.map(MetricRow::of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(work_s: f64, resident_bytes: f64) -> ProgramTrial {
        ProgramTrial { work_s, cpu_s: work_s / 2.0, resident_bytes, zram_bytes: 10.0 }
    }

    fn rounds() -> Vec<ProgramRound> {
        let round = |alone, manual, tuned| ProgramRound { alone, manual, tuned };
        vec![
            round(ran(20.0, 100.0), ran(24.0, 60.0), ran(20.2, 70.0)),
            round(ran(20.0, 100.0), ran(23.0, 60.0), ran(20.2, 70.0)),
            // Somebody disturbed this one.
            round(ran(29.0, 100.0), ran(21.0, 60.0), ran(40.0, 70.0)),
        ]
    }

    fn value(rows: &[MetricRow], key: &str) -> f64 {
        let row = rows.iter().find(|row| row.metric.key == key);
        row.and_then(MetricRow::median_range).unwrap_or_else(|| panic!("no {key}")).median
    }

    #[test]
    fn medians_are_compared() {
        let gains = Gains::of(&rounds()).unwrap();
        let is = |key, expected: f64| {
            let value = value(&gains.rows, key);
            assert!((value - expected).abs() < 1e-9, "{key}: {value}");
        };
        is("slowdown_manual", 0.15);
        is("slowdown_tuned", 0.01);
        is("removed", 1.0 - 0.01 / 0.15);
        is("saved_manual", 0.4);
        is("saved_with_zram_tuned", 0.2);
        is("score_manual", 0.0);
        is("score_tuned", (0.3 - 0.01) / 2.0);
        is("broken_manual", 2.0);
        is("broken_tuned", 1.0);
        is("slowdown_by_cpu_manual", 0.15);
        assert_eq!(Gains::of(&[]), None);
    }

    #[test]
    fn what_is_not_slowed_has_nothing_to_remove() {
        let way = |slowdown| RelativeToAlone { slowdown, score: 0.1 };
        assert_eq!(removed(way(0.05), way(0.0)), None);
        assert_eq!(removed(way(0.1), way(0.0)), Some(1.0));
        assert_eq!(removed(way(0.1), way(0.2)), Some(-1.0));
        let mut calm = rounds();
        calm.iter_mut().for_each(|round| round.manual = round.alone);
        let gains = Gains::of(&calm).unwrap();
        assert!(gains.rows.iter().all(|row| row.metric.key != "removed"));
    }

    #[test]
    fn the_least_and_the_mean_of_all() {
        let gains = |manual: [f64; 2], tuned: [f64; 2]| Gains {
            rows: Vec::new(),
            manual: RelativeToAlone { slowdown: manual[0], score: manual[1] },
            tuned: RelativeToAlone { slowdown: tuned[0], score: tuned[1] },
        };
        let rows = of_all(&[
            gains([0.2, -0.05], [0.0, 0.05]),
            gains([0.1, 0.1], [0.02, 0.12]),
            gains([0.01, 0.15], [0.0, 0.15]),
        ]);
        assert_eq!(value(&rows, "slowed"), 2.0);
        assert!((value(&rows, "least_removed") - 0.8).abs() < 1e-9);
        assert!((value(&rows, "better") - 0.6).abs() < 1e-9);
    }
}
