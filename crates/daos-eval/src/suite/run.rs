//! A run: the host as the configuration asks for it, and the workload.

use super::configuration::Configuration;
use super::error::SuiteError;
use super::host::{HostAsConfigured, HugePagePolicy, drop_caches};
use super::job::Job;
use super::own_schemes;
use super::plan::Plan;
use super::results::mean;
use super::store::{Measured, Store};
use super::tuning;
use super::workload::Workload;
use daos_core::Side;
use std::path::Path;

/// With the scheme of this workload's own, where a configuration has one for each, or that which
/// is tuned for it: now, if it was not before.
pub fn for_workload(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Configuration, SuiteError> {
    let Some(scheme) = configuration.tuned() else {
        let own = own_schemes::of_workload(store, configuration, &workload.name);
        return Ok(own.unwrap_or_else(|| configuration.clone()));
    };
    let policy = HugePagePolicy::set(Path::new("/"), configuration.huge_pages)?;
    let found = tuning::scheme(plan, store, workload, &configuration.name, scheme);
    policy.put_back()?;
    Ok(configuration.with_tuned(found?))
}

/// Runs it once. Whatever happens, nothing of it stays behind.
pub fn run(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
    round: u32,
) -> Result<Measured, SuiteError> {
    workload.check_memory(1)?;
    let job = Job {
        limit_bytes: limit(store, workload, configuration)?,
        ..Job::of(plan, store, workload, configuration, round, Side::First)?
    };
    let host = HostAsConfigured::set_up(plan, store, configuration)?;
    let measured = drop_caches().and_then(|()| job.run(plan.user.as_ref(), &plan.stop));
    host.put_back_after(measured)
}

/// The most memory that it may have, in bytes, if it is limited to what another configuration
/// left it.
pub fn limit(
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Option<u64>, SuiteError> {
    let Some(other) = &configuration.limit_of else { return Ok(None) };
    let runs = store.measured(&workload.name, other);
    let resident: Vec<f64> = runs.iter().map(|run| run.rss_bytes).collect();
    let not_yet = || SuiteError::NotYet(format!("{other} has to run before, and did not"));
    Ok(Some(mean(&resident).ok_or_else(not_yet)? as u64))
}
