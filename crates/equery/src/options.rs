//! The site that a text is checked for.

use serde::Serialize;
use task::query::Over;

/// The knowledge that the checker has beside the text. What is not known is not judged.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Variables of `--set`: name and value. They replace those of `let`.
    pub set: Vec<(String, String)>,
    /// The names of all nodes.
    pub known_nodes: Option<Vec<String>>,
    /// Queries of other texts that `when` and `from` may refer to.
    pub continuous: Vec<QueryItems>,
    /// The length of the run's windows.
    pub base_window_ns: Option<u64>,
    /// Packets of the run's windows, where these are counted in packets.
    pub window_packets: Option<u64>,
    /// The fields of the flow key, as `--key` has them (`src_addr/24`).
    pub key: Option<Vec<String>>,
    /// Statistics of packets that the rows have, by name (`gap_p99`): those of flow records in files.
    pub statistics: Vec<String>,
    /// The rows are recorded ones, of which `from` and `last` select a part.
    pub reads_history: bool,
    /// The most memory that one query may take.
    pub memory_bytes: Option<u64>,
    /// Flows that a window is expected to have; one million unless it is known.
    pub flows: Option<u64>,
}

/// The items of a query to which others refer: `NAME.ITEM`.
///
/// A query that is installed already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "QueryItems"))]
pub struct QueryItems {
    /// The name of the query.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The fields that it groups by, with prefixes.
    pub keys: Vec<String>,
    /// The windows of the query, where they are known.
    #[serde(skip)]
    pub over: Option<Over>,
}
