//! An event with what else is told of it.

use crate::{Event, Nullable, Time};
use serde::{Deserialize, Serialize};

/// An event, its story, and a sentence about it.
///
/// JSON: the event with these members in addition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StoredEvent"))]
pub struct EventView {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// The identifier of the story; `None` if the event is part of none.
    pub story: Option<String>,
    /// The event in a sentence.
    #[serde(default)]
    pub text: String,
    /// The time until which nobody is told of it, because its story is silent; absent where all are told.
    #[serde(default, with = "Nullable::<Time>", skip_serializing_if = "Option::is_none")]
    pub silenced_until: Option<u64>,
}
