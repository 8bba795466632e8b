//! What is known of a value, and whether a condition is true: the naive evaluation.

use events::{ColumnRole, GraphQuery, Member, ObservedWindow, Operand, TriggerCondition};
use model::{Answer, AnswerStatus, Value};
use notation::{Comparison, Operator};
use std::net::IpAddr;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// There is none.
    Null,
    /// Nothing.
    Unknown,
    /// It is this text.
    Text(String),
    /// It is this address, or this prefix of this length.
    Address(IpAddr, u8),
    /// It is a number in this interval, both ends of which belong to it unless they are infinite.
    Within(f64, f64),
}

use Known::{Null, Unknown, Within};

impl From<&Value> for Known {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Null,
            Value::Unsigned(number) => Within(*number as f64, *number as f64),
            Value::Signed(number) => Within(*number as f64, *number as f64),
            Value::Float(number) => Within(*number, *number),
            Value::Estimate { lower, upper, .. } => Within(*lower, *upper),
            Value::Text(text) => Known::Text(text.clone()),
            Value::Address(address) => Known::Address(*address, if address.is_ipv4() { 32 } else { 128 }),
            Value::Prefix { address, length } => Known::Address(*address, *length),
            _ => Unknown,
        }
    }
}

/// The figures of a group that has a row.
pub(crate) fn of_row(query: &GraphQuery, answer: &Answer, row: &[Value], widened: bool) -> Vec<Known> {
    let status = if widened && answer.coverage != Some(1.0) { AnswerStatus::Partial } else { answer.status };
    let figure = |(column, value): (&events::AnswerColumn, &Value)| {
        let exact = Known::from(value);
        match (status, column.role, &exact) {
            (AnswerStatus::Complete, ..) | (_, ColumnRole::Key, _) => exact,
            (_, ColumnRole::Total | ColumnRole::Greatest, Within(least, _)) => Within(*least, f64::INFINITY),
            (_, ColumnRole::Least, Within(_, most)) => Within(f64::NEG_INFINITY, *most),
            (AnswerStatus::Cut, ColumnRole::Rate, _) => exact,
            (_, ColumnRole::Rate, Within(least, _)) => Within(*least, f64::INFINITY),
            _ => Unknown,
        }
    };
    query.columns.iter().zip(row).map(figure).collect()
}

/// The figures of a group that has no row in this window.
pub(crate) fn of_absent(
    query: &GraphQuery,
    key: &[Member],
    seen: &ObservedWindow<'_>,
    widened: bool,
) -> Vec<Known> {
    let lost = |answer: &Answer| widened && answer.coverage != Some(1.0);
    let figure = |(number, column): (usize, &events::AnswerColumn)| {
        if let Some(position) = query.key.iter().position(|column| *column == number) {
            return Known::from(&Value::from(&key[position]));
        }
        let is_counted = matches!(column.role, ColumnRole::Total | ColumnRole::Rate);
        match seen {
            ObservedWindow::Answer(answer) if answer.status != AnswerStatus::Complete || lost(answer) => {
                if is_counted {
                    Within(0.0, f64::INFINITY)
                } else {
                    Unknown
                }
            }
            ObservedWindow::Answer(answer) if answer.rest.groups > 0 => {
                if is_counted {
                    Within(0.0, most(query, answer, number))
                } else {
                    Unknown
                }
            }
            _ => {
                if is_counted {
                    Within(0.0, 0.0)
                } else {
                    Null
                }
            }
        }
    };
    query.columns.iter().enumerate().map(figure).collect()
}

/// What a group that is in `rest` has at most.
fn most(query: &GraphQuery, answer: &Answer, number: usize) -> f64 {
    let upper = |value: &Value| match Known::from(value) {
        Within(_, upper) => upper,
        _ => f64::INFINITY,
    };
    let name = &query.columns[number].column.name;
    let mut most = f64::INFINITY;
    for (_, total) in answer.rest.totals.iter().filter(|(of, _)| of == name) {
        most = most.min(upper(total));
    }
    if query.largest_first == Some(number)
        && let Some(last) = answer.rows.last()
    {
        most = most.min(upper(&last[number]));
    }
    most
}

/// What is known of a group, item by item.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) figures: &'a [Known],
    /// The same where what was lost may have been of it.
    pub(crate) widened: &'a [Known],
    /// Of each source, whether it is missing.
    pub(crate) missing: &'a [bool],
}

