//! Where a program's memory lies: drawn at random for each run, unless it is asked not to be.

use rustix::io::Errno;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What `personality(2)` is given to be asked, and not told.
const ASK: libc::c_ulong = 0xffff_ffff;

/// Has `command`, and what it starts, lie at the same addresses whenever it is run, as far as it
/// does the same: the kernel places programs, stacks and mappings without chance.
pub fn repeat(command: &mut Command) {
    let ask = || {
        // SAFETY: a system call on numbers. It fails for nobody who asks.
        let now = unsafe { libc::personality(ASK) };
        let fixed = now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
        // SAFETY: the same.
        match unsafe { libc::personality(fixed) } {
            -1 => Err(io::Error::from(Errno::PERM)),
            _ => Ok(()),
        }
    };
    // SAFETY: in the one thread of the new process it makes two system calls, allocates
    // nothing and takes no lock.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_lies_where_it_did() {
        let stack = || {
            let mut command = Command::new("grep");
            command.args(["-F", "[stack]", "/proc/self/maps"]);
            repeat(&mut command);
            command.output().unwrap().stdout
        };
        let first = stack();
        assert!(!first.is_empty());
        for _ in 0..4 {
            assert_eq!(stack(), first);
        }
    }
}
