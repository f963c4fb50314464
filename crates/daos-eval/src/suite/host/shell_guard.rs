//! A process of the shell that puts back what was changed of the host, however its user ends,
//! `kill -9` included: it waits for the end of its input, whose other end only its user has.

use daos_core::text::safe_lines;
use std::ffi::OsStr;
use std::io::{self, Read, Write, stderr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// What every script begins with. Ctrl-C and its like are not meant for it, and it goes on when
/// nobody reads what it says: then what can't be put back is told on standard error. The words of
/// the programs that it runs are part of what it says.
const BEGIN: &str = "trap '' HUP INT QUIT TERM PIPE
exec 3>&2 2>&1
fail() { echo \"$1\" || echo \"daos-eval: $1\" >&3; exit 1; }
";

/// Puts it back when this is dropped, or sooner.
#[derive(Debug)]
pub(super) struct ShellGuard {
    child: Child,
    has_ended: bool,
}

impl ShellGuard {
    /// Starts `script`, which reads its input to the end before it puts anything back, and calls
    /// `fail` with what to tell the user if it can't. `path` is its `$0` and `word` its `$1`.
    pub(super) fn start(script: &str, path: &Path, word: impl AsRef<OsStr>) -> io::Result<Self> {
        let script = format!("{BEGIN}{script}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(path).arg(word);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        Ok(Self { child: command.spawn()?, has_ended: false })
    }

    /// What it says.
    pub(super) fn output(&mut self) -> Option<&mut ChildStdout> {
        self.child.stdout.as_mut()
    }

    /// Has it put all back; if it can't, what it says of that.
    pub(super) fn put_back(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        self.has_ended = true;
        drop(self.child.stdin.take());
        let mut said = Vec::new();
        if let Some(stdout) = self.output() {
            let _ = stdout.read_to_end(&mut said);
        }
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if said.is_empty() => Err(format!("what puts the host back: {status}")),
            Ok(_) => Err(said),
            Err(err) => Err(err.to_string()),
        }
    }
}

impl Drop for ShellGuard {
    fn drop(&mut self) {
        if !self.has_ended
            && let Err(why) = self.end()
        {
            let _ = writeln!(stderr(), "daos-eval: {}", safe_lines(&why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_puts_back_though_nobody_reads_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let script = "read -r _; echo ready; printf %s \"$1\" >\"$0\"";
        let mut guard = ShellGuard::start(script, &path, "before").unwrap();
        // As after a user that was killed.
        drop(guard.child.stdout.take());
        guard.put_back().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "before");
    }

    #[test]
    fn what_it_cannot_put_back_is_told() {
        let put_back = |script| ShellGuard::start(script, Path::new("/it"), "").unwrap().put_back();
        assert_eq!(put_back("read -r _; fail \"$0 stays\""), Err("/it stays".to_owned()));
        assert!(put_back("kill -KILL $$").unwrap_err().contains("signal: 9"));
    }
}
