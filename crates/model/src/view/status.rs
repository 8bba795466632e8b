//! The state of the whole.

use super::NodeView;
use crate::{Counters, Integer, Nullable, Span, Time};
use serde::{Deserialize, Serialize};

/// The kind of program that answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A controller of probes.
    Controller,
    /// A run, which has its probes in itself.
    #[default]
    Run,
}

/// The state of a controller or a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The kind of program that answers.
    pub mode: Mode,
    /// The version of the program.
    pub version: String,
    /// The time at which this is told.
    ///
    /// The server fills it in.
    #[serde(rename = "now", with = "Time")]
    pub now_ns: u64,
    /// The time at which the program started.
    #[serde(rename = "started", with = "Time")]
    pub started_ns: u64,
    /// True if nothing more is measured.
    pub ended: bool,
    /// The sources that are measured.
    pub sources: Vec<String>,
    /// The stream time of what was measured so far, from the first to the last frame.
    pub span: Option<Span>,
    /// The connection to the broker; `None` where there is none.
    pub broker: Option<Broker>,
    /// The messages to Kafka; `None` where none are sent there.
    #[serde(default)]
    pub kafka: Option<Delivered>,
    /// The alerts for each Alertmanager that is told.
    #[serde(default)]
    pub alertmanagers: Vec<AlertmanagerView>,
    /// True if there are stores that may be asked about history.
    #[serde(default)]
    pub history: bool,
    /// The nodes.
    pub nodes: Vec<NodeView>,
    /// The numbers of messages that were refused, by reason.
    pub refused: Counters,
    /// The numbers of requests and connections of clients that were refused, by reason.
    ///
    /// The server fills it in.
    #[serde(default)]
    pub refused_requests: Counters,
    /// The faults of the controller's own, the oldest first: those that last, and the last twenty that are over.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// The coverage of a window below which no condition judges it; `None` where none is set.
    #[serde(default)]
    pub least_coverage: Option<f64>,
    /// The numbers of windows, over all nodes.
    pub windows: WindowTotals,
    /// The last warnings, the oldest first.
    pub notes: Vec<Note>,
}

/// The messages to Kafka, by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivered {
    /// The number of messages that are safe.
    #[serde(with = "Integer")]
    pub delivered: u64,
    /// The size of the JSON of these messages, bytes.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// The number of messages that were handed over again, because it was not known whether they had arrived.
    #[serde(with = "Integer")]
    pub again: u64,
    /// The numbers of messages that were given up, by reason.
    pub lost: Counters,
    /// The numbers of times that something went wrong that may pass, by its name.
    pub problems: Counters,
}

/// The alerts for one Alertmanager, by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Alertmanager"))]
pub struct AlertmanagerView {
    /// The address of the Alertmanager.
    pub address: String,
    /// The number of firings that it took.
    #[serde(with = "Integer")]
    pub fired: u64,
    /// The number of resolutions that it took.
    #[serde(with = "Integer")]
    pub resolved: u64,
    /// The number of firings that it took again, as they still fire.
    #[serde(with = "Integer")]
    pub repeated: u64,
    /// The number of resolutions that it took without having taken the firing before.
    #[serde(with = "Integer")]
    pub unseen: u64,
    /// The number of resolutions after which the same fired again before it took them.
    #[serde(with = "Integer")]
    pub merged: u64,
    /// The numbers of alerts that were given up, by reason.
    pub lost: Counters,
    /// The numbers of times that something went wrong that may pass, by its name.
    pub problems: Counters,
    /// The fault that lasts at present; `None` where nothing is wrong.
    pub fault: Option<String>,
}

/// A connection to a broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Broker {
    /// The state of the connection.
    pub state: BrokerState,
    /// The time since which it is in this state.
    #[serde(rename = "since", with = "Time")]
    pub since_ns: u64,
    /// The reason why the broker is away or takes no messages.
    pub reason: Option<String>,
}

/// The state of the connection to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BrokerState {
    /// Messages pass.
    Connected,
    /// The broker is there and takes no messages, because of an alarm of its own.
    Blocked,
    /// The broker does not answer.
    Away,
}

/// The numbers of windows, by how they were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowTotals {
    /// The number of windows that were answered with all that was measured.
    #[serde(with = "Integer")]
    pub complete: u64,
    /// The number of windows that were answered without a part of it.
    #[serde(with = "Integer")]
    pub partial: u64,
    /// The number of windows that were answered after the time for answers.
    #[serde(with = "Integer")]
    pub late: u64,
    /// The number of windows that were never answered, because the spool of the node was full.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// The number of windows that were never answered, for any reason.
    #[serde(default, with = "Integer")]
    pub missing: u64,
    /// The number of windows that were answered again; only the first answer counts.
    #[serde(with = "Integer")]
    pub doubled: u64,
}

impl WindowTotals {
    /// Adds the numbers of another node.
    pub fn add(&mut self, more: &Self) {
        let Self { complete, partial, late, lost, missing, doubled } = *more;
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        add(&mut self.complete, complete);
        add(&mut self.partial, partial);
        add(&mut self.late, late);
        add(&mut self.lost, lost);
        add(&mut self.missing, missing);
        add(&mut self.doubled, doubled);
    }
}

/// The names of the faults of a controller's own: the archive takes nothing, rows of it are damaged, the broker is away, the broker takes no
/// messages.
pub const FAULTS: [&str; 4] = ["archive", "archive_rows", "broker_away", "broker_blocked"];

/// A fault of the controller's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// The name of the fault. `archive`: nothing can be stored, and no message is taken. `archive_rows`: stored rows are damaged and left
    /// out. `broker_away`, `broker_blocked`: no message comes.
    ///
    /// One of [`FAULTS`].
    #[cfg_attr(feature = "schema", schemars(extend("enum" = FAULTS)))]
    pub fault: String,
    /// The time since which it lasts.
    #[serde(rename = "since", with = "Time")]
    pub since_ns: u64,
    /// The time until which it lasted; `None` while it does.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The fault in one line.
    pub reason: String,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The time at which it was given.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// The warning in one line.
    pub text: String,
}
