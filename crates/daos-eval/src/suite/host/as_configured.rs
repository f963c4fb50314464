//! What of the host a configuration asks for: the policy for huge pages, and swap.

use super::file_swap::FileSwap;
use super::huge_pages::HugePagePolicy;
use crate::suite::configuration::{Configuration, Swap};
use crate::suite::error::SuiteError;
use crate::suite::plan::Plan;
use crate::suite::store::Store;
use daos_linux::{GuardedSwap, SwapOptions};
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

    /// Puts all back, and says what goes wrong.
    pub fn put_back(self) -> Result<(), SuiteError> {
        let policy = self.policy.put_back();
        let file_swap = self.file_swap.map_or(Ok(()), FileSwap::put_back);
        self.zram.map_or(Ok(()), GuardedSwap::take_away)?;
        file_swap.and(policy)
    }
}
