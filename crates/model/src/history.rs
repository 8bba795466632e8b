//! Answers about recorded time: what nodes remember, and what queries would have done then.

use crate::{Answer, Event, Span, Story, integer};
use serde::{Deserialize, Serialize};

/// The answers of the stores of nodes to a question, as `POST /history` has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryAnswers {
    /// The answers, query by query and by time.
    pub answers: Vec<Answer>,
    /// The nodes that were asked.
    pub nodes: Vec<HistoryNode>,
    /// What to think about, a line each.
    pub warnings: Vec<String>,
}

/// A node that was asked about what its store remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryNode {
    /// Its name.
    pub name: String,
    /// What keeps its answers from being there or complete: a name, and what there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The events that queries would have caused in a recorded time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRunOutcome {
    /// From the begin of the first window that was judged to the end of the last one; `None` if no node had packets.
    pub judged: Option<Span>,
    /// How many conditions became true, those of events that are not listed with the others.
    pub fired: u64,
    /// The events of the period, in order.
    pub events: Vec<Event>,
    /// The number of later events, which are not listed.
    pub more_events: u64,
    /// The stories of these events.
    pub stories: Vec<Story>,
    /// The nodes.
    pub nodes: Vec<DryRunNode>,
    /// What to think about, a line each.
    pub warnings: Vec<String>,
}

/// The part of a node in a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRunNode {
    /// Its name.
    pub name: String,
    /// The number of windows in which it had packets, and that were played.
    #[serde(with = "integer")]
    pub windows: u64,
    /// What keeps its answers from being there or complete: a name, and what there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}
