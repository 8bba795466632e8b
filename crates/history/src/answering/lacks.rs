//! The reasons why an answer is not complete.

use super::ScanSummary;
use crate::facts::{RefusedRows, first_of, part_of};
use crate::files::StoredTimes;
use crate::question::Question;
use model::{Answer, Missing, MissingReason, Span};
use std::sync::Arc;

/// The rest of a sentence on one row without packets that leaves open a member of its key, and on several.
const KEYLESS: [&str; 2] = [
    "does not tell a field of its key: it is in no group",
    "do not tell a field of their key: they are in no group",
];

/// An answer with its node, and with what keeps it from being complete. Of damaged files whose times are known it has all of the node in `missing`, whether
/// they are of its time or not.
pub(super) fn complete(
    mut answer: Answer,
    node: &Option<Arc<str>>,
    outcome: &ScanSummary,
    times: &StoredTimes,
) -> Answer {
    answer.node = node.as_deref().map(str::to_owned);
    let mut errors: Vec<String> = Vec::new();
    for error in &outcome.errors {
        let Some((of, span)) = times.get(error.path()) else {
            errors.push(error.to_string());
            continue;
        };
        if node.as_deref() != Some(of) {
            continue;
        }
        let is_of = |window: Span| window.start_ns < span.end_ns && span.start_ns < window.end_ns;
        // Of windows without rows, those of its time are told apart later.
        if answer.empty.is_none() && answer.window.is_none_or(is_of) {
            errors.push(error.to_string());
        }
        answer.missing.push(Missing { span: *span, reason: MissingReason::Damaged });
    }
    if !errors.is_empty() {
        answer.mark_partial(&first_of(&errors, "; "));
    }
    lack(&mut answer, &outcome.passed_over);
    if outcome.stopped {
        answer.mark_partial("reading was stopped before the end");
    }
    answer
}

/// Says in an answer about a part of the time of imported records that these count where they end.
pub(super) fn describe_ends(
    facts: &RefusedRows,
    answer: &mut Answer,
    node: &Option<Arc<str>>,
    questions: &[&Question],
    span: Option<Span>,
) {
    let asked = questions.iter().find(|question| question.query.name == answer.query);
    if let Some(question) = asked {
        facts.describe_ends(answer, node, part_of(&question.query.over, question.period, span));
    }
}

/// Makes an answer partial where rows without packets leave open a member of their key. Those that have packets are told by these.
pub(super) fn lack_keyless(answer: &mut Answer, rows: u64) {
    if rows != 0 {
        answer.mark_partial(&notation::counted_as(rows, "row", KEYLESS));
    }
}

pub(super) fn lack(answer: &mut Answer, reasons: &[String]) {
    reasons.iter().for_each(|reason| answer.mark_partial(reason));
}
