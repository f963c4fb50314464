//! Tables as text, Markdown, JSON and a page with plots.

mod html;
mod json;
mod markdown;
mod text;

use super::SuiteError;
use super::results::{Metric, Results, Statistic, Table, mean, percent, sentences};
use super::store::Store;

/// What marks mean, below tables.
const MARKS: &str = "In brackets: percent more than the first column's. `~`: chance alone would \
    make as large a difference in more than one of twenty cases (permutation test); `?`: too few \
    runs to tell, of which it takes four each. `total` and `average` of a column are over the \
    workloads that have it; their percentages compare with the first column of the same \
    workloads, and that of the average is the mean of the workloads' percentages.";

/// What is shown of an evaluation, or of two.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// Where and how it was measured, a line each.
    pub facts: Vec<String>,
    /// What the tables come to.
    pub sentences: Vec<String>,
    /// What failed, a line each.
    pub failures: Vec<String>,
    /// The tables that matter most.
    pub main: Vec<Table>,
    /// The others.
    pub more: Vec<Table>,
    /// Each run of the main metrics against the mean of the baseline, for plots.
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
    /// mean.
    pub rows: Vec<(String, Vec<Vec<f64>>)>,
}

impl Report {
    /// Of an evaluation.
    pub fn of(store: &Store) -> Self {
        let results = Results::of(store);
        let machine = store.header.machine.words();
        let runs = match results.most_runs() {
            1 => "1 run of each".to_owned(),
            runs => format!("{runs} runs of each, interleaved"),
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
        let main = Metric::MAIN.iter().map(|metric| table(metric, Statistic::Mean)).collect();
        let others = Metric::ALL.iter().filter(|metric| !Metric::MAIN.contains(metric));
        let mut more: Vec<Table> =
            others.map(|metric| table(metric, Statistic::Mean)).filter(has_any).collect();
        for metric in Metric::MAIN {
            let rest = [Statistic::Stdev, Statistic::Min, Statistic::Max];
            more.extend(rest.map(|statistic| table(metric, statistic)));
        }
        Self {
            title: "Evaluation".to_owned(),
            facts,
            sentences: sentences(&results),
            failures: results.failures().into_iter().map(failed).collect(),
            main,
            more,
            plots: Metric::MAIN.iter().filter_map(|&metric| Plot::of(&results, metric)).collect(),
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
        Self {
            title: format!("{} against {}", names[1], names[0]),
            facts,
            sentences: Vec::new(),
            failures: Vec::new(),
            main: super::results::compare(&of_a, &of_b, names),
            more: Vec::new(),
            plots: Vec::new(),
        }
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

/// Writes the report of an evaluation beside its runs, in all forms.
pub fn write(store: &Store) -> Result<Report, SuiteError> {
    let report = Report::of(store);
    let json = report.json(&[("", store)]).map_err(|err| SuiteError::Write {
        path: store.dir().join("report.json"),
        source: err.into(),
    })?;
    store.write("report.md", report.markdown().as_bytes())?;
    store.write("report.json", json.as_bytes())?;
    store.write("report.html", report.html().as_bytes())?;
    Ok(report)
}

/// Whether there is anything but zeros in it.
fn has_any(table: &Table) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    cells.any(|cell| cell.value != 0.0)
}

impl Plot {
    fn of(results: &Results<'_>, metric: Metric) -> Option<Self> {
        let (baseline, others) = results.configurations.split_first()?;
        let row = |workload: &&str| {
            let before = results.values(metric, workload, baseline);
            let before = mean(&before);
            let of = |config: &&str| {
                let values = results.values(metric, workload, config).into_iter();
                values.filter_map(|value| percent(value, before?)).collect()
            };
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
    use super::super::store::{Outcome, RawRun};
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
    fn two_evaluations() {
        let (a, b) = (evaluation(), evaluation());
        let report = Report::of_two(&a, &b, ["old", "new"]);
        insta::assert_snapshot!(report.text());
        assert!(report.json(&[("old", &a), ("new", &b)]).unwrap().contains("\"new\""));
    }
}
