//! One monitor for a process: two would clear each other's accessed bits.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use thiserror::Error;

/// Another `daos` watches the process already.
#[derive(Debug, Error)]
#[error(
    "another daos is watching process {0}; two monitors would clear each other's accessed bits: stop that one first"
)]
pub struct Claimed(u32);

/// The right to watch a process. The kernel takes it back when its holder ends,
/// however it ends.
#[derive(Debug)]
pub struct Claim(#[expect(dead_code, reason = "held open, never used")] Option<UnixListener>);

impl Claim {
    /// Claims process `pid`, or says that another has.
    ///
    /// It is a name in the abstract socket space, which is the network namespace's:
    /// a monitor in another one is not noticed.
    pub fn take(pid: u32) -> Result<Self, Claimed> {
        let name = format!("daos-monitor-{pid}");
        match SocketAddr::from_abstract_name(name).and_then(|addr| UnixListener::bind_addr(&addr)) {
            Ok(socket) => Ok(Self(Some(socket))),
            Err(err) if err.kind() == io::ErrorKind::AddrInUse => Err(Claimed(pid)),
            // Where there are no such sockets, there is no way to know.
            Err(_) => Ok(Self(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_lasts_as_long_as_it_is_held() {
        let pid = std::process::id();
        let first = Claim::take(pid).unwrap();
        assert!(Claim::take(pid).is_err());
        drop(first);
        assert!(Claim::take(pid).is_ok());
    }
}
