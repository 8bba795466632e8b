//! The state of the whole.

use super::NodeView;
use crate::{Counters, Integer, Nullable, Span, Time};
use serde::{Deserialize, Serialize};

/// What serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct Status {
    /// Which of them.
    pub mode: Mode,
    /// Its version.
    pub version: String,
    /// When this is told, nanoseconds since the epoch; the server fills it in.
    #[serde(rename = "now", with = "Time")]
    pub now_ns: u64,
    /// When it started.
    #[serde(rename = "started", with = "Time")]
    pub started_ns: u64,
    /// Nothing more is measured.
    pub ended: bool,
    /// What is measured.
    pub sources: Vec<String>,
    /// Stream time of what was measured so far, from the first to the last frame.
    pub span: Option<Span>,
    /// The connection to the broker; `None` where there is none.
    pub broker: Option<Broker>,
    /// What became of messages to Kafka; `None` where none are sent there.
    #[serde(default)]
    pub kafka: Option<Delivered>,
    /// What became of alerts, for each Alertmanager that is told.
    #[serde(default)]
    pub alertmanagers: Vec<AlertmanagerView>,
    /// There are stores that may be asked about history.
    #[serde(default)]
    pub history: bool,
    /// The nodes.
    pub nodes: Vec<NodeView>,
    /// Messages that were refused, by reason.
    pub refused: Counters,
    /// Requests and connections of clients that were refused, by reason; the server fills it in.
    #[serde(default)]
    pub refused_requests: Counters,
    /// Faults of the controller's own, the oldest first: those that last, and the last ones that are over.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// The coverage of a window below which no condition judges it; `None` where none is set.
    #[serde(default)]
    pub least_coverage: Option<f64>,
    /// Windows, over all nodes.
    pub windows: WindowTotals,
    /// The last warnings, the oldest first.
    pub notes: Vec<Note>,
}

/// What became of messages to Kafka.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// Messages that are safe.
    #[serde(with = "Integer")]
    pub delivered: u64,
    /// Bytes of their JSON.
    #[serde(with = "Integer")]
    pub bytes: u64,
    /// Messages that were handed over again, because it was not known whether they had arrived.
    #[serde(with = "Integer")]
    pub again: u64,
    /// What was given up, by reason.
    pub lost: Counters,
    /// How often something went wrong that may pass, by its name.
    pub problems: Counters,
}

/// What became of the alerts for one Alertmanager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertmanagerView {
    /// Where it is.
    pub address: String,
    /// Firings that it took.
    #[serde(with = "Integer")]
    pub fired: u64,
    /// Resolutions that it took.
    #[serde(with = "Integer")]
    pub resolved: u64,
    /// Firings that it took again, as they still fire.
    #[serde(with = "Integer")]
    pub repeated: u64,
    /// Resolutions that it took without having taken the firing before.
    #[serde(with = "Integer")]
    pub unseen: u64,
    /// Resolutions after which the same fired again before it took them.
    #[serde(with = "Integer")]
    pub merged: u64,
    /// What was given up, by reason.
    pub lost: Counters,
    /// How often something went wrong that may pass, by its name.
    pub problems: Counters,
    /// What is wrong at present.
    pub fault: Option<String>,
}

/// A connection to a broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// Whether it is there.
    pub state: BrokerState,
    /// Since when, nanoseconds since the epoch.
    #[serde(rename = "since", with = "Time")]
    pub since_ns: u64,
    /// Why it is away or takes no messages.
    pub reason: Option<String>,
}

/// Whether a broker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerState {
    /// Messages pass.
    Connected,
    /// It is there and takes no messages, because of an alarm of its own.
    Blocked,
    /// It does not answer.
    Away,
}

/// How windows were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowTotals {
    /// With all that was measured.
    #[serde(with = "Integer")]
    pub complete: u64,
    /// Without a part of it.
    #[serde(with = "Integer")]
    pub partial: u64,
    /// After the time for answers.
    #[serde(with = "Integer")]
    pub late: u64,
    /// Never, because the spool of the node was full.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// Never, for any reason.
    #[serde(default, with = "Integer")]
    pub missing: u64,
    /// Again; only the first one counts.
    #[serde(with = "Integer")]
    pub doubled: u64,
}

impl WindowTotals {
    /// Adds those of another node.
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
pub struct Fault {
    /// Its name, one of [`FAULTS`].
    pub fault: String,
    /// Since when it lasts, nanoseconds since the epoch.
    #[serde(rename = "since", with = "Time")]
    pub since_ns: u64,
    /// Until when it lasted; `None` while it does.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// What is wrong, in one line.
    pub reason: String,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When it was given, nanoseconds since the epoch.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// One line.
    pub text: String,
}
