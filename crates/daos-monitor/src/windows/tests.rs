//! The monitor against a small memory that the tests write themselves.

mod bound;
mod finding;
mod invariants;
mod memory;
mod run;
mod time;
