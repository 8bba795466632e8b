//! `--diff A B`: what changed from one file, or one period, to another.

use super::printer::AnswerPrinter;
use super::source::AnswerSource;
use super::{QueryInvocation, asking, files};
use crate::commands::QueryOptions;
use history::{Period, Question};
use model::{Answer, AnswerStatus, Column, ColumnKind, Rest, Value};
use runtime::exit::Failure;
use runtime::questions::periods;
use std::collections::HashMap;
use std::process::ExitCode;
use task::query::{Expression, GroupField, Grouping, OutputColumn, Over, Query};

/// The rows that are read: of one side, or of two that are compared.
pub(super) enum DiffInput {
    /// Files or a store, in a period.
    One { source: AnswerSource, period: Option<Period> },
    /// Two sets of files, or two periods of the same files.
    Two([DiffSide; 2]),
}

/// One of two things that are compared.
pub(super) struct DiffSide {
    /// The name of the side, as the user gave it.
    name: String,
    source: AnswerSource,
    period: Option<Period>,
}

/// Returns the rows that the options read.
pub(super) fn sides(options: &QueryOptions, patterns: Vec<String>) -> Result<DiffInput, Failure> {
    let period = periods::parse_options(options.from.as_deref(), options.to.as_deref())?;
    let [a, b] = &options.diff[..] else {
        return Ok(DiffInput::One { source: AnswerSource::open(options, &patterns)?, period });
    };
    let of_files = |name: &String| -> Result<DiffSide, Failure> {
        let source = AnswerSource::Files(Box::new(files::open(std::slice::from_ref(name))?));
        Ok(DiffSide { name: name.clone(), source, period })
    };
    let of_period = |name: &String| -> Result<DiffSide, Failure> {
        let source = AnswerSource::open(options, &patterns)?;
        Ok(DiffSide { name: name.clone(), source, period: Some(periods::named(name)?) })
    };
    let names_files = |name: &str| options.store.is_none() && files::names_files(name);
    let sides = match (names_files(a), names_files(b)) {
        (true, true) if patterns.is_empty() => [of_files(a)?, of_files(b)?],
        (true, true) => {
            return Err(Failure::usage("--diff compares two files: give no others, or give it two periods"));
        }
        _ if period.is_some() => {
            return Err(Failure::usage("--diff has periods of its own: leave out --from and --to"));
        }
        _ => [of_period(a)?, of_period(b)?],
    };
    Ok(DiffInput::Two(sides))
}

/// Prints what changed from one side to the other.
pub(super) fn compare(command: &QueryInvocation<'_>, sides: [DiffSide; 2]) -> Result<ExitCode, Failure> {
    let printer = AnswerPrinter::new(command.options);
    let mut outcomes = Vec::new();
    let mut answers: [Vec<Answer>; 2] = Default::default();
    let mut asked: Vec<Query> = Vec::new();
    let [mut first, mut second] = sides;
    for (side, answers) in [&mut first, &mut second].into_iter().zip(&mut answers) {
        let questions = asking::questions(command.options, command.texts, &side.source.facts(), side.period)?;
        asked = questions.iter().map(|question| question.query.clone()).collect();
        if command.options.by.is_some() && command.options.sort.is_none() {
            // Those whose first number changed most are first.
            asked.iter_mut().for_each(|query| query.order.clear());
        }
        if let Some(query) = asked.iter().find(|query| query.over != Over::Run) {
            let wrong = "--diff compares all of both sides: leave out 'every', 'over' and --per";
            return Err(Failure::usage(format!("{}: {wrong}", query.name)));
        }
        asked.iter().try_for_each(refuse_uncomparable)?;
        // All groups of both sides are compared, before the first are chosen.
        let all = |question: Question| Question {
            query: Query { limit: Some(usize::MAX), order: Vec::new(), ..question.query },
            ..question
        };
        let questions: Vec<_> = questions.into_iter().map(all).collect();
        outcomes
            .push(command.read(&mut side.source, questions, &printer, &mut |answer| answers.push(answer))?);
    }
    let [before, after] = answers;
    for query in &asked {
        let of = |answers: &[Answer]| -> Vec<Answer> {
            answers.iter().filter(|answer| answer.query == query.name).cloned().collect()
        };
        let (before, mut after) = (of(&before), of(&after));
        // A side without rows does not name its node.
        let of_one_node =
            before.len() == 1 && [&before, &after].into_iter().flatten().any(|answer| answer.node.is_none());
        for answer in before {
            // A node that is on one side only is compared with nothing.
            let are_all = of_one_node && after.len() == 1;
            let same = after.iter().position(|other| other.node == answer.node || are_all);
            let other = same.map(|at| after.swap_remove(at));
            printer.print(change(query, command.options.top, Some(answer), other));
        }
        after
            .into_iter()
            .for_each(|other| printer.print(change(query, command.options.top, None, Some(other))));
    }
    printer.finish();
    let code = command.verdict(&first.source, &outcomes[0], &printer);
    let code_of_second = command.verdict(&second.source, &outcomes[1], &printer);
    runtime::exit::say(&format!("a is {}, b is {}", first.name, second.name));
    Ok(if code == ExitCode::SUCCESS { code_of_second } else { code })
}

