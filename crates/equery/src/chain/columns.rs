//! The columns of a task, and what they are for events.

use crate::checker::group_text;
use crate::executor;
use events::{AnswerColumn, ColumnRole};
use flow::{Aggregation, Field};
use task::query::{
    AggregateRole, Comparison, Condition, Expression, GroupField, Grouping, Operator, OutputColumn, Query,
};

/// A query with the columns of its key.
pub(super) struct KeyedQuery {
    pub(super) task: Query,
    /// Columns that the query selects itself.
    pub(super) shown: usize,
    pub(super) columns: Vec<AnswerColumn>,
    /// The numbers of the columns of the key.
    pub(super) key: Vec<usize>,
    /// The fields of the key.
    pub(super) groups: Vec<GroupField>,
}

/// The fields that tell the groups of a query apart. `flow_key`: those of the flow key.
pub(super) fn groups(plan: &Query, flow_key: &[String]) -> Vec<GroupField> {
    match &plan.group {
        Grouping::All => Vec::new(),
        Grouping::By(groups) => groups.clone(),
        Grouping::Flows => {
            let field = |part: &String| GroupField::from_field(part.split('/').next().unwrap_or(part));
            flow_key.iter().map(field).collect()
        }
    }
}

/// Adds the members of the key that a query does not select. `flow_key`: the fields of the flow key.
pub(super) fn planned(plan: &Query, flow_key: &[String]) -> Result<KeyedQuery, String> {
    let mut task = plan.clone();
    let groups = groups(plan, flow_key);
    let shown = task.columns.len();
    let mut key = Vec::new();
    for group in &groups {
        let value = Expression::field(&group.field);
        let own = task.columns.iter().position(|column| column.value == value);
        key.push(own.unwrap_or_else(|| {
            let mut name = group_text(group);
            while task.columns.iter().any(|column| column.name == name) {
                name.push('\'');
            }
            task.columns.push(OutputColumn::new(name, value));
            task.columns.len() - 1
        }));
    }
    let columns = executor::columns(&task, Some(flow_key)).map_err(|refusals| refusals.join("; "))?;
    let columns = task.columns.iter().zip(columns).enumerate();
    let columns = columns.map(|(at, (item, column))| {
        let role = if key.contains(&at) { ColumnRole::Key } else { role(&item.value) };
        AnswerColumn { column, role }
    });
    let columns = columns.collect();
    Ok(KeyedQuery { task, shown, columns, key, groups })
}

/// Returns true if a column of this kind holds numbers.
pub(super) const fn numeric(kind: model::ColumnKind) -> bool {
    use model::ColumnKind::{Estimate, Float, Signed, Unsigned};
    matches!(kind, Unsigned | Signed | Float | Estimate)
}

/// The column by which the rows of an answer are ordered, the largest first.
pub(super) fn largest_first(task: &Query) -> Option<usize> {
    let column_of = |value: &Expression| task.columns.iter().position(|column| column.value == *value);
    match &task.order[..] {
        [first, ..] => column_of(&first.by).filter(|_| first.descending),
        [] => match task.group {
            Grouping::Flows => {
                task.columns.iter().position(|column| role(&column.value) == ColumnRole::Total)
            }
            _ => {
                let first = task.aggregates().first().map(|first| Expression::Aggregate((*first).clone()))?;
                column_of(&first)
            }
        },
    }
}

/// Returns, by column, the most that a group has that `having` leaves out. It is known where that is one comparison with a number.
pub(super) fn left_out(task: &Query) -> Option<Vec<f64>> {
    let having = task.having.as_ref()?;
    let most = |value: &Expression| {
        let Condition::Compare(compared, comparison, bound) = having else { return f64::INFINITY };
        let bound = match bound {
            Expression::Integer(number) => *number as f64,
            Expression::Float(number) => *number,
            _ => return f64::INFINITY,
        };
        match comparison {
            Comparison::Greater if compared == value => bound,
            Comparison::GreaterOrEqual if compared == value => bound.next_down(),
            _ => f64::INFINITY,
        }
    };
    Some(task.columns.iter().map(|column| most(&column.value)).collect())
}

/// Returns the role of a value that is no member of the key.
fn role(value: &Expression) -> ColumnRole {
    match value {
        Expression::Field(name) => match Field::named(name).map(|field| field.aggregation) {
            Some(Aggregation::Sum) => ColumnRole::Total,
            Some(Aggregation::Min) => ColumnRole::Least,
            Some(Aggregation::Max) => ColumnRole::Greatest,
            _ => ColumnRole::Other,
        },
        Expression::Aggregate(aggregate) => match aggregate.meaning().role() {
            AggregateRole::Total => ColumnRole::Total,
            AggregateRole::Net => ColumnRole::Net,
            AggregateRole::Rate => ColumnRole::Rate,
            AggregateRole::Least => ColumnRole::Least,
            AggregateRole::Greatest => ColumnRole::Greatest,
            AggregateRole::Other => ColumnRole::Other,
        },
        Expression::Arithmetic(left, operator, right) => match operator {
            Operator::Add | Operator::Multiply if is_total(left) && is_total(right) => ColumnRole::Total,
            Operator::Add | Operator::Subtract | Operator::Multiply if is_sum(left) && is_sum(right) => {
                ColumnRole::Net
            }
            _ => ColumnRole::Other,
        },
        Expression::Integer(_) | Expression::Float(_) | Expression::Text(_) => ColumnRole::Other,
    }
}

/// Returns true if a factor or a summand is a total, or a number that is not negative.
fn is_total(value: &Expression) -> bool {
    match value {
        Expression::Integer(number) => *number >= 0,
        Expression::Float(number) => *number >= 0.0,
        value => role(value) == ColumnRole::Total,
    }
}

/// Returns true if a value is 0 without rows, or a number.
fn is_sum(value: &Expression) -> bool {
    match value {
        Expression::Integer(_) | Expression::Float(_) => true,
        value => matches!(role(value), ColumnRole::Total | ColumnRole::Net),
    }
}
