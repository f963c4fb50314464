//! The engine over a toy memory.

mod bounds;
mod changes;
mod choice;
mod proof;
mod refaults;
mod toy;
