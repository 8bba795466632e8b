//! Recorded rows against a map of all packets by minute, and what is unusual against plants.

mod memory;
mod now;
mod support;
mod together;
mod unusual;
