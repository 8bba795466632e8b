//! The setting of a node: what is known of it before it measures.

use packet::KeySpec;
use record::{Anonymizer, Selection};

/// A node that is stored.
#[derive(Clone, Debug)]
pub struct NodeSetting {
    /// The name of the node.
    pub node: String,
    /// The source that the node reads, such as the paths of captures; `None` if that cannot be read again. A run of the same node and source
    /// takes the place of one that was killed before anything of it was stored.
    pub source: Option<String>,
    /// The parts of the node's key.
    pub key: KeySpec,
    /// The length of the node's windows, nanoseconds.
    pub window_ns: u64,
    /// The length of the windows of queries that do not say it, nanoseconds.
    pub default_ns: u64,
    /// The optional parts that rows have.
    pub tracked: flow::TrackedParts,
    /// True if rows tell bytes on the wire.
    pub has_wire_bytes: bool,
    /// The columns of flow records.
    pub selection: Selection,
    /// The anonymizer of addresses of rows. Those of records are replaced before.
    pub anonymizer: Option<Anonymizer>,
    /// True if the node is measured by the clock; else it is a recording, whose time is not that of the clock.
    pub is_live: bool,
    /// True if rows and records wait where the disk is too slow for them, as those of a replay can; else they are not stored, and counted.
    pub waits: bool,
}

impl NodeSetting {
    /// The text of a key's parts.
    pub(crate) fn key_text(&self) -> String {
        self.key.parts().join(",")
    }
}
