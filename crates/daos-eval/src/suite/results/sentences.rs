//! What the tables come to, in the sentences of the seeds.

use super::Results;
use super::metric::Metric;
use super::statistics::{Statistic, mean};
use super::table::Table;
use crate::suite::configuration::BASELINE;
use daos_tune::{Scoring, listing_2};

/// A gain that is less than this many percent is none, of which no share is kept. Chosen: one
/// can't be told from noise.
const NO_GAIN: f64 = 0.5;

/// A sentence or two for each configuration that something is known of.
pub fn sentences(results: &Results<'_>) -> Vec<String> {
    let facts = Facts::of(results);
    // All of them speak of what it is alone.
    if results.baseline() != Some(BASELINE) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for &name in &results.configurations {
        match name {
            BASELINE => {}
            "rec" | "prec" => all.extend(facts.monitoring(name)),
            "thp" => all.extend(facts.huge_pages(name)),
            "ethp" => {
                all.extend(facts.huge_pages(name));
                all.extend(facts.kept(name, "thp"));
            }
            "prcl-tuned" => {
                all.extend(facts.saved(name));
                all.extend(facts.tuned(name, "prcl"));
            }
            "scan" => all.extend(facts.scanned(name, "rec")),
            "limit" => all.extend(facts.limited(name, "prcl")),
            "lock" => all.extend(facts.under_limit(name, "keeping what is hot", "limit")),
            "rec-limit" => all.extend(facts.under_limit(name, "monitoring", "limit")),
            _ => all.extend(facts.saved(name)),
        }
    }
    all
}

/// What sentences are made from.
struct Facts<'r, 'a> {
    results: &'r Results<'a>,
    runtime: Table,
    user: Table,
    /// Of pairs there is none.
    used: Option<Table>,
    resident: Table,
    late: Table,
}

/// A workload and a percentage of it.
type Extreme = (String, f64);

/// An overhead of a table, of a configuration.
type Of<'f> = &'f dyn Fn(&Table, &str) -> Option<f64>;

impl<'r, 'a> Facts<'r, 'a> {
    fn of(results: &'r Results<'a>) -> Self {
        let table = |metric| Table::of(results, metric, Statistic::Mean);
        let runtime = table(Metric::Runtime);
        let (user, resident) = (table(Metric::User), table(Metric::Rss));
        let used = results.metrics(&[Metric::MemUsed]).into_iter().map(table).next();
        let late = table(Metric::RssLate);
        Self { results, runtime, user, used, resident, late }
    }

    /// `slowed by 1.16 % in total (1.20 % on average; most: fft, 5.00 %)`.
    fn slowdown(&self, name: &str) -> Option<String> {
        let (total, average) = both(&self.runtime, name)?;
        let (worst, by) = extreme(&self.runtime, name, f64::total_cmp)?;
        let what = if total < 0.0 { "made faster" } else { "slowed" };
        Some(format!(
            "{what} by {:.2} % in total ({average:+.2} % on average; the slowest, {worst}, {by:+.2} %)",
            total.abs()
        ))
    }

    fn monitoring(&self, name: &str) -> Option<String> {
        let slowdown = self.slowdown(name)?;
        let mut text = format!("{name}: workloads are {slowdown}");
        if let Some((used, average)) = self.used(name) {
            text += &format!(
                "; system memory used changes by {used:+.2} % in total ({average:+.2} % on average)"
            );
        }
        if let Some(takes) = self.takes(name) {
            text += &format!(". The daos beside them takes {takes}");
        }
        Some(text + ".")
    }

    /// By how many percent system memory used changes, where that is known: in total and on
    /// average.
    fn used(&self, name: &str) -> Option<(f64, f64)> {
        both(self.used.as_ref()?, name)
    }

    /// What the `daos` of a configuration takes: percent of a CPU, and KiB.
    fn own(&self, name: &str) -> Option<(f64, f64)> {
        let sum = |metric: Metric| -> Vec<f64> {
            let of = |w: &&str| self.results.values(metric, w, name);
            self.results.workloads.iter().flat_map(of).collect()
        };
        let (cpu, time) = (sum(Metric::DaosCpu), sum(Metric::Runtime));
        let (cpu, time) = (cpu.iter().sum::<f64>(), time.iter().sum::<f64>());
        (time > 0.0).then(|| Some((100.0 * cpu / time, mean(&sum(Metric::DaosRss))?)))?
    }

