//! Chains of events in words.

use crate::Positive;
use serde::{Deserialize, Serialize};

/// A chain of events from its first one on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Story {
    /// The event that it began with.
    pub id: String,
    /// The story in a sentence that names no query: the title of the firing that it began with, or of the last one of its chain whose query says
    /// something. Stories that a version without titles has stored lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The chain in words, a line for each step.
    pub text: String,
    /// The identifiers of its events, in order.
    pub events: Vec<String>,
    /// The number of later events, which are not in `events`.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub events_unlisted: u64,
}
