//! Queries that the controller computes: of the answers of others, and of earlier windows.

use crate::chain::columns::{left_out, numeric};
use crate::checker::check_earlier_windows;
use crate::earlier::{EarlierReference, EarlierWindows};
use events::{ALL_NODES, AnswerColumn, ColumnRole, Derivation, DerivationSource, Formula, ValueOrder};
use model::ColumnKind;
use std::collections::BTreeSet;
use task::query::{Condition, Expression, MOST_GROUPS, Operator, OutputColumn, Query};

/// A query that is read, with what nodes or the controller compute for it.
pub(super) struct ReadQuery<'a> {
    pub(super) number: usize,
    pub(super) query: &'a events::GraphQuery,
    pub(super) task: &'a Query,
    /// The name of the query, unless it is a part of the query that reads it.
    pub(super) name: Option<&'a str>,
}

/// A derived query as the event machine sees it.
pub(super) struct DerivedQuery {
    /// The plan of the query, with the columns of its key.
    pub(super) task: Query,
    pub(super) columns: Vec<AnswerColumn>,
    /// The columns of its key.
    pub(super) key: Vec<usize>,
    pub(super) largest_first: Option<usize>,
    pub(super) left_out: Option<Vec<f64>>,
    pub(super) nodes: Vec<usize>,
    pub(super) pinned: BTreeSet<events::EventKey>,
    pub(super) derivation: Derivation,
}

