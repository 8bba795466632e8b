//! The state of a node.

use super::Site;
use crate::{Account, Counters, Integer, Nullable, PacketCounts, Span, Time};
use serde::{Deserialize, Serialize};

/// The state of a node, by its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// The node answers in time.
    Up,
    /// The node answers after its time.
    Late,
    /// The node no longer answers.
    Down,
    /// The controller does not hear the node through a fault of its own (`faults` of the status), so that the state of the node is not known.
    Unheard,
    /// The node said that nothing follows.
    Ended,
    /// The node was never seen.
    #[default]
    Never,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Node"))]
pub struct NodeView {
    /// The name of the node.
    pub name: String,
    /// The state of the node.
    pub state: NodeState,
    /// The site of the node; `None` where it does not say it.
    #[serde(default)]
    pub site: Option<Site>,
    /// The time at which it was last heard of.
    #[serde(rename = "seen", with = "Nullable::<Time>")]
    pub seen_ns: Option<u64>,
    /// The coverage of its last window; `None` where its source cannot count its loss.
    pub coverage: Option<f64>,
    /// The last window that it answered.
    pub window: Option<Span>,
    /// The frames since it started.
    pub packets: PacketCounts,
    /// The frames lost before the measurement since it started; `None` where its source cannot count them.
    pub loss: Option<Counters>,
    /// The account of the last window alone.
    pub last: Option<Account>,
    /// The messages that wait at the node.
    pub spool: Spool,
    /// The store of the node; `None` where it has none.
    pub store: Option<Store>,
    /// The clock of the node; `None` where nothing is known of it.
    pub clock: Option<Clock>,
    /// The load of the node; `None` before its first heartbeat.
    pub load: Option<Load>,
    /// The task lists of the node.
    pub tasks: TaskState,
    /// The version of the node.
    pub version: Option<String>,
    /// The sources that it measures.
    pub sources: Vec<String>,
    /// The newest times in which no condition judges it, the oldest first.
    pub gaps: Vec<Gap>,
    /// The windows that never came since its first one, by reason. They outlast the controller.
    #[serde(default)]
    pub missing: Vec<MissingWindows>,
    /// The share of the time from its first window to its last one that came that its windows cover. The time since that last one is not in
    /// it. `None` before the first window.
    #[serde(default)]
    pub watched: Option<f64>,
    /// The numbers of messages that came as its own and were not taken, by reason; another's too, who has its rights at the broker.
    pub refused: Counters,
}

/// A time in which no condition judges a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The first instant in it.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
    /// The reason. `too_late`: its windows came later than they are waited for. `not_sent`: they never came, as the probe did not run, or
    /// was killed before it had kept them. `spool_full`: the probe dropped some of them.
    pub reason: String,
}

/// The windows of a node that never came, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingWindows {
    /// The reason, `not_sent` or `spool_full`, as of a gap.
    pub reason: String,
    /// The number of windows.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// The time that they cover, seconds.
    pub seconds: f64,
}

/// The messages that a node keeps until they are delivered. With a file, counters go on where the last start of the node ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spool {
    /// The number of messages.
    #[serde(with = "Integer")]
    pub messages: u64,
    /// The size of the messages, bytes.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The number of window results of which rows were left out, because the spool was nearly full.
    #[serde(default, with = "Integer")]
    pub shortened: u64,
    /// The number of window results that were dropped, because the spool was full.
    #[serde(with = "Integer")]
    pub dropped: u64,
    /// The number of messages that were kept in memory only since the node started, because the file did not take them.
    #[serde(default, with = "Integer")]
    pub unwritten: u64,
    /// The reason why the file takes nothing now; `None` where it does.
    pub fault: Option<String>,
}

/// The store of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Store {
    /// The number of files.
    #[serde(with = "Integer")]
    pub files: u64,
    /// The size of the files, bytes.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The number of window rows and flow records that it lacks since the node started: they came faster than the disk took them, or could
    /// not be written.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// The data that cannot be written now, and the reason; `None` where all can.
    pub fault: Option<String>,
}

/// The state of the clock of a node, by its kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelClock {
    /// True if the kernel takes it for synchronised; `None` where that is unknown.
    pub synchronised: Option<bool>,
    /// The largest error of the clock, nanoseconds; `None` where that is unknown.
    #[serde(default, with = "Nullable::<Integer>")]
    pub max_error_ns: Option<u64>,
}

/// The clock of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// The state of the clock, by the kernel.
    #[serde(flatten)]
    pub kernel: KernelClock,
    /// The least number of seconds by which it is ahead of the controller clock, negative where it is behind; `None` where that is unknown.
    pub ahead_s: Option<f64>,
}

/// The load of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// The share of time in which its receivers had frames at hand, in the last seconds; `None` before any have passed.
    pub busy: Option<f64>,
    /// The number of flows in its tables.
    #[serde(with = "Integer")]
    pub flows: u64,
    /// The most flows that its tables may hold; `None` without a limit.
    #[serde(with = "Nullable::<Integer>")]
    pub most_flows: Option<u64>,
}

/// The task lists of a node, by their generations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskState {
    /// The generation that the node is to have.
    #[serde(with = "Integer")]
    pub wanted: u64,
    /// The generation that the node has.
    #[serde(with = "Nullable::<Integer>")]
    pub applied: Option<u64>,
    /// The reason why the node has not what it is to have.
    pub refused: Option<String>,
    /// The number of tasks of it that have ended at the node because their lease was over.
    #[serde(with = "Integer")]
    pub lapsed: u64,
}
