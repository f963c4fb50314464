//! Tables as text, Markdown, JSON and a page with plots.

mod html;
mod json;
mod markdown;
mod text;

use super::SuiteError;
use super::records::{self, Records};
use super::results::{Compared, Metric, Results, Statistic, Table, sentences};
use super::store::{Header, Store};
use super::tuned;

/// What a pair is.
const PAIR: &str = "two copies at once, each on half of the CPUs, one of them alone (memory of the \
    machine, memused, is of both and left out)";
/// What marks mean, below tables.
const MARKS: &str = "In brackets: percent more than the first column's. `~`: chance alone would \
    make as large a difference in more than one of twenty cases (permutation test); `?`: too few \
    runs to tell, of which it takes four each. `total` and `average` of a column are over the \
    workloads that have it; their percentages compare with the first column of the same \
    workloads, and that of the average is the mean of the workloads' percentages.";

/// The same of pairs.
const MARKS_OF_PAIRS: &str = "In brackets: percent more than the copies that ran alone beside \
    these. `~`: exchanging the copies of some pairs would make as large a difference in more than \
    one of twenty ways (permutation test); `?`: too few pairs to tell, of which it takes six. The \
    first column is of all copies that ran alone. `total` and `average` of a column are over the \
    workloads that have it; the percentage of the average is the mean of the workloads' \
    percentages.";

/// The same of two evaluations.
const MARKS_OF_TWO: &str = "In brackets: percent more than in the column to the left, which is the \
    same configuration in the other evaluation. `~`: chance alone would make as large a \
    difference in more than one of twenty cases (permutation test); `?`: too few runs to tell, of \
    which it takes four each. `total` and `average` of a column are over the workloads that have \
    it; the percentage of the average is the mean of the workloads' percentages.";

/// What percentages in tables compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brackets {
    /// The first column.
    First,
    /// The copies that ran alone beside.
    Beside,
    /// The column to the left: of the same in another evaluation.
    Left,
}

/// What is shown of an evaluation, or of two.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// Where and how it was measured, a line each.
    pub facts: Vec<String>,
    /// What the tables come to.
    pub sentences: Vec<String>,
    /// What schemes were tuned to, a line for each workload.
    pub tuned: Vec<String>,
    /// Records that were kept.
    pub records: Vec<Records>,
    /// What failed, a line each.
    pub failures: Vec<String>,
    /// The tables that matter most.
    pub main: Vec<Table>,
    /// The others.
    pub more: Vec<Table>,
    /// What percentages in tables compare with.
    pub brackets: Brackets,
    /// Each run of the main metrics against the mean of the baseline, or each pair, for plots.
    pub plots: Vec<Plot>,
}

/// What is drawn of a metric.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Of what.
    pub metric: Metric,
    /// The configurations that are compared with the baseline.
    pub configurations: Vec<String>,
    /// A workload each: for each configuration each run's percentage more than the baseline's
    /// mean, or than the copy that ran beside it.
    pub rows: Vec<(String, Vec<Vec<f64>>)>,
}

impl Report {
    /// Of an evaluation.
    pub fn of(store: &Store) -> Self {
        let results = Results::of(store);
        let machine = store.header.machine.words();
        let most = results.most_runs();
        let runs = match most {
            1 if !results.is_paired() => "1 run of each".to_owned(),
            _ if !results.is_paired() => format!("{most} runs of each, interleaved"),
            1 => format!("1 pair of each: {PAIR}"),
            _ => format!("{most} pairs of each: {PAIR}, on either in turn"),
        };
        let mut facts = vec![format!("Machine: {machine}"), format!("Runs: {runs}")];
        let swap = store.header.zram_bytes >> 20;
        facts.push(format!("Swap for what pages out: {swap} MiB, on zram unless said otherwise"));
        for named in &store.header.configurations {
            if results.configurations.contains(&&*named.name) {
                facts.push(format!("{}: {}", named.name, named.about));
            }
        }
        let failed =
            |(workload, config, why): (&str, &str, &str)| format!("{workload}, {config}: {why}");
        let table = |metric: &Metric, statistic| Table::of(&results, *metric, statistic);
        let main_metrics = results.metrics(Metric::MAIN);
        let main = main_metrics.iter().map(|metric| table(metric, Statistic::Mean)).collect();
        let others = Metric::ALL.iter().filter(|metric| !Metric::MAIN.contains(metric));
        let mut more: Vec<Table> =
            others.map(|metric| table(metric, Statistic::Mean)).filter(has_any).collect();
        for metric in &main_metrics {
            let rest = [Statistic::Stdev, Statistic::Min, Statistic::Max];
            more.extend(rest.map(|statistic| table(metric, statistic)));
        }
        let plots = main_metrics.iter().filter_map(|&metric| Plot::of(&results, metric)).collect();
        Self {
            title: "Evaluation".to_owned(),
            facts,
            sentences: sentences(&results),
            tuned: tuned(store, &results),
            records: records::all(store, &results),
            failures: results.failures().into_iter().map(failed).collect(),
            main,
            more,
            brackets: if results.is_paired() { Brackets::Beside } else { Brackets::First },
            plots,
        }
    }

