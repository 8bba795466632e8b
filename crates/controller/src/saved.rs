//! The state that outlives a controller.

use crate::health::Came;
use model::{Answer, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state that a controller needs to continue after a restart, besides its queries, stories, and the results that are not settled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedController {
    pub(crate) machine: events::SavedMachine,
    pub(crate) settled_ns: Option<u64>,
    /// The answers of each node, by its name, that are not settled. Its probe will not send them again.
    #[serde(default)]
    pub(crate) unsettled: BTreeMap<String, Unsettled>,
    /// The time that the windows of each node cover. The next window tells by it which windows are missing in between.
    #[serde(default)]
    pub(crate) came: BTreeMap<String, Came>,
}

/// The answers of a node that are not settled, besides results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unsettled {
    /// Windows that the node watched and in which nothing was received.
    pub(crate) empty: Vec<Span>,
    /// Answers that wait for their windows.
    pub(crate) later: Vec<Answer>,
}

impl Unsettled {
    pub(crate) fn is_empty(&self) -> bool {
        self.empty.is_empty() && self.later.is_empty()
    }
}
