//! Swap that is taken away however its user ends, `kill -9` included.
//!
//! The user starts a process of its own program, the guard, and holds the write end of
//! a pipe that is the guard's standard input. The guard sets the swap up, waits for
//! the end of its input, and takes the swap away: so there is one way for all ends,
//! and no moment at which a user that is killed leaves something behind. When the
//! guard is killed, the user takes the swap away itself; when both are,
//! [`TempSwap::left_behind`] finds it.

use crate::rights;
use crate::swap_error::SwapError;
use crate::temp_swap::{SwapOptions, TempSwap};
use crate::zram::Usage;
use daos_core::text::safe_lines;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The subcommand of `daos` that is the guard: bytes and user are its arguments, `--priority`
/// and `--limit`, in bytes, its flags.
pub const COMMAND: &str = "guard-swap";

const ROOT: &str = "/";

/// What the guard says: a line when the swap is there, and one when it is gone.
type Word<T> = Result<T, String>;

/// Swap on zram, until this is dropped or the process ends, in whatever way.
#[derive(Debug)]
pub struct GuardedSwap {
    guard: Child,
    /// What the guard says. `None` when nobody here listens any more: then it says
    /// what goes wrong on standard error.
    words: Option<BufReader<ChildStdout>>,
    swap: TempSwap,
    is_gone: bool,
}

impl GuardedSwap {
    /// Sets up a device.
    ///
    /// Only for a program that calls [`stand`] when its arguments are those of [`COMMAND`].
    pub fn set_up(options: SwapOptions) -> Result<Self, SwapError> {
        let mut program = Command::new("/proc/self/exe");
        program.arg0("daos");
        Self::set_up_by(program, options)
    }

    /// The same, when the guard is another program.
    pub fn set_up_by(mut program: Command, options: SwapOptions) -> Result<Self, SwapError> {
        let SwapOptions { bytes, limit_bytes, priority } = options;
        program.args([COMMAND, &bytes.to_string(), &std::process::id().to_string()]);
        program.arg(format!("--priority={priority}"));
        program.args(limit_bytes.map(|bytes| format!("--limit={bytes}")));
        // The pipe is not inherited by other processes that are started from here, which
        // would keep it open.
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |err| SwapError::io("starting the guard of the swap device".into(), err);
        let mut guard = program.spawn().map_err(failed)?;
        let mut words = guard.stdout.take().map(BufReader::new);
        match next_word(words.as_mut()) {
            Some(Ok(swap)) => Ok(Self { guard, words, swap, is_gone: false }),
            Some(Err(why)) => {
                let _ = guard.wait();
                Err(SwapError::Guard(why))
            }
            None => {
                drop(guard.stdin.take());
                let _ = guard.wait();
                // It was killed, perhaps in the middle.
                if let Some(swap) = TempSwap::of_guard(Path::new(ROOT), guard.id()) {
                    swap.take_away(Path::new(ROOT))?;
                }
                Err(SwapError::Guard("the guard of the swap device was killed; try again".into()))
            }
        }
    }

    /// The swap that it keeps.
    pub fn swap(&self) -> &TempSwap {
        &self.swap
    }

    /// Its path.
    pub fn device(&self) -> PathBuf {
        self.swap.device()
    }

    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.swap.size_bytes()
    }

    /// The process that takes it away when this one ends.
    pub fn guard_pid(&self) -> u32 {
        self.guard.id()
    }

    /// What is in it.
    pub fn usage(&self) -> Option<Usage> {
        self.swap.usage(Path::new(ROOT))
    }

    /// Brings back what is in it, and leaves the host as it was. Takes some seconds for
    /// each GiB. When there is no room for that, the swap stays, and the error says what
    /// to do.
    pub fn take_away(mut self) -> Result<(), SwapError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), SwapError> {
        self.is_gone = true;
        drop(self.guard.stdin.take());
        let word = next_word::<()>(self.words.as_mut());
        // It is ours, so there is nothing that could fail.
        let done = self.guard.wait().is_ok_and(|status| status.success());
        match word {
            Some(word) => word.map_err(SwapError::Guard),
            None if done => Ok(()),
            None => self.swap.take_away(Path::new(ROOT)),
        }
    }
}

impl Drop for GuardedSwap {
    fn drop(&mut self) {
        if !self.is_gone {
            self.words = None;
            // The guard has told the user.
            let _ = self.end();
        }
    }
}

fn next_word<T: for<'a> Deserialize<'a>>(words: Option<&mut impl BufRead>) -> Option<Word<T>> {
    let mut line = String::new();
    words?.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Is the guard: sets up swap, waits for the end of standard input, and
/// takes it away. `user` is the process that uses it. Returns whether all went well.
pub fn stand(options: SwapOptions, user: u32) -> bool {
    be_left_alone();
    // It is root's program still: what it has open and starts can do no more than that. The
    // kernel refuses nobody.
    let _ = rights::keep(rights::END_SWAP);
    let root = Path::new(ROOT);
    let swap = match TempSwap::set_up(root, options, user, std::process::id()) {
        Ok(swap) => swap,
        Err(err) => return tell::<()>(Err(err.to_string())),
    };
    tell(Ok(&swap));
    // Whatever it fails with, nobody is at the other end any more.
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    tell(swap.take_away(root).map_err(|err| err.to_string()))
}

/// Says it to the user or, if it is bad and the user has ended, to whoever looks.
fn tell<T: Serialize>(word: Word<T>) -> bool {
    let mut line = serde_json::to_vec(&word).unwrap_or_default();
    line.push(b'\n');
    let mut stdout = io::stdout();
    let told = stdout.write_all(&line).and_then(|()| stdout.flush());
    if let (Err(_), Err(message)) = (told, &word) {
        let _ = writeln!(io::stderr(), "daos: {}", safe_lines(message));
    }
    word.is_ok()
}

/// Ctrl-C, the end of the terminal, and memory running out are not meant for the guard.
fn be_left_alone() {
    // It fails for who leads a session already.
    let _ = rustix::process::setsid();
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: no handler of ours is replaced, and none is set.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // Without the right to it, the guard is small and lives anyway.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
}
