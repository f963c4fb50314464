//! Reading accessed bits with eBPF, on a stock kernel.
//!
//! A program of type syscall walks a target's page tables through the kernel's
//! direct map and brings back entries, many to a call; `process_madvise` clears
//! the accessed bits. Nothing is loaded into the kernel but programs that its
//! verifier has checked, and they only read.
//!
//! | module | holds |
//! |---|---|
//! | `bpf/` | the programs, and what they exchange with Rust (`intf.h`) |
//! | `programs` | the loaded programs, one method each |
//! | `kernel_layout` | where this kernel maps physical memory and its page array |
//! | `entry` | what a page-table entry says |
//! | `reader` | the entries of windows of a target's memory |
//! | `folio` | how the pages found young can be armed, if they can |
//! | `scratch` | memory of our own, to check and to measure with |
//! | `ranges` | few ranges from the pages to arm |
//! | `armed_pages` | which pages were armed and not found accessed since |
//! | `at_once_price` | what arming all of a target at once costs, measured as it is done |
//! | `target_cost` | what arming cost the targets, estimated |
//! | `left` | what had to be left when it was armed |
//! | `to_arm` | what of some windows is to be armed, and how |
//! | `arm_target` | all that a target has in memory, armed at once |
//! | `prices` | what checking and arming cost on this machine, measured |
//! | [`vaddr`] | the [`AccessCheck`](daos_core::AccessCheck) of processes |
//! | [`paddr`] | the same of physical addresses: the RAM of the machine, whoever uses it |
//! | `keeping_up`, `upkeep` | what targets have mapped, their children, and what that may cost |
//! | `finding` | targets that are found among all processes |
//! | `everyone` | those processes: a census of them, and who waits to be a target |
//! | `main_ranges` | which parts of such a target's memory are watched |
//! | `page_frames` | in which page frames processes have their memory |
//! | `page_cache` | how much page cache nobody maps, and of which files, for schemes |
//! | `actions` | what schemes do to their memory |

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "daos-bpf reads the page tables of x86-64 Linux. For another architecture, give src/entry.rs \
     and src/bpf/intf.h its page-table entries."
);

mod actions;
mod arm_target;
mod armed_pages;
mod at_once_price;
#[cfg(test)]
mod child;
mod entry;
mod everyone;
mod finding;
mod folio;
mod keeping_up;
mod kernel_layout;
mod left;
mod load_log;
mod main_ranges;
pub mod paddr;
mod page_cache;
mod page_frames;
mod prices;
mod programs;
mod ranges;
mod reader;
mod scratch;
mod target_cost;
mod to_arm;
mod upkeep;
pub mod vaddr;

#[allow(missing_docs, missing_debug_implementations, unused_imports)]
#[allow(clippy::all, clippy::undocumented_unsafe_blocks)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/ptwalk.skel.rs"));
}

pub use paddr::PhysicalMemory;
pub use vaddr::VirtualMemory;

use daos_linux::iomem::IomemError;
use daos_linux::support::Rights;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why accessed bits can't be read here.
#[derive(Debug, Error)]
pub enum BpfError {
    /// The kernel did not let the programs in for want of rights.
    #[error(
        "not allowed to load eBPF programs; run daos as root (or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_NICE)"
    )]
    NotAllowed,
    /// The kernel did not take the programs.
    #[error(
        "this kernel does not take the eBPF programs ({source}); daos needs Linux 6.1 or later with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF; `daos doctor` says more{log}"
    )]
    Load {
        /// What went wrong.
        source: libbpf_rs::Error,
        /// The last lines of what the kernel's verifier and libbpf said, each behind a line
        /// break.
        log: String,
    },
    /// Something that the programs need could not be found in this kernel.
    #[error(
        "could not find {0} in this kernel's memory; daos can't read page tables here (please report the kernel's version and configuration)"
    )]
    Layout(&'static str),
    /// The kernel numbers processes otherwise than this PID namespace does.
    #[error(
        "page frames can't be followed to their processes from inside a container, which numbers processes in its own way; start daos outside of it, or give --all"
    )]
    PidNamespace,
    /// It is not known what is RAM.
    #[error(transparent)]
    Iomem(#[from] IomemError),
    /// A program that was loaded failed to run.
    #[error("running an eBPF program failed: {0}")]
    Run(#[source] libbpf_rs::Error),
    /// The iterator over a process's threads failed.
    #[error("looking up a process with an eBPF iterator failed: {0}")]
    Iterator(#[source] io::Error),
}

impl BpfError {
    fn load(err: libbpf_rs::Error) -> Self {
        // The verifier refuses a program with the error that stands for missing rights.
        let rights = Rights::of(Path::new("/proc"), std::process::id());
        match err.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if !rights.missing().is_empty() => {
                Self::NotAllowed
            }
            _ => Self::Load { source: err, log: load_log::last_lines() },
        }
    }
}