    /// Of two, `b` compared with `a`.
    pub fn of_two(a: &Store, b: &Store, names: [&str; 2]) -> Self {
        let [of_a, of_b] = [a, b].map(Results::of);
        let mut facts = vec![
            format!("{}: {}", names[0], a.header.machine.words()),
            format!("{}: {}", names[1], b.header.machine.words()),
        ];
        if a.header.machine != b.header.machine {
            facts.push("The machines are not the same: differences may be theirs".to_owned());
        }
        if a.header.pairs != b.header.pairs {
            facts.push("One is of pairs, of which each copy has half of the CPUs, and the other is not: differences may be that".to_owned());
        }
        facts.extend(differences(&a.header, &b.header));
        Self {
            title: format!("{} against {}", names[1], names[0]),
            facts,
            sentences: Vec::new(),
            tuned: Vec::new(),
            records: Vec::new(),
            failures: Vec::new(),
            main: super::results::compare(&of_a, &of_b, names),
            more: Vec::new(),
            brackets: Brackets::Left,
            plots: Vec::new(),
        }
    }

    /// What marks in tables mean.
    fn marks(&self) -> &'static str {
        match self.brackets {
            Brackets::First => MARKS,
            Brackets::Beside => MARKS_OF_PAIRS,
            Brackets::Left => MARKS_OF_TWO,
        }
    }

    /// What was recorded, a line for each workload and configuration.
    fn recorded(&self) -> Vec<String> {
        self.records.iter().map(Records::words).collect()
    }

    /// As text for a terminal: the tables that matter most.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// As Markdown: all tables.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// As one page that needs nothing else.
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// As JSON, with each run of these evaluations, by their names.
    pub fn json(&self, stores: &[(&str, &Store)]) -> Result<String, serde_json::Error> {
        json::render(self, stores)
    }
}

/// What is not the same in two evaluations, though it has the same name.
fn differences(a: &Header, b: &Header) -> Vec<String> {
    let kinds = [
        ("workload", &a.workloads, &b.workloads),
        ("configuration", &a.configurations, &b.configurations),
    ];
    let mut facts = Vec::new();
    for (kind, of_a, of_b) in kinds {
        let pairs = of_a.iter().filter_map(|one| {
            let other = of_b.iter().find(|other| other.name == one.name)?;
            (other.definition != one.definition).then_some((one, other))
        });
        facts.extend(pairs.map(|(one, other)| {
            let (name, before, after) = (&one.name, &one.about, &other.about);
            if before == after {
                format!("The {kind} {name} is not defined alike: differences may be that")
            } else {
                format!("The {kind} {name} is not the same: {before}; and {after}")
            }
        }));
    }
    if a.daos != b.daos && a.daos.is_some() && b.daos.is_some() {
        facts.push("They are of different builds of daos".to_owned());
    }
    if a.zram_bytes != b.zram_bytes {
        let [before, after] = [a, b].map(|header| header.zram_bytes >> 20);
        facts.push(format!("Swap is not the same: {before} and {after} MiB"));
    }
    facts
}

/// Writes the report of an evaluation beside its runs, in all forms.
pub fn write(store: &Store) -> Result<Report, SuiteError> {
    let report = Report::of(store);
    let json = report.json(&[("", store)]).map_err(|err| SuiteError::Write {
        path: store.dir().join("report.json"),
        why: err.into(),
    })?;
    store.write("report.md", report.markdown().as_bytes())?;
    store.write("report.json", json.as_bytes())?;
    store.write("report.html", report.html().as_bytes())?;
    Ok(report)
}

/// What was tuned before it was run.
fn tuned(store: &Store, results: &Results<'_>) -> Vec<String> {
    let of = |config: &str, workload: &str| {
        let thresholds = tuned::thresholds(store, workload, config)?;
        Some(format!("{config}, {workload}: {thresholds}"))
    };
    let configurations = results.configurations.iter();
    let each = configurations.flat_map(|config| results.workloads.iter().map(move |w| (config, w)));
    each.filter_map(|(config, workload)| of(config, workload)).collect()
}

