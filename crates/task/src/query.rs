//! A query over window rows as data. Its meaning is that of `docs/equery.md`, without names that the user defined, units
//! and nodes, which the checker of query text resolves before.

mod fields;
mod renamed;

pub use crate::rows::aggregates::{
    Aggregate, AggregateFunction, AggregateMeaning, AggregateRole, AggregateSql, ResultKind, SideStep,
    Signature, ValueUse,
};
pub(crate) use fields::{condition_names, value_names};
pub(crate) use renamed::{NewName, rename_condition, rename_field, rename_value};

use crate::sketched::Counting;
use flow::{Derived, DerivedField};
pub use notation::{Comparison, Operator};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A query over window rows: filter, group, aggregate, restrict, order, limit. Where it says so, packets are counted for it instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// The name of the query, which its answers carry.
    pub name: String,
    /// Rows that are used; `None` for all. It has no aggregates.
    pub filter: Option<Condition>,
    /// The grouping of rows.
    pub group: Grouping,
    /// The columns of the answer.
    pub columns: Vec<OutputColumn>,
    /// Groups that are in the answer; `None` for all.
    pub having: Option<Condition>,
    /// The order of groups, the first value before the second. Without any, the largest by the first aggregate (of flows: the first
    /// field that is summed) are first. Equal ones are in the order of their keys.
    pub order: Vec<Order>,
    /// Groups in the answer; `None` for [`MOST_GROUPS`].
    pub limit: Option<usize>,
    /// The time that one answer covers.
    pub over: Over,
    /// The items of the filter that a firing pinned, which its answers say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<model::Item>,
    /// The way in which a structure counts the packets of each window for it; `None` where rows answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Counting>,
}

impl Query {
    /// A query of each window whose first columns are the fields that it groups by; without fields, all rows are one group.
    pub fn new(
        name: impl Into<String>,
        group: impl IntoIterator<Item = GroupField>,
        items: impl IntoIterator<Item = self::OutputColumn>,
    ) -> Self {
        let group: Vec<_> = group.into_iter().collect();
        Self {
            name: name.into(),
            filter: None,
            columns: group.iter().map(|field| self::OutputColumn::field(&field.field)).chain(items).collect(),
            group: if group.is_empty() { Grouping::All } else { Grouping::By(group) },
            having: None,
            order: Vec::new(),
            limit: None,
            over: Over::Window,
            bound: Vec::new(),
            counting: None,
        }
    }
}

impl Query {
    /// The aggregates of columns, of the order and of `having`, each once.
    pub fn aggregates(&self) -> Vec<&Aggregate> {
        let mut found = Vec::new();
        self.columns.iter().for_each(|column| column.value.add_aggregates(&mut found));
        self.order.iter().for_each(|order| order.by.add_aggregates(&mut found));
        self.having.iter().for_each(|having| having.add_aggregates(&mut found));
        found
    }

    /// Returns true if the query has a rate, which depends on the time that its answers are over.
    pub fn has_rates(&self) -> bool {
        self.aggregates().iter().any(|aggregate| aggregate.meaning().is_rate())
    }
}

impl Query {
    /// The query about rows in which these fields have these values, which its answers say; without any it is the same.
    #[must_use]
    pub fn with_bound(&self, bound: Vec<model::Item>) -> Self {
        if bound.is_empty() {
            return self.clone();
        }
        let own = bound.iter().map(|item| Condition::is(&item.column.name, &item.value));
        let filter: Vec<Condition> = self.filter.clone().into_iter().chain(own).collect();
        Self { filter: Some(Condition::And(filter)), bound, ..self.clone() }
    }

    /// Replaces the addresses among the values that fields have by [`Query::with_bound`].
    pub fn map_bound_addresses(&mut self, f: &mut dyn FnMut(std::net::IpAddr) -> std::net::IpAddr) {
        self.bound.iter_mut().for_each(|item| item.value.map_addresses(f));
        let Some(Condition::And(conditions)) = &mut self.filter else { return };
        // Those of the fields are the last ones.
        let own = conditions.len().saturating_sub(self.bound.len());
        for (condition, item) in conditions[own..].iter_mut().zip(&self.bound) {
            *condition = Condition::is(&item.column.name, &item.value);
        }
    }
}

/// Groups in an answer without an explicit limit.
pub const MOST_GROUPS: usize = 10_000;

