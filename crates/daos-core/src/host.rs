//! The machine that something was measured on, as plain facts.

/// A machine. `daos-linux` fills it in; records keep it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Host {
    /// Release of the kernel, as `uname -r` gives it.
    pub kernel: String,
    /// Architecture, as `uname -m` gives it.
    pub arch: String,
    /// Its name.
    pub hostname: String,
    /// CPUs that the monitor could use.
    pub cpus: u32,
    /// Size of its memory in bytes.
    pub mem_total_bytes: u64,
    /// Size of a base page in bytes.
    pub page_size: u64,
}

impl Host {
    /// The kernel's version as (major, minor); (0, 0) when it can't be read.
    pub fn kernel_version(&self) -> (u32, u32) {
        let mut numbers = self
            .kernel
            .split(|c: char| !c.is_ascii_digit())
            .map(|number| number.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_kinds() {
        let version =
            |kernel: &str| Host { kernel: kernel.into(), ..Host::default() }.kernel_version();
        assert_eq!(version("6.1.0-38-amd64"), (6, 1));
        assert_eq!(version("6.18.44-fc-v595"), (6, 18));
        assert_eq!(version("strange"), (0, 0));
    }
}