/// Plans a query that reads others. `lengths`: time from answer to answer, and the time that one covers.
pub(super) fn planned(
    plan: &Query,
    earlier: &[EarlierReference],
    reads: &[ReadQuery<'_>],
    lengths: (u64, u64),
) -> Result<DerivedQuery, String> {
    let first = reads.first().ok_or("it reads no query")?;
    for read in reads {
        check(read, lengths)?;
    }
    for EarlierReference { windows, .. } in earlier {
        check_earlier_windows(*windows, lengths.0.max(1))
            .map_err(|(message, help)| format!("{message}; {help}"))?;
    }
    let (nodes, is_of_each) = nodes(reads)?;
    let fields: Vec<&str> = first.query.key.iter().map(|column| field(first.task, *column)).collect();
    let sources = reads.iter().map(|read| {
        let place = |name: &&str| read.query.key.iter().position(|column| field(read.task, *column) == *name);
        let key: Option<Vec<usize>> = fields.iter().map(place).collect();
        let key = key.ok_or_else(|| format!("{} groups by other fields", read.query.name))?;
        let node = if is_of_each { None } else { read.query.nodes.first().copied() };
        Ok(DerivationSource { query: read.number, name: read.name.map(str::to_owned), node, key })
    });
    let sources: Vec<DerivationSource> = sources.collect::<Result<_, String>>()?;
    let formulas = Formulas { earlier, reads, fields: &fields, lengths };
    let values = plan.columns.iter().map(|column| formulas.compile(&column.value));
    let mut values: Vec<Formula> = values.collect::<Result<_, String>>()?;
    let (task, key) = with_key(plan, &fields, &mut values);
    let columns = columns(&task, &values, &key, reads);
    let having = task.having.as_ref().map(|having| formulas.condition(having, &mut values)).transpose()?;
    let order = task.order.iter().map(|order| {
        let value = slot(formulas.compile(&order.by)?, &mut values);
        Ok(ValueOrder { value, descending: order.descending })
    });
    let mut order: Vec<ValueOrder> = order.collect::<Result<_, String>>()?;
    if order.is_empty() {
        // The largest by the first number, as without 'order by' elsewhere.
        let largest =
            columns.iter().position(|column| column.role != ColumnRole::Key && numeric(column.column.kind));
        order.extend(largest.map(|value| ValueOrder { value, descending: true }));
    }
    let ordered = order.first().filter(|order| order.descending && order.value < columns.len());
    let largest_first = ordered.map(|order| order.value);
    // A group that a source leaves out may have anything.
    let is_left_out = reads.iter().any(|read| read.query.left_out.is_some());
    let any = || Some(vec![f64::INFINITY; columns.len()]);
    let left_out = if is_left_out { any() } else { left_out(&task) };
    let limit = task.limit.unwrap_or(MOST_GROUPS);
    let pinned = pinned(reads, &sources);
    let derivation = Derivation { sources, values, having, order, limit };
    Ok(DerivedQuery { task, columns, key, largest_first, left_out, nodes, pinned, derivation })
}

/// Refuses a query whose answers cannot be read.
fn check(read: &ReadQuery<'_>, (every_ns, over_ns): (u64, u64)) -> Result<(), String> {
    let events::GraphQuery { name, trigger, nodes, .. } = read.query;
    if trigger.is_some() {
        return Err(format!("the answers of {name}, which is started by another one, are not always there"));
    }
    if nodes.is_empty() {
        return Err(format!("{name}, which it reads, runs on no node"));
    }
    if (read.query.every_ns, read.query.over_ns) != (every_ns, over_ns) {
        return Err(format!("the windows of {name}, which it reads, have another length"));
    }
    Ok(())
}

/// The nodes that a derived query is of, and whether answers of each node by itself are read.
fn nodes(reads: &[ReadQuery<'_>]) -> Result<(Vec<usize>, bool), String> {
    let all = || reads.iter().map(|read| &read.query.nodes);
    let Some(first) = all().next() else { return Ok((Vec::new(), true)) };
    if all().all(|nodes| nodes == first) {
        return Ok((first.clone(), true));
    }
    if all().all(|nodes| nodes.len() == 1) {
        return Ok((vec![ALL_NODES], false));
    }
    let names: Vec<&str> = reads.iter().map(|read| read.query.name.as_str()).collect();
    Err(format!(
        "{} run on different nodes: queries that are read run on the same nodes, on one node each, or across nodes",
        names.join(" and ")
    ))
}

/// The field that a column of a key holds.
fn field(task: &Query, column: usize) -> &str {
    match &task.columns[column].value {
        Expression::Field(name) => name,
        _ => "",
    }
}

/// The plan with the members of its key as columns, and which these are. `values`: those of its columns.
fn with_key(plan: &Query, fields: &[&str], values: &mut Vec<Formula>) -> (Query, Vec<usize>) {
    let mut task = plan.clone();
    let mut key = Vec::new();
    for (member, name) in fields.iter().enumerate() {
        let own = values.iter().position(|value| *value == Formula::Key(member));
        let own = own.unwrap_or_else(|| {
            let mut title = (*name).to_owned();
            while task.columns.iter().any(|column| column.name == title) {
                title.push('\'');
            }
            task.columns.push(OutputColumn::field(&title));
            values.push(Formula::Key(member));
            values.len() - 1
        });
        // Others refer to it by its field, whatever it is selected as.
        task.columns[own].value = Expression::field(*name);
        key.push(own);
    }
    (task, key)
}

/// The columns of the answers.
fn columns(task: &Query, values: &[Formula], key: &[usize], reads: &[ReadQuery<'_>]) -> Vec<AnswerColumn> {
    let queries: Vec<&events::GraphQuery> = reads.iter().map(|read| read.query).collect();
    let of_key = |column: &usize| {
        let model::Column { kind, unit, .. } = &reads[0].query.columns[*column].column;
        (*kind, unit.clone())
    };
    let kinds: Vec<(ColumnKind, String)> = reads[0].query.key.iter().map(of_key).collect();
    let column = |(at, (item, formula)): (usize, (&OutputColumn, &Formula))| {
        let (kind, unit) = formula.kind(&queries, &kinds);
        let role = if key.contains(&at) { ColumnRole::Key } else { formula.role(&queries) };
        AnswerColumn { column: model::Column::new(item.name.clone(), kind, unit), role }
    };
    task.columns.iter().zip(values).enumerate().map(column).collect()
}

/// Keys that all of them pin.
fn pinned(reads: &[ReadQuery<'_>], sources: &[DerivationSource]) -> BTreeSet<events::EventKey> {
    let own = |(read, source): (&ReadQuery<'_>, &DerivationSource)| -> BTreeSet<events::EventKey> {
        let turned = |key: &events::EventKey| source.key.iter().map(|member| key[*member].clone()).collect();
        read.query.pinned.iter().map(turned).collect()
    };
    let all = reads.iter().zip(sources).map(own);
    all.reduce(|one, other| one.intersection(&other).cloned().collect()).unwrap_or_default()
}

/// The number of a value among those that are computed.
fn slot(formula: Formula, values: &mut Vec<Formula>) -> usize {
    values.iter().position(|known| *known == formula).unwrap_or_else(|| {
        values.push(formula);
        values.len() - 1
    })
}

/// Expressions of a plan as formulas.
struct Formulas<'a> {
    earlier: &'a [EarlierReference],
    reads: &'a [ReadQuery<'a>],
    /// The fields of the key.
    fields: &'a [&'a str],
    lengths: (u64, u64),
}

impl Formulas<'_> {
    fn compile(&self, value: &Expression) -> Result<Formula, String> {
        Ok(match value {
            Expression::Integer(number) => Formula::Integer(*number),
            Expression::Float(number) => Formula::Number(*number),
            Expression::Text(text) => return Err(format!("'{text}' is no value of a group")),
            Expression::Arithmetic(left, operator, right) => {
                self.arithmetic(self.compile(left)?, *operator, self.compile(right)?)
            }
            Expression::Aggregate(_) => self.aggregate(value)?,
            Expression::Field(name) => match self.earlier.iter().find(|earlier| earlier.field == *name) {
                Some(earlier) => self.before(earlier)?,
                None => self.field(name)?,
            },
        })
    }

    fn arithmetic(&self, left: Formula, operator: Operator, right: Formula) -> Formula {
        Formula::Arithmetic(Box::new(left), operator, Box::new(right))
    }

    fn before(&self, earlier: &EarlierReference) -> Result<Formula, String> {
        let of = Box::new(self.compile(&earlier.of)?);
        let (every_ns, over_ns) = self.lengths;
        Ok(match earlier.windows {
            EarlierWindows::Previous => Formula::Before(of, every_ns),
            EarlierWindows::Offset(ns) => Formula::Before(of, ns),
            EarlierWindows::MeanOver(ns) => {
                Formula::Mean { of, first_ns: over_ns, number: ns / every_ns.max(1) }
            }
        })
    }

    /// A column of the query's own part that nodes answer.
    fn aggregate(&self, value: &Expression) -> Result<Formula, String> {
        let columns = &self.reads[0].task.columns;
        let column = columns.iter().position(|column| column.value == *value);
        let column = column.ok_or("an aggregate of rows in a query that reads answers")?;
        Ok(Formula::Item { source: 0, column })
    }

    /// A member of the key, or `QUERY.ITEM`.
    fn field(&self, name: &str) -> Result<Formula, String> {
        let member = |item: &str| {
            let item = item.split('/').next().unwrap_or(item);
            self.fields.iter().position(|field| *field == item).map(Formula::Key)
        };
        if let Some(key) = member(name) {
            return Ok(key);
        }
        let sources = self.reads.iter().enumerate().filter_map(|(at, read)| {
            let item = name.strip_prefix(read.name?)?.strip_prefix('.')?;
            Some((at, read, item))
        });
        for (source, read, item) in sources {
            let named = read.task.columns.iter().position(|column| column.name == item);
            let of_key = named.filter(|column| read.query.key.contains(column));
            match (of_key, named) {
                (Some(column), _) => {
                    if let Some(key) = member(field(read.task, column)) {
                        return Ok(key);
                    }
                }
                (None, Some(column)) => return Ok(Formula::Item { source, column }),
                (None, None) => {
                    if let Some(key) = member(item) {
                        return Ok(key);
                    }
                }
            }
        }
        Err(format!("there is no item {name}"))
    }

    /// A condition on the values of a group.
    fn condition(
        &self,
        condition: &Condition,
        values: &mut Vec<Formula>,
    ) -> Result<events::TriggerCondition, String> {
        let mut all = |of: &[Condition]| -> Result<Vec<_>, String> {
            of.iter().map(|one| self.condition(one, values)).collect()
        };
        Ok(match condition {
            Condition::And(of) => events::TriggerCondition::And(all(of)?),
            Condition::Or(of) => events::TriggerCondition::Or(all(of)?),
            Condition::Not(of) => events::TriggerCondition::Not(Box::new(self.condition(of, values)?)),
            Condition::Compare(left, by, right) => events::TriggerCondition::Compare(
                self.operand(left, values)?,
                *by,
                self.operand(right, values)?,
            ),
            Condition::InPrefixes(name, prefixes) => {
                events::TriggerCondition::InPrefixes(slot(self.field(name)?, values), prefixes.clone())
            }
            Condition::In(value, list) => {
                let list = list.iter().map(|one| self.operand(one, values)).collect::<Result<_, _>>()?;
                events::TriggerCondition::In(self.operand(value, values)?, list)
            }
            Condition::Like(name, pattern) => {
                events::TriggerCondition::Like(slot(self.field(name)?, values), pattern.clone())
            }
            Condition::IsNull(value) => events::TriggerCondition::IsNull(self.operand(value, values)?),
        })
    }

    fn operand(&self, value: &Expression, values: &mut Vec<Formula>) -> Result<events::Operand, String> {
        Ok(match value {
            Expression::Integer(number) => events::Operand::Integer(*number),
            Expression::Float(number) => events::Operand::Number(*number),
            Expression::Text(text) => events::Operand::Text(text.clone()),
            other => events::Operand::Item(slot(self.compile(other)?, values)),
        })
    }
}
