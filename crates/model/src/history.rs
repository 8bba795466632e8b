//! Answers about recorded time: what nodes remember, and what queries would have done then.

use crate::{Answer, Event, Integer, Span, Story};
use serde::{Deserialize, Serialize};

/// The answers of the stores of nodes to a question.
///
/// `POST /history` has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "History"))]
pub struct HistoryAnswers {
    /// The answers, query by query, each by time.
    pub answers: Vec<Answer>,
    /// The nodes that were asked.
    pub nodes: Vec<HistoryNode>,
    /// Warnings, a line each.
    pub warnings: Vec<String>,
}

/// A node that was asked about what its store remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryNode {
    /// The name of the node.
    pub name: String,
    /// The reason why its answers are missing or incomplete: a name, such as `no_store`, `away` or `late`, and an explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The events that queries would have caused in a recorded time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRunOutcome {
    /// The time from the begin of the first window that was judged to the end of the last one; `None` if no node had packets.
    pub judged: Option<Span>,
    /// The number of conditions that became true, including those of events that are not listed.
    pub fired: u64,
    /// The events of the period, in order.
    pub events: Vec<Event>,
    /// The number of later events, which are not listed.
    pub more_events: u64,
    /// The stories of these events.
    pub stories: Vec<Story>,
    /// The nodes.
    pub nodes: Vec<DryRunNode>,
    /// Warnings, a line each.
    pub warnings: Vec<String>,
}

/// The part of a node in a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DryRunNode {
    /// The name of the node.
    pub name: String,
    /// The number of windows in which it had packets, and that were played.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// The reason why its answers are missing or incomplete: a name, and an explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}
