//! Makes answers from an engine's lines.

use super::lines::one_line;
use super::values::{ValueShape, integer, unsigned};
use equery::{EngineColumn, EngineSql};
use history::levels::Elsewhere;
use model::{Answer, AnswerStatus, Column, ColumnKind, Rest, Span, Value};
use packet::KeySpec;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use task::query::{Expression, Grouping, Operator, Over, Query};

/// The groups of a window and node.
#[derive(Debug, Default)]
struct EngineWindow {
    /// The number of all groups; `None` where there is none.
    groups: Option<u64>,
    /// The totals of all groups, of the columns that are totals.
    totals: Vec<EngineTotal>,
    rows: Vec<Vec<Value>>,
}

/// The total of a column.
#[derive(Clone, Copy, Debug)]
enum EngineTotal {
    Whole(i128),
    Float(f64),
}

impl EngineTotal {
    fn read(json: &Json, kind: ColumnKind) -> Option<Self> {
        match kind {
            ColumnKind::Float => json.as_f64().map(Self::Float),
            _ => integer(json).map(Self::Whole),
        }
    }

    /// Returns what is left of the total without these values.
    fn without<'a>(self, values: impl Iterator<Item = &'a Value>, kind: ColumnKind) -> Value {
        let rest = values.fold(self, |rest, value| match (rest, value) {
            (Self::Whole(rest), Value::Unsigned(value)) => Self::Whole(rest - i128::from(*value)),
            (Self::Whole(rest), Value::Signed(value)) => Self::Whole(rest - i128::from(*value)),
            (Self::Float(rest), Value::Float(value)) => Self::Float(rest - value),
            (rest, _) => rest,
        });
        rest.value(kind)
    }

    fn value(self, kind: ColumnKind) -> Value {
        match (self, kind) {
            (Self::Float(total), _) => Value::Float(total),
            (Self::Whole(total), ColumnKind::Float) => Value::Float(total as f64),
            (Self::Whole(total), ColumnKind::Signed) => {
                i64::try_from(total).map_or(Value::Null, Value::Signed)
            }
            (Self::Whole(total), _) => u64::try_from(total).map_or(Value::Null, Value::Unsigned),
        }
    }
}

/// The groups that an engine's lines have given so far.
pub(super) struct AnswerBuilder<'a> {
    query: &'a Query,
    columns: &'a [Column],
    outputs: &'a [EngineColumn],
    shapes: Vec<ValueShape>,
    /// The number of lines that there are to be.
    expected: Option<u64>,
    lines: u64,
    /// The windows by node and begin, nanoseconds since the epoch.
    windows: BTreeMap<String, BTreeMap<u64, EngineWindow>>,
}

