//! How the work of a run was divided.

use serde::{Deserialize, Serialize};

/// How the work was divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignReport {
    /// The parallel design.
    pub name: String,
    /// Threads that received.
    pub receivers: usize,
    /// Workers of each; 0 where receivers counted themselves.
    pub workers: usize,
    /// How a receiver chose the worker for a packet: by `hash`, or by `position` in the burst.
    pub split: String,
    /// Where flows were kept: `separate` by core, or `shared`.
    pub state: String,
    /// The cores of the threads, receivers first; empty where threads were not pinned.
    pub cores: Vec<usize>,
    /// There were more threads than cores.
    pub oversubscribed: bool,
    /// Why this design.
    pub why: String,
}
