//! Windows of other lengths than the run's: rows of one key are merged over them before a query reads them.
//!
//! Time is cut into panes of the length `every`, one after the other. An answer that covers more (`over`) merges the last panes.

use super::answer::Covered;
use super::merged::MergedRows;
use super::outside::{Outside, Unplaced};
use super::plan_set::PlanSet;
use super::scratch::RowScratch;
use super::state::QueryWindowState;
use super::watched_span::WatchedSpan;
use super::window_account::{MergedAccount, WindowAccount};
use crate::plan_context::PlanContext;
use crate::row_refusal::Refusal;
use flow::{RowBatch, RowValue, Rows, Sampled, Untold};
use model::{Answer, AnswerStatus, Class, Span};
use packet::{KeyV4, KeyV6};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Queries over windows of one length.
#[derive(Clone, Debug)]
pub(crate) struct LongPlans {
    every_ns: u64,
    over_ns: u64,
    plans: PlanSet,
}

impl LongPlans {
    pub(crate) fn new(every_ns: u64, over_ns: u64, plans: PlanSet) -> Self {
        Self { every_ns, over_ns, plans }
    }

    /// The plans of this length.
    pub(crate) fn plans(&self) -> &PlanSet {
        &self.plans
    }

    /// Returns true if these are the same queries over windows of the same length.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (own, others) = (&self.plans.plans, &other.plans.plans);
        (self.every_ns, self.over_ns) == (other.every_ns, other.over_ns)
            && own.iter().map(|plan| &plan.query).eq(others.iter().map(|plan| &plan.query))
    }

    /// Refuses lengths that are no multiples of the run's windows.
    pub(crate) fn check(every_ns: u64, over_ns: u64, site: &PlanContext) -> Result<(), Refusal> {
        let is_multiple = |of: u64, by: u64| of != 0 && by != 0 && of.is_multiple_of(by);
        match site.window_ns {
            Some(window) if !is_multiple(every_ns, window) => Err(Refusal::NoSuchWindow { ns: every_ns }),
            Some(_) if !is_multiple(over_ns, every_ns) => Err(Refusal::NoSuchWindow { ns: over_ns }),
            Some(_) => Ok(()),
            None => Err(Refusal::NoSuchWindow { ns: every_ns }),
        }
    }
}

/// The rows and states of a pane's windows so far.
#[derive(Debug)]
struct Pane {
    /// The merged rows of each pass, for the plans that read merged rows, if there are any.
    rows: Vec<MergedRows>,
    /// The states of the plans. Those of plans that read no merged rows have read all rows.
    states: Vec<QueryWindowState>,
    /// The account of the pane; `None` before its first window is closed.
    account: Option<MergedAccount>,
}

impl Pane {
    fn new(plans: &LongPlans, order: ArrivalOrder, site: &PlanContext) -> Self {
        let columns = &plans.plans.columns;
        let merges = plans.plans.plans.iter().any(|plan| plan.merges);
        let rows = (0..site.pass_count()).filter(|_| merges).map(|pass| match order {
            ArrivalOrder::ByTime => MergedRows::for_pass(columns.clone(), site, pass),
            ArrivalOrder::Any => MergedRows::for_any_order(columns, site),
        });
        Self { rows: rows.collect(), states: plans.plans.states(site), account: None }
    }

    fn add_v4(&mut self, plans: &PlanSet, pass: usize, batch: &RowBatch<KeyV4>) {
        // What has no memory counts as flows of its own: totals stay right.
        if let Some(batch) = self.rows.get_mut(pass).and_then(|rows| rows.add_batch_v4(batch)) {
            plans.add_pass(pass, &mut self.states, &batch, |at| plans.plans[at].merges);
        }
        plans.add_pass(pass, &mut self.states, batch, |at| !plans.plans[at].merges);
    }

