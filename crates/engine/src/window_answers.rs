//! The answers of queries over the rows of a closed window, whether they were asked before it or are asked later.

use crate::closed::ClosedWindow;
use model::{Answer, AnswerStatus, Counters, Sampling, Span};
use task::rows::{Outside, RowPartials, RowQueries, WindowAccount, late_rows, mark_lost};

/// The answers of queries that have read all rows of the window. `answered`: the set by which it was answered when it was closed.
pub(crate) fn answer_rows(
    partials: RowPartials,
    queries: &RowQueries,
    answered: &RowQueries,
    closed: &ClosedWindow,
) -> Vec<Answer> {
    let outside = Outside {
        totals: &closed.unplaced,
        overflow: closed.overflow.as_ref(),
        sampled: closed.sampled,
        untold: closed.all_untold(),
    };
    let mut answers = partials.window_answers_after(queries, answered, closed.span, closed.watched, outside);
    let rows_missing = missing(closed.refused_rows);
    for answer in &mut answers {
        rows_missing.iter().for_each(|reason| answer.mark_partial(reason));
        mark_lost(answer, closed.unfollowed);
    }
    answers
}

/// Returns what answers over rows lack.
pub(crate) fn missing(refused_rows: u64) -> Option<String> {
    (refused_rows != 0).then(|| late_rows(refused_rows))
}

/// Gives the answers of a window the name of the observation point, and says how much of the window they cover and what they lack.
pub(crate) fn sign(answers: &mut [Answer], closed: &ClosedWindow, node: &str) {
    let coverage = lost(closed).map(|lost| model::coverage(closed.packets.received, lost));
    for answer in answers {
        answer.node = Some(node.to_owned());
        answer.coverage = coverage;
        closed.lacks.iter().for_each(|lacks| answer.mark_partial(lacks));
        closed.estimates.iter().for_each(|how_good| answer.estimates(how_good));
        answer.sampling = closed.sampled.filter(|sampled| !sampled.is_whole()).as_ref().map(Sampling::from);
        if closed.is_cut() {
            answer.watched = Some(closed.watched);
            if answer.status == AnswerStatus::Complete {
                answer.status = AnswerStatus::Cut;
            }
        }
    }
}

/// An answer without rows, as that of a run of windows without a packet before the closed one.
pub(crate) fn empty(answer: Answer, span: Span, windows: u64, closed: &ClosedWindow, node: &str) -> Answer {
    Answer {
        window: Some(span),
        node: Some(node.to_owned()),
        empty: Some(windows),
        coverage: closed.loss.as_ref().map(|_| 1.0),
        ..answer
    }
}

/// Returns what windows of other lengths take of the window.
pub(crate) fn account(closed: &ClosedWindow) -> WindowAccount {
    WindowAccount {
        span: closed.span,
        watched: closed.watched,
        received: closed.packets.received,
        lost: lost(closed),
        refused_rows: closed.refused_rows,
        unfollowed: closed.unfollowed,
        outside: closed.unplaced,
        untold: closed.all_untold(),
        sampled: closed.sampled,
    }
}

/// Returns the number of frames that the source lost in the window.
fn lost(closed: &ClosedWindow) -> Option<u64> {
    closed.loss.as_ref().map(Counters::total)
}
