//! One file for each subcommand.

pub mod bench;
pub mod doctor;
pub mod record;
pub mod report;
pub mod workload;
