//! What a test changes of the host, or has `daos` change.

use crate::until;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

const THP_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The host's policy for huge pages, changed until this is dropped.
#[derive(Debug)]
pub struct ThpPolicy {
    before: String,
}

impl ThpPolicy {
    /// Sets it to `always`, `madvise` or `never`.
    pub fn set(policy: &str) -> Self {
        let all = fs::read_to_string(THP_ENABLED).expect("a kernel with huge pages");
        let before = all.split_whitespace().find_map(|word| word.strip_prefix('['));
        let before = before.expect("one is in force").trim_end_matches(']').to_owned();
        fs::write(THP_ENABLED, policy).expect("the policy can be set");
        Self { before }
    }
}

impl Drop for ThpPolicy {
    fn drop(&mut self) {
        if let Err(err) = fs::write(THP_ENABLED, &self.before) {
            println!("{THP_ENABLED} is no longer {}: {err}", self.before);
        }
    }
}

/// A size for `--zram` that no other test asks for, so that its device can be told from
/// those of tests that run at the same time.
#[derive(Debug)]
pub struct ZramSize(String);

impl ZramSize {
    /// A little more than `mib` MiB.
    pub fn unique(mib: u64) -> Self {
        static GIVEN: AtomicU64 = AtomicU64::new(0);
        let pages = 1 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let bytes = (mib << 20) + (pages << 12);
        Self(bytes.to_string())
    }

    /// As an argument.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The names of the devices that have this size.
    pub fn devices(&self) -> Vec<String> {
        let blocks = fs::read_dir("/sys/block").expect("it is there").flatten();
        let has_it = blocks.filter(|block| {
            let size = fs::read_to_string(block.path().join("disksize")).unwrap_or_default();
            size.trim() == self.0
        });
        has_it.map(|block| block.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The device is taken away, now or soon.
    #[track_caller]
    pub fn assert_gone(&self) {
        assert!(until(|| self.devices().is_empty()), "{:?} are left", self.devices());
    }
}