/// Whether there is anything but zeros in it.
fn has_any(table: &Table) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    cells.any(|cell| cell.value != 0.0)
}

impl Plot {
    fn of(results: &Results<'_>, metric: Metric) -> Option<Self> {
        let (_, others) = results.configurations.split_first()?;
        let row = |workload: &&str| {
            let of = |config: &&str| Compared::of(results, metric, workload, config).percents();
            ((*workload).to_owned(), others.iter().map(of).collect())
        };
        let rows: Vec<(String, Vec<Vec<f64>>)> = results.workloads.iter().map(row).collect();
        let has_any = rows.iter().any(|(_, configs)| configs.iter().any(|runs| !runs.is_empty()));
        let configurations = others.iter().map(|name| (*name).to_owned()).collect();
        has_any.then_some(Self { metric, configurations, rows })
    }
}

/// The text of a cell, without its unit: `140.168 (0.37 ~)`, value and overhead apart.
fn cell_texts(table: &Table, cell: &super::results::Cell) -> (String, Option<String>) {
    let value = table.metric.unit().number(cell.value);
    let overhead = cell.overhead.map(|percent| {
        // What is rounded to nothing has no sign.
        let percent = (percent * 100.0).round() / 100.0 + 0.0;
        format!("{percent:.2}{}", cell.verdict.map_or("", |verdict| verdict.mark()))
    });
    (value, overhead)
}

#[cfg(test)]
mod tests {
    use super::super::results::testing::{of_runs, store};
    use super::super::store::{Measured, Named, Outcome, RawRun};
    use super::*;

    fn evaluation() -> Store {
        let mut runs = store(&[
            ("parsec3/a", "orig", &[10.0, 10.5, 9.5, 10.0]),
            ("parsec3/a", "rec", &[10.1, 10.4, 9.7, 10.0]),
            ("parsec3/a", "prcl", &[12.0, 12.5, 11.5, 12.0]),
            ("b", "orig", &[100.0, 101.0, 99.0, 100.0]),
            ("b", "rec", &[104.0, 106.0, 105.0, 105.0]),
        ])
        .runs;
        runs.push(RawRun {
            workload: "b".into(),
            config: "prcl".into(),
            round: 0,
            at: 0,
            outcome: Outcome::Failed { failed: "it <said> & died".into() },
            beside: None,
        });
        of_runs(runs)
    }

    #[test]
    fn text() {
        insta::assert_snapshot!(Report::of(&evaluation()).text());
    }

    #[test]
    fn markdown() {
        insta::assert_snapshot!(Report::of(&evaluation()).markdown());
    }

