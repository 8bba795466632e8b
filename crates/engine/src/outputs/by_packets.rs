//! Answers of queries by packets: their rows come with the window that is closed.

use super::long_windows;
use crate::closed::ClosedWindow;
use crate::control::Control;
use crate::window_answers;
use flow::{Sampled, Untold};
use model::{Answer, Span};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use task::query::Query;
use task::rows::{LongWindows, Outside, RowPartials, RowScratch, RunPartials, Unplaced, WindowAccount};
use task::{SplitQuery, SplitRows, SplitWindow, TaskSet};

/// The state of all queries by packets.
#[derive(Debug)]
pub(super) struct PacketQueryState {
    /// The queries over the run. They are of the task set that the run began with.
    run: Vec<OfRun>,
    /// Windows of other lengths than the run's, from set to set as long as these have the query.
    long: Vec<OfLong>,
    /// The last window that was closed: its number, and its time.
    last: Option<(u64, Span)>,
    scratch: RowScratch,
}

/// Windows that were refused between two that were closed.
#[derive(Clone, Copy, Debug)]
struct RefusedWindows {
    /// The time in which they lie, possibly together with windows without a packet.
    span: Span,
    windows: u64,
}

/// Windows whose rows are incomplete.
#[derive(Clone, Debug)]
struct IncompleteWindow {
    span: Span,
    reason: String,
}

/// A query over windows of other lengths.
#[derive(Debug)]
struct OfLong {
    query: Query,
    windows: Vec<LongWindows>,
    /// Packets of the window that is closed which are in no row.
    outside: Unplaced,
    /// The reasons why windows that an answer to come covers are incomplete.
    faults: Vec<IncompleteWindow>,
    /// The windows that were refused and that an answer to come covers.
    refused: Vec<RefusedWindows>,
}

/// A query over the run.
#[derive(Debug)]
struct OfRun {
    query: Query,
    rows: RunPartials,
    unplaced: Unplaced,
    /// Numbers of packets and records of its windows that did not tell a value.
    untold: Untold,
    /// The reason why rows of some windows are missing.
    lacks: Option<String>,
}

impl PacketQueryState {
    /// A run begins with this set.
    pub(super) fn new(first: &TaskSet) -> Self {
        let of_run = |query: &SplitQuery| {
            let rows = query.queries().run()?;
            let (unplaced, untold) = Default::default();
            Some(OfRun { query: query.query().clone(), rows, unplaced, untold, lacks: None })
        };
        Self {
            run: first.by_packets().iter().filter_map(of_run).collect(),
            long: Vec::new(),
            last: None,
            scratch: RowScratch::default(),
        }
    }

    /// Takes the rows of a window, and answers the queries about it.
    pub(super) fn window(&mut self, set: &TaskSet, closed: &ClosedWindow) -> Vec<Answer> {
        let refused = self.refused_before(closed);
        self.long.iter_mut().for_each(|long| long.refused.extend(refused));
        let fault = lacking(closed);
        let mut answers = Vec::new();
        for query in set.by_packets() {
            let rows = query.rows(closed.split.as_ref());
            answers.extend(self.answer_window(query, &rows, closed, fault.as_deref()));
            if let Some(run) = self.run.iter_mut().find(|run| run.query == *query.query()) {
                rows.iter()
                    .enumerate()
                    .for_each(|(pass, rows)| run.rows.add_pass(pass, rows.v4(), rows.v6()));
                run.unplaced.add(&unplaced(&rows));
                run.untold.add(&closed.all_untold());
                run.lacks = run.lacks.take().or_else(|| fault.clone());
            }
            self.add_long(query, &rows, closed, fault.as_deref());
        }
        for run in &mut self.run {
            if !has(set, &run.query) {
                run.lacks.get_or_insert_with(|| "packets were not counted for it in all windows".to_owned());
            }
        }
        answers
    }

    /// The windows that were refused since the last one that was closed: of those that were closed none is missing in the numbers.
    fn refused_before(&mut self, closed: &ClosedWindow) -> Option<RefusedWindows> {
        let (number, last) = self.last.replace((closed.index, closed.span))?;
        let windows = closed.index.saturating_sub(number + 1);
        let span = Span { start_ns: last.end_ns, end_ns: before_empty(closed) };
        (windows != 0).then_some(RefusedWindows { span, windows })
    }

