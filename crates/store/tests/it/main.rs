//! Stores of window rows on disk.

mod tool;

mod ahead;
mod catalog;
mod faults;
mod kills;
mod levels;
mod retention;
mod sampled;
mod thin;
