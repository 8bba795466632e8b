//! The fields that a query reads.

use super::{Aggregate, Condition, Expression, Grouping, Query};
use flow::{Derived, DerivedField};
use std::collections::BTreeSet;

impl Query {
    /// The fields of the table that it reads, those of derived fields instead of these.
    pub fn fields(&self) -> BTreeSet<String> {
        self.names().into_iter().flat_map(|name| sources(name, |_| true)).collect()
    }

    /// The first name that is of what a whole flow has of a field in which its packets may differ.
    pub(crate) fn first_whole_flow_name(&self) -> Option<String> {
        self.names()
            .into_iter()
            .find(|name| DerivedField::named(name).is_some_and(|field| field.derived == Derived::OfFlow))
    }

    /// The names that it reads, as they are.
    fn names(&self) -> BTreeSet<String> {
        let mut read = BTreeSet::new();
        if let Grouping::By(groups) = &self.group {
            groups.iter().for_each(|group| add(&group.field, &mut read));
        }
        self.columns.iter().for_each(|column| value_names(&column.value, &mut read));
        self.order.iter().for_each(|order| value_names(&order.by, &mut read));
        self.filter.iter().chain(&self.having).for_each(|condition| condition_names(condition, &mut read));
        read
    }

    /// The first field that it reads of those that only the tracking of TCP losses gives.
    pub fn loss_field(&self) -> Option<String> {
        self.field_of(flow::Part::Loss)
    }

    /// The first field that it reads of this part of rows.
    pub(crate) fn field_of(&self, part: flow::Part) -> Option<String> {
        let is_of_part = |name: &String| flow::Field::named(name).is_some_and(|field| field.part == part);
        self.fields().into_iter().find(is_of_part)
    }
}

impl Query {
    /// The statistics of packets that it reads, in the order of their names.
    pub fn statistics(&self) -> Vec<flow::Statistic> {
        self.fields().iter().filter_map(|name| name.parse().ok()).collect()
    }
}

impl Expression {
    /// Returns true if the expression reads a field of the table.
    pub fn reads(&self, field: &str) -> bool {
        let mut read = BTreeSet::new();
        value_names(self, &mut read);
        read.into_iter().flat_map(|name| sources(name, |_| true)).any(|name| name == field)
    }
}

impl Aggregate {
    /// The fields that it reads; what a whole flow has of a field keeps its own name.
    pub(crate) fn fields(&self) -> BTreeSet<String> {
        let mut read = BTreeSet::new();
        collect_from_aggregate(self, &mut read);
        read.into_iter().flat_map(|name| sources(name, |derived| derived != Derived::OfFlow)).collect()
    }
}

impl Condition {
    /// The fields that it reads, those of derived fields instead of these, but for what a whole flow has of a field in which its packets
    /// may differ.
    pub(crate) fn fields(&self) -> BTreeSet<String> {
        let mut read = BTreeSet::new();
        condition_names(self, &mut read);
        read.into_iter().flat_map(|name| sources(name, |derived| derived != Derived::OfFlow)).collect()
    }
}

/// A field, or what it is derived from, if that is wanted.
fn sources(name: String, is_wanted: impl Fn(Derived) -> bool) -> Vec<String> {
    match DerivedField::named(&name).filter(|field| is_wanted(field.derived)) {
        Some(derived) => derived.from.iter().map(|name| (*name).to_owned()).collect(),
        None => vec![name],
    }
}

fn add(name: &str, read: &mut BTreeSet<String>) {
    read.insert(name.to_owned());
}

/// Adds the names of the fields that a value reads.
pub(crate) fn value_names(value: &Expression, read: &mut BTreeSet<String>) {
    match value {
        Expression::Field(name) => add(name, read),
        Expression::Arithmetic(left, _, right) => {
            value_names(left, read);
            value_names(right, read);
        }
        Expression::Aggregate(aggregate) => collect_from_aggregate(aggregate, read),
        Expression::Integer(_) | Expression::Float(_) | Expression::Text(_) => {}
    }
}

fn collect_from_aggregate(aggregate: &Aggregate, read: &mut BTreeSet<String>) {
    aggregate.arguments().into_iter().for_each(|argument| argument.add_names(read));
    read.extend(aggregate.planning().also_reads().map(str::to_owned));
}

/// Adds the names of the fields that a condition reads.
pub(crate) fn condition_names(condition: &Condition, read: &mut BTreeSet<String>) {
    match condition {
        Condition::And(of) | Condition::Or(of) => {
            of.iter().for_each(|condition| condition_names(condition, read))
        }
        Condition::Not(of) => condition_names(of, read),
        Condition::Compare(left, _, right) => {
            value_names(left, read);
            value_names(right, read);
        }
        Condition::InPrefixes(name, _) | Condition::Like(name, _) => add(name, read),
        Condition::In(value, _) | Condition::IsNull(value) => value_names(value, read),
    }
}
