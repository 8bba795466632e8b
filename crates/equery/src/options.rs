//! The run or the deployment for which a text is checked.

use serde::Serialize;
use task::query::Over;

/// The facts about a run that the checker uses in addition to the text. It does not check what depends on an unknown fact.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The variables of `--set`: name and value. They replace variables of `let`.
    pub set: Vec<(String, String)>,
    /// The names of all nodes.
    pub known_nodes: Option<Vec<String>>,
    /// Queries of other texts that `when` and `from` may refer to.
    pub continuous: Vec<QueryItems>,
    /// The length of the run's windows.
    pub base_window_ns: Option<u64>,
    /// The number of packets in a window of the run, where packets decide its length.
    pub window_packets: Option<u64>,
    /// The fields of the flow key, as `--key` has them (`src_addr/24`).
    pub key: Option<Vec<String>>,
    /// The names of the statistics of packets that rows have (`gap_p99`), which flow records in files may have.
    pub statistics: Vec<String>,
    /// The names of the statistics of packets that the run keeps of all flows where queries read them (`gap_p99`), not of pinned ones alone.
    pub row_statistics: Vec<String>,
    /// True if the rows are recorded ones, of which `from` and `last` select a part.
    pub reads_history: bool,
    /// The most memory that one query may take.
    pub memory_bytes: Option<u64>,
    /// The number of flows that a window is expected to have; `None` stands for one million.
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
