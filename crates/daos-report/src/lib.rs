//! What a record shows: snapshots to data, and data to text and pictures.
//!
//! Each report is a pure function from an iterator of
//! [`Snapshot`](daos_core::Snapshot)s to a plain value, and a `render` that
//! writes that value in a [`Format`]. An hour of monitoring is 36,000 snapshots
//! of a thousand regions, so reports stream: none holds more than a few numbers
//! of each snapshot. The heat map, whose rows depend on all that it draws, asks for the
//! snapshots twice.
//!
//! A tuning is no report of a record: its caller makes the value that is drawn.
//!
//! | module | holds |
//! |---|---|
//! | [`heatmap`] | when which addresses were accessed how often |
//! | [`wss`] | how much memory was in use |
//! | [`owners`] | who holds how much memory, and how much of it is idle |
//! | [`regions`] | the snapshots themselves |
//! | [`schemes`] | what schemes did |
//! | [`overhead`] | what the monitoring cost |
//! | [`info`] | how a record came about |
//! | [`names`] | what programs chose, in a text that is safe to show |
//! | [`tuning`] | what a tuning or a sweep measured, and the curve through it |
//!
//! All text is drawn by one module, `terminal`. All pictures are drawn once, as SVG; a PNG is
//! that SVG rasterised with a font that comes along, so it looks the same on a machine that
//! has no fonts.

#![forbid(unsafe_code)]

mod canvas;
mod colors;
mod csv;
mod distribution;
mod format;
pub mod heatmap;
pub mod info;
pub mod names;
pub mod overhead;
pub mod owners;
mod panel;
mod png;
pub mod regions;
pub mod schemes;
mod series;
mod terminal;
#[cfg(test)]
mod testing;
mod ticks;
pub mod tuning;
pub mod wss;

pub use distribution::Distribution;
pub use format::{Format, RenderError, StreamError, UnknownFormat};
pub use terminal::Style;
