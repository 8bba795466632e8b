//! The traffic of the last hours by steps: what `GET /now` returns.

use crate::event::Items;
use crate::{Counters, Integer, Item, Missing, Nullable, Span, Time, Value};
use serde::{Serialize, Serializer};

/// A value of a step.
type Values = Vec<Value>;

/// The kind of time that steps divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NowKind {
    /// The last hours of what is measured now.
    #[default]
    Live,
    /// The whole time of captures.
    Capture,
}

/// The kind of groups that a ranking has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RankingBy {
    /// Groups by the address that sends.
    #[default]
    Source,
    /// Groups by the address that receives.
    Destination,
    /// Groups by two addresses, both ways together.
    Conversation,
    /// Groups by the protocol and the lesser one of both ports.
    Port,
    /// Groups by the protocol.
    Protocol,
}

impl RankingBy {
    /// The list of all kinds.
    pub const ALL: [Self; 5] =
        [Self::Source, Self::Destination, Self::Conversation, Self::Port, Self::Protocol];

    /// Returns the name in JSON and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Conversation => "conversation",
            Self::Port => "port",
            Self::Protocol => "protocol",
        }
    }
}

/// The traffic of the last hour, or of a capture, by steps.
///
/// Sums are between bounds where they are not exact, and null where nothing is known of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Now {
    /// The time of the steps; `None` before the first window.
    pub period: Option<Span>,
    /// The hour before; `None` if nothing of it is known, and of captures.
    pub before: Option<Span>,
    /// The length of a step, nanoseconds.
    #[serde(with = "Integer")]
    pub step_ns: u64,
    /// The number of steps. Step `i` begins `i` lengths after the begin of the period.
    pub steps: u32,
    /// True if the last step is not over yet: its sums are those so far.
    pub open: bool,
    /// The kind of time that the steps divide.
    pub kind: NowKind,
    /// True if nothing more is measured.
    pub ended: bool,
    /// The names of the nodes whose traffic it is.
    pub nodes: Vec<String>,
    /// The sums over the period.
    pub figures: Figures,
    /// The sums over the hour before.
    pub figures_before: Option<Figures>,
    /// The newest step that is over; before the first one is, the open one.
    pub latest: Option<StepFigures>,
    /// The step an hour before the newest one.
    pub latest_before: Option<StepFigures>,
    /// The sums of each step.
    pub series: FigureSeries,
    /// The sums of each step of the hour before.
    pub series_before: Option<FigureSeries>,
    /// The groups with the most bytes, by kind.
    pub rankings: Vec<NowRanking>,
    /// The account of all frames of the period.
    pub account: NowAccount,
    /// The times of the period of which nothing is known, each of a node.
    pub missing: Vec<MissingOfNode>,
    /// The steps of the period whose sums lack something, each of a node.
    pub partial: Vec<PartialStep>,
    /// The number of steps that lack something and are not listed: of many the newest are.
    #[serde(with = "Integer")]
    pub partial_unlisted: u64,
    /// The extent of what is kept.
    pub kept: Kept,
}

/// Sums over a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// The layer-3 bytes.
    pub bytes: Value,
    /// The packets.
    pub packets: Value,
    /// The flow keys with packets; null over several steps, whose flows may be the same.
    pub flows: Value,
    /// The packets lost before they were read; null if the source cannot count them.
    pub lost: Value,
    /// The packets received, as a share of those received or lost before they were read.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub coverage: Option<f64>,
    /// The bytes of TCP; null where losses are not tracked.
    pub tcp_bytes: Value,
    /// The bytes of TCP that were lost, sent again or missed by the tap; null where losses are not tracked.
    pub tcp_lost_bytes: Value,
    /// The time that was watched, nanoseconds: of several nodes, that of the one that watched most.
    #[serde(with = "Integer")]
    pub watched_ns: u64,
}

