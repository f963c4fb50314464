//! A process of the shell that puts back what was changed of the host, however its user ends,
//! `kill -9` included: it waits for the end of its input, whose other end only its user has.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Puts it back when this is dropped, or sooner.
#[derive(Debug)]
pub(super) struct ShellGuard {
    child: Child,
}

impl ShellGuard {
    /// Starts `script`, which reads its input to the end before it puts anything back. `path` is
    /// its `$0` and `word` its `$1`. Ctrl-C and its like are not meant for it.
    pub(super) fn start(script: &str, path: &Path, word: impl AsRef<OsStr>) -> io::Result<Self> {
        let script = format!("trap '' HUP INT QUIT TERM\n{script}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(path).arg(word);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        Ok(Self { child: command.spawn()? })
    }

    /// What it says.
    pub(super) fn output(&mut self) -> Option<&mut ChildStdout> {
        self.child.stdout.as_mut()
    }
}

impl Drop for ShellGuard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
