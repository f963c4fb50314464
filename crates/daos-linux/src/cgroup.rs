//! The memory cgroup of a process: which it is, its limit, and what it uses.
//!
//! Version 1 (a hierarchy with the memory controller) and version 2 (the unified one)
//! name the same things differently. Where a host has both, the hierarchy with the
//! controller counts.

use std::fs;
use std::path::{Path, PathBuf};

/// A cgroup whose memory is counted, and can be limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCgroup {
    /// Its path from the root of the hierarchy, such as `/system.slice/db.service`.
    pub path: String,
    dir: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl MemoryCgroup {
    /// That of process `pid`; `None` when it has ended, or nothing counts its memory.
    /// `root` is `/`, or a test's tree.
    pub fn of(root: &Path, pid: u32) -> Option<Self> {
        let cgroups = of_process(root, pid)?;
        let mount = Mount::find(root)?;
        let path = path_in(&cgroups, mount.version)?;
        // A container may see only its own part of the hierarchy.
        let dir = mount.dir.join(Path::new(path).strip_prefix(&mount.part).ok()?);
        Some(Self { path: path.to_owned(), dir, version: mount.version })
    }

    /// The most that it may use, in bytes, by its own limit and those of the groups above it, and
    /// the directory of the group whose limit that is; `None` if there are none.
    pub fn limit(&self) -> Option<(u64, PathBuf)> {
        let limits = self.with_those_above().filter_map(|g| Some((g.own_limit_bytes()?, g.dir)));
        limits.min_by_key(|(bytes, _)| *bytes)
    }

    fn own_limit_bytes(&self) -> Option<u64> {
        // Version 1 says "no limit" by a number just below 2^63, version 2 by a word.
        self.number(self.limit_file()).filter(|&bytes| bytes < 1 << 62)
    }

    fn limit_file(&self) -> &'static str {
        self.named("memory.limit_in_bytes", "memory.max")
    }

    /// It, and the groups above it as far as they are seen here. The root of version 2 has no
    /// limit, nor a file for it.
    fn with_those_above(&self) -> impl Iterator<Item = Self> {
        let has_limit = |dir: &&Path| dir.join(self.limit_file()).exists();
        let group = |dir: &Path| Self { dir: dir.to_owned(), ..self.clone() };
        self.dir.ancestors().take_while(has_limit).map(group)
    }

    /// Whether it, or a group above it, has as much in swap as it may (`memory.swap.max`, which may
    /// be 0). Version 1 counts swap and memory together, so that swapping out is always allowed.
    pub fn is_swap_full(&self) -> bool {
        let is_full = |group: Self| {
            let most = group.number("memory.swap.max");
            most.is_some_and(|most| group.number("memory.swap.current") >= Some(most))
        };
        self.version == Version::Two && self.with_those_above().any(is_full)
    }

    /// What it uses, in bytes, the page cache included.
    pub fn usage_bytes(&self) -> Option<u64> {
        self.number(self.named("memory.usage_in_bytes", "memory.current"))
    }

    /// What it has in swap, in bytes.
    pub fn swap_bytes(&self) -> Option<u64> {
        match self.version {
            Version::One => self.stat("total_swap"),
            Version::Two => self.number("memory.swap.current"),
        }
    }

    /// How much more it could use before something other than page cache had to go, by its own
    /// limit and those of the groups above it; `None` if there are none.
    pub(crate) fn room_bytes(&self) -> Option<u64> {
        self.with_those_above().filter_map(|group| group.own_room_bytes()).min()
    }

    fn own_room_bytes(&self) -> Option<u64> {
        let (active, inactive) = match self.version {
            Version::One => ("total_active_file", "total_inactive_file"),
            Version::Two => ("active_file", "inactive_file"),
        };
        let cache = self.stat(active).unwrap_or(0) + self.stat(inactive).unwrap_or(0);
        let kept = self.usage_bytes()?.saturating_sub(cache);
        Some(self.own_limit_bytes()?.saturating_sub(kept))
    }

    fn named(&self, one: &'static str, two: &'static str) -> &'static str {
        match self.version {
            Version::One => one,
            Version::Two => two,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.dir.join(name)).ok()?.trim().parse().ok()
    }

    fn stat(&self, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.dir.join("memory.stat")).ok()?;
        text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// By which hierarchy the cgroups of processes are told: found once, as a host may have hundreds of
