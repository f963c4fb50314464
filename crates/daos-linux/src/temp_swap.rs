//! Swap on zram that is set up for a while, and taken away again.
//!
//! It is written down in `/run/daos/swap-zramN.json` before anything is changed, until
//! all is as it was. So whoever comes later can undo it, when those who should have
//! done that were killed: one way to take it away, for all. The file is also the claim
//! on a device against other `daos`. (A device that the kernel was asked for has a
//! number only then. Who is killed at that very moment leaves a device of no size
//! behind, which takes no memory, and which the next one uses.)

use crate::process::start_ticks;
use crate::swap::{self, SwapError};
use crate::zram::{self, Usage, Zram};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A swap device that `daos` has set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TempSwap {
    /// Which zram device it is.
    device: u32,
    /// Whether the kernel was asked for the device.
    hot_added: bool,
    /// Its size.
    bytes: u64,
    /// How the device was to compress before.
    algorithm: Option<String>,
    /// The boot in which that was; after another one, nothing is left of it.
    boot: String,
    /// Who uses it.
    user: Holder,
    /// Who takes it away when the user ends.
    guard: Holder,
}

/// A process, and when it was started: its number alone may be another's by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    start_ticks: u64,
}

impl Holder {
    /// A process that may have ended already: then nobody can be taken for it.
    fn of(root: &Path, pid: u32) -> Self {
        Self { pid, start_ticks: start_ticks(&root.join("proc"), pid).unwrap_or(u64::MAX) }
    }

    fn lives(self, root: &Path) -> bool {
        start_ticks(&root.join("proc"), self.pid) == Some(self.start_ticks)
    }
}

impl TempSwap {
    /// Sets up a swap device of this size, which is used before any other. `user` uses
    /// it, and `guard` takes it away. When this fails, nothing is left of it.
    pub(crate) fn set_up(
        root: &Path,
        bytes: u64,
        user: u32,
        guard: u32,
    ) -> Result<Self, SwapError> {
        let bytes = swap::valid_size(bytes)?;
        let (user, guard) = (Holder::of(root, user), Holder::of(root, guard));
        let on = |zram: &Zram, hot_added| Self {
            device: zram.number,
            hot_added,
            bytes,
            algorithm: zram.algorithm(),
            boot: boot(root),
            user,
            guard,
        };
        for zram in zram::unused(root) {
            let swap = on(&zram, false);
            if swap.take(root)? {
                return Ok(swap);
            }
        }
        let zram = zram::add(root)?;
        let swap = on(&zram, true);
        match swap.take(root) {
            Ok(true) => Ok(swap),
            failed => {
                // The first failure is the one to tell.
                let _ = zram.remove();
                failed.and(Err(SwapError::NoZram))
            }
        }
    }

    /// Makes the device its own, and swap; `false` if somebody else was faster.
    fn take(&self, root: &Path) -> Result<bool, SwapError> {
        if !self.write_down(root)? {
            return Ok(false);
        }
        let zram = self.zram(root);
        match zram.take(self.bytes) {
            Ok(true) => {}
            taken => {
                self.forget(root)?;
                return taken;
            }
        }
        let path = zram.path();
        let done = swap::format(&path, self.bytes).and_then(|()| swap::on(&path));
        if done.is_err() {
            // As above.
            let _ = self.take_away(root);
        }
        done.map(|()| true)
    }

    /// Brings back what is in it, turns it off, and leaves the device as it was. Where
    /// there is nothing to do any more, there is nothing wrong.
    pub fn take_away(&self, root: &Path) -> Result<(), SwapError> {
        let zram = self.zram(root);
        let is_ours = self.boot == boot(root);
        if is_ours && zram.size_bytes() == Some(self.bytes) {
            if swap::used_bytes(root, &zram.path()).is_some() {
                swap::off(root, &zram.path())?;
            }
            zram.reset(self.algorithm.as_deref())?;
        }
        if is_ours && self.hot_added && zram.size_bytes() == Some(0) {
            zram.remove()?;
        }
        self.forget(root)
    }

    /// The swap devices that those who set them up have left behind.
    pub fn left_behind(root: &Path) -> Vec<Self> {
        let mut found = Self::written_down(root);
        found.retain(|swap| !swap.is_held(root) && swap.is_there(root));
        found.sort_by_key(|swap| swap.device);
        found
    }

    /// What process `guard` had set up, or begun to, when it was killed.
    pub(crate) fn of_guard(root: &Path, guard: u32) -> Option<Self> {
        let is_its = |swap: &Self| swap.guard.pid == guard && swap.boot == boot(root);
        Self::written_down(root).into_iter().find(is_its)
    }

