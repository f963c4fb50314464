//! The configurations that come with the repository are sound, and fit a small machine.

use daos_workload::Config;
use std::path::Path;

#[test]
fn shipped_configurations_are_sound() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let mut read = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "cfg") {
            let config = Config::read(&path).unwrap_or_else(|e| panic!("{e}"));
            assert!(config.bytes() <= 1 << 30, "{} is large", path.display());
            assert!(config.duration_us() <= 60_000_000, "{} is long", path.display());
            read += 1;
        }
    }
    assert!(read >= 5);
}

#[test]
fn the_scattered_blocks_are_as_much_memory_as_the_one_block() {
    let used = |name: &str| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        let config = Config::read(&dir.join(name)).unwrap();
        let patterns = &config.phases[0].patterns;
        let bytes: u64 = patterns.iter().map(|p| config.regions[p.region].len).sum();
        (config.bytes(), bytes, patterns.len())
    };
    assert_eq!(used("block.cfg"), (1 << 30, 128 << 20, 1));
    assert_eq!(used("scattered.cfg"), (1 << 30, 128 << 20, 37));
}