    fn add_v6(&mut self, plans: &PlanSet, pass: usize, batch: &RowBatch<KeyV6>) {
        // What has no memory counts as flows of its own: totals stay right.
        if let Some(batch) = self.rows.get_mut(pass).and_then(|rows| rows.add_batch_v6(batch)) {
            plans.add_pass(pass, &mut self.states, &batch, |at| plans.plans[at].merges);
        }
        plans.add_pass(pass, &mut self.states, batch, |at| !plans.plans[at].merges);
    }
}

/// The order in which the rows of a key come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalOrder {
    ByTime,
    Any,
}

/// The panes of all lengths.
#[derive(Debug)]
pub struct LongWindows {
    plans: Arc<[LongPlans]>,
    site: PlanContext,
    order: ArrivalOrder,
    lengths: Vec<PaneSeries>,
    scratch: RowScratch,
    /// Rows of one pane.
    part: RowScratch,
    /// The time at which watching began.
    begun: Option<u64>,
    /// The time up to which the windows were watched.
    watched_until: u64,
    /// Times of which nothing is known, in order.
    missing: Vec<Span>,
    /// Numbers of packets and records of unknown times that did not tell a value.
    untold_of_any_time: Untold,
}

/// The panes of one length, by their beginnings.
#[derive(Debug, Default)]
struct PaneSeries {
    panes: BTreeMap<u64, Pane>,
    /// The beginning of the first pane that is not answered.
    next: Option<u64>,
    /// The begin of a run of windows without a packet that was not passed on yet, and the number of its windows.
    empty: Option<(u64, u64)>,
}

impl LongWindows {
    pub(crate) fn new(plans: Arc<[LongPlans]>, site: PlanContext, order: ArrivalOrder) -> Self {
        let lengths = plans.iter().map(|_| PaneSeries::default()).collect();
        let (scratch, part) = Default::default();
        Self {
            plans,
            site,
            order,
            lengths,
            scratch,
            part,
            begun: None,
            watched_until: 0,
            missing: Vec::new(),
            untold_of_any_time: Untold::default(),
        }
    }

    /// The queries.
    pub(crate) fn plans(&self) -> &[LongPlans] {
        &self.plans
    }

    /// Sets the times of which nothing is known, in order.
    pub(crate) fn miss(&mut self, missing: Vec<Span>) {
        self.missing = missing;
    }

    /// The times of which nothing is known, in order.
    pub(crate) fn missing(&self) -> &[Span] {
        &self.missing
    }

    /// Returns true if a window was closed: otherwise there are at most rows of later ones.
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Watching begins at this time, if it has not begun.
    pub fn begin(&mut self, start_ns: u64) {
        if self.begun.is_none() {
            self.begun = Some(start_ns);
            for (length, plans) in self.lengths.iter_mut().zip(self.plans.iter()) {
                length.next.get_or_insert(start_ns / plans.every_ns * plans.every_ns);
            }
        }
    }

    /// Windows that begin before this time are not answered. Nothing may have been added.
    pub fn answer_from(&mut self, start_ns: u64) {
        for (length, plans) in self.lengths.iter_mut().zip(self.plans.iter()) {
            let LongPlans { every_ns, over_ns, .. } = *plans;
            // The last pane of the first window.
            let pane = start_ns.saturating_add(over_ns - every_ns).div_ceil(every_ns);
            length.next = Some(pane.saturating_mul(every_ns));
        }
    }

    /// Takes rows of a window of the run, which begins at this time.
    pub fn add(&mut self, start_ns: u64, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        self.add_pass(0, start_ns, v4, v6);
    }

