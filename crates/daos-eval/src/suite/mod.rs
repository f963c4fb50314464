//! The evaluation of the seeds: real programs, each under several configurations, in turn, and
//! tables of what that came to.
//!
//! A *configuration* is a way to run a workload: alone, recorded, with huge pages, with a
//! scheme. In a round each workload runs once in each of them, so a machine that drifts does
//! not decide, and the next round begins with another one. Each run is written down as soon
//! as it is made; all tables are made from what was written down, so the same runs always
//! give the same tables.
//!
//! | module | holds | add here |
//! |---|---|---|
//! | [`workload`] | what is run: the TOML of a suite | |
//! | [`configuration`] | the ways to run it | a configuration: an entry in its table |
//! | [`plan`] | what is to be run, in which order, and how long that takes | |
//! | [`rounds`] | all that is planned, run by run | |
//! | `run`, `job`, `samples` | a run, the workload in it, and what is sampled of that | |
//! | `pair` | two copies at once, each on half of the CPUs | |
//! | `script` | the scripts of a workload; its input | |
//! | `tuning`, `tuned` | tuning a scheme for a workload, and what that found | |
//! | `own_schemes` | schemes that are given for a workload | |
//! | `tree` | a program and all that it starts: its memory, and its end | |
//! | `host` | what is changed of the host, and put back | |
//! | `records` | what `daos record` wrote beside workloads, where that is kept | |
//! | [`store`] | the directory of an evaluation | |
//! | [`results`] | runs to tables, and to sentences; two evaluations side by side | |
//! | [`report`] | tables as text, Markdown, JSON and a page with plots | |

pub mod configuration;
mod daos_build;
pub mod error;
mod host;
pub mod job;
mod no_link;
mod own_schemes;
mod pair;

pub mod plan;
mod records;
pub mod report;
pub mod results;
pub mod rounds;
mod run;
mod samples;
pub(crate) mod script;
pub mod store;
pub(crate) mod tree;
mod tuned;
mod tuning;
pub mod workload;

pub use configuration::Configuration;
pub use error::SuiteError;
pub use host::Machine;
pub use plan::Plan;
pub use store::{Header, Measured, Outcome, RawRun, Store};
pub use workload::{Suite, Workload};
