//! Commands that are in `daos-eval` now.

use crate::cli;
use anyhow::Result;

/// `daos bench`, with what was to be measured as its first word.
pub fn bench(args: &cli::Moved) -> Result<i32> {
    let subcommand = args.words.first().filter(|word| !word.starts_with('-'));
    let behind = subcommand.map_or(String::new(), |word| format!(" {word}"));
    tell(&format!("bench{behind}"), behind.trim_start())
}

/// Says what it is called there. The exit status is that of wrong usage.
pub fn tell(before: &str, now: &str) -> Result<i32> {
    daos_cli::say!("daos: `daos {before}` is `{}` now", format!("daos-eval {now}").trim_end());
    Ok(2)
}
