//! One loop for all commands, live and simulated.
//!
//! | module | holds |
//! |---|---|
//! | [`live`] | a monitor in real time: the one loop that sleeps |
//! | [`simulated`] | a monitor over a simulated space, in simulated time |

#![forbid(unsafe_code)]

pub mod live;
pub mod simulated;

pub use live::{Driver, DriverError, Stop};
pub use simulated::SimSource;
