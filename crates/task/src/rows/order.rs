//! The order of groups in an answer.

use super::aggregates::{CounterWord, PlannedAggregate};
use super::group_value::{Group, GroupValue};
use super::input::AggregateInput;
use super::plan::{OrderBy, PlannedOrder, QueryPlan};
use super::scalar::Scalar;
use super::update::QueryInputs;
use flow::NULL;
use model::Value;
use std::cmp::Ordering;

/// The value of a group that its place depends on.
#[derive(Clone, Debug)]
pub(crate) enum Ranked {
    Number(Scalar),
    Member(Value),
}

impl Ranked {
    pub(crate) fn order(&self, other: &Self, descending: bool) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.order(*other, descending),
            (Self::Member(one), Self::Member(other)) => order_of_members(one, other, descending),
            _ => Ordering::Equal,
        }
    }
}

/// Nulls are last in either direction, addresses of IPv4 before those of IPv6.
fn order_of_members(one: &Value, other: &Value, descending: bool) -> Ordering {
    let ordering = match (one, other) {
        (Value::Null, Value::Null) => return Ordering::Equal,
        (Value::Null, _) => return Ordering::Greater,
        (_, Value::Null) => return Ordering::Less,
        (Value::Unsigned(one), Value::Unsigned(other)) | (Value::Time(one), Value::Time(other)) => {
            one.cmp(other)
        }
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Conversation(one), Value::Conversation(other)) => one.to_string().cmp(&other.to_string()),
        (
            Value::Address(one) | Value::Prefix { address: one, .. },
            Value::Address(other) | Value::Prefix { address: other, .. },
        ) => one.cmp(other),
        _ => Ordering::Equal,
    };
    if descending { ordering.reverse() } else { ordering }
}

/// A group as far as its place among groups of equal values depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<'a> {
    pub(crate) is_v6: bool,
    pub(crate) words: &'a [u64],
}

impl QueryPlan {
    /// Returns the values by which a group is ordered.
    pub(crate) fn ranked(&self, group: &impl Group) -> Vec<Ranked> {
        self.order.iter().map(|order| rank(order, group)).collect()
    }

    /// Returns the first value by which a group is ordered.
    pub(crate) fn first_ranked(&self, group: &impl Group) -> Option<Ranked> {
        self.order.first().map(|order| rank(order, group))
    }

    /// The order of groups by their first values alone.
    pub(crate) fn compare_first(&self, one: Option<&Ranked>, other: Option<&Ranked>) -> Ordering {
        match (self.order.first(), one, other) {
            (Some(order), Some(one), Some(other)) => one.order(other, order.descending),
            _ => Ordering::Equal,
        }
    }

    /// Compares two groups: by the order's values, and by key if they are equal, so that an answer does not depend on the
    /// order of rows.
    pub(crate) fn compare(&self, one: (&[Ranked], Keyed<'_>), other: (&[Ranked], Keyed<'_>)) -> Ordering {
        let values = self.order.iter().zip(one.0.iter().zip(other.0));
        let by_values = values.map(|(order, (one, other))| one.order(other, order.descending));
        by_values.fold(Ordering::Equal, Ordering::then).then_with(|| self.compare_keys(one.1, other.1))
    }

    fn compare_keys(&self, one: Keyed<'_>, other: Keyed<'_>) -> Ordering {
        one.is_v6.cmp(&other.is_v6).then_with(|| {
            // A key's bytes are in the order of its members; the values that follow are numbers.
            let key = self.key_words(one.is_v6);
            let word = |(at, word): (usize, &u64)| if at < key { word.to_be() } else { *word };
            one.words.iter().enumerate().map(word).cmp(other.words.iter().enumerate().map(word))
        })
    }

    /// The quick way to the order's first value, if it is a counter.
    pub(crate) fn counter_order(&self) -> Option<CounterOrder> {
        let PlannedOrder { by, descending } = self.order.first()?;
        let OrderBy::Number(GroupValue::Aggregate(number)) = by else { return None };
        let PlannedAggregate { kind, at, .. } = &self.aggregates[*number];
        let CounterWord { is_nullable, is_of_values } = kind.state().counter()?;
        let (number, at, descending) = (*number, *at, *descending);
        Some(CounterOrder { number, at, descending, is_nullable, is_of_values })
    }
}

fn rank(order: &PlannedOrder, group: &impl Group) -> Ranked {
    match &order.by {
        OrderBy::Number(value) => Ranked::Number(value.evaluate(group)),
        OrderBy::Member(number) => Ranked::Member(group.member(*number).unwrap_or_default()),
        OrderBy::Name(value, names) => {
            let name = value.evaluate(group).natural().map(|number| names.name(number));
            Ranked::Member(name.map_or(Value::Null, Value::Text))
        }
        OrderBy::Conversation => Ranked::Member(group.conversation()),
    }
}

/// An order by a word of groups' states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterOrder {
    number: usize,
    at: usize,
    descending: bool,
    is_nullable: bool,
    /// True if the word is a value of rows, not a number of them.
    is_of_values: bool,
}

impl CounterOrder {
    /// A number that is smaller for earlier groups; of groups with equal numbers it does not tell which is earlier.
    #[inline(always)]
    pub(crate) fn rank(&self, state: &[u64]) -> u64 {
        self.rank_of(state[self.at])
    }

    #[inline(always)]
    fn rank_of(&self, value: u64) -> u64 {
        match value {
            NULL if self.is_nullable => u64::MAX,
            value if self.descending => !value,
            value => value,
        }
    }

    /// The number of a row that is a group by itself.
    #[inline(always)]
    pub(crate) fn rank_of_row(&self, inputs: &QueryInputs, row: usize) -> u64 {
        let value = match &inputs.aggregates[self.number][0] {
            Some(input @ AggregateInput::Unsigned(_)) if self.is_of_values => {
                match (input.is_null(row), self.is_nullable) {
                    (true, true) => NULL,
                    (true, false) => 0,
                    (false, _) => input.ordered(row),
                }
            }
            _ => 1,
        };
        self.rank_of(value)
    }
}
