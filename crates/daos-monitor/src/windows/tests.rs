//! The windows monitor against memory whose every page the tests know.

mod bound;
mod finding;
mod invariants;
mod run;
mod time;
