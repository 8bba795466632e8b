//! Conditions on another query's answer, by the numbers of its columns.

use events::{Condition, Operand};
use task::query;

/// A condition of `when` on fields `PARENT.ITEM`.
pub(super) fn of_parent(
    condition: &query::Condition,
    name: &str,
    parent: &events::Query,
    task: &query::Query,
) -> Result<Condition, String> {
    Columns { name, parent, task }.condition(condition)
}

struct Columns<'a> {
    name: &'a str,
    parent: &'a events::Query,
    task: &'a query::Query,
}

impl Columns<'_> {
    fn condition(&self, condition: &query::Condition) -> Result<Condition, String> {
        let all =
            |of: &[query::Condition]| of.iter().map(|one| self.condition(one)).collect::<Result<_, _>>();
        Ok(match condition {
            query::Condition::And(of) => Condition::And(all(of)?),
            query::Condition::Or(of) => Condition::Or(all(of)?),
            query::Condition::Not(of) => Condition::Not(Box::new(self.condition(of)?)),
            query::Condition::Compare(left, by, right) => {
                Condition::Compare(self.operand(left)?, *by, self.operand(right)?)
            }
            query::Condition::InPrefixes(field, prefixes) => {
                Condition::InPrefixes(self.column(field)?, prefixes.clone())
            }
            query::Condition::In(value, list) => {
                let list = list.iter().map(|one| self.operand(one)).collect::<Result<_, _>>()?;
                Condition::In(self.operand(value)?, list)
            }
            query::Condition::Like(field, pattern) => Condition::Like(self.column(field)?, pattern.clone()),
            query::Condition::IsNull(value) => Condition::IsNull(self.operand(value)?),
        })
    }

    fn operand(&self, value: &query::Expression) -> Result<Operand, String> {
        Ok(match value {
            query::Expression::Field(field) => Operand::Item(self.column(field)?),
            query::Expression::Integer(number) => Operand::Integer(*number),
            query::Expression::Float(number) => Operand::Number(*number),
            query::Expression::Text(text) => Operand::Text(text.clone()),
            query::Expression::Arithmetic(left, by, right) => {
                Operand::Arithmetic(self.operand(left)?.into(), *by, self.operand(right)?.into())
            }
            query::Expression::Aggregate(_) => return Err("when has no aggregates of its own".to_owned()),
        })
    }

    /// The number of the column that `PARENT.ITEM` names: a column, or a member of the key by its field.
    fn column(&self, field: &str) -> Result<usize, String> {
        let item = field.strip_prefix(self.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(field);
        let named = self.task.columns.iter().position(|column| column.name == item);
        let of_field = || {
            let value = query::Expression::field(item);
            self.parent.key.iter().copied().find(|column| self.task.columns[*column].value == value)
        };
        named.or_else(of_field).ok_or_else(|| format!("{} has no item {item}", self.name))
    }
}
