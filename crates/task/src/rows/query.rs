//! A query about window rows.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A query over window rows: filter, group, aggregate, order, limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowQuery {
    /// Its name, which its answers carry.
    pub name: String,
    /// Rows that are used; `None` for all.
    pub filter: Option<Predicate>,
    /// The fields that rows are grouped by; without fields, all are one group.
    pub group: Vec<GroupField>,
    /// What is computed of each group, in the order of the columns.
    pub items: Vec<Item>,
    /// The items that groups are ordered by, the first before the second. Without any, the first item, largest first.
    pub order: Vec<Order>,
    /// Groups in the answer; `None` for [`MOST_GROUPS`].
    pub limit: Option<usize>,
    /// The time that one answer covers.
    pub over: Over,
}

/// Groups in an answer without an explicit limit.
pub const MOST_GROUPS: usize = 10_000;

/// The time that one answer covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// One window.
    Window,
    /// The whole run: rows of one key are merged first, so that a flow is one row.
    Run,
}

/// A field to group by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupField {
    /// A field of the field table, or `addr`, `port` (of either direction), `conversation` (the key without direction, the lesser
    /// endpoint first).
    pub field: String,
    /// Of an address: prefix lengths of IPv4 and IPv6.
    pub prefix: Option<[u8; 2]>,
}

impl GroupField {
    /// A whole field.
    pub fn of(field: impl Into<String>) -> Self {
        Self { field: field.into(), prefix: None }
    }
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What is computed.
    pub aggregate: Aggregate,
    /// The column's name.
    pub name: String,
}

impl Item {
    /// The sum of a field under the field's own name.
    pub fn sum(field: &str) -> Self {
        Self { aggregate: Aggregate::Sum(field.to_owned()), name: field.to_owned() }
    }

    /// The number of rows, which are flows.
    pub fn count(name: &str) -> Self {
        Self { aggregate: Aggregate::Count, name: name.to_owned() }
    }

    /// The number of distinct values of a field.
    pub fn distinct(field: &str, name: &str) -> Self {
        Self { aggregate: Aggregate::CountDistinct(field.to_owned()), name: name.to_owned() }
    }
}

/// What is computed of the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The sum of a field; nulls are ignored.
    Sum(String),
    /// The sum of up to three fields together; nulls are ignored.
    SumOf(Vec<String>),
    /// The least value of a field; null if all are.
    Min(String),
    /// The number of rows.
    Count,
    /// The number of distinct values of a field, exact up to [`MOST_DISTINCT`](super::MOST_DISTINCT) in one query and window.
    CountDistinct(String),
    /// The mean round-trip time of all round trips measured, nanoseconds.
    MeanRoundTrip,
}

/// An item to order by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its position among the items.
    pub item: usize,
    /// Largest first.
    pub descending: bool,
}

/// A condition on one row, by SQL's three-valued logic: a comparison with null is unknown, and rows for which
/// the condition is unknown are excluded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// The opposite.
    Not(Box<Predicate>),
    /// A field, compared with a value.
    Compare {
        /// A field of the field table that rows have, or `addr`, `port`: either direction.
        field: String,
        /// How.
        comparison: Comparison,
        /// With what.
        value: Literal,
    },
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `=`; an address is in a prefix.
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A value to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Literal {
    /// A number, in the unit of the field.
    Number(u64),
    /// An address prefix; a whole address has all its bits.
    Prefix(IpAddr, u8),
}
