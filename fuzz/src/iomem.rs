//! `/proc/iomem`, which says what may be read at all. Its lines are the kernel's, but some
//! names in them are those of devices.

use crate::Target;
use daos_core::PAGE_SIZE;
use daos_linux::iomem;

/// Memory chosen: some tens of times what an input has.
pub const TARGET: Target = Target { name: "iomem", memory: 1 << 20, run };

fn run(input: &[u8]) {
    let ram = iomem::parse(&String::from_utf8_lossy(input));
    assert!(ram.iter().all(|range| !range.is_empty()), "{ram:?}");
    assert!(ram.windows(2).all(|pair| pair[0].end < pair[1].start), "{ram:?}");
    let whole = |address: u64| address.is_multiple_of(PAGE_SIZE);
    assert!(ram.iter().all(|range| whole(range.start) && whole(range.end)), "{ram:?}");
}
