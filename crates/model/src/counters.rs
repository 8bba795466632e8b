//! Named counters, and the account of all frames.

use crate::integer::Integer;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Counters of one list that are read; there are a few dozen names.
const MOST_COUNTERS: usize = 1_000;

/// Named counters: those that are not zero.
///
/// The order is significant. A counter that is zero equals a missing one: two lists are equal if their nonzero counters are.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, crate::Positive>"))]
    pub Vec<(String, u64)>,
);

impl Counters {
    /// Returns the sum of all counters.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |total, (_, count)| total.saturating_add(*count))
    }

    /// The counter of this name; 0 if it is missing.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
    }

    /// Returns the counters that are not zero.
    pub fn nonzero(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.0.iter().map(|(name, count)| (name.as_str(), *count)).filter(|&(_, count)| count != 0)
    }

    /// Adds to the counter of this name. New ones are put in the order of names.
    pub fn count(&mut self, name: &str, number: u64) {
        match self.0.binary_search_by(|(own, _)| own.as_str().cmp(name)) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(number),
            Err(_) if number == 0 => {}
            Err(at) => self.0.insert(at, (name.to_owned(), number)),
        }
    }

    /// Adds other counters, by name.
    pub fn add(&mut self, more: &Self) {
        for (name, count) in &more.0 {
            match self.0.iter_mut().find(|(own, _)| own == name) {
                Some((_, total)) => *total = total.saturating_add(*count),
                None => self.0.push((name.clone(), *count)),
            }
        }
    }

    /// Returns the counts added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        self.0.iter().map(|(name, count)| (name.clone(), count.saturating_sub(before.get(name)))).collect()
    }
}

impl PartialEq for Counters {
    fn eq(&self, other: &Self) -> bool {
        self.nonzero().eq(other.nonzero())
    }
}

impl Eq for Counters {}

impl<N: Into<String>> FromIterator<(N, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(counters: I) -> Self {
        Self(counters.into_iter().map(|(name, count)| (name.into(), count)).collect())
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, count) in self.nonzero() {
            map.serialize_entry(name, &Integer(count))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Counters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CountersVisitor).map(Self)
    }
}

struct CountersVisitor;

impl<'de> Visitor<'de> for CountersVisitor {
    type Value = Vec<(String, u64)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of unsigned integers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut counters: Self::Value = Vec::new();
        while let Some((name, Integer(count))) = map.next_entry::<String, Integer>()? {
            if counters.iter().any(|(own, _)| *own == name) {
                return Err(A::Error::custom(format!("the counter {name} is there twice")));
            }
            if counters.len() == MOST_COUNTERS {
                return Err(A::Error::custom(format!("there are more than {MOST_COUNTERS} counters")));
            }
            counters.push((name, count));
        }
        Ok(counters)
    }
}

/// The numbers of frames: `received` is always the sum of `measured` and all of `not_measured`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Packets"))]
pub struct PacketCounts {
    /// The number of frames taken from the source.
    #[serde(with = "Integer")]
    pub received: u64,
    /// The number of frames counted in a flow record, the record `other` included.
    #[serde(with = "Integer")]
    pub measured: u64,
    /// The numbers of frames that were not measured, by reason.
    pub not_measured: Counters,
    /// Further remarks on the frames, measured or not, such as `time_backwards` and `ports_truncated`.
    pub remarks: Counters,
}

impl PacketCounts {
    /// Adds the counts of other packets.
    pub fn add(&mut self, more: &Self) {
        self.received = self.received.saturating_add(more.received);
        self.measured = self.measured.saturating_add(more.measured);
        self.not_measured.add(&more.not_measured);
        self.remarks.add(&more.remarks);
    }

    /// Returns the counts added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            measured: self.measured.saturating_sub(before.measured),
            not_measured: self.not_measured.since(&before.not_measured),
            remarks: self.remarks.since(&before.remarks),
        }
    }
}

/// Packets received, as a share of those received or lost before the measurement: 1 where there were none.
pub fn coverage(received: u64, lost: u64) -> f64 {
    let (received, lost) = (received as f64, lost as f64);
    if received + lost == 0.0 { 1.0 } else { received / (received + lost) }
}
