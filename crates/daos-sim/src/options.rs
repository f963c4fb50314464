//! How to simulate a configuration, beyond what it says itself.

/// How to simulate a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimOptions {
    /// Where the first region starts, in bytes; rounded up to 2 MiB, and down to
    /// 2^56 if it is above.
    pub base: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// Accesses per second of all patterns of a phase together; taken as at most
    /// 10^12.
    pub accesses_per_sec: u64,
    /// Whether memory is of huge pages: then 512 pages share an accessed bit,
    /// wherever a whole huge page fits.
    pub huge_pages: bool,
    /// Whether the target's mappings are given one by one, as those of a process:
    /// regions that touch are one mapping. Else all is one range, holes and all.
    pub sparse: bool,
    /// Whether all memory was written before the simulation began. Else a page is there
    /// only once the workload has accessed it.
    pub populate: bool,
}

impl Default for SimOptions {
    /// Chosen: regions lie where the kernel maps memory of 47-bit processes, and one thread
    /// that misses the caches makes about 20 million accesses per second.
    fn default() -> Self {
        Self {
            base: 0x7f00_0000_0000,
            seed: 0,
            accesses_per_sec: 20_000_000,
            huge_pages: false,
            sparse: false,
            populate: true,
        }
    }
}