/// Refuses queries whose groups are not known on both sides.
fn refuse_uncomparable(query: &Query) -> Result<(), Failure> {
    let wrong =
        |reason: String| Err(Failure::usage(format!("{}: --diff compares groups: {reason}", query.name)));
    let is_shown = |field: &GroupField| {
        let shows = |item: &OutputColumn| matches!(&item.value, Expression::Field(name) if name.eq_ignore_ascii_case(&field.field));
        query.columns.iter().any(shows)
    };
    match &query.group {
        _ if query.having.is_some() => wrong("leave out 'having', which judges each side".to_owned()),
        Grouping::Flows => wrong("add 'groupby'".to_owned()),
        Grouping::All => Ok(()),
        Grouping::By(fields) => match fields.iter().find(|field| !is_shown(field)) {
            Some(hidden) => wrong(format!("select {} too", hidden.field)),
            None => Ok(()),
        },
    }
}

/// Returns what a column of answers shows: they have the columns of their query, though a field may have another name there (`first_vlan`).
fn shown(query: &Query, column: usize) -> Option<&Expression> {
    query.columns.get(column).map(|item| &item.value)
}

/// Returns whether a group that is not there has 0 of a column.
fn is_count(query: &Query, column: usize) -> bool {
    let Some(Expression::Aggregate(aggregate)) = shown(query, column) else { return false };
    let meaning = aggregate.meaning();
    meaning.is_zero_without_rows() && !meaning.is_rate()
}

/// Returns whether the values that several groups have of a column add up.
fn is_total(query: &Query, column: usize, kind: ColumnKind) -> bool {
    let aggregate = shown(query, column);
    matches!(aggregate, Some(Expression::Aggregate(aggregate)) if aggregate.meaning().is_total())
        && matches!(kind, ColumnKind::Unsigned | ColumnKind::Signed)
}

/// Returns the answer of a comparison: the groups, and of each number what it was (`_a`), what it is (`_b`), and the change.
fn change(query: &Query, most: usize, before: Option<Answer>, after: Option<Answer>) -> Answer {
    let Some(known) = after.as_ref().or(before.as_ref()) else {
        return Answer::new(query.name.clone(), None, Vec::new(), Vec::new());
    };
    let compared = ComparedColumns::new(query, known);
    let mut result = Answer::new(query.name.clone(), None, compared.columns(), Vec::new());
    result.node = known.node.clone();
    [&before, &after].into_iter().flatten().for_each(|answer| add_shortfalls(&mut result, answer));
    let groups = compared.groups([&before, &after]);
    let mut rows: Vec<Vec<Value>> = groups.into_iter().map(|sides| compared.row(&sides)).collect();
    compared.sort(&mut rows);
    let limit = query.limit.unwrap_or(most).min(rows.len());
    let rest = rows.split_off(limit);
    result.rows = rows;
    if !compared.keys.is_empty() {
        let totals = compared.totals(&result.columns, &rest);
        result.rest = Rest { groups: rest.len() as u64, totals, ..Rest::default() };
    }
    result
}

