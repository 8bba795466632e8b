//! The JSON of an answer.

use model::{HistoryNode, Integer, Missing, Nullable, Span, Value};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The measure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeMeasure {
    /// Bits of packets, without the frames around them.
    Bits,
    /// Packets.
    Packets,
    /// Flows.
    Flows,
}

impl ChangeMeasure {
    /// Returns the measure of this name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "bits" => Ok(Self::Bits),
            "packets" => Ok(Self::Packets),
            "flows" => Ok(Self::Flows),
            other => Err(format!("{other:?} is neither bits, packets nor flows")),
        }
    }

    /// Returns the sum in Equery.
    pub(crate) const fn sum(self) -> &'static str {
        match self {
            Self::Bits => "sum(total_byte)",
            Self::Packets => "sum(total_count)",
            Self::Flows => "count(*)",
        }
    }

    /// Returns how much a unit of the sum is.
    pub(crate) const fn unit(self) -> u64 {
        if matches!(self, Self::Bits) { 8 } else { 1 }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Compared {
    /// The sums of two periods of the same length.
    Sums,
    /// The sums per second of two periods of different length.
    Rates,
}

/// How whole the figures of a period are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeriodStatus {
    /// All of the period was seen: its figures are exact.
    Complete,
    /// A part of it is missing: its figures are "at least".
    Partial,
    /// Nothing of it is remembered: no figure is known.
    #[default]
    NotKnown,
}

/// What is known of the differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DifferenceKind {
    /// Both periods are complete.
    Exact,
    /// The later period is partial: the change is at least this much upwards.
    AtLeast,
    /// The earlier period is partial: the change is at most this much upwards.
    AtMost,
    /// Both periods are partial: the difference is of what was seen.
    OfWhatWasSeen,
    /// A period is not known.
    NotKnown,
}

/// A difference: a whole number where sums are compared, as far as 2⁵³, else a number per second.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Difference(pub(crate) f64);

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(number) = *self;
        if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
            serializer.serialize_i64(number as i64)
        } else {
            serializer.serialize_f64(number)
        }
    }
}

/// Why traffic changed between two periods.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Change {
    /// The measure.
    pub(crate) measure: ChangeMeasure,
    /// What is compared. All differences are of that: of rates per second.
    pub(crate) compared: Compared,
    /// The earlier period.
    pub(crate) before: ChangePeriod,
    /// The later period.
    pub(crate) after: ChangePeriod,
    /// What the later period has more; `None` where a period is not known.
    pub(crate) difference: Option<Difference>,
    /// What is known of all differences.
    pub(crate) difference_is: DifferenceKind,
    /// The fields, each with the groups that contribute most to the difference; none where a period is not known.
    pub(crate) fields: Vec<ChangeOfField>,
    /// The fields that are not compared, and why not.
    pub(crate) unanswered: Vec<Unanswered>,
    /// The node whose figures these are, where nodes see the same traffic; `None` where they are added.
    pub(crate) of_node: Option<String>,
    /// The nodes that were asked.
    pub(crate) nodes: Vec<HistoryNode>,
    /// Warnings, a line each.
    pub(crate) warnings: Vec<String>,
}

/// A period and what all of it has.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ChangePeriod {
    /// The period.
    #[serde(flatten)]
    pub(crate) period: Span,
    /// The sum of all that pass the condition; `None` where it is not known.
    #[serde(with = "Nullable::<Integer>")]
    pub(crate) total: Option<u64>,
    /// How whole the figures of the period are.
    pub(crate) status: PeriodStatus,
    /// The time from the first that is remembered of it to the last; `None` where nothing is.
    pub(crate) watched: Option<Span>,
    /// The times of which nothing is known.
    pub(crate) missing: Vec<Missing>,
    /// Why it is not complete, a line each.
    pub(crate) reasons: Vec<String>,
}

/// A field that is not compared.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Unanswered {
    /// The name of the field.
    pub(crate) field: &'static str,
    /// The reason in one line.
    pub(crate) reason: String,
}

/// The groups of a field that contribute most to a change. They and the rest add up to all.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ChangeOfField {
    /// The name of the field.
    pub(crate) field: &'static str,
    /// The fields of Equery that a group has a value of each; `node_id` of nodes.
    pub(crate) by: Vec<&'static str>,
    /// The groups, that with the largest difference first.
    pub(crate) groups: Vec<ChangedGroup>,
    /// All others together.
    pub(crate) rest: ChangedRest,
    /// True if no group that is not listed changed more than the last one that is.
    pub(crate) is_certain: bool,
    /// The most by which a group can have changed that is not listed.
    pub(crate) most_unlisted: Difference,
    /// Why its groups lack something that all together have, a line each; their figures are "at least" then.
    pub(crate) reasons: Vec<String>,
}

/// A group and its change.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ChangedGroup {
    /// The values of its fields.
    pub(crate) key: GroupKey,
    /// The condition that its flows fulfil, and no others.
    pub(crate) condition: String,
    /// The sum in the earlier period.
    #[serde(with = "Integer")]
    pub(crate) before: u64,
    /// The sum in the later period.
    #[serde(with = "Integer")]
    pub(crate) after: u64,
    /// What the later period has more.
    pub(crate) difference: Difference,
    /// Its part of the whole difference, below 0 where it goes the other way; `None` where the whole did not change.
    pub(crate) share: Option<f64>,
}

/// What all groups together have that are not listed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ChangedRest {
    /// The sum in the earlier period.
    #[serde(with = "Integer")]
    pub(crate) before: u64,
    /// The sum in the later period.
    #[serde(with = "Integer")]
    pub(crate) after: u64,
    /// What the later period has more.
    pub(crate) difference: Difference,
    /// Its part of the whole difference, below 0 where it goes the other way; `None` where the whole did not change.
    pub(crate) share: Option<f64>,
}

/// The values of a group's fields, by their names.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct GroupKey(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Value>"))]
    pub(crate)  Vec<(&'static str, Value)>,
);

impl Serialize for GroupKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
