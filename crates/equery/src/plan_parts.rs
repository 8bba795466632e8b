//! What a plan consists of: its fields and aggregates.

use std::collections::BTreeSet;
use task::query::{Aggregate, Condition, Expression, Grouping, Query, Weight};

/// The fields of the table that a plan reads, those of derived fields instead of these.
pub(crate) fn fields(query: &Query) -> BTreeSet<String> {
    let mut read = BTreeSet::new();
    if let Grouping::By(groups) = &query.group {
        groups.iter().for_each(|group| add(&group.field, &mut read));
    }
    query.columns.iter().for_each(|column| of_value(&column.value, &mut read));
    query.order.iter().for_each(|order| of_value(&order.by, &mut read));
    query.filter.iter().chain(&query.having).for_each(|condition| of_condition(condition, &mut read));
    read
}

fn add(name: &str, read: &mut BTreeSet<String>) {
    match flow::DerivedField::named(name) {
        Some(derived) => read.extend(derived.from.iter().map(|name| (*name).to_owned())),
        None => {
            read.insert(name.to_owned());
        }
    }
}

fn of_value(value: &Expression, read: &mut BTreeSet<String>) {
    match value {
        Expression::Field(name) => add(name, read),
        Expression::Arithmetic(left, _, right) => {
            of_value(left, read);
            of_value(right, read);
        }
        Expression::Aggregate(aggregate) => of_aggregate(aggregate, read),
        Expression::Integer(_) | Expression::Float(_) | Expression::Text(_) => {}
    }
}

fn of_aggregate(aggregate: &Aggregate, read: &mut BTreeSet<String>) {
    match aggregate {
        Aggregate::Sum(value)
        | Aggregate::Min(value)
        | Aggregate::Max(value)
        | Aggregate::Mean(value)
        | Aggregate::Deviation(value)
        | Aggregate::Rate(value)
        | Aggregate::Quantile(value, _) => of_value(value, read),
        Aggregate::CountDistinct(field) => add(&field.field, read),
        Aggregate::Entropy(field, weight) | Aggregate::Top(_, field, weight) => {
            add(&field.field, read);
            if let Weight::Sum(name) = weight {
                add(name, read);
            }
        }
        Aggregate::MeanRoundTrip => add("rtt_avg", read),
        Aggregate::Count => {}
    }
}

fn of_condition(condition: &Condition, read: &mut BTreeSet<String>) {
    match condition {
        Condition::And(of) | Condition::Or(of) => {
            of.iter().for_each(|condition| of_condition(condition, read))
        }
        Condition::Not(of) => of_condition(of, read),
        Condition::Compare(left, _, right) => {
            of_value(left, read);
            of_value(right, read);
        }
        Condition::InPrefixes(name, _) | Condition::Like(name, _) => add(name, read),
        Condition::In(value, _) | Condition::IsNull(value) => of_value(value, read),
    }
}