/// The sums of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepFigures {
    /// The time of the step.
    pub window: Option<Span>,
    /// The sums.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The sums of each step, in order; null where nothing is known of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureSeries {
    /// The layer-3 bytes.
    pub bytes: Values,
    /// The packets.
    pub packets: Values,
    /// The flow keys with packets.
    pub flows: Values,
    /// The packets lost before they were read.
    pub lost: Values,
    /// The packets received, as a share of those received or lost before they were read.
    pub coverage: Vec<Option<f64>>,
    /// The bytes of TCP.
    pub tcp_bytes: Values,
    /// The bytes of TCP that were lost, sent again or missed by the tap.
    pub tcp_lost_bytes: Values,
    /// The time that was watched, nanoseconds.
    pub watched_ns: Values,
}

/// The groups with the most bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NowRanking {
    /// The kind of the groups.
    pub by: RankingBy,
    /// The names of the members of keys.
    pub key: Vec<String>,
    /// The groups, the one with the most bytes first.
    pub rows: Vec<NowRow>,
    /// All other groups together; `None` where there is no ranking.
    pub rest: Option<NowSums>,
    /// The reason why there is no ranking; `None` where there is one.
    pub refused: Option<String>,
}

/// A group of a ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NowRow {
    /// The key of the group.
    #[cfg_attr(feature = "schema", schemars(with = "Items"))]
    #[serde(serialize_with = "write_key")]
    pub key: Vec<Item>,
    /// The sums of the group.
    #[serde(flatten)]
    pub sums: NowSums,
}

/// The sums of one group, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NowSums {
    /// The layer-3 bytes of the period.
    pub bytes: Value,
    /// The packets of the period.
    pub packets: Value,
    /// The bytes as a share of all bytes of the period; `None` where there are none.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub share: Option<f64>,
    /// The bytes of the hour before; null where nothing of it is known.
    pub bytes_before: Value,
    /// The growth of the bytes against the hour before: 0 if they are the same, 1 if they doubled. `None` where nothing of that hour is known,
    /// or where it had none.
    pub change: Option<f64>,
    /// The bytes of each step.
    pub series: Values,
}

/// The account of all frames: `received` is the sum of `measured` and of all of `not_measured`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NowAccount {
    /// The frames that were received.
    #[serde(with = "Integer")]
    pub received: u64,
    /// The frames that were measured.
    #[serde(with = "Integer")]
    pub measured: u64,
    /// The frames that were not measured, by reason.
    pub not_measured: Counters,
    /// The frames lost before they were read, by reason; `None` if a source cannot count them.
    pub lost: Option<Counters>,
    /// The frames received, as a share of those received or lost; `None` if a source cannot count its loss.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub coverage: Option<f64>,
}

/// A time of which nothing is known of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingOfNode {
    /// The time and the reason.
    #[serde(flatten)]
    pub missing: Missing,
    /// The name of the node.
    pub node: String,
}

/// A step whose sums lack something.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartialStep {
    /// The first instant of the step.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
    /// The reason.
    pub reason: String,
    /// The name of the node.
    pub node: String,
}

/// The extent of what is kept of the last hours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kept {
    /// The begin of the oldest step that is kept; `None` before the first window.
    #[serde(rename = "start", with = "Nullable::<Time>")]
    pub start_ns: Option<u64>,
    /// The number of steps that are kept of a node at most.
    pub steps: u32,
    /// The number of groups that are kept of a step in each ranking, at most.
    pub groups_per_step: u32,
    /// The memory that the steps take, bytes.
    #[serde(with = "Integer")]
    pub memory_bytes: u64,
    /// The memory that the steps of these nodes take at most, bytes.
    #[serde(with = "Integer")]
    pub most_memory_bytes: u64,
}

/// Writes a key as an object with a member for each part.
pub(super) fn write_key<S: Serializer>(key: &[Item], serializer: S) -> Result<S::Ok, S::Error> {
    Items(key).serialize(serializer)
}
