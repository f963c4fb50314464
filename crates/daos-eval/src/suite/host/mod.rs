//! What is changed of the host for a run, and put back; and what the host is.

mod as_configured;
mod caches;
mod file_swap;
mod huge_pages;
mod machine;
mod one_suite;
mod shell_guard;

pub(super) use as_configured::HostAsConfigured;
pub(super) use caches::drop_caches;
pub(super) use huge_pages::HugePagePolicy;
pub use machine::Machine;
pub(super) use one_suite::OneSuite;
