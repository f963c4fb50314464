//! Whether there is memory for a workload: to find out by running it may cost the machine
//! its other programs.

use crate::error::EvalError;

/// What the rest of a run takes, and some to spare, in bytes. Chosen.
const SPARE: u64 = 256 << 20;

/// Refuses a workload of `bytes` if that is more than is available.
pub fn enough_for(bytes: u64) -> Result<(), EvalError> {
    let short = short_for(bytes)?;
    short.map_or(Ok(()), |available| Err(EvalError::Memory { bytes, available }))
}

/// What is available, in bytes, if that is too little for a workload of `bytes`.
pub fn short_for(bytes: u64) -> Result<Option<u64>, EvalError> {
    let text = std::fs::read_to_string("/proc/meminfo").map_err(EvalError::Meminfo)?;
    // A kernel that does not say (before 3.14) refuses by itself.
    Ok(available(&text).filter(|&available| bytes.saturating_add(SPARE) > available))
}

/// What `/proc/meminfo` says is available, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read() {
        let text = "MemTotal:       16384 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(available(text), Some(2 << 20));
        assert_eq!(available("MemTotal: 16384 kB\n"), None);
        assert!(enough_for(1).is_ok());
        let message = enough_for(1 << 60).unwrap_err().to_string();
        assert!(message.contains("--size"), "{message}");
    }
}
