//! Ctrl-C and its like set a flag; whoever works looks at it and ends cleanly.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that SIGINT, SIGTERM and SIGHUP set; SIGHUP sets `hangup` instead, if that is
/// given. Those that are ignored stay so, as under `nohup`, also for a command that is
/// started.
pub fn stop_flag(hangup: Option<Arc<AtomicBool>>) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let hangup = hangup.unwrap_or_else(|| Arc::clone(&stop));
    let ignored = daos_linux::process::ignored_signals();
    for (signal, flag) in [(SIGINT, &stop), (SIGTERM, &stop), (SIGHUP, &hangup)] {
        if ignored >> (signal - 1) & 1 == 0 {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .with_context(|| format!("taking over signal {signal}"))?;
        }
    }
    Ok(stop)
}