    fn answer_window(
        &mut self,
        query: &SplitQuery,
        rows: &[Cow<'_, SplitRows>],
        closed: &ClosedWindow,
        fault: Option<&str>,
    ) -> Vec<Answer> {
        let queries = query.queries();
        let mut partials: RowPartials = queries.window();
        for (pass, rows) in rows.iter().enumerate() {
            partials.add_pass(queries, pass, (rows.v4(), rows.v6()), &mut self.scratch);
        }
        let unplaced = unplaced(rows);
        let outside =
            Outside { sampled: closed.sampled, untold: closed.all_untold(), ..Outside::from(&unplaced) };
        let mut answers = partials.window_answers(queries, closed.span, closed.watched, outside);
        lack(&mut answers, fault);
        answers
    }

    /// Begins windows of other lengths whose queries are new in the set of this window.
    pub(super) fn begin_long(&mut self, control: &Control, closed: &ClosedWindow) {
        let set = control.set(closed.window);
        for query in set.by_packets().iter().filter(|query| query.queries().has_long_windows()) {
            let known = self.long.iter().position(|known| known.query == *query.query());
            let at = known.unwrap_or_else(|| {
                let (windows, outside, faults, refused) = Default::default();
                self.long.push(OfLong { query: query.query().clone(), windows, outside, faults, refused });
                self.long.len() - 1
            });
            let OfLong { query: own, windows, .. } = &mut self.long[at];
            query.queries().begin_long_windows(windows);
            long_windows::begin(windows, control, closed, |set, _| has(set, own));
        }
    }

    fn add_long(
        &mut self,
        query: &SplitQuery,
        rows: &[Cow<'_, SplitRows>],
        closed: &ClosedWindow,
        fault: Option<&str>,
    ) {
        let Some(long) = self.long.iter_mut().find(|known| known.query == *query.query()) else { return };
        let OfLong { windows, outside, faults, .. } = long;
        *outside = unplaced(rows);
        if let Some(reason) = fault {
            let before = before_empty(closed);
            let continues =
                |last: &&mut IncompleteWindow| last.span.end_ns == before && last.reason == reason;
            match faults.last_mut().filter(continues) {
                Some(last) => last.span.end_ns = closed.span.end_ns,
                None => faults.push(IncompleteWindow { span: closed.span, reason: reason.to_owned() }),
            }
        }
        for (pass, rows) in rows.iter().enumerate() {
            let start_ns = closed.span.start_ns;
            windows.iter_mut().for_each(|windows| windows.add_pass(pass, start_ns, rows.v4(), rows.v6()));
        }
    }

    /// The answers of windows of other lengths that end with this window, or with the last window of their set.
    pub(super) fn close_long(
        &mut self,
        control: &Control,
        set: &Arc<TaskSet>,
        closed: &ClosedWindow,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        let next_ns = closed.next_ns.filter(|_| control.is_gated());
        let account = window_answers::account(closed);
        let length = closed.span.end_ns - closed.span.start_ns;
        self.long.retain_mut(|long| {
            let OfLong { query, windows: all, outside, faults, refused } = long;
            let is_known = has(set, query);
            let mut of_query = Vec::new();
            for windows in all.iter_mut() {
                if !is_known {
                    of_query.extend(windows.end());
                    continue;
                }
                // Rows that were refused are none of these.
                let account = WindowAccount { outside: *outside, refused_rows: 0, unfollowed: 0, ..account };
                of_query.extend(windows.close(&account));
                of_query.extend(next_ns.into_iter().flat_map(|next| windows.pass(next)));
            }
            lack_faulty(&mut of_query, faults);
            lack_refused(&mut of_query, refused, length);
            let answered = all.iter().map(LongWindows::unanswered_from).min().flatten();
            let is_to_come = |span: &Span| answered.is_none_or(|from| span.end_ns > from);
            faults.retain(|fault| is_to_come(&fault.span));
            refused.retain(|refused| is_to_come(&refused.span));
            answers.extend(of_query);
            is_known
        });
        answers
    }

    /// The answers of windows of other lengths that the end of the run cuts.
    pub(super) fn end_long(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        let length = self.last.map_or(0, |(_, last)| last.end_ns - last.start_ns);
        for OfLong { mut windows, faults, refused, .. } in std::mem::take(&mut self.long) {
            let mut of_query: Vec<Answer> = windows.iter_mut().flat_map(LongWindows::end).collect();
            lack_faulty(&mut of_query, &faults);
            lack_refused(&mut of_query, &refused, length);
            answers.extend(of_query);
        }
        answers
    }

    /// Returns the answers over the run. `refused`: the number of windows of the run that were refused with their rows.
    pub(super) fn answer_run(
        &mut self,
        first: &TaskSet,
        watched: Option<Span>,
        sampled: Option<Sampled>,
        refused: u64,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        for OfRun { query, rows, unplaced, untold, lacks } in std::mem::take(&mut self.run) {
            let Some(planned) = first.by_packets().iter().find(|planned| *planned.query() == query) else {
                continue;
            };
            let outside = Outside { sampled, untold, ..Outside::from(&unplaced) };
            let mut of_query = planned.queries().run_answers(rows, watched, outside);
            lack(&mut of_query, lacks.as_deref());
            let refused = (refused != 0).then(|| refused_windows(refused));
            lack(&mut of_query, refused.as_deref());
            answers.extend(of_query);
        }
        answers
    }
}

/// Packets that are in no row, of whatever pass.
fn unplaced(rows: &[Cow<'_, SplitRows>]) -> Unplaced {
    rows.first().map_or_else(Unplaced::default, |rows| *rows.unplaced())
}

/// Returns whether the task set counts packets for this query.
fn has(set: &TaskSet, query: &Query) -> bool {
    set.by_packets().iter().any(|known| known.query() == query)
}

/// Says in answers what they lack, if they lack something.
fn lack(answers: &mut [Answer], reason: Option<&str>) {
    let Some(reason) = reason else { return };
    answers.iter_mut().filter(|answer| answer.empty.is_none()).for_each(|answer| answer.mark_partial(reason));
}

/// The time at which the windows without a packet before this one began.
fn before_empty(closed: &ClosedWindow) -> u64 {
    let length = closed.span.end_ns - closed.span.start_ns;
    closed.span.start_ns.saturating_sub(closed.empty_before.saturating_mul(length))
}

/// Says in answers of windows of other lengths why those of the run that they cover are incomplete.
fn lack_faulty(answers: &mut [Answer], faults: &[IncompleteWindow]) {
    for answer in answers.iter_mut().filter(|answer| answer.empty.is_none()) {
        let Some(Span { start_ns, end_ns }) = answer.window else { continue };
        let is_covered =
            |fault: &&IncompleteWindow| fault.span.start_ns < end_ns && start_ns < fault.span.end_ns;
        let reasons: BTreeSet<&str> = faults.iter().filter(is_covered).map(|fault| &*fault.reason).collect();
        reasons.into_iter().for_each(|reason| answer.mark_partial(reason));
    }
}

/// Says in answers of windows of other lengths how many windows of the run, which have this length, are missing in each. Where windows
/// without a packet lie among them it is how many may be, since those do not tell which of them these are.
fn lack_refused(answers: &mut [Answer], refused: &[RefusedWindows], length: u64) {
    for answer in answers {
        let Some(Span { start_ns, end_ns }) = answer.window else { continue };
        let of_answer = |RefusedWindows { span, windows }: &RefusedWindows| {
            let common = span.end_ns.min(end_ns).saturating_sub(span.start_ns.max(start_ns));
            (*windows).min(common / length.max(1))
        };
        let windows = refused.iter().map(of_answer).sum();
        if windows != 0 {
            answer.mark_partial(&refused_windows(windows));
        }
    }
}

fn refused_windows(windows: u64) -> String {
    format!("{windows} windows came faster than they were answered: their packets are missing")
}

/// Returns the reason why the rows of a window are incomplete, if they are.
fn lacking(closed: &ClosedWindow) -> Option<String> {
    let fault = closed.split.as_ref().and_then(|split: &SplitWindow| split.fault.clone());
    fault.map(|fault| format!("incomplete: {fault}"))
}
