//! Programs under test: processes of their own, what is sampled of them from outside, and
//! whether the machine has the memory for them.

pub(crate) mod available_memory;
mod ending;
mod process;
mod resident;
mod sampler;
mod time_series;

pub(crate) use ending::ends_before;
pub use process::Commands;
pub(crate) use process::Running;
pub(crate) use resident::{ResidentPages, present_pages};
pub(crate) use sampler::{Sampler, zram_bytes};
pub use time_series::{Sample, TimeSeries};
