//! Why swap could not be set up, or taken away.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why swap could not be set up, or taken away.
#[derive(Debug, Error)]
pub enum SwapError {
    /// It makes no sense.
    #[error("a swap device can have 1 MiB to 16 TiB, not {0} bytes; give a size such as 4G")]
    Size(u64),
    /// No bound, or one that leaves no room.
    #[error(
        "swap on zram can be bound to 1 MiB of memory or more, not {0} bytes; give a size such as 2G"
    )]
    Limit(u64),
    /// Higher than there is.
    #[error("the priority of swap is 0 to 32767, not {0}")]
    Priority(u16),
    /// It was set up by `daos`, and then made something else by somebody else.
    #[error("{0} was left alone: it is somebody else's by now, as its first page says")]
    SomebodyElses(PathBuf),
    /// There is no zram to be had.
    #[error(
        "this kernel has no zram device to spare; `modprobe zram` (CONFIG_ZRAM), or add a swap file instead (see mkswap(8))"
    )]
    NoZram,
    /// The caller has not the rights.
    #[error("{0}: not permitted; run daos as root")]
    NotPermitted(String),
    /// It is in use, and there is no room for what is in it.
    #[error(
        "{device} stays on: the {} MiB that {place} may have in it do not fit into what that has left, {} MiB; end processes (or raise its limit), then run `daos doctor --clean`",
        .used_bytes >> 20, .room_bytes >> 20
    )]
    DoesNotFit {
        /// The swap device.
        device: PathBuf,
        /// What is in it.
        used_bytes: u64,
        /// `the machine`, or a cgroup.
        place: String,
        /// What could be taken back.
        room_bytes: u64,
    },
    /// The process that guards it says so, or ended without a word.
    #[error("{0}")]
    Guard(String),
    /// Anything else that the kernel said.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: String,
        /// What the kernel said.
        why: io::Error,
    },
}

impl SwapError {
    pub(crate) fn io(what: String, why: io::Error) -> Self {
        if why.kind() == io::ErrorKind::PermissionDenied {
            Self::NotPermitted(what)
        } else {
            Self::Io { what, why }
        }
    }
}
