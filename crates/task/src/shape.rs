//! The form that a query gives to the answer of the task that answers it.

use model::{Answer, Column, Rest, Value};

/// The name and the columns of a query, which the answers of its task have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) name: String,
    pub(crate) columns: Vec<ShapedColumn>,
}

/// A column of the query's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapedColumn {
    pub(crate) name: String,
    pub(crate) of: ColumnOf,
}

/// The part of the task's answer that a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnOf {
    /// A member of the key, by name.
    Member(String),
    /// The figure that is counted, which is the last column.
    Figure,
}

impl Shape {
    /// The task's answer as one of the query. `more`: groups without a row that are known of.
    pub(crate) fn shaped(&self, answer: Answer, more: u64) -> Answer {
        let last = answer.columns.len().saturating_sub(1);
        let place = |column: &ShapedColumn| match &column.of {
            ColumnOf::Member(name) => answer.column(name).unwrap_or(last),
            ColumnOf::Figure => last,
        };
        let places: Vec<usize> = self.columns.iter().map(place).collect();
        let named = |(column, place): (&ShapedColumn, &usize)| Column {
            name: column.name.clone(),
            ..answer.columns[*place].clone()
        };
        let columns = self.columns.iter().zip(&places).map(named).collect();
        let row = |row: &Vec<Value>| places.iter().map(|place| row[*place].clone()).collect();
        let mut rows: Vec<Vec<Value>> = answer.rows.iter().map(row).collect();
        // A query without groups has one row, whatever there was to count.
        if rows.is_empty() && last == 0 {
            rows.push(vec![Value::Null; places.len()]);
        }
        let rest = Rest { groups: more, ..Rest::default() };
        Answer { query: self.name.clone(), columns, rows, rest, ..answer }
    }
}