    /// The same in words, with the workload beside which it takes most of a CPU.
    fn takes(&self, name: &str) -> Option<String> {
        let (cpu, memory) = self.own(name)?;
        let of = |workload: &&str| {
            let values = self.results.values(Metric::DaosCpuPercent, workload, name);
            Some(((*workload).to_owned(), mean(&values)?))
        };
        let each = self.results.workloads.iter().filter_map(of);
        let (worst, most): Extreme = each.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!(
            "{cpu:.2} % of a CPU (at most {most:.2} %, {worst}) and {:.1} MiB",
            memory / 1024.0
        ))
    }

    fn huge_pages(&self, name: &str) -> Option<String> {
        let (total, _) = both(&self.runtime, name)?;
        let (user, _) = both(&self.user, name)?;
        let (best, by) = extreme(&self.runtime, name, |a, b| b.total_cmp(a))?;
        let used = self.used(name);
        let used =
            used.map_or(String::new(), |(used, _)| format!("system memory used by {used:+.2} %, "));
        let (resident, _) = both(&self.resident, name)?;
        let (most, more) = extreme(&self.resident, name, f64::total_cmp)?;
        Some(format!(
            "{name}: run time changes by {total:+.2} % in total (by CPU time in user space {user:+.2} %; at best, {best}, {by:+.2} %), {used}resident sets by {resident:+.2} % (at most, {most}, {more:+.2} %)."
        ))
    }

    /// The share of another configuration's speed-up that this one keeps, and of its bloat that
    /// it removes: in total, on average as the paper has it, and for the workload that gains most.
    fn kept(&self, name: &str, of: &str) -> Option<String> {
        both(&self.runtime, name)?;
        let (best, _) = extreme(&self.runtime, of, |a, b| b.total_cmp(a))?;
        let total = |table: &Table, config: &str| Some(both(table, config)?.0);
        let average = |table: &Table, config: &str| Some(both(table, config)?.1);
        let at_best = |table: &Table, config: &str| of_row(table, &best, config);
        let share = |value: Of<'_>, table: &Table, sign: f64| {
            let (here, there) = (value(table, name)? * sign, value(table, of)? * sign);
            (there >= NO_GAIN).then(|| 100.0 * here / there)
        };
        let kept = |value: Of<'_>, table: &Table| match share(value, table, -1.0) {
            Some(share) => format!("{share:.1} % of the speed-up is kept"),
            None => "there is no speed-up to keep".to_owned(),
        };
        let removed = |value: Of<'_>, (what, table): (&str, &Table)| match share(value, table, 1.0)
        {
            Some(more) if more > 100.0 => {
                format!("{what} grows by {:.1} times as much", more / 100.0)
            }
            Some(share) => format!("{:.1} % of the growth of {what} is removed", 100.0 - share),
            None => format!("there is no growth of {what}"),
        };
        let resident = ("resident sets", &self.resident);
        let used = self.used.as_ref().map(|used| ("system memory used", used));
        let shares = |value| {
            let removed = removed(value, used.unwrap_or(resident));
            format!("{}, and {removed}", kept(value, &self.runtime))
        };
        let mut text = format!(
            "{name} against {of}: in total {}; by CPU time in user space, {}",
            shares(&total),
            kept(&total, &self.user)
        );
        if used.is_some() {
            text += &format!("; {}", removed(&total, resident));
        }
        Some(format!(
            "{text}. On average {}. For {best}, which gains most by {of}, {}.",
            shares(&average),
            shares(&at_best)
        ))
    }

    fn saved(&self, name: &str) -> Option<String> {
        let slowdown = self.slowdown(name)?;
        let (resident, resident_average) = both(&self.resident, name)?;
        let used = self.used(name);
        let used = used
            .map_or(String::new(), |(used, _)| format!(" and system memory used by {used:+.2} %"));
        let (best, by) = extreme(&self.resident, name, |a, b| b.total_cmp(a))?;
        let slower = of_row(&self.runtime, &best, name)?;
        let less = self.used.as_ref().and_then(|used| of_row(used, &best, name));
        let less = less.map_or(String::new(), |less| format!("system memory used {less:+.2} %, "));
        let mut own = String::new();
        if let Some((late, average)) = both(&self.late, name) {
            own += &format!(
                " In the last quarter of runs resident sets change by {late:+.2} % in total ({average:+.2} % on average)."
            );
        }
        if let Some(takes) = self.takes(name) {
            own += &format!(" Its daos takes {takes}.");
        }
        Some(format!(
            "{name}: resident sets change by {resident:+.2} % in total ({resident_average:+.2} % on average){used}; workloads are {slowdown}. At best, {best}: resident set {by:+.2} %, {less}run time {slower:+.2} %.{own}"
        ))
    }

    /// What tuning gains over the scheme as it is, for the workloads that were run with both: the
    /// paper's scores, on average, and the share of slowdowns that is gone.
    fn tuned(&self, name: &str, manual: &str) -> Option<String> {
        let slower_and_score = |workload: &str, config: &str| {
            let slower = of_row(&self.runtime, workload, config)? / 100.0;
            let saved = -of_row(&self.resident, workload, config)? / 100.0;
            // The worst score that is known is that of no scheme.
            Some((slower, listing_2(-slower, saved, Scoring::MAX_LOSS, 0.0, Some(0.0))))
        };
        let workloads = self.results.workloads.iter();
        let both = |w: &&str| slower_and_score(w, name).zip(slower_and_score(w, manual));
        let (tuned, untuned): (Vec<_>, Vec<_>) = workloads.filter_map(both).unzip();
        let means = |of: &[(f64, f64)]| {
            let (slower, scores): (Vec<f64>, Vec<f64>) = of.iter().copied().unzip();
            Some((100.0 * mean(&slower)?, 100.0 * mean(&scores)?))
        };
        let (slower, score) = means(&tuned)?;
        let (slower_before, score_before) = means(&untuned)?;
        let removed = match slower_before >= NO_GAIN {
            true => format!("{:.1} % of it is removed", 100.0 * (1.0 - slower / slower_before)),
            false => "there is nothing to remove".to_owned(),
        };
        Some(format!(
            "{name} against {manual}: the score (Listing 2 of the paper) is {score:.2} % on average instead of {score_before:.2} %; the slowdown is {slower:.2} % on average instead of {slower_before:.2} %: {removed}."
        ))
    }

    fn limited(&self, name: &str, to: &str) -> Option<String> {
        let (limited, other, failed) = self.side_by_side(name, to)?;
        Some(format!(
            "{name}: at the memory that {to} leaves on average, the kernel's own reclaim changes run time by {limited:+.2} % on average, {to} by {other:+.2} %{failed}."
        ))
    }

    /// `does` is what this one does under the limit, and the other does not.
    fn under_limit(&self, name: &str, does: &str, to: &str) -> Option<String> {
        let (with, without, failed) = self.side_by_side(name, to)?;
        Some(format!(
            "{name}: under the same limit, {does} changes run time by {with:+.2} % on average, without it ({to}) by {without:+.2} %{failed}."
        ))
    }

    /// How many times as much of a CPU this one takes as the monitor of another, for the
    /// workloads that were run in both.
    fn scanned(&self, name: &str, monitor: &str) -> Option<String> {
        let slowdown = self.slowdown(name)?;
        let takes = self.takes(name)?;
        let mut text = format!(
            "{name}: reading all pages once a second takes {takes}; workloads are {slowdown}"
        );
        let share = |workload: &str, config: &str| {
            let sum = |metric| self.results.values(metric, workload, config).iter().sum::<f64>();
            let share = sum(Metric::DaosCpu) / sum(Metric::Runtime);
            share.is_finite().then_some(share)
        };
        let times = |workload: &&str| {
            let times = share(workload, name)? / share(workload, monitor)?;
            times.is_finite().then(|| ((*workload).to_owned(), times))
        };
        let times: Vec<Extreme> = self.results.workloads.iter().filter_map(times).collect();
        let average = mean(&times.iter().map(|(_, times)| *times).collect::<Vec<_>>());
        let best = times.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some(((average, (best, most)), (of, _))) = average.zip(best).zip(self.own(monitor)) {
            text += &format!(
                ". The monitor ({monitor}) takes {of:.2} % of a CPU, which is {average:.1} times less on average, and {most:.1} times less at best ({best})"
            );
        }
        Some(text + ".")
    }

    /// By how many percent two configurations change run time on average, over the workloads
    /// that went well in both, and those for which the first one failed.
    fn side_by_side(&self, name: &str, to: &str) -> Option<(f64, f64, String)> {
        let rows = |config: &str| -> Vec<f64> {
            let both = |row: &&str| {
                // Only where both went well.
                let of = |config| of_row(&self.runtime, row, config);
                of(name).and(of(to)).and_then(|_| of(config))
            };
            self.results.workloads.iter().filter_map(both).collect()
        };
        let (here, there) = (mean(&rows(name))?, mean(&rows(to))?);
        let failed = self.results.failures().into_iter().filter(|(_, config, _)| *config == name);
        let failed: Vec<&str> = failed.map(|(workload, _, _)| workload).collect();
        let failed = match &failed[..] {
            [] => String::new(),
            failed => format!("; it failed for {}", failed.join(", ")),
        };
        Some((here, there, failed))
    }
}

