//! The flow records of a run.

use crate::Integer;
use notation::grouped;
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
    /// The table that knew flows by a hash (`--table`), and what it is known to have counted wrongly.
    ///
    /// `None`: the table compared whole keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_table: Option<HashTableCounts>,
    /// The records of each output by itself.
    pub outputs: Vec<OutputCounts>,
}

/// A table that knew flows by 32 bits of a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HashTableCounts {
    /// The table: `double`, `list` or `combined`.
    pub table: String,
    /// The number of records in which packets of more than one flow are known to be counted.
    #[serde(with = "Integer")]
    pub shared_entries: u64,
    /// The number of packets that are known to be counted in the record of another flow, whose hash is the same.
    #[serde(with = "Integer")]
    pub shared_packets: u64,
}

impl HashTableCounts {
    /// Adds the counts of another node.
    fn add(&mut self, more: &Self) {
        self.shared_entries += more.shared_entries;
        self.shared_packets += more.shared_packets;
    }

    /// Returns in words that the table is approximate, why, and what it is known to have counted wrongly. `table_full`: the packets for which
    /// there was no entry.
    pub fn describe(&self, table_full: u64) -> String {
        let Self { table, shared_entries, shared_packets } = self;
        let (places, without_entry) = match table.as_str() {
            "double" => (
                ", two at most of those with one low half",
                format!("{} in no record (table_full)", grouped(table_full)),
            ),
            _ if table_full == 0 => ("", "none in no record".to_owned()),
            _ => ("", format!("{} in no record (table_full: memory or --max-flows)", grouped(table_full))),
        };
        format!(
            "approximate: the table '{table}' knows flows by 32 bits of a hash{places}: {} packets are known to be in the records of \
             other flows (shared_packets, in {} records), {without_entry}",
            grouped(*shared_packets),
            grouped(*shared_entries),
        )
    }
}

impl FlowCounts {
    /// Adds the counts of another node.
    pub(crate) fn add(&mut self, more: &Self) {
        self.seen += more.seen;
        self.active += more.active;
        self.exported += more.exported;
        self.dropped += more.dropped;
        self.table_full += more.table_full;
        match (&mut self.hash_table, &more.hash_table) {
            (Some(own), Some(more)) => own.add(more),
            (own, more) => *own = own.take().or_else(|| more.clone()),
        }
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
