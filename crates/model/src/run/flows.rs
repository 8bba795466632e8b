//! The flow records of a run.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// The flow records of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowCounts {
    /// The number of records begun, without `other`.
    #[serde(with = "Integer")]
    pub seen: u64,
    /// The number of records still open when the report was made.
    #[serde(with = "Integer")]
    pub active: u64,
    /// The number of finished records that an output has, `other` included: of several outputs, the one that has the most.
    #[serde(with = "Integer")]
    pub exported: u64,
    /// The number of finished records that this output does not have: it could not take them in time, or failed to write or to send them.
    #[serde(with = "Integer")]
    pub dropped: u64,
    /// The number of packets of new flows for which the table had no place: they are in the record `other`.
    #[serde(with = "Integer")]
    pub table_full: u64,
    /// The records of each output by itself.
    pub outputs: Vec<OutputCounts>,
}

impl FlowCounts {
    /// Adds the counts of another node.
    pub(crate) fn add(&mut self, more: &Self) {
        self.seen += more.seen;
        self.active += more.active;
        self.exported += more.exported;
        self.dropped += more.dropped;
        self.table_full += more.table_full;
        self.outputs.extend(more.outputs.iter().cloned());
    }
}

/// The records of one output. A reader finds as many there as it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputCounts {
    /// The file or the collector, as the user calls it.
    pub output: String,
    /// The number of finished records that it has.
    #[serde(with = "Integer")]
    pub exported: u64,
    /// The number of finished records that it does not have.
    #[serde(with = "Integer")]
    pub dropped: u64,
}
