//! `/proc/PID/maps`. Its lines are the kernel's, but the names in them are the target's.

use crate::Target;
use daos_linux::maps;

/// Memory chosen: a few hundred times what an input has.
pub const TARGET: Target = Target { name: "maps", memory: 4 << 20, run };

fn run(input: &[u8]) {
    crate::with_file(input, |path| match maps::read(path) {
        Ok(mappings) => {
            assert!(mappings.iter().all(|mapping| !mapping.range.is_empty()));
            // The kernel promises that addresses rise.
            if mappings.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start) {
                let ranges = maps::ranges(&mappings);
                assert!(ranges.len() <= mappings.len());
                assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
            }
        }
        Err(error) => drop(error.to_string()),
    });
}
