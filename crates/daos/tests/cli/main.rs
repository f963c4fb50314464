//! What can go wrong on the command line, and the forms that programs rely on.
//! None of this needs root: what is refused is refused before any eBPF.

mod bursts;
mod mistakes;
mod moved;
mod names;
mod records;
mod reports;
mod schemes;
mod tune;