    /// Takes the rows of a [pass](PlanContext::passes) of a window of the run, which begins at this time.
    pub fn add_pass(&mut self, pass: usize, start_ns: u64, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let Self { plans, site, order, lengths, scratch, .. } = self;
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            scratch.fill(v4, v6, &plans.plans.columns);
            let pane = length.pane(start_ns, plans, *order, site);
            pane.add_v4(&plans.plans, pass, &scratch.v4);
            pane.add_v6(&plans.plans, pass, &scratch.v6);
        }
    }

    /// Takes recorded rows, each of which counts at its own time ([`RowValue::Time`]).
    pub(crate) fn add_recorded(&mut self, v4: &RowBatch<KeyV4>, v6: &RowBatch<KeyV6>) {
        let Self { plans, site, order, lengths, part, .. } = self;
        let mut rows = Vec::new();
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            each_pane(v4.column(RowValue::Time), plans.every_ns, &mut rows, |time, rows| {
                let pane = length.recorded_pane(time, plans, *order, site);
                match rows {
                    None => pane.add_v4(&plans.plans, 0, v4),
                    Some(rows) => {
                        part.v4.fill_from(v4, rows);
                        pane.add_v4(&plans.plans, 0, &part.v4);
                    }
                }
            });
            each_pane(v6.column(RowValue::Time), plans.every_ns, &mut rows, |time, rows| {
                let pane = length.recorded_pane(time, plans, *order, site);
                match rows {
                    None => pane.add_v6(&plans.plans, 0, v6),
                    Some(rows) => {
                        part.v6.fill_from(v6, rows);
                        pane.add_v6(&plans.plans, 0, &part.v6);
                    }
                }
            });
        }
    }

    /// Takes packets that are in no row, of this time.
    pub(crate) fn add_outside(&mut self, time_ns: u64, outside: &Unplaced) {
        self.each_account(time_ns, |account| account.outside.add(outside));
    }

    /// Takes the sampling of the packets of this time.
    pub(crate) fn add_sampled(&mut self, time_ns: u64, sampled: &Sampled) {
        self.each_account(time_ns, |account| Sampled::merge_into(&mut account.sampled, Some(sampled)));
    }

    /// Calls `add` with the account of a recorded time in each length.
    fn each_account(&mut self, time_ns: u64, add: impl Fn(&mut MergedAccount)) {
        let Self { plans, site, order, lengths, .. } = self;
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            let account = &mut length.recorded_pane(time_ns, plans, *order, site).account;
            add(account.get_or_insert_default());
        }
    }

    /// Returns whether there is no window of any length.
    pub(crate) fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Takes the numbers of packets and records of this time that did not tell a value.
    pub(crate) fn add_untold(&mut self, time_ns: u64, untold: &Untold) {
        self.each_account(time_ns, |account| account.untold.add(untold));
    }

    /// Takes the same of times that are not known.
    pub(crate) fn add_untold_of_any_time(&mut self, untold: &Untold) {
        self.untold_of_any_time.add(untold);
    }

    /// The answers of the windows that end by this time and whose rows are complete. `watched`: the time that the rows cover.
    pub(crate) fn answer_recorded(&mut self, until_ns: u64, watched: Span) -> Vec<Answer> {
        let Self { plans, site, order, lengths, missing, untold_of_any_time, .. } = self;
        let watched = WatchedSpan { span: watched, missing };
        let mut answers = Vec::new();
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            if length.next.is_none() && watched.has(watched.span.start_ns) {
                length.recorded_pane(watched.span.start_ns, plans, *order, site);
            }
            let Some(&first) = length.panes.keys().next() else { continue };
            // Rows of an earlier pane may still come, unless this one is over.
            if length.next.is_none() && first.saturating_add(plans.every_ns) > until_ns {
                continue;
            }
            length.next.get_or_insert(first);
            length.answer_until(until_ns, plans, site, watched, &mut answers);
        }
        tell_untold(untold_of_any_time, plans, &mut answers);
        answers
    }

    /// The answers of all windows that were not answered: from the first that was watched, or has rows, to the last.
    pub(crate) fn end_recorded(mut self, watched: Span) -> Vec<Answer> {
        let mut answers = Vec::new();
        let Self { plans, site, order, lengths, missing, untold_of_any_time, .. } = &mut self;
        let watched = WatchedSpan { span: watched, missing };
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            // Its first and its last window are answered, whether they have rows or not, as they are in a run.
            for edge_ns in [watched.span.start_ns, watched.span.end_ns.saturating_sub(1)] {
                if watched.has(edge_ns) && length.next.is_none_or(|next| next <= edge_ns) {
                    length.recorded_pane(edge_ns, plans, *order, site);
                }
            }
            let Some((&first, _)) = length.panes.first_key_value() else { continue };
            let Some((&last, _)) = length.panes.last_key_value() else { continue };
            length.next.get_or_insert(first);
            length.answer_until(last.saturating_add(plans.every_ns), plans, site, watched, &mut answers);
            length.pass_empty(plans, &mut answers);
        }
        tell_untold(untold_of_any_time, plans, &mut answers);
        answers
    }

    /// Takes the account of a window of the run, all rows of which have come; returns the answers of the windows that end with it or
    /// ended before it.
    pub fn close(&mut self, window: &WindowAccount) -> Vec<Answer> {
        let Self { plans, site, order, lengths, begun, .. } = self;
        let begun = *begun.get_or_insert(window.watched.start_ns);
        let mut answers = Vec::new();
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            let first = window.span.start_ns / plans.every_ns * plans.every_ns;
            length.next.get_or_insert(first);
            let before = WatchedSpan::all(Span { start_ns: begun, end_ns: window.span.start_ns });
            length.answer_until(window.span.start_ns, plans, site, before, &mut answers);
            length.pass_empty(plans, &mut answers);
            let account = &mut length.pane(window.span.start_ns, plans, *order, site).account;
            let own = MergedAccount {
                received: window.received,
                lost: window.lost,
                refused_rows: window.refused_rows,
                unfollowed: window.unfollowed,
                outside: window.outside,
                untold: window.untold,
                sampled: window.sampled,
            };
            match account {
                Some(account) => account.add(&own),
                None => *account = Some(own),
            }
            let watched = WatchedSpan::all(Span { start_ns: begun, end_ns: window.watched.end_ns });
            length.answer_until(window.span.end_ns, plans, site, watched, &mut answers);
        }
        self.watched_until = window.watched.end_ns;
        answers
    }

    /// Returns the answers of the windows that end by `until_ns`, where no packet follows before that time. Consecutive windows
    /// without packets are one answer, which is returned together with the next answer.
    pub fn pass(&mut self, until_ns: u64) -> Vec<Answer> {
        let Self { plans, site, lengths, begun, .. } = self;
        let mut answers = Vec::new();
        let Some(start_ns) = *begun else { return answers };
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            let watched = WatchedSpan::all(Span { start_ns, end_ns: until_ns });
            length.answer_until(until_ns, plans, site, watched, &mut answers);
        }
        answers
    }

    /// The time from which on answers to come may have packets; `None` as long as that is not known.
    pub fn unanswered_from(&self) -> Option<u64> {
        let of = |(length, plans): (&PaneSeries, &LongPlans)| {
            let first = length.empty.map(|(start_ns, _)| start_ns).or(length.next)?;
            Some((first + plans.every_ns).saturating_sub(plans.over_ns))
        };
        self.lengths.iter().zip(self.plans.iter()).map(of).min().flatten()
    }

    /// Returns true if rows have come that no answer has yet.
    pub fn has_rows(&self) -> bool {
        self.lengths.iter().any(|length| !length.panes.is_empty())
    }

    /// The answers of the windows that have not ended. Of the state nothing is left but rows of later windows that have come already.
    pub fn end(&mut self) -> Vec<Answer> {
        let Self { plans, site, lengths, begun, watched_until, .. } = self;
        let mut answers = Vec::new();
        let Some(begun) = begun.take() else { return answers };
        let watched = WatchedSpan::all(Span { start_ns: begun, end_ns: *watched_until });
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            if let Some((&last, _)) = length.panes.iter().rev().find(|(_, pane)| pane.account.is_some()) {
                length.answer_until(last.saturating_add(plans.every_ns), plans, site, watched, &mut answers);
            }
            length.pass_empty(plans, &mut answers);
            length.panes.retain(|_, pane| pane.account.is_none());
            length.next = None;
        }
        answers
    }
}

