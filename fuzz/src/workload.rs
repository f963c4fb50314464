//! Access patterns.

use crate::Target;
use daos_workload::{Config, place};

/// Memory chosen: a few hundred times what an input has; an input of one character a line
/// needs most.
pub const TARGET: Target = Target { name: "workload", memory: 4 << 20, run };

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Config::parse("fuzz.cfg", &text) {
        Ok(config) => is_sound(&config),
        Err(error) => drop(error.to_string()),
    }
}

/// What the configuration promises holds, and nothing that is made of it overflows.
fn is_sound(config: &Config) {
    assert!(!config.regions.is_empty() && !config.phases.is_empty());
    assert!(config.regions.iter().all(|region| region.len > 0 && !region.name.is_empty()));
    assert!(config.bytes() <= 64 << 40 && config.duration_us() > 0);
    for pattern in config.phases.iter().flat_map(|phase| &phase.patterns) {
        assert!(pattern.region < config.regions.len() && pattern.weight > 0);
    }
    for phase in &config.phases {
        assert_eq!(phase.total_weight() > 0, !phase.patterns.is_empty());
    }
    let ranges = place(&config.regions, 1 << 20);
    assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
}
