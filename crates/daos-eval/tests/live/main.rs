//! `daos-eval` on real memory. All of this needs root and a kernel that takes the eBPF
//! programs.

mod schemes;
mod suite;
mod yardsticks;
