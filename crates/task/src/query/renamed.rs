//! Queries with other names for the fields that they read.

use super::{Condition, Expression, Grouping, Query};

/// Returns the other name of a field; `None` if it keeps its own.
pub(crate) type NewName<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

impl Query {
    /// Gives fields other names; columns keep theirs.
    pub(crate) fn rename(&mut self, name: NewName<'_>) {
        if let Grouping::By(fields) = &mut self.group {
            fields.iter_mut().for_each(|field| rename_field(&mut field.field, name));
        }
        self.columns.iter_mut().for_each(|column| rename_value(&mut column.value, name));
        self.order.iter_mut().for_each(|order| rename_value(&mut order.by, name));
        self.filter
            .iter_mut()
            .chain(&mut self.having)
            .for_each(|condition| rename_condition(condition, name));
    }
}

/// Gives a field its other name, if it has one.
pub(crate) fn rename_field(field: &mut String, name: NewName<'_>) {
    if let Some(other) = name(field) {
        other.clone_into(field);
    }
}

/// Gives the fields of a value their other names.
pub(crate) fn rename_value(value: &mut Expression, name: NewName<'_>) {
    match value {
        Expression::Field(field) => rename_field(field, name),
        Expression::Arithmetic(left, _, right) => {
            rename_value(left, name);
            rename_value(right, name);
        }
        Expression::Aggregate(aggregate) => {
            aggregate.arguments_mut().into_iter().for_each(|argument| argument.rename(name));
        }
        Expression::Integer(_) | Expression::Float(_) | Expression::Text(_) => {}
    }
}

/// Gives the fields of a condition their other names.
pub(crate) fn rename_condition(condition: &mut Condition, name: NewName<'_>) {
    match condition {
        Condition::And(of) | Condition::Or(of) => {
            of.iter_mut().for_each(|condition| rename_condition(condition, name));
        }
        Condition::Not(of) => rename_condition(of, name),
        Condition::Compare(left, _, right) => {
            rename_value(left, name);
            rename_value(right, name);
        }
        Condition::In(value, list) => {
            rename_value(value, name);
            list.iter_mut().for_each(|value| rename_value(value, name));
        }
        Condition::IsNull(value) => rename_value(value, name),
        Condition::InPrefixes(field, _) | Condition::Like(field, _) => rename_field(field, name),
    }
}