/// Adds what an answer of one side lacks to a comparison, and the bounds of its values.
fn add_shortfalls(result: &mut Answer, answer: &Answer) {
    result.missing.extend_from_slice(&answer.missing);
    if let Some(reason) = &answer.reason {
        match answer.status {
            AnswerStatus::Partial => result.mark_partial(reason),
            AnswerStatus::Complete | AnswerStatus::Cut => result.remark(reason),
        }
    }
    if answer.status != AnswerStatus::Partial && answer.bounds != "exact" && result.bounds == "exact" {
        result.bounds = answer.bounds.clone();
    }
}

/// The columns of two answers that are compared.
struct ComparedColumns<'a> {
    query: &'a Query,
    /// The answer of one side, whose columns both sides have.
    known: &'a Answer,
    /// The columns that name a group.
    keys: Vec<usize>,
    /// The columns whose values are compared.
    numbers: Vec<usize>,
}

impl<'a> ComparedColumns<'a> {
    fn new(query: &'a Query, known: &'a Answer) -> Self {
        let is_key = |at: usize| matches!(shown(query, at), Some(Expression::Field(_)));
        let is_number = |at: usize| {
            !is_key(at)
                && matches!(
                    known.columns[at].kind,
                    ColumnKind::Unsigned | ColumnKind::Signed | ColumnKind::Float | ColumnKind::Estimate
                )
        };
        let keys: Vec<usize> = (0..known.columns.len()).filter(|at| is_key(*at)).collect();
        let numbers: Vec<usize> = (0..known.columns.len()).filter(|at| is_number(*at)).collect();
        Self { query, known, keys, numbers }
    }