/// Says in each answer that depends on it what packets and records of an unknown time did not tell.
fn tell_untold(untold: &Untold, lengths: &[LongPlans], answers: &mut [Answer]) {
    if untold.is_none() {
        return;
    }
    for answer in answers {
        let mut plans = lengths.iter().flat_map(|length| &length.plans.plans);
        if let Some(plan) = plans.find(|plan| plan.query.name == answer.query) {
            plan.tell_untold(untold, answer);
        }
    }
}

impl PaneSeries {
    /// The pane of a time.
    fn pane(
        &mut self,
        start_ns: u64,
        plans: &LongPlans,
        order: ArrivalOrder,
        site: &PlanContext,
    ) -> &mut Pane {
        let start = start_ns / plans.every_ns * plans.every_ns;
        self.panes.entry(start).or_insert_with(|| Pane::new(plans, order, site))
    }

    /// Returns the pane of a time of recorded rows: it has packets, and how many of them were lost is not known.
    fn recorded_pane(
        &mut self,
        time_ns: u64,
        plans: &LongPlans,
        order: ArrivalOrder,
        site: &PlanContext,
    ) -> &mut Pane {
        let pane = self.pane(time_ns, plans, order, site);
        pane.account.get_or_insert_default();
        pane
    }

    /// Answers all windows that end by then, and frees the panes that no later one covers.
    fn answer_until(
        &mut self,
        time_ns: u64,
        plans: &LongPlans,
        site: &PlanContext,
        watched: WatchedSpan<'_>,
        answers: &mut Vec<Answer>,
    ) {
        let LongPlans { every_ns, over_ns, .. } = *plans;
        while let Some(start) = self.next {
            let Some(end) = start.checked_add(every_ns).filter(|end| *end <= time_ns) else { return };
            let covered = Span { start_ns: end.saturating_sub(over_ns), end_ns: end };
            // Splitting the map would count what is left.
            while let Some(pane) = self.panes.first_entry().filter(|pane| *pane.key() < covered.start_ns) {
                pane.remove();
            }
            let has_packets = |pane: &Pane| pane.account.is_some();
            if self.panes.range(..end).any(|(_, pane)| has_packets(pane)) {
                self.pass_empty(plans, answers);
                answers.extend(self.answer(covered, plans, site, watched));
                self.next = Some(end);
                continue;
            }
            // No window has a packet before the next pane with one ends, or before the time.
            let until = self.panes.keys().next().map_or(time_ns, |pane| time_ns.min(*pane));
            let windows = (until.saturating_sub(start) / every_ns).max(1);
            let run = self.empty.get_or_insert((start, 0));
            run.1 += windows;
            self.next = Some(start + windows * every_ns);
        }
    }