/// The overheads of total and average.
fn both(table: &Table, name: &str) -> Option<(f64, f64)> {
    Some((table.sum_overhead("total", name)?, table.sum_overhead("average", name)?))
}

/// The workload whose overhead is the largest by `by`.
fn extreme(
    table: &Table,
    name: &str,
    by: impl Fn(&f64, &f64) -> std::cmp::Ordering,
) -> Option<Extreme> {
    let rows = table.rows.iter();
    let overheads =
        rows.filter_map(|row| Some((row.name.clone(), of_row(table, &row.name, name)?)));
    overheads.max_by(|a, b| by(&a.1, &b.1))
}

/// The overhead of a workload.
fn of_row(table: &Table, row: &str, name: &str) -> Option<f64> {
    let at = table.columns.iter().position(|column| column == name)?;
    let row = table.rows.iter().find(|one| one.name == row)?;
    row.cells[at]?.overhead
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_runs;
    use super::*;
    use crate::suite::store::{Measured, Outcome, RawRun};

    fn run(workload: &str, config: &str, runtime_s: f64, mib: f64) -> RawRun {
        let bytes = mib * f64::from(1 << 20);
        let measured = Measured {
            runtime_s,
            user_s: runtime_s,
            rss_bytes: bytes,
            memused_bytes: 2.0 * bytes,
            daos_cpu_s: if config == "rec" { 0.5 } else { 0.0 },
            daos_rss_bytes: f64::from(12 << 20),
            ..Measured::default()
        };
        let (workload, config) = (workload.to_owned(), config.to_owned());
        RawRun {
            workload,
            config,
            round: 0,
            at: 0,
            outcome: Outcome::Measured(measured),
            beside: None,
        }
    }

    #[test]
    fn as_the_seeds_say_it() {
        let mut runs = Vec::new();
        for (workload, seconds) in [("a", 100.0), ("b", 50.0)] {
            let (slow, fast) = if workload == "a" { (1.0, 0.12) } else { (4.0, 0.06) };
            runs.extend([
                run(workload, "orig", seconds, 400.0),
                run(workload, "rec", seconds * (1.0 + slow / 100.0), 404.0),
                run(workload, "thp", seconds * (1.0 - fast), 500.0),
                run(workload, "ethp", seconds * (1.02 - fast), 410.0),
                run(workload, "prcl", seconds * (1.0 + slow / 50.0), 400.0 - 50.0 * slow),
                run(workload, "limit", seconds * 1.1, 100.0),
                run(workload, "rec-limit", seconds * 1.12, 100.0),
            ]);
        }
        let store = of_runs(runs);
        let said = sentences(&Results::of(&store));
        let expected = [
            "rec: workloads are slowed by 2.00 % in total (+2.50 % on average; the slowest, b, +4.00 %); system memory used changes by +1.00 % in total (+1.00 % on average). The daos beside them takes 0.65 % of a CPU (at most 0.96 %, b) and 12.0 MiB.",
            "thp: run time changes by -10.00 % in total (by CPU time in user space -10.00 %; at best, a, -12.00 %), system memory used by +25.00 %, resident sets by +25.00 % (at most, b, +25.00 %).",
            "ethp: run time changes by -8.00 % in total (by CPU time in user space -8.00 %; at best, a, -10.00 %), system memory used by +2.50 %, resident sets by +2.50 % (at most, b, +2.50 %).",
            "ethp against thp: in total 80.0 % of the speed-up is kept, and 90.0 % of the growth of system memory used is removed; by CPU time in user space, 80.0 % of the speed-up is kept; 90.0 % of the growth of resident sets is removed. On average 77.8 % of the speed-up is kept, and 90.0 % of the growth of system memory used is removed. For a, which gains most by thp, 83.3 % of the speed-up is kept, and 90.0 % of the growth of system memory used is removed.",
            "prcl: resident sets change by -31.25 % in total (-31.25 % on average) and system memory used by -31.25 %; workloads are slowed by 4.00 % in total (+5.00 % on average; the slowest, b, +8.00 %). At best, b: resident set -50.00 %, system memory used -50.00 %, run time +8.00 %. Its daos takes 0.00 % of a CPU (at most 0.00 %, b) and 12.0 MiB.",
            "limit: at the memory that prcl leaves on average, the kernel's own reclaim changes run time by +10.00 % on average, prcl by +5.00 %.",
            "rec-limit: under the same limit, monitoring changes run time by +12.00 % on average, without it (limit) by +10.00 %.",
        ];
        for (said, expected) in said.iter().zip(expected) {
            assert_eq!(said, expected);
        }
        assert_eq!(said.len(), expected.len());
    }

    #[test]
    fn what_tuning_gains() {
        let said = |slow: [f64; 2]| {
            let of = |(workload, slow)| {
                [
                    run(workload, "orig", 100.0, 400.0),
                    run(workload, "prcl", 100.0 + slow, 200.0),
                    run(workload, "prcl-tuned", 101.0, 300.0),
                ]
            };
            let mut runs: Vec<RawRun> = ["a", "b"].into_iter().zip(slow).flat_map(of).collect();
            // It was not run with both.
            runs.extend([run("c", "orig", 1.0, 1.0), run("c", "prcl", 9.0, 1.0)]);
            sentences(&Results::of(&of_runs(runs))).pop().unwrap()
        };
        // Half of 50 - 5 percent; nothing beyond a tenth.
        let expected = "prcl-tuned against prcl: the score (Listing 2 of the paper) is 12.00 % on average instead of 11.25 %; the slowdown is 1.00 % on average instead of 12.50 %: 92.0 % of it is removed.";
        assert_eq!(said([5.0, 20.0]), expected);
        assert!(said([0.0, 0.5]).ends_with("instead of 0.25 %: there is nothing to remove."));
    }

    #[test]
    fn a_scan_is_compared_with_the_monitor() {
        let with_cpu = |workload: &str, config: &str, daos_cpu_s: f64| {
            let run = run(workload, config, 100.0, 100.0);
            let measured = Measured { daos_cpu_s, ..*run.measured().unwrap() };
            RawRun { outcome: Outcome::Measured(measured), ..run }
        };
        let mut runs = vec![
            run("a", "orig", 100.0, 100.0),
            run("b", "orig", 100.0, 100.0),
            with_cpu("a", "scan", 4.0),
            with_cpu("b", "scan", 10.0),
        ];
        let said =
            |runs: &[RawRun]| sentences(&Results::of(&of_runs(runs.to_vec()))).pop().unwrap();
        let alone = "scan: reading all pages once a second takes 7.00 % of a CPU (at most 10.00 %, b) and 12.0 MiB; workloads are slowed by 0.00 % in total (+0.00 % on average; the slowest, b, +0.00 %)";
        assert_eq!(said(&runs), format!("{alone}."));
        runs.splice(2..2, [with_cpu("a", "rec", 1.0), with_cpu("b", "rec", 0.5)]);
        assert_eq!(
            said(&runs),
            format!(
                "{alone}. The monitor (rec) takes 0.75 % of a CPU, which is 12.0 times less on average, and 20.0 times less at best (b)."
            )
        );
    }

    #[test]
    fn without_a_baseline_nothing_is_said() {
        let store = of_runs(vec![run("a", "rec", 1.0, 1.0), run("a", "prcl", 1.0, 1.0)]);
        assert!(sentences(&Results::of(&store)).is_empty());
        // Nothing that both were run in.
        let store = of_runs(vec![run("a", "orig", 1.0, 1.0), run("b", "prcl", 1.0, 1.0)]);
        assert!(sentences(&Results::of(&store)).is_empty());
    }
}