/// The grouping of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// A single group of all rows, which is there without rows too.
    All,
    /// A group for each flow: fields outside aggregates are the flow's own.
    Flows,
    /// A group for each combination of the values of fields.
    By(Vec<GroupField>),
}

/// A field to group by, or whose values are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupField {
    /// A field of the field table or a derived one; `addr` and `port` are those of either direction, `conversation` is the key without
    /// direction, the lesser endpoint first.
    pub field: String,
    /// The prefix lengths of IPv4 and IPv6, of a field that is an address.
    pub prefix: Option<[u8; 2]>,
}

impl GroupField {
    /// A whole field.
    pub fn from_field(field: impl Into<String>) -> Self {
        Self { field: field.into(), prefix: None }
    }
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputColumn {
    /// The column's name.
    pub name: String,
    /// The column's value in each group.
    pub value: Expression,
}

impl OutputColumn {
    /// A value under a name.
    pub fn new(name: impl Into<String>, value: Expression) -> Self {
        Self { name: name.into(), value }
    }

    /// A field of the group under its own name.
    pub fn field(field: &str) -> Self {
        Self::new(field, Expression::Field(field.to_owned()))
    }

    /// The sum of a field under the field's own name.
    pub fn sum(field: &str) -> Self {
        Self::new(field, Expression::sum(field))
    }

    /// The number of rows, which are flows.
    pub fn count(name: &str) -> Self {
        Self::new(name, Expression::Aggregate(Aggregate::Count))
    }

    /// The number of distinct values of a field.
    pub fn distinct(field: &str, name: &str) -> Self {
        Self::new(name, Expression::Aggregate(Aggregate::CountDistinct(GroupField::from_field(field))))
    }
}

/// A value of each row, or of each group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expression {
    /// A field. Of rows (in filters, inside aggregates, and of [`Grouping::Flows`]) it is null where the row has none. Outside aggregates
    /// otherwise, it is a field that is grouped by.
    Field(String),
    /// An integer, in the unit of what it is compared with: also a time (nanoseconds since the epoch), a protocol, a MAC address.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text: compared with fields that are texts.
    Text(String),
    /// Arithmetic; null if either side is, or the result is out of range. Integers stay integers except in a division.
    Arithmetic(Box<Expression>, Operator, Box<Expression>),
    /// An aggregate of a group, in columns, in `having` and in the order.
    Aggregate(Aggregate),
}

impl Expression {
    fn add_aggregates<'a>(&'a self, found: &mut Vec<&'a Aggregate>) {
        match self {
            Self::Aggregate(aggregate) if !found.contains(&aggregate) => found.push(aggregate),
            Self::Arithmetic(left, _, right) => {
                left.add_aggregates(found);
                right.add_aggregates(found);
            }
            _ => {}
        }
    }

    /// Returns the value that a group has of a field that is computed of each row's packets and times: the rates and the time of all its packets
    /// together. `None` for other fields.
    pub fn from_group_field(field: &str) -> Option<Self> {
        let with = |left: Self, operator, right| Self::Arithmetic(Box::new(left), operator, Box::new(right));
        let last = Self::Aggregate(Aggregate::Max(Box::new(Self::field("ltime"))));
        let first = Self::Aggregate(Aggregate::Min(Box::new(Self::field("stime"))));
        let duration = with(last, Operator::Subtract, first);
        let per_second = |amount| {
            let seconds = with(duration.clone(), Operator::Divide, Self::Float(1e9));
            with(amount, Operator::Divide, seconds)
        };
        match DerivedField::named(field)?.derived {
            Derived::Duration => Some(duration),
            Derived::PacketRate => Some(per_second(Self::sum("total_count"))),
            Derived::BitRate => {
                Some(per_second(with(Self::sum("total_byte"), Operator::Multiply, Self::Integer(8))))
            }
            Derived::BytesPerPacket => {
                Some(with(Self::sum("total_byte"), Operator::Divide, Self::sum("total_count")))
            }
            _ => None,
        }
    }

    /// Returns whether a value of a row is at least 0.
    pub(crate) fn is_never_negative(&self) -> bool {
        match self {
            Self::Field(_) => true,
            Self::Integer(number) => *number >= 0,
            Self::Float(number) => *number >= 0.0,
            Self::Arithmetic(left, operator, right) => {
                *operator != Operator::Subtract && left.is_never_negative() && right.is_never_negative()
            }
            Self::Text(_) | Self::Aggregate(_) => false,
        }
    }

    /// A field.
    pub fn field(field: impl Into<String>) -> Self {
        Self::Field(field.into())
    }

    /// The sum of a field.
    pub fn sum(field: impl Into<String>) -> Self {
        Self::Aggregate(Aggregate::Sum(Box::new(Self::field(field))))
    }
}

