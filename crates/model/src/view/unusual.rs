//! What is unusual in the traffic: what `GET /unusual` returns.

use super::now::write_key;
use crate::{Integer, Item, Nullable, Span, Time, Value};
use serde::{Deserialize, Serialize};

/// The rules by which traffic is unusual. `docs/unusual.md` has their thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnusualRule {
    /// One source reaches many destinations that do not answer, or many ports of one destination.
    #[default]
    Scan,
    /// Many sources reach one destination.
    ManyToOne,
    /// A node, or a connection, loses more than a threshold.
    Loss,
    /// A group has a large share of the traffic that it did not have before.
    Heavy,
    /// A node or a source that sent steadily sends no more.
    Silence,
}

impl UnusualRule {
    /// The list of all rules.
    pub const ALL: [Self; 5] = [Self::Scan, Self::ManyToOne, Self::Loss, Self::Heavy, Self::Silence];

    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::ManyToOne => "many_to_one",
            Self::Loss => "loss",
            Self::Heavy => "heavy",
            Self::Silence => "silence",
        }
    }
}

/// The state of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleState {
    /// The rule judges what comes.
    Watched,
    /// The rule needs to know more of the past before it judges.
    #[default]
    Learning,
    /// The rule cannot judge here.
    NotWatched,
}

/// The findings about unusual traffic, and the rules that watch for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unusual {
    /// The end of the newest step that was judged; `None` before the first one.
    #[serde(rename = "at", with = "Nullable::<Time>")]
    pub at_ns: Option<u64>,
    /// The time that was judged.
    pub period: Option<Span>,
    /// The rules.
    pub rules: Vec<RuleView>,
    /// The findings, the newest first. One that is over stays for an hour.
    pub entries: Vec<UnusualEntry>,
    /// The number of entries that are not listed.
    #[serde(with = "Integer")]
    pub entries_unlisted: u64,
}

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleView {
    /// The name of the rule.
    pub rule: UnusualRule,
    /// The rule in a sentence.
    pub title: String,
    /// The state of the rule.
    pub state: RuleState,
    /// The reason for the state; `None` where it is watched.
    pub reason: Option<String>,
    /// The threshold in words.
    pub threshold: String,
}

/// A finding about unusual traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusualEntry {
    /// The identifier of the entry: its rule, node, key and begin.
    pub id: String,
    /// The rule.
    pub rule: UnusualRule,
    /// The name of the node where it was seen.
    pub node: Option<String>,
    /// The kind of the subject: `source`, `destination`, `conversation`, `flow` or `node`.
    pub by: String,
    /// The key of the subject.
    #[cfg_attr(feature = "schema", schemars(with = "crate::event::Items"))]
    #[serde(serialize_with = "write_key")]
    pub key: Vec<Item>,
    /// The begin of the first step in which the threshold was passed.
    #[serde(rename = "since", with = "Time")]
    pub since_ns: u64,
    /// The end of the last step in which the threshold was passed; `None` as long as it is passed.
    #[serde(rename = "until", with = "Nullable::<Time>")]
    pub until_ns: Option<u64>,
    /// The step of the figure.
    pub window: Span,
    /// The figure that passed the threshold, in the step in which it was furthest from it.
    pub figure: UnusualFigure,
    /// The threshold.
    pub threshold: UnusualThreshold,
    /// The same figure in the past.
    pub past: UnusualPast,
    /// Further figures of the step.
    pub figures: Vec<UnusualFigure>,
    /// The entry in a sentence.
    pub text: String,
}

/// A figure of something unusual.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusualFigure {
    /// The name of the figure.
    pub name: String,
    /// The unit of the figure; `share` of a number from 0 to 1.
    pub unit: String,
    /// The value, between bounds where it is not exact.
    pub value: Value,
}

/// The threshold that was passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusualThreshold {
    /// The number, in the unit of the figure.
    pub value: f64,
    /// The origin of the number, in words.
    pub why: String,
}

/// The same figure before it became unusual.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusualPast {
    /// The greatest value in the hour before; of silence the mean. Null where it is not known.
    pub value: Value,
    /// The time of this value; `None` where it is not known.
    pub window: Option<Span>,
}
