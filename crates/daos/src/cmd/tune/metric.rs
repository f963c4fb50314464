//! A metric of the user's own: a command that prints a number, from what a run printed or
//! from anywhere else.

use anyhow::{Context, Result, bail};
use daos_linux::User;
use daos_session::{Started, Surroundings};
use daos_tune::last_number;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant};
use tempfile::tempfile;

/// How often it is looked whether it has ended, or should.
const LOOK: Duration = Duration::from_millis(100);

/// A command of the shell that prints a number as its last word.
#[derive(Debug, Clone)]
pub struct Metric {
    text: String,
    /// As whom it runs; `None` for who runs this.
    user: Option<User>,
}

impl Metric {
    /// Refuses an empty one.
    pub fn new(text: &str, user: Option<User>) -> Result<Self> {
        if text.trim().is_empty() {
            bail!(daos_cli::Usage("--metric is empty; give a command that prints a number".into()));
        }
        Ok(Self { text: text.to_owned(), user })
    }

    /// Runs it once, for `patience_s` at most or until `stop`. It reads from `input`, if
    /// there is any.
    pub fn once(
        &self,
        input: Option<&File>,
        patience_s: f64,
        stop: &dyn Fn() -> bool,
    ) -> Result<f64> {
        let printed = run(&self.text, self.user.as_ref(), input, patience_s, stop);
        let printed = printed.with_context(|| format!("the metric `{}`", self.text))?;
        last_number(&printed).with_context(|| {
            let last = printed.trim().lines().last().unwrap_or_default();
            let text = &self.text;
            format!("the metric `{text}` has to print a number as its last word, not {last:?}")
        })
    }
}

/// Something to be read by a command.
pub fn input(text: &str) -> Result<File> {
    let mut file = tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// What a command of the shell prints that reads from `stdin`, run as `user`.
pub fn run(
    text: &str,
    user: Option<&User>,
    stdin: Option<&File>,
    patience_s: f64,
    stop: &dyn Fn() -> bool,
) -> Result<String> {
    let (mut out, mut err) = (tempfile()?, tempfile()?);
    let apart = Surroundings::Apart { stdin, stdout: &out, stderr: &err, variable: None };
    let command = ["sh".into(), "-c".into(), text.to_owned()];
    let started = Started::spawn(&command, user, apart)?;
    let began = Instant::now();
    while !started.ended_within(LOOK) {
        if stop() {
            bail!("was interrupted");
        }
        if began.elapsed().as_secs_f64() > patience_s {
            bail!("did not end within {patience_s:.0} s");
        }
    }
    let status = started.finish(Duration::ZERO)?.status();
    if status != Some(0) {
        let mut said = String::new();
        err.rewind()?;
        // What is no text says nothing.
        let _ = err.read_to_string(&mut said);
        let said = said.trim().lines().last().unwrap_or_default();
        bail!("failed with status {}: {said}", status.unwrap_or(-1));
    }
    let mut printed = Vec::new();
    out.rewind()?;
    out.read_to_end(&mut printed).context("reading what it prints")?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(text: &str, patience_s: f64) -> Result<f64> {
        Metric::new(text, None).unwrap().once(None, patience_s, &|| false)
    }

    #[test]
    fn a_number_or_a_line_of_a_metrics_page() {
        assert_eq!(once("echo 12.5", 10.0).unwrap(), 12.5);
        let page = "printf 'x_total{a=\"b\"} 5\\nhttp_requests_total{code=\"200\"} 1027\\n'";
        assert_eq!(once(page, 10.0).unwrap(), 1027.0);
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let error = |text, patience_s| format!("{:#}", once(text, patience_s).unwrap_err());
        assert!(error("echo many", 10.0).contains("not \"many\""));
        assert!(error("echo nan", 10.0).contains("not \"nan\""));
        assert!(error("true", 10.0).contains("not \"\""));
        let failed = error("echo no such page >&2; exit 7", 10.0);
        assert!(failed.contains("status 7: no such page"), "{failed}");
        let begin = Instant::now();
        assert_eq!(
            run("cat; echo b", None, Some(&input("a ").unwrap()), 9.0, &|| false).unwrap(),
            "a b\n"
        );
        assert!(error("sleep 60 & wait", 0.2).contains("did not end"));
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert!(Metric::new(" ", None).is_err());
        let stopped = Metric::new("sleep 60", None).unwrap().once(None, 9.0, &|| true);
        assert!(format!("{:#}", stopped.unwrap_err()).contains("interrupted"));
    }
}
