//! Which actions can be done on this host, and what to do where one can't.

use daos_core::Action;
use daos_linux::madvise;
use daos_linux::support::{HugePages, Swap};
use std::path::Path;

/// Whether `action` can be done on the host whose `/proc` and `/sys` are below `root`.
pub(super) fn check(root: &Path, action: Action) -> Result<(), String> {
    match action {
        Action::Pageout => needs_swap(root),
        Action::Hugepage => needs_collapse(root),
        Action::Willneed | Action::Cold | Action::Nohugepage | Action::Lock | Action::Stat => {
            Ok(())
        }
    }
}

fn needs_swap(root: &Path) -> Result<(), String> {
    if Swap::read(&root.join("proc")).total_bytes > 0 {
        return Ok(());
    }
    Err("there is no swap, so anonymous memory can't be paged out: give --zram 4G, turn swap on \
         (swapon), or have a filter allow memory = \"file\" alone"
        .into())
}

fn needs_collapse(root: &Path) -> Result<(), String> {
    if HugePages::read(&root.join("sys")).enabled.is_empty() {
        return Err("this kernel has no transparent huge pages: it needs \
                    CONFIG_TRANSPARENT_HUGEPAGE"
            .into());
    }
    if !madvise::can_collapse() {
        return Err("this kernel has no MADV_COLLAPSE, which is there from Linux 6.1 on".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_a_host_lacks_is_named() {
        let root = tempfile::tempdir().unwrap();
        let check = |action| check(root.path(), action);
        assert!(check(Action::Pageout).unwrap_err().contains("there is no swap"));
        assert!(check(Action::Hugepage).unwrap_err().contains("TRANSPARENT_HUGEPAGE"));
        assert_eq!(check(Action::Cold), Ok(()));

        fs::create_dir(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/meminfo"), "SwapTotal: 4 kB\nSwapFree: 4 kB\n").unwrap();
        assert_eq!(check(Action::Pageout), Ok(()));
    }
}
