//! What nodes say of one period.

use super::outcome::PeriodStatus;
use model::{Answer, AnswerStatus, Missing, Span, Value};
use std::collections::BTreeMap;

/// A period may lack this share at its ends before its sums are those of less time.
const NEARLY: f64 = 0.05;

/// Returns a value as a number, with that of an estimate.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Unsigned(number) => Some(*number as f64),
        Value::Estimate { value, .. } => Some(*value),
        _ => None,
    }
}

/// Returns a count.
pub(crate) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Unsigned(number) => Some(*number),
        Value::Estimate { value, .. } if value.is_finite() => Some(value.max(0.0).round() as u64),
        _ => None,
    }
}

/// What nodes say of one period.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// The sum of each node that knows it.
    pub(crate) nodes: BTreeMap<String, u64>,
    pub(crate) status: PeriodStatus,
    pub(crate) reasons: Vec<String>,
    pub(crate) missing: Vec<Missing>,
    /// The time from the first that is remembered to the last.
    pub(crate) watched: Option<Span>,
}

impl Side {
    /// Reads the answers about all that pass.
    pub(crate) fn read<'a>(period: Span, answers: impl Iterator<Item = &'a Answer>) -> Self {
        let mut side = Self::default();
        let mut is_partial = false;
        for answer in answers {
            is_partial |= answer.status == AnswerStatus::Partial;
            add_reason(&mut side.reasons, answer);
            side.missing.extend(answer.missing.iter().copied());
            let window = answer.window.filter(|window| window.length_ns() > 0);
            let sum = answer.rows.first().and_then(|row| count(row.last()?));
            match (window, sum, &answer.node) {
                (Some(window), Some(sum), Some(node)) => {
                    side.nodes.insert(node.clone(), sum);
                    side.watched = Some(side.watched.map_or(window, |own| Span {
                        start_ns: own.start_ns.min(window.start_ns),
                        end_ns: own.end_ns.max(window.end_ns),
                    }));
                }
                _ => is_partial = true,
            }
        }
        side.missing.sort_by_key(|one| (one.span.start_ns, one.span.end_ns));
        let missing = std::mem::take(&mut side.missing);
        missing.into_iter().for_each(|one| Missing::push(&mut side.missing, one));
        let unseen = side.watched.map_or(0, |watched| {
            let both = Span {
                start_ns: watched.start_ns.max(period.start_ns),
                end_ns: watched.end_ns.min(period.end_ns),
            };
            period.length_ns().saturating_sub(both.length_ns())
        });
        if unseen as f64 > period.length_ns() as f64 * NEARLY {
            is_partial = true;
            side.reasons.push("a part of the period is not remembered".to_owned());
        }
        side.status = match (side.nodes.is_empty(), is_partial) {
            (true, _) => PeriodStatus::NotKnown,
            (false, true) => PeriodStatus::Partial,
            (false, false) => PeriodStatus::Complete,
        };
        side
    }

    /// Returns what all nodes have; `None` where none knows it.
    pub(crate) fn total(&self) -> Option<u64> {
        let sum = self.nodes.values().fold(0_u64, |sum, own| sum.saturating_add(*own));
        (self.status != PeriodStatus::NotKnown).then_some(sum)
    }
}

/// Adds the reason why an answer is not complete to those that are known.
pub(crate) fn add_reason(reasons: &mut Vec<String>, answer: &Answer) {
    let Some(reason) = answer.reason.as_ref().filter(|_| answer.status == AnswerStatus::Partial) else {
        return;
    };
    let reason = match &answer.node {
        Some(node) => format!("{node}: {reason}"),
        None => reason.clone(),
    };
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}
