//! The state of a node.

use crate::{Account, Counters, Integer, Nullable, PacketCounts, Span, Time};
use serde::{Deserialize, Serialize};

/// Whether a node answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// In time.
    Up,
    /// After its time.
    Late,
    /// No more.
    Down,
    /// The controller does not hear it through a fault of its own, which [`Status::faults`](super::Status::faults) names: how it is, is unknown.
    Unheard,
    /// It said that nothing follows.
    Ended,
    /// It was never seen.
    #[default]
    Never,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// Whether it answers.
    pub state: NodeState,
    /// When it was last heard of, nanoseconds since the epoch.
    #[serde(rename = "seen", with = "Nullable::<Time>")]
    pub seen_ns: Option<u64>,
    /// The coverage of its last window; `None` where its source cannot count its loss.
    pub coverage: Option<f64>,
    /// The last window that it answered.
    pub window: Option<Span>,
    /// Frames since it started.
    pub packets: PacketCounts,
    /// Lost before the measurement since it started; `None` where its source cannot count it.
    pub loss: Option<Counters>,
    /// The last window's own account.
    pub last: Option<Account>,
    /// Messages that wait at the node.
    pub spool: Spool,
    /// Its store, if it has one.
    pub store: Option<Store>,
    /// Its clock, where that is known.
    pub clock: Option<Clock>,
    /// How busy it is; `None` before its first heartbeat.
    pub load: Option<Load>,
    /// Its tasks.
    pub tasks: TaskState,
    /// Its version.
    pub version: Option<String>,
    /// What it measures.
    pub sources: Vec<String>,
    /// The newest times in which no condition judges it, the oldest first.
    pub gaps: Vec<Gap>,
    /// Windows that never came since its first one, by reason.
    #[serde(default)]
    pub missing: Vec<MissingWindows>,
    /// The share of the time from its first window to its last one that came that its windows cover. The time since that last one is not in
    /// it. `None` before the first window.
    #[serde(default)]
    pub watched: Option<f64>,
    /// What came as its own and was not taken, by reason; another's too, who has its rights at the broker.
    pub refused: Counters,
}

/// A time in which no condition judges a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Its first instant, nanoseconds since the epoch.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
    /// Why.
    pub reason: String,
}

/// Windows of a node that never came, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissingWindows {
    /// Why.
    pub reason: String,
    /// Their number.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// The time that they cover.
    pub seconds: f64,
}

/// What a node keeps until it is delivered. With a file, counters go on where the node's last start ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spool {
    /// The number of messages.
    #[serde(with = "Integer")]
    pub messages: u64,
    /// Their size.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// Window results of which rows were left out, because the spool was nearly full.
    #[serde(default, with = "Integer")]
    pub shortened: u64,
    /// Window results that were dropped, because the spool was full.
    #[serde(with = "Integer")]
    pub dropped: u64,
    /// Messages that were kept in memory only since the node started, because the file did not take them.
    #[serde(default, with = "Integer")]
    pub unwritten: u64,
    /// Why the file takes nothing now.
    pub fault: Option<String>,
}

/// The state of a node's store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store {
    /// The number of files.
    #[serde(with = "Integer")]
    pub files: u64,
    /// Their size.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// Window rows and flow records that it lacks since the node started: they came faster than the disk took them, or could not be
    /// written.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// What cannot be written now, and why.
    pub fault: Option<String>,
}

/// What the kernel of a node says of its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelClock {
    /// Whether the kernel takes it for synchronised; `None` where that is unknown.
    pub synchronised: Option<bool>,
    /// Its largest error, nanoseconds.
    #[serde(default, with = "Nullable::<Integer>")]
    pub max_error_ns: Option<u64>,
}

/// A node's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// What its kernel says of it.
    #[serde(flatten)]
    pub kernel: KernelClock,
    /// By how much it is ahead of the controller's at least, seconds; `None` where that is unknown.
    pub ahead_s: Option<f64>,
}

/// How busy a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The share of time in which its receivers had frames at hand, in the last seconds; `None` before any have passed.
    pub busy: Option<f64>,
    /// Flows in its tables.
    #[serde(with = "Integer")]
    pub flows: u64,
    /// The most that they may hold; `None` without a limit.
    #[serde(with = "Nullable::<Integer>")]
    pub most_flows: Option<u64>,
}

/// The task lists of a node, by their generations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// The one that it is to have.
    #[serde(with = "Integer")]
    pub wanted: u64,
    /// The one that it has.
    #[serde(with = "Nullable::<Integer>")]
    pub applied: Option<u64>,
    /// Why it has not what it is to have.
    pub refused: Option<String>,
    /// Tasks of it that have ended at the node because their lease was over.
    #[serde(with = "Integer")]
    pub lapsed: u64,
}