    /// Returns the columns of the comparison.
    fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self.keys.iter().map(|at| self.known.columns[*at].clone()).collect();
        for at in &self.numbers {
            let Column { name, kind, unit } = &self.known.columns[*at];
            let changed = if *kind == ColumnKind::Unsigned { ColumnKind::Signed } else { *kind };
            columns.push(Column::new(format!("{name}_a"), *kind, unit));
            columns.push(Column::new(format!("{name}_b"), *kind, unit));
            columns.push(Column::new(format!("{name}_change"), changed, unit));
        }
        columns
    }

    /// Returns the rows of each group on both sides, in the order in which groups come first.
    fn groups(&self, answers: [&Option<Answer>; 2]) -> Vec<[Option<Vec<Value>>; 2]> {
        let mut groups: HashMap<String, [Option<Vec<Value>>; 2]> = HashMap::new();
        let mut order = Vec::new();
        for (side, answer) in answers.into_iter().enumerate() {
            for row in answer.iter().flat_map(|answer| &answer.rows) {
                let key: String = self.keys.iter().map(|at| format!("{:?}\u{0}", row[*at])).collect();
                let sides = groups.entry(key.clone()).or_insert_with(|| {
                    order.push(key);
                    [None, None]
                });
                sides[side] = Some(row.clone());
            }
        }
        order.iter().filter_map(|key| groups.remove(key)).collect()
    }

    /// Returns the row of a group in the comparison.
    fn row(&self, [before, after]: &[Option<Vec<Value>>; 2]) -> Vec<Value> {
        let key_of = before.as_ref().or(after.as_ref());
        let mut row: Vec<Value> =
            self.keys.iter().filter_map(|at| key_of.map(|row| row[*at].clone())).collect();
        for at in &self.numbers {
            let of = |side: &Option<Vec<Value>>| {
                side.as_ref().map_or_else(|| self.missing(*at), |row| row[*at].clone())
            };
            let (a, b) = (of(before), of(after));
            let changed = difference(&a, &b);
            row.extend([a, b, changed]);
        }
        row
    }

    /// Returns what a group lacks on one side: nothing, unless what is counted there has no least value.
    fn missing(&self, at: usize) -> Value {
        match self.known.columns[at].kind {
            _ if !is_count(self.query, at) => Value::Null,
            ColumnKind::Unsigned => Value::Unsigned(0),
            ColumnKind::Signed => Value::Signed(0),
            _ => Value::Float(0.0),
        }
    }

    /// Puts those that changed most first, by what is asked for, else by the first number whose changes are known. Equal ones keep the order of
    /// the first side.
    fn sort(&self, rows: &mut [Vec<Value>]) {
        let change_of = |number: usize| self.keys.len() + 3 * number + 2;
        let is_asked =
            |at: &usize| self.query.order.iter().any(|order| shown(self.query, *at) == Some(&order.by));
        let is_known = |number: &usize| rows.iter().any(|row| row[change_of(*number)] != Value::Null);
        let asked = self.numbers.iter().position(is_asked);
        if let Some(number) = asked.into_iter().chain(0..self.numbers.len()).find(is_known) {
            let weight = |row: &[Value]| as_float(&row[change_of(number)]).map_or(0.0, f64::abs);
            rows.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        }
    }

    /// Returns the sums of the groups that are left out, of each column whose values add up. `columns`: those of the comparison.
    fn totals(&self, columns: &[Column], rest: &[Vec<Value>]) -> Vec<(String, Value)> {
        let totals = self.numbers.iter().enumerate().flat_map(|(number, at)| {
            let is_total = is_total(self.query, *at, self.known.columns[*at].kind);
            let first = self.keys.len() + 3 * number;
            (first..first + 3).filter(move |_| is_total)
        });
        let total = |at: usize| {
            // With what is not known the sum is not either.
            let is_known = rest.iter().all(|row| row[at] != Value::Null);
            let sum: i128 = rest.iter().filter_map(|row| as_integer(&row[at])).sum();
            (columns[at].name.clone(), if is_known { integer(sum) } else { Value::Null })
        };
        totals.map(total).collect()
    }
}

fn difference(a: &Value, b: &Value) -> Value {
    if let (Some(a), Some(b)) = (as_integer(a), as_integer(b)) {
        return i64::try_from(b - a).map_or(Value::Null, Value::Signed);
    }
    let is_estimate = |value: &Value| matches!(value, Value::Estimate { .. });
    let are_exact = !is_estimate(a) && !is_estimate(b);
    match (bounds(a), bounds(b)) {
        (Some([a, ..]), Some([b, ..])) if are_exact => Value::Float(b - a),
        (Some([a, a_lower, a_upper]), Some([b, b_lower, b_upper])) => {
            Value::Estimate { value: b - a, lower: b_lower - a_upper, upper: b_upper - a_lower }
        }
        _ => Value::Null,
    }
}

/// The value, and what it is not less and not more than.
fn bounds(value: &Value) -> Option<[f64; 3]> {
    match value {
        Value::Estimate { value, lower, upper } => Some([*value, *lower, *upper]),
        value => as_float(value).map(|number| [number; 3]),
    }
}

fn as_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Unsigned(number) => Some(i128::from(*number)),
        Value::Signed(number) => Some(i128::from(*number)),
        _ => None,
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) | Value::Estimate { value: number, .. } => Some(*number),
        value => as_integer(value).map(|number| number as f64),
    }
}

fn integer(number: i128) -> Value {
    match u64::try_from(number) {
        Ok(number) => Value::Unsigned(number),
        Err(_) => i64::try_from(number).map_or(Value::Null, Value::Signed),
    }
}
