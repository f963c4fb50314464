//! One file for each subcommand.

pub mod account;
pub mod apply;

pub mod doctor;
pub mod everyone;
pub mod monitoring;
pub mod moved;
pub mod owners;
pub mod record;
pub mod report;
pub mod session;
pub mod tune;
pub mod unwatched;