impl<'a> AnswerBuilder<'a> {
    pub(super) fn new(query: &'a Query, key: &KeySpec, columns: &'a [Column], asked: &'a EngineSql) -> Self {
        let items = query.columns.iter().zip(columns);
        let shapes = items.map(|(item, column)| ValueShape::from_column(query, key, item, column)).collect();
        let outputs = &asked.columns;
        Self { query, columns, outputs, shapes, expected: None, lines: 0, windows: BTreeMap::new() }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let json: Json =
            serde_json::from_str(line).map_err(|_| format!("'{}' is no JSON", one_line(line)))?;
        let Json::Object(mut said) = json else {
            return Err(format!("'{}' is no object", one_line(line)));
        };
        self.lines += 1;
        let number = |said: &mut Map<String, Json>, name: &str| {
            let value = taken(said, name)?;
            unsigned(&value).ok_or_else(|| format!("{name} is {value}, and not a number without sign"))
        };
        let expected = number(&mut said, EngineSql::ROWS)?;
        if self.expected.is_some_and(|known| known != expected) {
            return Err(format!("{} is {expected}, and was another number before", EngineSql::ROWS));
        }
        self.expected = Some(expected);
        let start_ns = number(&mut said, EngineSql::START)?.saturating_mul(1000);
        let node = taken(&mut said, EngineSql::NODE)?;
        let Json::String(node) = node else {
            return Err(format!("{} is {node}, and not a text", EngineSql::NODE));
        };
        let groups = match taken(&mut said, EngineSql::GROUPS)? {
            Json::Null => None,
            value => Some(unsigned(&value).ok_or_else(|| format!("{} is {value}", EngineSql::GROUPS))?),
        };
        let mut row = Vec::with_capacity(self.columns.len());
        let mut totals = Vec::new();
        for ((column, output), shape) in self.columns.iter().zip(self.outputs).zip(&self.shapes) {
            let json = taken(&mut said, &output.name)?;
            let wrong = || {
                let kind = format!("{:?}", column.kind).to_lowercase();
                format!(
                    "{} ({}) is {}, and not of the kind {kind}",
                    output.name,
                    column.name,
                    one_line(&json.to_string())
                )
            };
            let mut value =
                if groups.is_none() { Value::Null } else { shape.read(&json).ok_or_else(wrong)? };
            for name in output.of_all.iter().flatten().chain(&output.total) {
                if groups.is_none() {
                    taken(&mut said, name)?;
                    continue;
                }
                match (taken(&mut said, name)?, &mut value) {
                    // Of no values at all.
                    (Json::Null, _) => {}
                    (json, Value::Heaviest(heaviest)) => {
                        let all = unsigned(&json).ok_or_else(|| format!("{name} is {json}"))?;
                        if output.of_all.as_ref().is_some_and(|[values, _]| values == name) {
                            heaviest.rest_values = all.saturating_sub(heaviest.values.len() as u64);
                        } else {
                            let first = heaviest
                                .values
                                .iter()
                                .fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
                            heaviest.rest_weight = all.saturating_sub(first);
                        }
                    }
                    (json, _) => totals.push(
                        EngineTotal::read(&json, column.kind).ok_or_else(|| format!("{name} is {json}"))?,
                    ),
                }
            }
            row.push(value);
        }
        if let Some((name, _)) = said.iter().next() {
            return Err(format!("there is a column {}", one_line(name)));
        }
        let window = self.windows.entry(node).or_default().entry(start_ns).or_default();
        if let Some(groups) = groups {
            window.groups = Some(groups);
            window.totals = totals;
            window.rows.push(row);
        }
        Ok(())
    }

    /// Checks that all lines have come.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn check(&self) -> Result<(), String> {
        let expected = self.expected.unwrap_or(0);
        match self.lines == expected {
            true => Ok(()),
            false => Err(format!("{} rows came, and there are to be {expected}", self.lines)),
        }
    }

    /// The answers of all nodes.
    pub(super) fn answers(mut self, elsewhere: &Elsewhere) -> Vec<Answer> {
        let mut answers = Vec::new();
        for blank in &elsewhere.blanks {
            let windows = blank.node.as_ref().and_then(|node| self.windows.remove(node)).unwrap_or_default();
            let of_node = match self.query.over {
                Over::Windows { every_ns, over_ns } => {
                    self.by_window(windows, blank, elsewhere, every_ns, over_ns)
                }
                Over::Run | Over::Window => {
                    let window = windows.into_values().next().unwrap_or_default();
                    let watched = elsewhere.watched_of(blank.node.as_deref());
                    vec![complete_answer(self.answer(blank, window, watched), elsewhere)]
                }
            };
            answers.extend(of_node);
        }
        answers
    }

    /// The answers of the windows of a node, with runs of those without rows between them.
    fn by_window(
        &self,
        windows: BTreeMap<u64, EngineWindow>,
        blank: &Answer,
        elsewhere: &Elsewhere,
        every_ns: u64,
        over_ns: u64,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        // Windows that overlap end with the last that begins: those that would end later are not over.
        let ends_by = windows.keys().last().map_or(0, |start| start.saturating_add(every_ns));
        let without_rows = |from_ns: u64, to_ns: u64| {
            let mut empty = Answer { rows: Vec::new(), rest: Rest::default(), ..blank.clone() };
            empty.window = Some(Span { start_ns: from_ns, end_ns: to_ns - every_ns + over_ns });
            empty.empty = Some((to_ns - from_ns) / every_ns);
            elsewhere.describe(&mut empty);
            empty
        };
        let node = blank.node.as_deref();
        let watched =
            elsewhere.watched_of(node).filter(|watched| every_ns == over_ns && watched.length_ns() != 0);
        let mut next = watched.map(|watched| watched.start_ns - watched.start_ns % every_ns);
        for (start_ns, window) in windows {
            let end_ns = start_ns.saturating_add(over_ns);
            if end_ns > ends_by {
                break;
            }
            if let Some(next) = next.filter(|next| *next < start_ns) {
                answers.push(without_rows(next, start_ns));
            }
            next = Some(start_ns.saturating_add(every_ns));
            let span = Span { start_ns, end_ns };
            let watched = elsewhere.watched_in(node, span);
            let mut answer = self.answer(blank, window, watched);
            answer.window = Some(span);
            if let Some(watched) = watched.filter(|watched| *watched != span) {
                answer.watched = Some(watched);
                if answer.status == AnswerStatus::Complete {
                    answer.status = AnswerStatus::Cut;
                }
            }
            elsewhere.describe(&mut answer);
            answers.push(answer);
        }
        let until = watched.and_then(|watched| watched.end_ns.checked_next_multiple_of(every_ns));
        if let (Some(next), Some(until)) = (next, until)
            && next < until
        {
            answers.push(without_rows(next, until));
        }
        answers
    }

    /// Makes the answer of a window. `watched` is what was watched of its time.
    fn answer(&self, blank: &Answer, window: EngineWindow, watched: Option<Span>) -> Answer {
        let mut answer = blank.clone();
        if self.query.group == Grouping::All {
            // Without rows there is the group of none, unless it is restricted.
            match window.groups {
                Some(_) => answer.rows = window.rows,
                None => set_rates(self.query, &mut answer, watched),
            }
            return answer;
        }
        let others = window.groups.unwrap_or(0).saturating_sub(window.rows.len() as u64);
        let totals = self.outputs.iter().zip(self.columns).enumerate();
        let totals = totals.filter(|(_, (output, _))| output.total.is_some());
        let of_all = window.totals.iter().map(Some).chain(std::iter::repeat(None));
        let totals = totals.zip(of_all).map(|((at, (_, column)), all)| {
            let shown = window.rows.iter().map(|row| &row[at]);
            let rest = all.map_or_else(
                || EngineTotal::Whole(0).value(column.kind),
                |all| all.without(shown, column.kind),
            );
            (column.name.clone(), rest)
        });
        answer.rest = Rest { groups: others, totals: totals.collect(), ..Rest::default() };
        answer.rows = window.rows;
        answer
    }
}

