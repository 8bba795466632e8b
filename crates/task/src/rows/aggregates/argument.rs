//! The arguments of aggregates: the fields that they read.

use crate::query::{
    Condition, Expression, GroupField, NewName, ValueWeight, condition_names, rename_condition, rename_field,
    rename_value, value_names,
};
use std::collections::BTreeSet;

/// An argument of an aggregate.
pub(crate) trait AggregateArgument {
    /// Adds the names of the fields that it reads.
    fn add_names(&self, read: &mut BTreeSet<String>);

    /// Gives its fields other names.
    fn rename(&mut self, name: NewName<'_>);
}

impl AggregateArgument for Box<Expression> {
    fn add_names(&self, read: &mut BTreeSet<String>) {
        value_names(self, read);
    }

    fn rename(&mut self, name: NewName<'_>) {
        rename_value(self, name);
    }
}

impl AggregateArgument for Box<Condition> {
    fn add_names(&self, read: &mut BTreeSet<String>) {
        condition_names(self, read);
    }

    fn rename(&mut self, name: NewName<'_>) {
        rename_condition(self, name);
    }
}

impl AggregateArgument for GroupField {
    fn add_names(&self, read: &mut BTreeSet<String>) {
        read.insert(self.field.clone());
    }

    fn rename(&mut self, name: NewName<'_>) {
        rename_field(&mut self.field, name);
    }
}

/// A counter has no other name.
impl AggregateArgument for ValueWeight {
    fn add_names(&self, read: &mut BTreeSet<String>) {
        if let Self::Sum(name) = self {
            read.insert(name.clone());
        }
    }

    fn rename(&mut self, _: NewName<'_>) {}
}

/// A share reads no field.
impl AggregateArgument for f64 {
    fn add_names(&self, _: &mut BTreeSet<String>) {}

    fn rename(&mut self, _: NewName<'_>) {}
}

/// A number of values reads no field.
impl AggregateArgument for usize {
    fn add_names(&self, _: &mut BTreeSet<String>) {}

    fn rename(&mut self, _: NewName<'_>) {}
}
