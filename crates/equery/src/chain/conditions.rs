//! Conditions on answers of other queries, by the numbers of their columns.

use crate::checked::EventCondition;
use events::{Operand, TriggerCondition};
use task::query;

/// A query whose answers are judged.
pub(super) struct ConditionSource<'a> {
    pub(super) name: &'a str,
    pub(super) query: &'a events::GraphQuery,
    /// The plan that nodes compute, or the plan of the answer that those of several nodes become.
    pub(super) task: &'a query::Query,
}

/// The sources of a condition. Items are numbered through their columns.
pub(super) struct ConditionSources<'a>(pub(super) Vec<ConditionSource<'a>>);

impl ConditionSources<'_> {
    pub(super) fn condition(&self, condition: &EventCondition) -> Result<TriggerCondition, String> {
        let all = |of: &[EventCondition]| of.iter().map(|one| self.condition(one)).collect::<Result<_, _>>();
        Ok(match condition {
            EventCondition::And(of) => TriggerCondition::And(all(of)?),
            EventCondition::Or(of) => TriggerCondition::Or(all(of)?),
            EventCondition::Not(of) => TriggerCondition::Not(Box::new(self.condition(of)?)),
            EventCondition::Surely(of) => TriggerCondition::Surely(Box::new(self.condition(of)?)),
            EventCondition::IsMissing(name) => {
                let source = self.0.iter().position(|source| source.name == name);
                TriggerCondition::IsMissing(source.ok_or_else(|| format!("there is no query {name}"))?)
            }
            EventCondition::Of(of) => self.plain(of)?,
        })
    }

    fn plain(&self, condition: &query::Condition) -> Result<TriggerCondition, String> {
        let all = |of: &[query::Condition]| of.iter().map(|one| self.plain(one)).collect::<Result<_, _>>();
        Ok(match condition {
            query::Condition::And(of) => TriggerCondition::And(all(of)?),
            query::Condition::Or(of) => TriggerCondition::Or(all(of)?),
            query::Condition::Not(of) => TriggerCondition::Not(Box::new(self.plain(of)?)),
            query::Condition::Compare(left, by, right) => {
                TriggerCondition::Compare(self.operand(left)?, *by, self.operand(right)?)
            }
            query::Condition::InPrefixes(field, prefixes) => {
                TriggerCondition::InPrefixes(self.item(field)?, prefixes.clone())
            }
            query::Condition::In(value, list) => {
                let list = list.iter().map(|one| self.operand(one)).collect::<Result<_, _>>()?;
                TriggerCondition::In(self.operand(value)?, list)
            }
            query::Condition::Like(field, pattern) => {
                TriggerCondition::Like(self.item(field)?, pattern.clone())
            }
            query::Condition::IsNull(value) => TriggerCondition::IsNull(self.operand(value)?),
        })
    }

    fn operand(&self, value: &query::Expression) -> Result<Operand, String> {
        Ok(match value {
            query::Expression::Field(field) => Operand::Item(self.item(field)?),
            query::Expression::Integer(number) => Operand::Integer(*number),
            query::Expression::Float(number) => Operand::Number(*number),
            query::Expression::Text(text) => Operand::Text(text.clone()),
            query::Expression::Arithmetic(left, by, right) => {
                Operand::Arithmetic(self.operand(left)?.into(), *by, self.operand(right)?.into())
            }
            query::Expression::Aggregate(_) => return Err("when has no aggregates of its own".to_owned()),
        })
    }

    /// The number of the item that `QUERY.ITEM` names.
    fn item(&self, field: &str) -> Result<usize, String> {
        let of = |source: &ConditionSource<'_>| {
            Some(field.strip_prefix(source.name)?.strip_prefix('.')?.to_owned())
        };
        let found = self.0.iter().enumerate().find_map(|(at, source)| Some((at, of(source)?)));
        let (at, item) = found.ok_or_else(|| format!("{field} is of no query in when"))?;
        self.item_of(at, &item)
    }

    /// The number of an item of a source: a column, or a member of the key by its field.
    pub(super) fn item_of(&self, source: usize, item: &str) -> Result<usize, String> {
        let of = &self.0[source];
        let named = of.task.columns.iter().position(|column| column.name == item);
        let of_field = || {
            let value = query::Expression::field(item);
            of.query.key.iter().copied().find(|column| of.task.columns[*column].value == value)
        };
        let column = named.or_else(of_field).ok_or_else(|| format!("{} has no item {item}", of.name))?;
        let before: usize = self.0[..source].iter().map(|source| source.query.columns.len()).sum();
        Ok(before + column)
    }

    /// The source and the column of an item.
    pub(super) fn place(&self, mut item: usize) -> (usize, usize) {
        for (at, source) in self.0.iter().enumerate() {
            match item.checked_sub(source.query.columns.len()) {
                Some(left) => item = left,
                None => return (at, item),
            }
        }
        (self.0.len(), item)
    }
}
