//! What a `daos` that was killed, and its guard with it, could not take away.

use anyhow::Result;
use daos_core::text::safe;
use daos_core::units::display;
use daos_linux::claim::Claim;
use daos_linux::{SwapError, TempSwap};
use serde::Serialize;
use std::io::{Write, stdout};
use std::path::Path;

const ROOT: &str = "/";

/// Something left behind.
#[derive(Debug, Serialize)]
pub struct Leftover {
    device: String,
    /// What it is, and what to do.
    pub why: String,
}

/// All of it.
pub fn found() -> Vec<Leftover> {
    let describe = |swap: TempSwap| {
        let device = swap.device().display().to_string();
        let size = display::bytes(swap.size_bytes());
        let why = if swap.is_somebody_elses(Path::new(ROOT)) {
            format!(
                "{device}, once swap of a daos that was killed, is somebody else's by now; `daos doctor --clean` forgets it and leaves it alone"
            )
        } else {
            format!(
                "{device}, {size} of swap of a daos that was killed; `daos doctor --clean` takes it away"
            )
        };
        Leftover { device, why }
    };
    TempSwap::left_behind(Path::new(ROOT)).into_iter().map(describe).collect()
}

/// Takes it away. Exit status 1 if something has to stay.
pub fn clean() -> Result<i32> {
    let found = TempSwap::left_behind(Path::new(ROOT));
    // These hold nothing up, and are not told before.
    let claims = Claim::remove_left_behind();
    match (found.is_empty(), claims) {
        (true, 0) => tell("nothing is left over"),
        (_, 0) => {}
        (_, claims) => tell(&format!("left-over claims on processes were taken away: {claims}")),
    }
    let mut status = 0;
    for swap in found {
        match swap.take_away(Path::new(ROOT)) {
            Ok(()) => tell(&format!("{} was taken away", swap.device().display())),
            // Nothing of ours is left.
            Err(err @ SwapError::SomebodyElses(_)) => tell(&safe(&err.to_string())),
            Err(err @ SwapError::DoesNotFit { .. }) => {
                daos_cli::say!("daos: {err}");
                status = 1;
            }
            Err(err) => {
                daos_cli::say!("daos: {}: {err}", swap.device().display());
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Says what was done, if anybody listens: it is done all the same.
fn tell(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}
