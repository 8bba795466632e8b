//! Values of groups, widened by the packets without a place that may be theirs.

use super::amounts::{Amounts, differences, lesser};
use super::summary::{GroupKey, GroupSummary};
use crate::query::Operator;
use crate::rows::scalar::Scalar;
use std::collections::HashMap;

/// The way in which packets without a place change the value of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpilledValue {
    /// The value is a sum of this weight.
    Weight(usize),
    /// The value is a number of flows, or of distinct values of a key's member: each packet may be one more, and at least one of a group
    /// without rows is.
    Different,
    /// The packets do not tell how the value changes.
    Unknown,
}

/// The amounts that packets without a place add to the groups of one query.
#[derive(Debug)]
pub(crate) struct GroupBounds {
    known: HashMap<GroupKey, Amounts>,
    /// The amounts of each group that is not known.
    pub(crate) others: Amounts,
    /// The amounts of all groups together: a packet counts once for each of its groups.
    total: Amounts,
}

impl GroupBounds {
    pub(super) fn new(summary: &GroupSummary) -> Self {
        let (known, others) = summary.tightened();
        Self { known: known.collect(), others, total: summary.total }
    }

    /// Keys of groups that certainly have packets without a place.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &GroupKey> {
        self.known.iter().filter(|(_, amounts)| amounts.lower[0] != 0).map(|(key, _)| key)
    }

    /// True if no packet passes the filter.
    pub(crate) fn are_nothing(&self) -> bool {
        self.total.is_nothing()
    }

    /// Packets that may be of its groups, each once for each group.
    pub(crate) fn packets(&self) -> u64 {
        self.total.upper[0]
    }

    /// Packets of which keys do not tell whether the filter lets their flows through.
    pub(crate) fn undecided(&self) -> u64 {
        self.total.upper[0] - self.total.lower[0]
    }

    /// Returns the amounts of the group with this key. All rows together have no key.
    pub(crate) fn get(&self, is_v6: bool, words: &[u64]) -> Amounts {
        if words.is_empty() {
            return self.total;
        }
        let words = std::array::from_fn(|at| words.get(at).copied().unwrap_or(0));
        self.known.get(&(is_v6, words)).copied().unwrap_or(self.others)
    }

    /// The value of an aggregate of which `rows` is what rows tell.
    pub(crate) fn widen(&self, spilled: SpilledValue, rows: Scalar, amounts: &Amounts) -> Scalar {
        if amounts.is_nothing() {
            return rows;
        }
        if self.undecided() != 0 {
            return unbounded(rows);
        }
        match (spilled, rows.interval()) {
            (SpilledValue::Weight(weight), _) => {
                let rows = if rows == Scalar::Null { Scalar::Integer(0) } else { rows };
                let (lower, upper) = (amounts.lower[weight], amounts.upper[weight]);
                rows.calculate(Operator::Add, between(lower, lower, upper))
            }
            (SpilledValue::Different, Some([value, lower, upper])) => {
                let [certain, possible] = [amounts.lower[0], amounts.upper[0]].map(|packets| packets as f64);
                let lower = lower.max(certain.min(1.0));
                Scalar::Between { value: value + certain, lower, upper: upper + possible }
            }
            _ => unbounded(rows),
        }
    }

    /// Returns the amounts of the groups that are not in an answer. `shown`: the amounts of those that are.
    pub(crate) fn without(&self, shown: impl Iterator<Item = Amounts>) -> Amounts {
        let shown = shown.fold(Amounts::default(), |sum, amounts| sum.plus(&amounts));
        let upper = differences(&self.total.upper, &shown.lower);
        Amounts { lower: lesser(&differences(&self.total.lower, &shown.upper), &upper), upper }
    }

    /// The total of several groups of which `rows` is what rows tell.
    pub(crate) fn total(&self, spilled: SpilledValue, rows: Scalar, amounts: &Amounts) -> Scalar {
        match spilled {
            _ if amounts.is_nothing() => rows,
            _ if self.undecided() != 0 => unbounded(rows),
            // With the values of the other groups it is the total of all.
            SpilledValue::Weight(weight) => {
                let (lower, upper) = (amounts.lower[weight], amounts.upper[weight]);
                rows.calculate(Operator::Add, between(upper, lower, upper))
            }
            SpilledValue::Different => {
                rows.calculate(Operator::Add, between(amounts.upper[0], 0, amounts.upper[0]))
            }
            SpilledValue::Unknown => unbounded(rows),
        }
    }
}

/// A value of which rows tell no bounds, and not whether there is one where they have none: what packets without a place have is in no row.
pub(crate) fn unbounded(rows: Scalar) -> Scalar {
    match rows {
        Scalar::Integer(number) | Scalar::Seen(number) => Scalar::Seen(number),
        rows => rows.likely().map_or(Scalar::Unknown, Scalar::unbounded),
    }
}

fn between(value: u64, lower: u64, upper: u64) -> Scalar {
    match lower == upper {
        true => Scalar::Integer(value.into()),
        false => Scalar::Between { value: value as f64, lower: lower as f64, upper: upper as f64 },
    }
}