    /// Passes on a run of windows without a packet.
    fn pass_empty(&mut self, plans: &LongPlans, answers: &mut Vec<Answer>) {
        let Some((start_ns, windows)) = self.empty.take() else { return };
        let end_ns = start_ns.saturating_add(windows.saturating_mul(plans.every_ns));
        // The first of them covers as much as the others.
        let start_ns = (start_ns + plans.every_ns).saturating_sub(plans.over_ns);
        answers.extend(plans.plans.empty_answers().map(|mut answer| {
            answer.window = Some(Span { start_ns, end_ns });
            answer.empty = Some(windows);
            answer
        }));
    }

    fn answer(
        &self,
        window: Span,
        plans: &LongPlans,
        site: &PlanContext,
        watched: WatchedSpan<'_>,
    ) -> Vec<Answer> {
        let watched = watched.part_of(window);
        let panes: Vec<&Pane> = self.panes.range(..window.end_ns).map(|(_, pane)| pane).collect();
        let mut account = MergedAccount { lost: Some(0), ..MergedAccount::default() };
        panes.iter().filter_map(|pane| pane.account.as_ref()).for_each(|more| account.add(more));
        let set = &plans.plans;
        let mut states = set.states(site);
        for pane in &panes {
            let of_rows = states.iter_mut().zip(&pane.states).zip(&set.plans);
            of_rows.for_each(|((state, of_pane), plan)| state.merge(plan, of_pane));
        }
        let mut unplaced = 0;
        for pass in 0..site.pass_count() {
            let of_panes: Vec<&MergedRows> = panes.iter().filter_map(|pane| pane.rows.get(pass)).collect();
            unplaced += match &of_panes[..] {
                [] => 0,
                [rows] => add(set, pass, &mut states, rows),
                [first, ..] => {
                    let mut rows = first.empty(site, pass);
                    for of_pane in of_panes {
                        // What has no memory counts as flows of its own here too.
                        rows.add_merged(of_pane, &mut |v4, v6| {
                            set.add_pass(pass, &mut states, v4, |at| set.plans[at].merges);
                            set.add_pass(pass, &mut states, v6, |at| set.plans[at].merges);
                        });
                    }
                    add(set, pass, &mut states, &rows)
                }
            };
        }
        let outside =
            Outside { sampled: account.sampled, untold: account.untold, ..Outside::from(&account.outside) };
        let covered = Covered { window: Some(window), watched: Some(watched), outside, plan: None };
        let mut answers = plans.plans.answers(&mut states, covered);
        for answer in &mut answers {
            if unplaced != 0 {
                answer.mark_partial(&unmerged(unplaced));
            }
            if account.refused_rows != 0 {
                answer.mark_partial(&late_rows(account.refused_rows));
            }
            mark_lost(answer, account.unfollowed);
            answer.coverage = account.lost.map(|lost| model::coverage(account.received, lost));
            if watched != window {
                answer.watched = Some(watched);
                if answer.status == AnswerStatus::Complete {
                    answer.status = AnswerStatus::Cut;
                }
            }
        }
        answers
    }
}

