//! Swap on zram that is set up for a while, and taken away again.
//!
//! It is written down in `/run/daos/swap-zramN.json` before anything is changed, until
//! all is as it was. So whoever comes later can undo it, when those who should have
//! done that were killed: one way to take it away, for all. The file is also the claim
//! on a device against other `daos`. A random UUID, in the file and in the first page of
//! the device, tells it from one that somebody else has made there since. (A device that the kernel
//! was asked for has a number only then. Who is killed at that very moment leaves a device of no
//! size behind, which takes no memory, and which the next one uses.)

use crate::host;
use crate::process::start_ticks;
use crate::swap;
use crate::swap_error::SwapError;
use crate::swap_header::{Header, Uuid};
use crate::zram::{self, Usage, Zram};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What swap is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapOptions {
    /// Its size.
    pub bytes: u64,
    /// Most memory that it may take, in bytes; by default the smaller one of its size and
    /// half of the machine's memory.
    ///
    /// Chosen: what does not compress takes as much in zram as outside, so nobody gains by
    /// more than the size; and one flag must not fill the machine with what is swapped out.
    pub limit_bytes: Option<u64>,
    /// The kernel fills the swap of the highest priority first; 0 to 32767.
    pub priority: u16,
}

impl SwapOptions {
    /// The highest priority. Chosen: it is set up for what is paged out by schemes, and that
    /// goes where the priority is highest.
    pub const FIRST: u16 = swap::FIRST;

    /// Swap of this size in bytes, of the highest priority and with the usual bound.
    pub fn new(bytes: u64) -> Self {
        Self { bytes, limit_bytes: None, priority: Self::FIRST }
    }

    /// Refuses a size in bytes that no swap device has.
    ///
    /// # Errors
    ///
    /// [`SwapError::Size`].
    pub fn check_size(bytes: u64) -> Result<(), SwapError> {
        swap::valid_size(bytes).map(drop)
    }

    /// Refuses a bound in bytes that leaves no room for anything.
    ///
    /// # Errors
    ///
    /// [`SwapError::Limit`].
    pub fn check_limit(bytes: u64) -> Result<(), SwapError> {
        swap::valid_limit(bytes).map(drop)
    }

    /// What is meant by it on this host, if that is possible.
    fn resolved(self, root: &Path) -> Result<(u64, u64, u16), SwapError> {
        let bytes = swap::valid_size(self.bytes)?;
        let usual = || {
            let memory = host::meminfo(&root.join("proc"), "MemTotal");
            memory.map_or(bytes, |memory| bytes.min(memory / 2))
        };
        let limit_bytes = swap::valid_limit(self.limit_bytes.unwrap_or_else(usual))?;
        Ok((bytes, limit_bytes, swap::valid_priority(self.priority)?))
    }
}

