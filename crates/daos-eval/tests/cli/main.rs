//! What `daos-eval` says on the command line, and what it refuses. None of this needs root.

mod accuracy;
mod mistakes;
mod parsec;
mod suite;
mod tuning;