/// An answer of pinned flows lacks what `unfollowed` of their packets would have added.
pub fn mark_lost(answer: &mut Answer, unfollowed: u64) {
    if unfollowed != 0 && answer.class == Class::Zoom {
        let of_pinned = ["of a pinned flow was", "of pinned flows were"];
        let packets = notation::counted_as(unfollowed, "packet", of_pinned);
        answer.mark_partial(&format!(
            "memory ran out: {packets} not followed, whose losses and statistics are not known"
        ));
    }
}

/// Returns what is said of rows that came too fast to be answered.
pub fn late_rows(rows: u64) -> String {
    notation::counted_as(
        rows,
        "row",
        ["came faster than it was answered", "came faster than they were answered"],
    )
}

/// Describes rows whose flows had no memory, for an answer.
pub(crate) fn unmerged(rows: u64) -> String {
    let count = ["counts as a flow of its own", "count as flows of their own"];
    format!("memory ran out: {}", notation::counted_as(rows, "row", count))
}

/// Calls `give` with a time of each pane that has rows, and with the numbers of its rows; with none if all rows are of one pane.
fn each_pane(
    times: &[u64],
    every_ns: u64,
    rows: &mut Vec<(u64, u32)>,
    mut give: impl FnMut(u64, Option<&[u32]>),
) {
    let Some(&first) = times.first() else { return };
    let pane = first / every_ns;
    let (start, end) = (pane * every_ns, (pane * every_ns).saturating_add(every_ns));
    if times.iter().all(|time| (start..end).contains(time)) {
        return give(first, None);
    }
    rows.clear();
    rows.extend(times.iter().zip(0..).map(|(time, row)| (time / every_ns, row)));
    // Within a pane rows keep their order.
    rows.sort_by_key(|(pane, _)| *pane);
    let mut numbers = Vec::new();
    for of_pane in rows.chunk_by(|one, other| one.0 == other.0) {
        numbers.clear();
        numbers.extend(of_pane.iter().map(|(_, row)| *row));
        give(of_pane[0].0 * every_ns, Some(&numbers));
    }
}

/// Adds merged rows to states; returns how many rows are in no flow.
fn add(plans: &PlanSet, pass: usize, states: &mut [QueryWindowState], rows: &MergedRows) -> u64 {
    let merges = |at: usize| plans.plans[at].merges;
    rows.each_v4(|batch| plans.add_pass(pass, states, batch, merges));
    rows.each_v6(|batch| plans.add_pass(pass, states, batch, merges));
    rows.unplaced()
}
