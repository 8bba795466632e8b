//! The events of a run.

use super::UndecidedReport;
use crate::{Capture, Event, Positive, Story};
use serde::{Deserialize, Serialize};

/// The events of a run, with their stories and captured packets.
///
/// The JSON of a report has these members next to its others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEvents {
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// The number of earlier events, which are not in `events`.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub events_unlisted: u64,
    /// The stories of the events, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
    /// The number of earlier stories, which are not in `stories`.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub stories_unlisted: u64,
    /// The conditions that some windows did not decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedReport>,
    /// The packets that events asked for, in the order in which the captures ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
    /// The number of earlier captures, which are not in `captures`.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub captures_unlisted: u64,
}