/// The weight of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueWeight {
    /// The number of its rows.
    Rows,
    /// The total of a field that is a counter.
    Sum(String),
}

impl Order {
    /// The largest first.
    pub fn largest(by: Expression) -> Self {
        Self { by, descending: true }
    }
}

/// The value by which groups are ordered, and the direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The value, of a group; it need not be a column.
    pub by: Expression,
    /// True if the largest is first. Nulls are last in either direction.
    pub descending: bool,
}

/// A condition on a row or a group, by SQL's three-valued logic: a comparison with null is unknown, and rows and groups for which
/// the condition is unknown are excluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The conjunction of conditions; true without any.
    And(Vec<Condition>),
    /// The disjunction of conditions; false without any.
    Or(Vec<Condition>),
    /// The negation of a condition.
    Not(Box<Condition>),
    /// Two values of one type; two fields that are addresses may be equal or not. A field `port` is that of either end: the condition
    /// is true if it is for either.
    Compare(Expression, Comparison, Expression),
    /// An address field, or `addr` (either end), is in any of these prefixes; a whole address has all its bits.
    InPrefixes(String, Vec<(IpAddr, u8)>),
    /// A value is one of these integers or texts.
    In(Expression, Vec<Expression>),
    /// A text matches an SQL pattern: `%` is any text, `_` any character, letters of either case are equal.
    Like(String, String),
    /// The condition that there is no value.
    IsNull(Expression),
}

impl Condition {
    fn add_aggregates<'a>(&'a self, found: &mut Vec<&'a Aggregate>) {
        match self {
            Self::And(of) | Self::Or(of) => of.iter().for_each(|condition| condition.add_aggregates(found)),
            Self::Not(of) => of.add_aggregates(found),
            Self::Compare(left, _, right) => {
                left.add_aggregates(found);
                right.add_aggregates(found);
            }
            Self::In(value, _) | Self::IsNull(value) => value.add_aggregates(found),
            Self::InPrefixes(..) | Self::Like(..) => {}
        }
    }

    /// A field has a value, as answers have it.
    pub fn is(field: &str, value: &model::Value) -> Self {
        use model::Value;
        let equal = |value| Self::Compare(Expression::field(field), Comparison::Equal, value);
        match value {
            Value::Address(address) => {
                let length = if address.is_ipv4() { 32 } else { 128 };
                Self::InPrefixes(field.to_owned(), vec![(*address, length)])
            }
            Value::Prefix { address, length } => {
                Self::InPrefixes(field.to_owned(), vec![(*address, *length)])
            }
            // No field has a larger one.
            Value::Unsigned(number) | Value::Time(number) => i64::try_from(*number)
                .map_or(Self::Or(Vec::new()), |number| equal(Expression::Integer(number))),
            Value::Signed(number) => equal(Expression::Integer(*number)),
            Value::Float(number) | Value::Estimate { value: number, .. } => equal(Expression::Float(*number)),
            Value::Text(text) => equal(Expression::Text(text.clone())),
            Value::Conversation(conversation) => equal(Expression::Text(conversation.to_string())),
            Value::Null | Value::Heaviest(_) => Self::IsNull(Expression::field(field)),
        }
    }

    /// A field, compared with an integer.
    pub fn compare(field: &str, comparison: Comparison, value: i64) -> Self {
        Self::Compare(Expression::field(field), comparison, Expression::Integer(value))
    }
}

/// The time that one answer covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A window of the run (`--every`).
    Window,
    /// The whole run: rows of one key are merged first, so that a flow is one row.
    Run,
    /// Windows of their own length, in which rows of one key are merged first.
    Windows {
        /// An answer each time that this has passed: a multiple of the run's windows, nanoseconds.
        every_ns: u64,
        /// The time that it covers, up to then: a multiple of `every_ns`.
        over_ns: u64,
    },
}

/// The rule by which answers of several nodes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// The rule for nodes that see disjoint traffic: counts and sums of a group add.
    Sum,
    /// The rule for nodes that see the same flows: of each group the largest count and the largest sum is taken.
    Max,
}
