//! What is known of a node before it measures.

use packet::KeySpec;
use record::{Anonymizer, Selection};

/// A node that is stored.
#[derive(Clone, Debug)]
pub struct NodeSetting {
    /// Its name.
    pub node: String,
    /// What it reads, such as the paths of captures; `None` if that cannot be read again. A run of the same node and source takes the
    /// place of one that was killed before anything of it was stored.
    pub source: Option<String>,
    /// What its keys consist of.
    pub key: KeySpec,
    /// The length of its windows, nanoseconds.
    pub window_ns: u64,
    /// The length of the windows of queries that do not say it, nanoseconds.
    pub usual_ns: u64,
    /// Rows have losses.
    pub tracks_loss: bool,
    /// Rows tell bytes on the wire.
    pub has_wire_bytes: bool,
    /// The columns of flow records.
    pub selection: Selection,
    /// Replaces addresses of rows. Those of records are replaced before.
    pub anonymizer: Option<Anonymizer>,
    /// It is measured by the clock; else it is a recording, whose time is not that of the clock.
    pub is_live: bool,
    /// What the disk is too slow for waits, as a replay can; else it is not stored, and counted.
    pub waits: bool,
}

impl NodeSetting {
    /// The text of a key's parts.
    pub(crate) fn key_text(&self) -> String {
        self.key.parts().join(",")
    }
}