/// A swap device that `daos` has set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TempSwap {
    /// Which zram device it is.
    device: u32,
    /// Whether the kernel was asked for the device.
    hot_added: bool,
    /// Its size.
    bytes: u64,
    /// Most memory that it may take, in bytes. Older versions did not bound it.
    #[serde(default)]
    limit_bytes: u64,
    /// The kernel fills the swap of the highest priority first.
    #[serde(default)]
    priority: u16,
    /// What its first page says.
    #[serde(default)]
    uuid: Uuid,
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
    /// Sets up a swap device. `user` uses it, and `guard` takes it away. When this fails,
    /// nothing is left of it.
    pub(crate) fn set_up(
        root: &Path,
        options: SwapOptions,
        user: u32,
        guard: u32,
    ) -> Result<Self, SwapError> {
        let (bytes, limit_bytes, priority) = options.resolved(root)?;
        let uuid = Uuid::random(root);
        let uuid = uuid.map_err(|err| SwapError::io("making a UUID".to_owned(), err))?;
        let (user, guard) = (Holder::of(root, user), Holder::of(root, guard));
        let on = |zram: &Zram, hot_added| Self {
            device: zram.number,
            hot_added,
            bytes,
            limit_bytes,
            priority,
            uuid,
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
        let done = zram
            .limit(self.limit_bytes)
            .and_then(|()| swap::format(&zram.node(), self.bytes, self.uuid))
            .and_then(|()| swap::on(&zram.path(), self.priority));
        if done.is_err() {
            // As above.
            let _ = self.take_away(root);
        }
        done.map(|()| true)
    }

    /// Brings back what is in it, turns it off, and leaves the device as it was. Where
    /// there is nothing to do any more, there is nothing wrong. A device that is somebody
    /// else's by now is not touched, and no longer told of; the error says so.
    pub fn take_away(&self, root: &Path) -> Result<(), SwapError> {
        let zram = self.zram(root);
        let is_ours = self.boot == boot(root);
        if is_ours && zram.size_bytes() == Some(self.bytes) {
            let read = |err| SwapError::io(format!("reading {}", self.device().display()), err);
            // The kernel resets no device that is open: nobody can make it theirs meanwhile.
            let mut open = File::open(zram.node()).map_err(read)?;
            if !self.marks(root, &mut open).map_err(read)? {
                self.forget(root)?;
                return Err(SwapError::SomebodyElses(self.device()));
            }
            if swap::used_bytes(root, &zram.path()).is_some() {
                swap::off(root, &zram.path())?;
            }
            drop(open);
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

    /// Whether the device is still the one that was set up. One of its size in which nothing
    /// was ever written is: who set it up was killed before the first page was.
    fn marks(&self, root: &Path, device: &mut File) -> io::Result<bool> {
        Ok(match Header::read(device)? {
            Header::Swap(uuid) => uuid == self.uuid,
            Header::Blank => self.usage(root).is_none_or(|usage| usage.stored_bytes == 0),
            Header::Other => false,
        })
    }

    /// Whether the device is seen to be somebody else's by now, though it has the size that
    /// this one had.
    pub fn is_somebody_elses(&self, root: &Path) -> bool {
        let device = File::open(self.zram(root).node());
        device.and_then(|mut device| self.marks(root, &mut device)).is_ok_and(|marks| !marks)
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

    /// Most memory that it may take, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The kernel fills the swap of the highest priority first.
    pub fn priority(&self) -> u16 {
        self.priority
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
        let _locked = locked_dir(root).map_err(failed)?;
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

    /// Removes what was written down, unless another has the device by now.
    fn forget(&self, root: &Path) -> Result<(), SwapError> {
        let path = self.file(root);
        let failed = |err| SwapError::io(format!("removing {}", path.display()), err);
        let _locked = locked_dir(root).map_err(failed)?;
        if Self::read(&path).is_none_or(|written| written == *self) {
            match fs::remove_file(&path) {
                Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(failed(err)),
                _ => {}
            }
        }
        // It stays while there is another file in it.
        let _ = fs::remove_dir(dir(root));
        Ok(())
    }
}

fn dir(root: &Path) -> PathBuf {
    root.join("run/daos")
}

/// The directory, which only one at a time writes to: what another has begun to write down is not
/// taken for what nobody cares for any more.
fn locked_dir(root: &Path) -> io::Result<File> {
    loop {
        fs::create_dir_all(dir(root))?;
        // Who has it may remove it, before it is opened or after.
        let locked = match File::open(dir(root)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        flock(&locked, FlockOperation::LockExclusive)?;
        let number = fs::metadata(dir(root)).map(|found| found.ino()).ok();
        if number == Some(locked.metadata()?.ino()) {
            return Ok(locked);
        }
    }
}

fn boot(root: &Path) -> String {
    let id = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id"));
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swap_header;

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
        write("proc/sys/kernel/random/uuid", "00112233-4455-6677-8899-aabbccddeeff\n");
        write("proc/meminfo", "MemTotal: 8388608 kB\n");
        write("sys/block/zram0/disksize", "0\n");
        write("dev/zram0", "");
        root
    }

    /// Makes the device swap of this UUID, as far as its first page goes.
    fn set_uuid(root: &Path, uuid: Uuid) {
        fs::write(root.join("dev/zram0"), swap_header::page(1 << 20, uuid)).unwrap();
    }

    fn set_size(root: &Path, text: &str) {
        fs::write(root.join("sys/block/zram0/disksize"), text).unwrap();
    }

    /// One that was set up as far as a tree goes, which holds no device.
    fn left(root: &Path, user: u32, guard: u32) -> TempSwap {
        let (user, guard) = (Holder::of(root, user), Holder::of(root, guard));
        let swap = TempSwap {
            device: 0,
            hot_added: false,
            bytes: 1 << 20,
            limit_bytes: 1 << 20,
            priority: 5,
            uuid: Uuid::random(root).unwrap(),
            algorithm: None,
            boot: boot(root),
            user,
            guard,
        };
        set_uuid(root, swap.uuid);
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
    fn one_whose_first_page_is_anothers_is_left_alone() {
        let root = host("a\n");
        let root = root.path();
        let stored = |bytes: u64| {
            fs::write(root.join("sys/block/zram0/mm_stat"), format!("{bytes} 0 0 0\n")).unwrap();
        };
        let leave = |why: &str| {
            let swap = left(root, NOBODY, NOBODY);
            assert!(!swap.is_somebody_elses(root));
            match why {
                "another UUID" => set_uuid(root, Uuid::default()),
                "no swap" => fs::write(root.join("dev/zram0"), [7; 4096]).unwrap(),
                _ => fs::write(root.join("dev/zram0"), [0; 4096]).unwrap(),
            }
            swap
        };
        for why in ["another UUID", "no swap", "something is in it"] {
            stored(4096);
            let swap = leave(why);
            assert!(swap.is_somebody_elses(root), "{why}");
            let error = swap.take_away(root).unwrap_err().to_string();
            assert!(error.contains("/dev/zram0 was left alone"), "{error}");
            assert!(!root.join("sys/block/zram0/reset").exists(), "{why}");
            assert!(!dir(root).exists(), "it is told of once");
        }
        stored(0);
        leave("nothing was written yet").take_away(root).unwrap();
        assert!(root.join("sys/block/zram0/reset").exists());
    }

    #[test]
    fn one_of_a_version_that_gave_no_uuid_is_known() {
        let root = host("a\n");
        let root = root.path();
        let swap = left(root, NOBODY, NOBODY);
        let mut old = serde_json::to_value(&swap).unwrap();
        for field in ["uuid", "limit_bytes", "priority"] {
            assert!(old.as_object_mut().unwrap().remove(field).is_some(), "{field}");
        }
        fs::write(swap.file(root), old.to_string()).unwrap();
        let old = &TempSwap::left_behind(root)[0];
        assert!(old.is_somebody_elses(root), "it has a UUID");
        set_uuid(root, Uuid::default());
        old.take_away(root).unwrap();
        assert!(root.join("sys/block/zram0/reset").exists());
    }

    #[test]
    fn memory_is_bounded_by_the_size_and_by_half_of_the_machines() {
        let root = host("a\n");
        let limit = |options: SwapOptions| options.resolved(root.path()).map(|(_, limit, _)| limit);
        assert_eq!(limit(SwapOptions::new(1 << 30)).unwrap(), 1 << 30);
        assert_eq!(limit(SwapOptions::new(8 << 30)).unwrap(), 4 << 30);
        let asked = SwapOptions { limit_bytes: Some(6 << 30), ..SwapOptions::new(8 << 30) };
        assert_eq!(limit(asked).unwrap(), 6 << 30);
        assert!(limit(SwapOptions { limit_bytes: Some(0), ..asked }).is_err());
        assert!(limit(SwapOptions { priority: 32768, ..asked }).is_err());
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

    #[test]
    fn what_another_has_begun_to_write_down_is_waited_for() {
        let root = host("a\n");
        let (root, me) = (root.path(), std::process::id());
        let swap = left(root, me, NOBODY);
        set_size(root, "0\n");
        let locked = locked_dir(root).unwrap();
        let text = fs::read(swap.file(root)).unwrap();
        fs::write(swap.file(root), "").unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| swap.write_down(root).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::write(swap.file(root), text).unwrap();
            drop(locked);
            assert!(!other.join().unwrap(), "it is the first one's");
        });
        let other = TempSwap { uuid: Uuid::default(), ..swap.clone() };
        other.forget(root).unwrap();
        assert_eq!(TempSwap::of_guard(root, NOBODY), Some(swap), "it is none of the other's");
    }
}
