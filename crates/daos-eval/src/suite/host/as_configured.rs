//! What of the host a configuration asks for: the policy for huge pages, and swap.

use super::file_swap::FileSwap;
use super::huge_pages::HugePagePolicy;
use crate::suite::configuration::{Configuration, Swap};
use crate::suite::error::SuiteError;
use crate::suite::plan::Plan;
use crate::suite::store::Store;
use daos_linux::{GuardedSwap, SwapError, SwapOptions};
use std::path::Path;
use std::process::Command;

/// The host as a configuration asks for it, until this is dropped.
#[derive(Debug)]
pub struct HostAsConfigured {
    policy: HugePagePolicy,
    file_swap: Option<FileSwap>,
    zram: Option<GuardedSwap>,
}

impl HostAsConfigured {
    /// Sets it up.
    pub fn set_up(
        plan: &Plan,
        store: &Store,
        configuration: &Configuration,
    ) -> Result<Self, SuiteError> {
        let policy = HugePagePolicy::set(Path::new("/"), configuration.huge_pages)?;
        let file = store.dir().join("swap");
        let file_swap = (configuration.swap == Some(Swap::File))
            .then(|| FileSwap::set_up(&file, plan.zram_bytes));
        let zram = (configuration.swap == Some(Swap::Zram)).then(|| {
            GuardedSwap::set_up_by(Command::new(&plan.daos), SwapOptions::new(plan.zram_bytes))
        });
        let (file_swap, zram) = (file_swap.transpose()?, zram.transpose()?);
        Ok(Self { policy, file_swap, zram })
    }

    /// Puts all back after a run. What can't be put back counts more than what came of the run:
    /// others would be measured on another host than they ask for.
    pub fn put_back_after<T>(self, run: Result<T, SuiteError>) -> Result<T, SuiteError> {
        let zram = self.zram.map_or(Ok(()), |zram| {
            let device = zram.device();
            let left = |err: SwapError| format!("swap on {} is left ({err})", device.display());
            zram.take_away().map_err(|err| SuiteError::NotPutBack(left(err)))
        });
        let file_swap = self.file_swap.map_or(Ok(()), FileSwap::put_back);
        zram.and(file_swap).and(self.policy.put_back()).and(run)
    }
}
