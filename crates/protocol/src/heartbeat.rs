//! How a probe does.

use crate::list_id::ListId;
use serde::{Deserialize, Serialize};

/// What a probe says of itself every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The list that it carries out; `None` before the first one. A controller sends its list again while this is another one.
    pub list: Option<ListId>,
    /// Tasks of that list, instances one by one, that have ended because their lease was over.
    #[serde(default)]
    pub lapsed: u64,
    /// The newest list, if it cannot be carried out.
    pub refused: Option<RefusedList>,
    /// The version of the program.
    pub version: String,
    /// What it measures, as the user named it.
    pub sources: Vec<String>,
    /// What it has not delivered.
    pub spool: Spool,
    /// The state of its clock; `None` if the system does not tell.
    pub clock: Option<Clock>,
    /// When it started, nanoseconds since the epoch.
    pub started_ns: u64,
    /// How busy it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How its store does; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreState>,
    /// When this was said, nanoseconds since the epoch by its clock; 0 if it does not say.
    #[serde(default)]
    pub now_ns: u64,
}

/// How busy a probe is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The share of time in which its receivers had frames at hand, in the last seconds; `None` before any have passed.
    pub busy: Option<f64>,
    /// Flows in its tables.
    pub flows: u64,
    /// The most that they may hold.
    pub most_flows: u64,
}

/// How a probe's store does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreState {
    /// Its files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// Window rows and flow records that it lacks since the probe started: they came faster than the disk took them, or could not be
    /// written.
    pub lost: u64,
    /// What cannot be written now, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A list that a probe cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedList {
    /// Which one.
    pub list: ListId,
    /// Why.
    pub reason: String,
}

/// What a probe keeps until it is delivered. With a file, counters go on where the probe's last start ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spool {
    /// Messages.
    pub messages: u64,
    /// Their size.
    pub bytes: u64,
    /// Window results of which rows were left out, because the spool was nearly full.
    #[serde(default)]
    pub shortened: u64,
    /// Window results that were dropped, because the spool was full.
    pub dropped: u64,
    /// Messages that were kept in memory only since the probe started, because the file did not take them.
    #[serde(default)]
    pub unwritten: u64,
    /// Why the file takes nothing now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What the system says of its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Whether something keeps it right.
    pub synchronised: Option<bool>,
    /// The most that it is off, nanoseconds.
    pub max_error_ns: Option<u64>,
}
