//! What only Linux can answer, and the loop that lives in real time.
//!
//! Facts and calls, no policy: what to watch and what to do about it is decided
//! in `daos-core` and above.
//!
//! | module | holds |
//! |---|---|
//! | [`allowance`] | CPU time that may go into something |
//! | [`cached_file`] | files by inode, and their pages dropped from memory |
//! | [`open_files`] | the limit on open files, raised for a while |
//! | [`pid_namespace`] | whose process numbers these are |
//! | [`process`] | a target process, held by a pidfd |
//! | [`maps`] | `/proc/PID/maps` |
//! | [`procmap`] | a few mappings, looked up |
//! | [`iomem`] | what is RAM among the physical addresses |
//! | [`madvise`] | `process_madvise(2)` in batches |
//! | [`memory`] | what a process has in memory, in swap and in huge pages |
//! | [`census`] | all processes of the machine, gone over a few at a time |
//! | [`ends`] | which of many processes have ended |
//! | [`cgroup`] | the memory cgroup of a process |
//! | [`temp_cgroup`] | a memory cgroup that is set up for a while |
//! | [`metrics`] | what schemes heed beside accesses, measured |
//! | [`zram`], [`swap`] | compressed block devices, and swap on them |
//! | [`temp_swap`] | swap that is set up for a while, written down, and taken away |
//! | [`guard`] | the process that takes it away however `daos` ends |
//! | [`remote`] | memory of another process, read |
//! | [`claim`] | one monitor for a process |
//! | [`damon`] | the kernel's own DAMON, noticed |
//! | [`cpu`] | CPU time, and the CPU to run on |
//! | [`halves`] | its CPUs in two halves, and threads and programs kept on one |
//! | [`host`] | what this machine is |
//! | [`rights`] | those that are kept once monitoring is set up |
//! | [`layout`] | where a program's memory lies |
//! | [`user`] | who called `sudo`, and as whom a command runs |
//! | [`support`] | what it offers: rights, BTF, swap, huge pages |

pub mod allowance;
pub mod cached_file;
pub mod census;
pub mod cgroup;
pub mod claim;
pub mod clear_refs;
pub mod cpu;
pub mod cpu_quota;
pub mod damon;
pub mod ends;
pub mod guard;
pub mod halves;
pub mod host;
pub mod iomem;
mod kernel_files;
pub mod layout;
pub mod madvise;
pub mod maps;
pub mod memory;
pub mod metrics;
pub mod open_files;
pub mod pid_namespace;
pub mod process;
pub mod procmap;
pub mod remote;
pub mod rights;
pub mod support;
pub mod swap;
mod swap_error;
mod swap_header;
mod targets_memory;
pub mod temp_cgroup;
pub mod temp_swap;
pub mod user;
pub mod zram;

pub use guard::GuardedSwap;
pub use metrics::HostMetrics;
pub use process::{Process, ProcessError};
pub use swap_error::SwapError;
pub use temp_cgroup::TempCgroup;
pub use temp_swap::{SwapOptions, TempSwap};
pub use user::User;