    fn written_down(root: &Path) -> Vec<Self> {
        let files = fs::read_dir(dir(root)).into_iter().flatten().flatten();
        let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("swap-"));
        files.filter_map(|file| Self::read(&file.path())).collect()
    }

    /// Whether someone will take it away, or at least knows of it.
    fn is_held(&self, root: &Path) -> bool {
        self.boot == boot(root) && (self.user.lives(root) || self.guard.lives(root))
    }

    /// Whether anything of it is left.
    fn is_there(&self, root: &Path) -> bool {
        let size = self.zram(root).size_bytes();
        self.boot == boot(root) && (size == Some(self.bytes) || (self.hot_added && size == Some(0)))
    }

    /// Its path.
    pub fn device(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.device))
    }

    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.bytes
    }

    /// What is in it; `None` when it was taken away.
    pub fn usage(&self, root: &Path) -> Option<Usage> {
        self.zram(root).usage()
    }

    fn zram(&self, root: &Path) -> Zram {
        Zram::new(root, self.device)
    }

    fn file(&self, root: &Path) -> PathBuf {
        dir(root).join(format!("swap-zram{}.json", self.device))
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// `false` if another has written it down, who still cares.
    fn write_down(&self, root: &Path) -> Result<bool, SwapError> {
        let path = self.file(root);
        let failed = |err| SwapError::io(format!("writing {}", path.display()), err);
        fs::create_dir_all(dir(root)).map_err(failed)?;
        let mut file = File::create_new(&path);
        if matches!(&file, Err(err) if err.kind() == io::ErrorKind::AlreadyExists) {
            if Self::read(&path).is_some_and(|other| other.is_held(root) || other.is_there(root)) {
                return Ok(false);
            }
            fs::remove_file(&path).map_err(failed)?;
            file = File::create_new(&path);
        }
        let text = serde_json::to_vec(self).map_err(|err| failed(err.into()))?;
        file.and_then(|mut file| file.write_all(&text)).map_err(failed)?;
        Ok(true)
    }

    fn forget(&self, root: &Path) -> Result<(), SwapError> {
        let path = self.file(root);
        match fs::remove_file(&path) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => {
                return Err(SwapError::io(format!("removing {}", path.display()), err));
            }
            _ => {}
        }
        // It stays while there is another file in it.
        let _ = fs::remove_dir(dir(root));
        Ok(())
    }
}

fn dir(root: &Path) -> PathBuf {
    root.join("run/daos")
}

fn boot(root: &Path) -> String {
    let id = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id"));
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: u32 = u32::MAX;

    /// A host with an unused `zram0` whose processes are this machine's.
    fn host(boot: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/random/boot_id", boot);
        let me = std::process::id();
        let stat = fs::read_to_string(format!("/proc/{me}/stat")).unwrap();
        write(&format!("proc/{me}/stat"), &stat);
        write("proc/swaps", "Filename Type Size Used Priority\n");
        write("sys/block/zram0/disksize", "0\n");
        root
    }

    fn set_size(root: &Path, text: &str) {
        fs::write(root.join("sys/block/zram0/disksize"), text).unwrap();
    }

    /// One that was set up as far as a tree goes, which holds no device.
    fn left(root: &Path, user: u32, guard: u32) -> TempSwap {
        let (user, guard) = (Holder::of(root, user), Holder::of(root, guard));
        let (bytes, boot, algorithm) = (1 << 20, boot(root), None);
        let swap = TempSwap { device: 0, hot_added: false, bytes, algorithm, boot, user, guard };
        assert!(swap.write_down(root).unwrap());
        set_size(root, "1048576\n");
        swap
    }

    #[test]
    fn it_is_left_behind_when_nobody_is_left_to_take_it_away() {
        let root = host("a\n");
        let (root, me) = (root.path(), std::process::id());
        assert_eq!(TempSwap::left_behind(root), []);
        for (user, guard, is_left) in
            [(me, NOBODY, false), (NOBODY, me, false), (NOBODY, NOBODY, true)]
        {
            let swap = left(root, user, guard);
            let expected: &[TempSwap] = if is_left { std::slice::from_ref(&swap) } else { &[] };
            assert_eq!(TempSwap::left_behind(root), expected);
            swap.forget(root).unwrap();
        }
        assert!(!dir(root).exists(), "no directory stays behind");
    }

    #[test]
    fn a_number_that_is_anothers_now_holds_nothing() {
        let root = host("a\n");
        let (root, me) = (root.path(), std::process::id());
        let swap = left(root, me, NOBODY);
        swap.forget(root).unwrap();
        let user = Holder { start_ticks: swap.user.start_ticks + 1, ..swap.user };
        let swap = TempSwap { user, ..swap };
        swap.write_down(root).unwrap();
        assert_eq!(TempSwap::left_behind(root), [swap]);
    }

    #[test]
    fn what_is_somebody_elses_now_is_left_alone() {
        let root = host("a\n");
        let root = root.path();
        let swap = left(root, NOBODY, NOBODY);
        set_size(root, "2097152\n");
        assert_eq!(TempSwap::left_behind(root), []);
        swap.take_away(root).unwrap();
        assert!(!root.join("sys/block/zram0/reset").exists(), "it was not touched");
        assert!(!dir(root).exists());

        let swap = left(root, NOBODY, NOBODY);
        fs::write(root.join("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
        assert_eq!(TempSwap::left_behind(root), []);
        swap.take_away(root).unwrap();
        assert!(!root.join("sys/block/zram0/reset").exists(), "it was not touched");
    }

    #[test]
    fn taking_away_resets_the_device_and_forgets_it() {
        let root = host("a\n");
        let root = root.path();
        left(root, NOBODY, NOBODY);
        TempSwap::left_behind(root)[0].take_away(root).unwrap();
        assert_eq!(fs::read_to_string(root.join("sys/block/zram0/reset")).unwrap(), "1");
        assert!(!dir(root).exists());
    }

    #[test]
    fn a_device_is_one_users() {
        let root = host("a\n");
        let (root, me) = (root.path(), std::process::id());
        let swap = left(root, me, NOBODY);
        assert_eq!(TempSwap::of_guard(root, NOBODY), Some(swap.clone()));
        assert_eq!(TempSwap::of_guard(root, me), None);
        set_size(root, "0\n");
        assert!(!swap.write_down(root).unwrap(), "another has it");
        swap.forget(root).unwrap();
        left(root, NOBODY, NOBODY);
        set_size(root, "0\n");
        assert!(swap.write_down(root).unwrap(), "nothing is left of the other's");
    }
}
