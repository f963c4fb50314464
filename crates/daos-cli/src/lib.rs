//! What the commands `daos` and `daos-eval` share.
//!
//! | module | holds |
//! |---|---|
//! | [`values`] | values as people type them: times, sizes, shares, addresses, names |
//! | [`monitoring`] | the flags that say how closely to look |
//! | [`outcome`] | what went wrong, in words and as an exit status |
//! | [`programs`] | programs that commands are to start |
//! | [`signals`] | Ctrl-C and its like |
//! | [`whole_file`] | files that are seen under their name only once they are whole |

#![forbid(unsafe_code)]

pub mod monitoring;
pub mod outcome;
pub mod programs;
pub mod signals;
pub mod values;
pub mod whole_file;

pub use monitoring::{Backend, Looking, Plain, max_overhead_help};
pub use outcome::{Usage, exit_code, is_broken_pipe, scheme_error};
pub use programs::{find_program, is_program};
pub use whole_file::WholeFile;

use daos_core::text::safe_lines;
use std::io::Write;

/// Writes a line to standard error, [safe to show](daos_core::text) whatever names are in it.
/// Where nobody can read it any more, as on a terminal that was closed, nothing comes of it.
#[macro_export]
macro_rules! say {
    ($($what:tt)*) => { $crate::say_line(&format!($($what)*)) };
}

/// What [`say!`] does.
pub fn say_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", safe_lines(text));
}