/// Whether a condition is true; `None` if that is unknown.
pub(crate) fn truth(condition: &TriggerCondition, group: &Told<'_>) -> Option<bool> {
    let figures = group.figures;
    match condition {
        TriggerCondition::Surely(of) => truth(of, &Told { figures: group.widened, ..*group }),
        TriggerCondition::IsMissing(source) => Some(group.missing.get(*source) == Some(&true)),
        TriggerCondition::And(of) => all(of.iter().map(|one| truth(one, group))),
        TriggerCondition::Or(of) => any(of.iter().map(|one| truth(one, group))),
        TriggerCondition::Not(of) => truth(of, group).map(|is_true| !is_true),
        TriggerCondition::Compare(left, comparison, right) => {
            compare(&value(left, figures), *comparison, &value(right, figures))
        }
        TriggerCondition::In(left, of) => {
            let left = value(left, figures);
            any(of.iter().map(|right| compare(&left, Comparison::Equal, &value(right, figures))))
        }
        TriggerCondition::IsNull(of) => match value(of, figures) {
            Null => Some(true),
            Unknown => None,
            _ => Some(false),
        },
        TriggerCondition::InPrefixes(column, prefixes) => match &figures[*column] {
            Known::Address(address, own) => {
                Some(prefixes.iter().any(|(of, length)| own >= length && begins_with(*address, *of, *length)))
            }
            _ => None,
        },
        TriggerCondition::Like(column, pattern) => match &figures[*column] {
            Known::Text(text) => Some(is_like(text, pattern)),
            _ => None,
        },
    }
}

fn all(of: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let of: Vec<_> = of.collect();
    if of.contains(&Some(false)) {
        Some(false)
    } else if of.contains(&None) {
        None
    } else {
        Some(true)
    }
}

fn any(of: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(of.map(|one| one.map(|is_true| !is_true))).map(|is_true| !is_true)
}

fn compare(left: &Known, comparison: Comparison, right: &Known) -> Option<bool> {
    match (left, right) {
        (Within(a, b), Within(c, d)) => compare_numbers((*a, *b), comparison, (*c, *d)),
        (Known::Text(left), Known::Text(right)) => match comparison {
            Comparison::Equal => Some(left == right),
            Comparison::NotEqual => Some(left != right),
            _ => None,
        },
        _ => None,
    }
}

fn compare_numbers(left: (f64, f64), comparison: Comparison, right: (f64, f64)) -> Option<bool> {
    // For the pair of values that are most, and least, likely to fulfil it.
    let decide = |can_be: bool, must_be: bool| if can_be == must_be { Some(can_be) } else { None };
    match comparison {
        Comparison::Less => decide(left.0 < right.1, left.1 < right.0),
        Comparison::LessOrEqual => decide(left.0 <= right.1, left.1 <= right.0),
        Comparison::Greater => decide(left.1 > right.0, left.0 > right.1),
        Comparison::GreaterOrEqual => decide(left.1 >= right.0, left.0 >= right.1),
        Comparison::Equal => {
            let overlap = left.0 <= right.1 && right.0 <= left.1;
            decide(overlap, overlap && left.0 == left.1 && right.0 == right.1)
        }
        Comparison::NotEqual => compare_numbers(left, Comparison::Equal, right).map(|is_equal| !is_equal),
    }
}

fn value(operand: &Operand, figures: &[Known]) -> Known {
    match operand {
        Operand::Item(column) => figures[*column].clone(),
        Operand::Number(number) => Within(*number, *number),
        Operand::Integer(number) => Within(*number as f64, *number as f64),
        Operand::Text(text) => Known::Text(text.clone()),
        Operand::Arithmetic(left, operator, right) => match (value(left, figures), value(right, figures)) {
            (Null, _) | (_, Null) => Null,
            (Within(a, b), Within(c, d)) => calculate((a, b), *operator, (c, d)),
            _ => Unknown,
        },
    }
}

/// The least and the greatest result for the ends of both intervals.
fn calculate(left: (f64, f64), operator: Operator, right: (f64, f64)) -> Known {
    if operator == Operator::Divide && right.0 <= 0.0 && right.1 >= 0.0 {
        return Unknown;
    }
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for a in [left.0, left.1] {
        for b in [right.0, right.1] {
            let result = match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                // No number is infinite: nothing times any of them is nothing.
                Operator::Multiply if a == 0.0 || b == 0.0 => 0.0,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            };
            // Infinite by infinite: what other ends give contains all quotients.
            if !result.is_nan() {
                ends = (ends.0.min(result), ends.1.max(result));
            }
        }
    }
    Within(ends.0, ends.1)
}

fn begins_with(address: IpAddr, of: IpAddr, length: u8) -> bool {
    let (address, of) = match (address, of) {
        (IpAddr::V4(address), IpAddr::V4(of)) => (address.octets().to_vec(), of.octets().to_vec()),
        (IpAddr::V6(address), IpAddr::V6(of)) => (address.octets().to_vec(), of.octets().to_vec()),
        _ => return false,
    };
    let bit = |octets: &[u8], at: usize| octets[at / 8] >> (7 - at % 8) & 1;
    (0..usize::from(length)).all(|at| bit(&address, at) == bit(&of, at))
}

fn is_like(text: &str, pattern: &str) -> bool {
    let (mut of_text, mut of_pattern) = (text.chars(), pattern.chars());
    match of_pattern.next() {
        None => text.is_empty(),
        Some('%') => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| is_like(&text[at..], of_pattern.as_str()))
        }
        Some(sign) => {
            let first = of_text.next();
            first.is_some()
                && (sign == '_' || first == Some(sign))
                && is_like(of_text.as_str(), of_pattern.as_str())
        }
    }
}