/// The answers where there are no rows to ask an engine about.
pub(super) fn answer_nothing(query: &Query, elsewhere: &Elsewhere) -> Vec<Answer> {
    if matches!(query.over, Over::Windows { .. }) {
        return Vec::new();
    }
    let answer = |blank: &Answer| {
        let mut answer = complete_answer(blank.clone(), elsewhere);
        let watched = answer.window;
        set_rates(query, &mut answer, watched);
        answer
    };
    elsewhere.blanks.iter().map(answer).collect()
}

/// Gives the group of no rows its rates, which the answer over no time does not have.
fn set_rates(query: &Query, answer: &mut Answer, watched: Option<Span>) {
    if watched.is_none_or(|watched| watched.length_ns() == 0) {
        return;
    }
    for row in &mut answer.rows {
        for (cell, item) in row.iter_mut().zip(&query.columns) {
            if has_rate(&item.value) {
                *cell = value_of_no_rows(&item.value).map_or(Value::Null, Value::Float);
            }
        }
    }
}

fn has_rate(value: &Expression) -> bool {
    match value {
        Expression::Aggregate(aggregate) => aggregate.meaning().is_rate(),
        Expression::Arithmetic(left, _, right) => has_rate(left) || has_rate(right),
        _ => false,
    }
}

/// A value of no rows: counts, sums and rates are 0, all else is null.
fn value_of_no_rows(value: &Expression) -> Option<f64> {
    match value {
        Expression::Integer(number) => Some(*number as f64),
        Expression::Float(number) => Some(*number),
        Expression::Aggregate(aggregate) => aggregate.meaning().is_zero_without_rows().then_some(0.0),
        Expression::Arithmetic(left, operator, right) => {
            let (left, right) = (value_of_no_rows(left)?, value_of_no_rows(right)?);
            let number = match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => left / right,
            };
            number.is_finite().then_some(number)
        }
        _ => None,
    }
}

/// An answer over all rows.
fn complete_answer(mut answer: Answer, elsewhere: &Elsewhere) -> Answer {
    answer.window = elsewhere.watched_of(answer.node.as_deref());
    elsewhere.describe(&mut answer);
    answer
}

/// A member of what an engine said.
fn taken(said: &mut Map<String, Json>, name: &str) -> Result<Json, String> {
    said.remove(name).ok_or_else(|| format!("there is no column {name}"))
}
