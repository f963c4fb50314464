//! The windows monitor against memory whose every page the tests know.

mod at_once;
mod bound;
mod finding;
mod invariants;
mod run;
mod time;
mod turns;
