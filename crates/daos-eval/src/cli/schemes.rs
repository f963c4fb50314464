//! What can be said of `daos-eval schemes`.

use clap::Args;
use daos_cli::Plain;
use daos_cli::values;
use daos_eval::schemes::Case;

#[derive(Debug, Args)]
#[command(after_help = "Examples, all as root:\n  \
    daos-eval schemes                              all cases, some forty minutes\n  \
    daos-eval schemes --case prcl --runs 1         one of them, once\n  \
    daos-eval schemes --case prcl --scheme '4K max min min 10s max pageout'\n  \
    daos-eval schemes --scale 0.25 --seconds 20    a quick try; its goals are not the same\n\
    Cases: prcl (reclaim from a program of which an eighth is in use), busy (leave alone those \
    that use all), ethp (huge pages where they pay), lock (keep what is hot under memory \
    pressure). They need memory for 6 GiB, swap on zram, and huge pages set to madvise; \
    swap and cgroups are set up for the time and taken away.")]
pub struct Schemes {
    /// Cases to run; all by default
    #[arg(long = "case", value_name = "CASE", value_delimiter = ',', value_parser = case)]
    pub cases: Vec<Case>,
    /// Runs of each, with and without the scheme in turn; the tables have medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Seconds that each run takes; by default 60 (prcl), 30 (busy), 45 (ethp, lock)
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Another scheme than that of the case: whatever `daos apply` takes
    #[arg(short, long, value_name = "SCHEME", value_parser = scheme)]
    pub scheme: Option<String>,
    /// Multiply all sizes of memory by this, for a quick try: more than 0, at most 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = scale)]
    pub scale: f64,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
}

/// The name of a case.
fn case(text: &str) -> Result<Case, String> {
    values::named(text, "case", Case::ALL, Case::name)
}

/// Shorter ones have nothing to sample.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = values::seconds_us(text)? as f64 / 1e6;
    if seconds < 3.0 { Err("expected at least 3 seconds".to_owned()) } else { Ok(seconds) }
}

/// A mistake in it is found now, and not in the second run.
fn scheme(text: &str) -> Result<String, String> {
    let source = daos_session::SchemeSource::new(text);
    let read = source.and_then(|mut source| source.read());
    read.map(|_| text.to_owned()).map_err(|err| format!("{err:#}"))
}

fn scale(text: &str) -> Result<f64, String> {
    let share = values::share(text)?;
    if share > 0.0 { Ok(share) } else { Err("expected more than 0".to_owned()) }
}
