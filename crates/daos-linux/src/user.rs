//! Users: who called `sudo`, and as whom a command runs.

use nix::unistd;
use rustix::fs::fchown;
use rustix::io::Errno;
use rustix::process::{Signal, geteuid, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{Gid, Uid};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use thiserror::Error;

/// In which `sudo` says who called it.
const SUDO_UID: &str = "SUDO_UID";

/// Why a command can't run as somebody.
#[derive(Debug, Error)]
pub enum UserError {
    /// The database of users has no such user.
    #[error("there is no user {0:?} here; `getent passwd` lists those that there are")]
    Unknown(String),
    /// `sudo` names a user whom the database does not have.
    #[error(
        "SUDO_UID is {0:?}, and there is no such user here: say with --user as whom the command is to run"
    )]
    Caller(String),
    /// Only root can become somebody else.
    #[error("only root can run a command as another user: leave out --user {0}, or use sudo")]
    NotRoot(String),
    /// The database of users or groups can't be read.
    #[error("looking for user {who:?}: {why}")]
    Database {
        /// Who was looked for.
        who: String,
        /// What went wrong.
        why: io::Error,
    },
}

/// A user of this host, as its databases of users and groups have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: Uid,
    gid: Gid,
    /// All groups it is in, `gid` among them.
    groups: Vec<Gid>,
    home: PathBuf,
}

impl User {
    /// Finds a user by its name or else its number.
    ///
    /// # Errors
    ///
    /// [`UserError::Unknown`] when there is none, [`UserError::Database`] when that can't be
    /// known.
    pub fn find(who: &str) -> Result<Self, UserError> {
        let failed = |errno: nix::Error| UserError::Database {
            who: who.to_owned(),
            why: io::Error::from(errno),
        };
        let unknown = || UserError::Unknown(who.to_owned());
        let found = match unistd::User::from_name(who).map_err(failed)? {
            Some(user) => Some(user),
            None => match who.parse() {
                Ok(uid) => unistd::User::from_uid(unistd::Uid::from_raw(uid)).map_err(failed)?,
                Err(_) => None,
            },
        };
        let unistd::User { name, uid, gid, dir: home, .. } = found.ok_or_else(unknown)?;
        let c_name = CString::new(name.as_str()).map_err(|_| unknown())?;
        let groups = unistd::getgrouplist(&c_name, gid).map_err(failed)?;
        let groups = groups.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect();
        let (uid, gid) = (Uid::from_raw(uid.as_raw()), Gid::from_raw(gid.as_raw()));
        Ok(Self { name, uid, gid, groups, home })
    }

    /// The number of a user: of a name, that in the database; a number is one without being in
    /// there, as those of containers are not.
    ///
    /// # Errors
    ///
    /// [`UserError::Unknown`] when it is no number and there is no such name,
    /// [`UserError::Database`] when that can't be known.
    pub fn number(who: &str) -> Result<u32, UserError> {
        match (Self::find(who), who.parse()) {
            (Err(UserError::Unknown(_)), Ok(uid)) => Ok(uid),
            (found, _) => found.map(|user| user.uid()),
        }
    }

    /// Who called `sudo`, if it was used to run this as root. Only its number is believed:
    /// name and groups are those of the databases.
    ///
    /// # Errors
    ///
    /// [`UserError::Caller`] when there is no such user.
    pub fn caller() -> Result<Option<Self>, UserError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let Some(uid) = std::env::var_os(SUDO_UID) else { return Ok(None) };
        let uid = uid.to_string_lossy();
        match uid.parse::<u32>() {
            Ok(number) => match Self::find(&number.to_string()) {
                Err(UserError::Unknown(_)) => Err(UserError::Caller(uid.into_owned())),
                found => found.map(Some),
            },
            Err(_) => Err(UserError::Caller(uid.into_owned())),
        }
    }

    /// As whom a command is to run when `asked` was given: by default as who called `sudo`.
    /// `None` when that is who runs this.
    ///
    /// # Errors
    ///
    /// [`UserError`] when there is no such user, or we can't become it.
    pub fn for_command(asked: Option<&str>) -> Result<Option<Self>, UserError> {
        let user = match asked {
            Some(who) => Some(Self::find(who)?),
            None => Self::caller()?,
        };
        match user {
            Some(user) if user.uid == geteuid() => Ok(None),
            Some(user) if !geteuid().is_root() => Err(UserError::NotRoot(user.name)),
            user => Ok(user),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    pub fn uid(&self) -> u32 {
        self.uid.as_raw()
    }
}

/// Gives a file or directory that was just made, here and by root, to who called `sudo`, if
/// somebody did. One that was there before may be somebody else's, and is not to be given.
pub fn give_to_caller(made: &File) {
    if let Ok(Some(user)) = User::caller() {
        // Where a file system has no owners, there is nobody to be.
        let _ = fchown(made, Some(user.uid), Some(user.gid));
    }
}

/// Has `command` run as `user`, with its groups, its home in the environment and no rights of
/// ours; without a `user`, as who runs this. In either case neither it nor what it starts can
/// gain rights by what it executes.
pub fn confine(command: &mut Command, user: Option<&User>) {
    if let Some(User { name, home, .. }) = user {
        command.env("HOME", home).env("USER", name).env("LOGNAME", name);
    }
    let ids = user.map(|user| (user.uid, user.gid, user.groups.clone()));
    let become_user = move || {
        if let Some((uid, gid, groups)) = &ids {
            set_thread_groups(groups)?;
            set_thread_res_gid(*gid, *gid, *gid)?;
            // Last: it takes away the right to the others, and all capabilities.
            set_thread_res_uid(*uid, *uid, *uid)?;
        }
        Ok(set_no_new_privs(true)?)
    };
    // SAFETY: in the one thread of the new process it makes four system calls, directly and
    // not by way of the C library. It allocates nothing and takes no lock.
    unsafe { command.pre_exec(become_user) };
}

/// Has `command` be killed when the thread that starts it ends, however it does. To be called
/// behind [`confine`]: becoming another user undoes it.
pub fn end_with_me(command: &mut Command) {
    let me = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before that.
        if getppid() == Some(me) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: in the one thread of the new process it makes two system calls, allocates
    // nothing and takes no lock.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let root = User::find("root").unwrap();
        assert_eq!((root.name(), root.uid()), ("root", 0));
        assert!(root.groups.contains(&root.gid));
        assert_eq!(User::find("0").unwrap(), root);
    }

    #[test]
    fn who_is_nobody_here_is_refused_by_name() {
        for who in ["no-such-user", "4000000001", "-1", "", "a\0b"] {
            let err = User::for_command(Some(who)).unwrap_err().to_string();
            assert!(err.contains(&format!("{who:?}")), "{err}");
        }
    }

    #[test]
    fn a_number_is_one_without_an_entry() {
        assert_eq!(User::number("root").unwrap(), 0);
        assert_eq!(User::number("4000000001").unwrap(), 4_000_000_001);
        assert!(User::number("no-such-user").is_err() && User::number("-1").is_err());
    }

    #[test]
    fn what_a_command_executes_gains_nothing() {
        let mut command = Command::new("cat");
        confine(command.arg("/proc/self/status"), None);
        let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    }
}