/// mounts.
#[derive(Debug, Clone, Copy)]
pub struct CgroupPaths(Option<Version>);

impl CgroupPaths {
    /// Of the host whose files are below `root`.
    pub fn find(root: &Path) -> Self {
        Self(Mount::find(root).map(|mount| mount.version))
    }

    /// The cgroup whose memory controller counts process `pid`, as a path from the root of the
    /// hierarchy; `None` when it has ended, or the host has no cgroups.
    pub fn of(self, root: &Path, pid: u32) -> Option<String> {
        Some(self.path_in(&of_process(root, pid)?)?.to_owned())
    }

    /// The same by its `/proc/PID/cgroup`.
    pub(crate) fn path_in(self, cgroups: &str) -> Option<&str> {
        path_in(cgroups, self.0?)
    }
}

/// The `/proc/PID/cgroup` of a process.
pub(crate) fn of_process(root: &Path, pid: u32) -> Option<String> {
    fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok()
}

/// The controllers of a hierarchy, and the path of the cgroup there, by its line in
/// `/proc/PID/cgroup`.
pub(crate) fn hierarchy(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// The path of the cgroup whose memory controller counts a process, by its `/proc/PID/cgroup`.
pub(crate) fn path_in(cgroups: &str, version: Version) -> Option<&str> {
    cgroups.lines().find_map(|line| {
        let (controllers, path) = hierarchy(line)?;
        let is_it = match version {
            Version::One => controllers.split(',').any(|name| name == "memory"),
            Version::Two => controllers.is_empty(),
        };
        is_it.then_some(path)
    })
}

/// All that can be seen.
pub(crate) fn all(root: &Path) -> Vec<MemoryCgroup> {
    let Some(mount) = Mount::find(root) else { return Vec::new() };
    let mut found = Vec::new();
    let mut dirs = vec![mount.dir.clone()];
    while let Some(dir) = dirs.pop() {
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.extend(below.map(|entry| entry.path()));
        let below = dir.strip_prefix(&mount.dir).unwrap_or(&dir);
        let path = format!("{}/{}", mount.part.trim_end_matches('/'), below.display());
        found.push(MemoryCgroup { path, dir, version: mount.version });
    }
    found
}

/// Where the hierarchy that counts memory is mounted.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) dir: PathBuf,
    /// Which part of the hierarchy is seen there: `/` for all of it.
    part: String,
    pub(crate) version: Version,
}

