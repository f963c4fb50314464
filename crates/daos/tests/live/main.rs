//! The whole of `daos` on real memory, against targets whose truth is known.
//!
//! All of these need root and a kernel that takes the eBPF programs, and run one at
//! a time. Tolerances are such that a broken monitor fails and a busy machine does
//! not; how good the monitor is beyond that, `daos-eval accuracy` measures.

mod accuracy;
mod apply;
mod bound;
mod changes;
mod commands;
mod ends;
mod everyone;
mod guests;
mod hostile;
mod killed;
mod kinds;
mod moves;
mod physical;
mod rights;
mod swap;
mod tune;
