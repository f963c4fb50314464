//! The samples as they come: a line for each, and a bar with the time that is left.

use anyhow::Result;
use daos_core::text::safe;
use daos_core::units::display;
use daos_tune::{
    At, PlannedSample, RSS, RUNTIME, SampleRecord, SampleScore, Scored, SearchSpace, Tuning, Values,
};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the table shows, and the bar below it.
#[derive(Debug)]
pub struct Table {
    quiet: bool,
    bar: ProgressBar,
    left: Arc<Mutex<Left>>,
    space: SearchSpace,
    performance: String,
    /// Whether to show the performance of what ran beside each sample.
    in_pairs: bool,
    widths: Vec<usize>,
}

/// How many seconds were left, and when.
#[derive(Debug, Clone, Copy)]
struct Left {
    seconds: Option<f64>,
    at: Instant,
}

/// The parts of the bar.
const BAR: u64 = 1000;

impl Table {
    /// For a tuning; `quiet`: to show nothing.
    pub fn new(tuning: &Tuning, quiet: bool) -> Self {
        let left = Arc::new(Mutex::new(Left { seconds: None, at: Instant::now() }));
        let space = tuning.space().clone();
        let shown = |value: f64, param: &daos_tune::Param| param.threshold.show(value).len();
        let widths = space.params().iter().map(|param| {
            let name = param.threshold.name().len();
            name.max(shown(param.low, param)).max(shown(param.high, param)).max(6)
        });
        Self {
            quiet,
            bar: bar(quiet, Arc::clone(&left)),
            left,
            widths: widths.collect(),
            space,
            performance: tuning.scorer().performance().to_owned(),
            in_pairs: tuning.is_in_pairs(),
        }
    }

    /// The head, and what is there of an earlier part.
    pub fn begin(&mut self, tuning: &mut Tuning) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        let names = self.space.params().iter().zip(&self.widths);
        let names: String =
            names.map(|(p, width)| format!("  {:>width$}", p.threshold.name())).collect();
        let (performance, rss) = (&self.performance, RSS);
        let beside = if self.in_pairs { format!("{:>11}", "beside") } else { String::new() };
        let head = format!(
            "  #  what    {names}{performance:>11}{beside}{rss:>11}  faster   saved   score"
        );
        self.print(&head)?;
        let scores = tuning.scores();
        for (at, (record, scored)) in tuning.records().iter().zip(scores).enumerate() {
            self.print(&self.text(at, record, scored))?;
        }
        Ok(())
    }

    /// Says what is measured now.
    pub fn next(&self, tuning: &Tuning, planned: &PlannedSample) {
        let taken = tuning.records().len() + 1;
        let of = tuning.count().map(|count| format!(" of {}", count.max(taken)));
        let (share, seconds) = tuning.progress().map_or((0.0, None), |(share, s)| (share, Some(s)));
        if let Ok(mut left) = self.left.lock() {
            *left = Left { seconds, at: Instant::now() };
        }
        self.bar.set_position((share * BAR as f64) as u64);
        let at = self.space.show(&planned.ask.at);
        self.bar.set_message(format!("sample {taken}{}: {at}", of.unwrap_or_default()));
    }

    /// The last sample.
    pub fn add(&self, tuning: &mut Tuning) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        let scored = tuning.scores().pop();
        if let (Some(record), Some(scored)) = (tuning.records().last(), scored) {
            self.print(&self.text(tuning.records().len() - 1, record, scored))?;
        }
        Ok(())
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// A line above the bar, at once.
    fn print(&self, line: &str) -> Result<()> {
        self.bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", safe(line)).and_then(|()| out.flush())
        })?;
        Ok(())
    }

    fn text(&self, at: usize, record: &SampleRecord, scored: SampleScore) -> String {
        let mut line = format!("{:>3}  {:<8}", at + 1, record.why.name());
        let values = match &record.at {
            At::NoScheme => vec!["-".to_owned(); self.widths.len()],
            At::Point(values) => {
                let all = self.space.params().iter().zip(values);
                all.map(|(param, value)| param.threshold.show(*value)).collect()
            }
        };
        for (value, width) in values.iter().zip(&self.widths) {
            line += &format!("  {value:>width$}");
        }
        if let Some(why) = &record.void {
            return line + &format!("  void: {why}");
        }
        let of = |all: &Values, name: &str| all.get(name).copied().unwrap_or(f64::NAN);
        let performance =
            |all: &Values| format!("{:>11}", self.performance(of(all, &self.performance)));
        line += &performance(&record.metrics);
        if let Some(beside) = &record.beside {
            line += &performance(&beside.metrics);
        }
        line += &format!("{:>11}", display::bytes(of(&record.metrics, RSS) as u64));
        match scored {
            Ok(Scored { performance, memory, score }) => {
                let (p, m) = (100.0 * performance, 100.0 * memory);
                line += &format!("{p:>+7.1}%{m:>+7.1}%{score:>+8.3}");
            }
            Err(why) => line += &format!("  no score: {why}"),
        }
        if record.cut_short {
            line += "  cut short";
        }
        line
    }

    fn performance(&self, value: f64) -> String {
        if self.performance == RUNTIME {
            return format!("{value:.2} s");
        }
        display::three_digits(value)
    }
}

fn bar(quiet: bool, left: Arc<Mutex<Left>>) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("tuning [{bar:24}] {msg}{left}")
        .expect("the template is valid")
        .progress_chars("=> ")
        .with_key("left", move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let left = left.lock().map(|left| *left);
            let Ok(Left { seconds: Some(seconds), at }) = left else { return };
            let seconds = (seconds - at.elapsed().as_secs_f64()).max(0.0) as u64;
            let _ = write!(out, ", {} left", span(seconds));
        });
    let bar = ProgressBar::new(BAR).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Seconds as one says them.
pub fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}
