//! The flow records of a run.

use crate::integer;
use serde::{Deserialize, Serialize};

/// Flow records of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Records begun, without `other`.
    #[serde(with = "integer")]
    pub seen: u64,
    /// Records still open when the report was made.
    #[serde(with = "integer")]
    pub active: u64,
    /// Finished records that were handed to outputs, `other` included.
    #[serde(with = "integer")]
    pub exported: u64,
    /// Finished records that outputs could not take in time or that failed to be written.
    #[serde(with = "integer")]
    pub dropped: u64,
    /// Packets of new flows for which the table had no place: they are in the record `other`.
    #[serde(with = "integer")]
    pub table_full: u64,
}