    #[test]
    fn json_has_every_run() {
        let store = evaluation();
        let json = Report::of(&store).json(&[("", &store)]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), store.runs.len());
        let row = &json["tables"][0]["rows"][0];
        assert_eq!(row["workload"], "parsec3/a");
        assert_eq!(row["columns"]["prcl"]["value"], 12.0);
        assert_eq!(row["columns"]["prcl"]["verdict"], "beyond_noise");
        assert_eq!(json["failures"].as_array().unwrap().len(), 1);
        insta::assert_snapshot!(serde_json::to_string_pretty(&json["tables"][0]).unwrap());
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = Report::of(&evaluation()).html();
        for outside in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("prefers-color-scheme: dark"));
        assert!(page.contains("it &lt;said&gt; &amp; died") && !page.contains("<said>"));
        assert_eq!(page.matches("<svg").count(), 3);
        insta::assert_snapshot!(page);
    }

    #[test]
    fn what_was_tuned_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let runs = store(&[("a/b", "orig", &[10.0]), ("a/b", "prcl-tuned", &[10.0])]);
        let mut store = Store::open(dir.path(), runs.header.clone(), &[], &[]).unwrap();
        runs.runs.into_iter().for_each(|run| store.add(run).unwrap());
        assert!(Report::of(&store).tuned.is_empty());
        let tuned = dir.path().join("tuned/prcl-tuned/a/b");
        std::fs::create_dir_all(&tuned).unwrap();
        let result =
            r#"{"samples":10,"scheme":"4K max min min 8s max pageout","at":{"min_age":"8 s"}}"#;
        std::fs::write(tuned.join("result.json"), result).unwrap();
        let report = Report::of(&store);
        assert_eq!(report.tuned, ["prcl-tuned, a/b: min_age 8 s"]);
        let json = report.json(&[("", &store)]).unwrap();
        for form in [report.text(), report.markdown(), report.html(), json] {
            assert!(form.contains("prcl-tuned, a/b: min_age 8 s"), "{form}");
        }
    }

    #[test]
    fn pairs_are_told_as_such() {
        let runs = |rounds: std::ops::Range<u32>, own: f64, beside: f64| {
            rounds.map(move |round| {
                // A host that is slower from pair to pair, by more than what is measured.
                let of = |factor: f64| Measured {
                    runtime_s: factor * (10.0 + f64::from(round)),
                    rss_bytes: 1e9 * factor,
                    memused_bytes: 7e9,
                    ..Measured::default()
                };
                RawRun {
                    workload: "a".into(),
                    config: "rec".into(),
                    round,
                    at: 0,
                    outcome: Outcome::Measured(of(own)),
                    beside: Some(of(beside)),
                }
            })
        };
        let more = runs(0..2, 1.2, 1.0).map(|run| RawRun { config: "prcl".into(), ..run });
        let mut store = of_runs(runs(0..6, 1.01, 1.0).chain(more).collect());
        store.header.pairs = true;
        let report = Report::of(&store);
        assert!(report.main.iter().all(|table| table.metric != Metric::MemUsed));
        let cell = report.main[0].rows[0].cells[1].unwrap();
        assert_eq!(cell.verdict, Some(crate::suite::results::Verdict::BeyondNoise));
        assert!((cell.overhead.unwrap() - 1.0).abs() < 1e-9);
        assert!((report.main[0].sum_overhead("total", "rec").unwrap() - 1.0).abs() < 1e-9);
        let text = report.text();
        assert!(
            text.contains("runtime  orig    rec     (overhead)  prcl    (overhead)\na        12.000  12.625  (1.00)      12.600  (20.00 ?)"),
            "{text}"
        );
        assert!(
            text.contains("6 pairs of each: two copies at once") && !text.contains("\nmemused")
        );
        assert!(text.contains("rec: workloads are slowed by 1.00 % in total (+1.00 % on average; the slowest, a, +1.00 %). The daos"));
        assert!(report.html().contains("Each pair:"));
        assert_eq!(report.plots[0].rows[0].1[0].len(), 6);
        let report = Report::of_two(&evaluation(), &store, ["old", "new"]);
        assert!(report.facts.iter().any(|fact| fact.starts_with("One is of pairs")));
    }

    #[test]
    fn a_side_that_is_slower_does_not_decide() {
        let run = |round: u32| {
            let sides = [10.0, 12.0];
            let of =
                |side: u32| Measured { runtime_s: sides[side as usize % 2], ..Measured::default() };
            RawRun {
                workload: "a".into(),
                config: "rec".into(),
                round,
                at: 0,
                outcome: Outcome::Measured(of(round)),
                beside: Some(of(round + 1)),
            }
        };
        let mut store = of_runs((0..8).map(run).collect());
        store.header.pairs = true;
        let table = &Report::of(&store).main[0];
        let cell = table.rows[0].cells[1].unwrap();
        assert_eq!(cell.verdict, Some(crate::suite::results::Verdict::WithinNoise));
        assert!(cell.overhead.unwrap().abs() < 1e-9, "{cell:?}");
    }

    #[test]
    fn two_evaluations() {
        let (a, b) = (evaluation(), evaluation());
        let report = Report::of_two(&a, &b, ["old", "new"]);
        insta::assert_snapshot!(report.text());
        assert!(report.json(&[("old", &a), ("new", &b)]).unwrap().contains("\"new\""));
    }

    #[test]
    fn what_only_has_the_same_name_is_told() {
        let named = |about: &str, definition: &str| Named {
            name: "bench".to_owned(),
            about: about.to_owned(),
            definition: definition.to_owned(),
        };
        let mut a = evaluation().header;
        let mut b = a.clone();
        assert_eq!(differences(&a, &b), [""; 0]);
        a.workloads = vec![named("./bench 1G", "1"), Named { name: "x".into(), ..named("", "1") }];
        b.workloads = vec![named("./bench 4G", "2")];
        (a.daos, b.daos) = (Some("1".into()), Some("2".into()));
        (a.zram_bytes, b.zram_bytes) = (4 << 30, 0);
        let told = [
            "The workload bench is not the same: ./bench 1G; and ./bench 4G",
            "They are of different builds of daos",
            "Swap is not the same: 4096 and 0 MiB",
        ];
        assert_eq!(differences(&a, &b), told);
        b.daos = None;
        assert_eq!(differences(&a, &b).len(), 2, "of one it is not known");
    }
}
