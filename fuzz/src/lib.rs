//! Hostile input for everything that parses what others wrote.
//!
//! A [`Target`] takes any bytes. It must not panic, must not take more memory than its limit,
//! and what it can write again must be read as the same. `tests/short.rs` gives it its corpus
//! and changes of that; `make fuzz` lets libFuzzer look for what reaches new code.
//!
//! | target | what it reads |
//! |---|---|
//! | [`record`] | record files, and all reports of them |
//! | [`schemes`] | schemes, as text and as TOML |
//! | [`workload`] | access patterns |
//! | [`maps`] | `/proc/PID/maps` |
//! | [`iomem`] | `/proc/iomem` |

#![forbid(unsafe_code)]

pub mod frames;
pub mod iomem;
pub mod maps;
pub mod record;
pub mod schemes;
pub mod workload;

use peak_alloc::PeakAlloc;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use tempfile::NamedTempFile;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What is counted is the memory of the whole process, so targets run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A parser and what its input may cost.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Most memory, in bytes, that it may hold at any time for an input of up to [`MAX_INPUT`].
    pub memory: usize,
    /// Reads the input; panics where it finds a mistake in the parser.
    pub run: fn(&[u8]),
}

/// Most bytes of an input. Chosen: the largest in the corpus are half of it.
pub const MAX_INPUT: usize = 16 << 10;

/// All there are.
pub const TARGETS: [Target; 5] =
    [record::TARGET, schemes::TARGET, workload::TARGET, maps::TARGET, iomem::TARGET];

impl Target {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Reads `input`; panics when that shows a mistake or takes too much memory.
    pub fn check(&self, input: &[u8]) {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        (self.run)(input);
        let took = MEMORY.peak_usage().saturating_sub(before);
        let (name, limit, size) = (self.name, self.memory, input.len());
        assert!(took <= limit, "{name}: {took} bytes of memory for {size} of input, over {limit}");
    }
}

/// Runs `read` on a file that holds `bytes`, in memory where there is such a file system.
fn with_file(bytes: &[u8], read: impl FnOnce(&Path)) {
    let shm = Path::new("/dev/shm");
    let file = if shm.is_dir() { NamedTempFile::new_in(shm) } else { NamedTempFile::new() };
    let mut file = file.expect("a temporary file can be made");
    file.write_all(bytes).expect("a temporary file can be written");
    read(file.path());
}
