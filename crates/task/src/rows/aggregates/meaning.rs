//! The properties of an aggregate that do not depend on rows: its text, its memory, and the SQL by which engines compute it.

use crate::Dialect;
use crate::query::{Condition, Expression, GroupField, ValueWeight};
use flow::Field;

/// The facts of an aggregate for those who check, explain and translate queries.
///
/// Each default is the cautious answer.
pub trait AggregateMeaning {
    /// Returns the name of its function.
    fn name(&self) -> &'static str;

    /// Returns it as a user knows it.
    fn text(&self) -> String;

    /// Returns what is kept of it so that the states of several workers and windows can be merged.
    fn partial(&self) -> &'static str;

    /// Returns how exact it is; `None` if it is exact.
    fn exactness(&self) -> Option<&'static str> {
        None
    }

    /// Returns how its values of different groups and windows belong together.
    fn role(&self) -> AggregateRole {
        AggregateRole::Other
    }

    /// Returns true if it is 0 without rows. Others are null.
    fn is_zero_without_rows(&self) -> bool {
        false
    }

    /// Returns true if the values of several groups add up to that of all.
    fn is_total(&self) -> bool {
        false
    }

    /// Returns true if it is per second of the time watched.
    fn is_rate(&self) -> bool {
        false
    }

    /// Returns the number of heaviest values that it lists, the field, and the weight; `None` if it is a number.
    fn heaviest(&self) -> Option<(usize, &GroupField, &ValueWeight)> {
        None
    }

    /// Returns the value of rows in whose unit it is.
    fn scaled(&self) -> Option<&Expression> {
        None
    }

    /// Returns the value of rows of which it picks one.
    fn picked(&self) -> Option<&Expression> {
        None
    }

    /// Returns true if it reads this field of each packet, where the packets of a flow may differ in it.
    fn reads_each_packet(&self, _field: &str) -> bool {
        false
    }

    /// Returns the words of state that a group has, an estimate.
    fn state_words(&self) -> u64;

    /// Returns the words of values that are kept over all groups of this many flows, an estimate. `words`: those of a field's value.
    fn value_words(&self, _flows: u64, _words: &dyn Fn(&GroupField) -> u64) -> u64 {
        0
    }

    /// Returns it as SQL, where no step is needed before.
    fn sql(&self, sql: &dyn AggregateSql) -> String;

    /// Returns the step before, where values have to be grouped before they are aggregated.
    fn side_step(&self, _sql: &dyn AggregateSql) -> Option<SideStep<'_>> {
        None
    }

    /// Returns it as SQL of the result of the step before.
    fn of_side_step(&self, result: String) -> String {
        result
    }
}

/// The relation between the values of an aggregate in different groups and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateRole {
    /// Adds up, and is never negative.
    Total,
    /// Adds up.
    Net,
    /// Adds up per second, and is never negative.
    Rate,
    /// The least of all is that of all.
    Least,
    /// The greatest of all is that of all.
    Greatest,
    /// The values follow no other rule.
    Other,
}

/// The SQL of what an aggregate is computed of.
pub trait AggregateSql {
    /// Returns the engine whose SQL it is.
    fn dialect(&self) -> Dialect;
    /// Returns the time that an answer covers, in seconds.
    fn seconds(&self) -> &str;
    /// Returns a field of a row.
    fn row_field(&self, name: &str) -> String;
    /// Returns a value of a row.
    fn row_value(&self, of: &Expression) -> String;
    /// Returns a condition on a row.
    fn row_condition(&self, of: &Condition) -> String;
    /// Returns a field whose values are told apart.
    fn grouped(&self, of: &GroupField) -> String;
}

/// A step that groups values, each with its weight, and computes `result` of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideStep<'a> {
    /// The effect of the step.
    pub step: &'static str,
    /// The field whose values are grouped.
    pub of: &'a GroupField,
    /// The weight of a value.
    pub weight: String,
    /// Values without weight are left out.
    pub needs_weight: bool,
    /// The columns of the result, of `value` and `weight`.
    pub result: String,
}

impl ValueWeight {
    /// Returns the unit of a weight.
    pub(crate) fn unit(&self) -> &'static str {
        match self {
            Self::Rows => "flows",
            Self::Sum(field) => Field::named(field).map_or("", |field| field.unit),
        }
    }

    /// Returns the weight of a group of rows as SQL.
    pub(crate) fn sql(&self, sql: &dyn AggregateSql) -> String {
        match self {
            Self::Rows => "count(*)".to_owned(),
            Self::Sum(name) => format!("sum({})", sql.row_field(name)),
        }
    }
}

/// Returns a value as an aggregate's text has it.
pub(crate) fn value_text(of: &Expression) -> &str {
    match of {
        Expression::Field(name) => name,
        _ => "…",
    }
}