impl Mount {
    pub(crate) fn find(root: &Path) -> Option<Self> {
        let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
        let mut two = None;
        for line in mounts.lines() {
            let Some((mount, file_system)) = line.split_once(" - ") else { continue };
            let mut fields = mount.split(' ').skip(3);
            let (Some(part), Some(dir)) = (fields.next(), fields.next()) else { continue };
            let dir = root.join(dir.trim_start_matches('/'));
            let mount = |version| Self { dir, part: part.to_owned(), version };
            let mut fields = file_system.split(' ');
            match (fields.next(), fields.nth(1)) {
                (Some("cgroup"), Some(options)) if options.split(',').any(|o| o == "memory") => {
                    return Some(mount(Version::One));
                }
                // Somebody may have mounted a part of it once more.
                (Some("cgroup2"), _) if two.is_none() || part == "/" => {
                    two = Some(mount(Version::Two));
                }
                _ => {}
            }
        }
        two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:1 - cgroup cgroup rw,memory
";
    const TWO: &str = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn limit_bytes(group: &MemoryCgroup) -> Option<u64> {
        group.limit().map(|(bytes, _)| bytes)
    }

    fn tree(mounts: &str, cgroups: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/mountinfo", mounts);
        write("proc/7/cgroup", cgroups);
        for (path, text) in files {
            write(&format!("sys/fs/cgroup/{path}"), text);
        }
        root
    }

    #[test]
    fn version_one() {
        let files = [
            ("memory/a/b/memory.limit_in_bytes", "1000\n"),
            ("memory/a/b/memory.usage_in_bytes", "600\n"),
            ("memory/a/b/memory.stat", "swap 1\ntotal_swap 50\ntotal_swapcached 9\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let root = tree(ONE, "8:pids:/\n4:memory:/a/b\n0::/x\n", &files);
        let group = MemoryCgroup::of(root.path(), 7).unwrap();
        assert_eq!(group.path, "/a/b");
        assert_eq!(limit_bytes(&group), Some(1000));
        assert!(group.limit().unwrap().1.ends_with("a/b"));
        assert_eq!(group.usage_bytes(), Some(600));
        assert_eq!(group.swap_bytes(), Some(50));
        assert_eq!(group.room_bytes(), Some(400));
        assert_eq!(MemoryCgroup::of(root.path(), 8), None);

        let root = tree(ONE, "4:memory:/\n", &files);
        assert_eq!(limit_bytes(&MemoryCgroup::of(root.path(), 7).unwrap()), None);
        let mut paths: Vec<String> = all(root.path()).into_iter().map(|g| g.path).collect();
        paths.sort();
        assert_eq!(paths, ["/", "/a", "/a/b"]);
    }

    #[test]
    fn version_two() {
        let files = [
            ("db.service/memory.max", "max\n"),
            ("db.service/memory.current", "600\n"),
            ("db.service/memory.swap.current", "70\n"),
        ];
        let root = tree(TWO, "0::/db.service\n", &files);
        let group = MemoryCgroup::of(root.path(), 7).unwrap();
        assert_eq!((limit_bytes(&group), group.room_bytes()), (None, None));
        assert_eq!((group.usage_bytes(), group.swap_bytes()), (Some(600), Some(70)));

        fs::write(group.dir.join("memory.max"), "1000\n").unwrap();
        fs::write(group.dir.join("memory.stat"), "active_file 100\ninactive_file 50\n").unwrap();
        assert_eq!(group.room_bytes(), Some(550), "page cache can go");
    }

    #[test]
    fn groups_above_have_limits_too() {
        let files = [
            ("pod/app/memory.max", "max\n"),
            ("pod/app/memory.current", "600\n"),
            ("pod/app/memory.swap.max", "max\n"),
            ("pod/app/memory.swap.current", "70\n"),
            ("pod/memory.max", "1000\n"),
            ("pod/memory.current", "900\n"),
            ("pod/memory.swap.max", "80\n"),
            ("pod/memory.swap.current", "70\n"),
        ];
        let root = tree(TWO, "0::/pod/app\n", &files);
        let group = MemoryCgroup::of(root.path(), 7).unwrap();
        assert_eq!((limit_bytes(&group), group.room_bytes()), (Some(1000), Some(100)));
        assert!(!group.is_swap_full());
        let above = group.dir.parent().unwrap();
        fs::write(above.join("memory.swap.current"), "80\n").unwrap();
        assert!(group.is_swap_full());
        fs::write(above.join("memory.swap.max"), "max\n").unwrap();
        fs::write(group.dir.join("memory.swap.max"), "0\n").unwrap();
        assert!(group.is_swap_full());
    }

    #[test]
    fn a_container_sees_a_part() {
        let mounts = TWO.replace("0:26 / ", "0:26 /docker/1 ");
        let files = [("app/memory.current", "5\n"), ("memory.current", "6\n")];
        let root = tree(&mounts, "0::/docker/1/app\n", &files);
        assert_eq!(MemoryCgroup::of(root.path(), 7).unwrap().usage_bytes(), Some(5));
        let root = tree(&mounts, "0::/docker/1\n", &files);
        assert_eq!(MemoryCgroup::of(root.path(), 7).unwrap().usage_bytes(), Some(6));
        let root = tree(&mounts, "0::/docker/11\n", &files);
        assert_eq!(MemoryCgroup::of(root.path(), 7), None);
    }
}
