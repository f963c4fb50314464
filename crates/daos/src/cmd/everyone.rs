//! `--all` and `--paddr`: which of the machine's processes are meant.

use crate::cli;
use anyhow::Result;
use daos_cli::Usage;
use daos_linux::User;
use daos_linux::census::{Protection, Selection};
use std::path::Path;

/// Those that the command line means. `act`: their memory is not only watched, so some are left
/// alone. `user`: whose they are to be, by name or number; in a container there are numbers that
/// have no name here.
pub fn selection(selecting: &cli::Selecting, act: bool, user: Option<&str>) -> Result<Selection> {
    let uid = user.map(User::number).transpose().map_err(|err| Usage(err.to_string()))?;
    let include_system = selecting.include_system;
    Ok(Selection {
        cgroup: selecting.cgroup.clone(),
        uid,
        min_resident_bytes: selecting.min_rss.unwrap_or(0),
        protection: act.then(|| Protection::new(Path::new("/"), include_system)),
    })
}

/// How many of them may be watched at a time. Each takes a region at least, and the largest
/// some more.
pub fn most(looking: &cli::Looking) -> usize {
    (looking.max_regions as usize * 3 / 4).max(1)
}

/// What is watched, as it was asked for.
pub fn named(form: &str, selecting: &cli::Selecting) -> Vec<String> {
    let mut words = vec![form.to_owned()];
    words.extend(selecting.cgroup.iter().map(|pattern| format!("--cgroup {pattern}")));
    words.extend(selecting.min_rss.map(|bytes| format!("--min-rss {bytes}")));
    words
}
