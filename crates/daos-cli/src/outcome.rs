//! What went wrong, in words and as an exit status.

use crate::say;
use anyhow::Result;
use daos_session::SchemeSourceError;
use std::process::ExitCode;

/// Something was asked for that makes no sense. Exit status 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl Usage {
    /// Refuses the first of these options that is given: it says `OPTION why`.
    pub fn refuse(options: &[(&str, bool)], why: &str) -> Result<()> {
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Self(format!("{option} {why}")).into()),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What can't be read of schemes, as a mistake of the command line where it is one.
pub fn scheme_error(err: SchemeSourceError) -> anyhow::Error {
    if err.is_usage() { Usage(err.to_string()).into() } else { err.into() }
}

/// The exit status of `program`: what it says itself, else 1 when it could not, 2 for wrong
/// usage. Says what went wrong.
pub fn exit_code(program: &str, done: Result<i32>) -> ExitCode {
    match done {
        // An exit status is a byte, also that of a command.
        Ok(status) => ExitCode::from(status as u8),
        Err(err) if is_broken_pipe(&err) => ExitCode::SUCCESS,
        Err(err) if err.is::<Usage>() => {
            say!("{program}: {err:#} (see `{program} --help`)");
            ExitCode::from(2)
        }
        Err(err) => {
            say!("{program}: {err:#}");
            ExitCode::from(1)
        }
    }
}

/// Nobody reads our output any more, as behind `| head`: no reason to complain.
pub fn is_broken_pipe(err: &anyhow::Error) -> bool {
    err.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
