//! The division of the work of a run.

use serde::{Deserialize, Serialize};

/// The division of the work of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DesignReport {
    /// The name of the parallel design.
    pub name: String,
    /// The number of threads that received.
    pub receivers: usize,
    /// The number of workers of each receiver; 0 where receivers counted themselves.
    pub workers: usize,
    /// The way in which a receiver chose the worker for a packet: by `hash`, or by `position` in the burst.
    pub split: String,
    /// The place of the flows: `separate` by core, or `shared`.
    pub state: String,
    /// The cores of the threads, receivers first; empty where threads were not pinned.
    pub cores: Vec<usize>,
    /// True if there were more threads than cores.
    pub oversubscribed: bool,
    /// The reason for this design.
    pub why: String,
}
