//! Windows of other lengths than the run's: rows of one key are merged over them before a query reads them.
//!
//! Time is cut into panes of the length `every`, one after the other. An answer that covers more (`over`) merges the last panes.

use super::answer::Covered;
use super::merged::MergedRows;
use super::outside::{Outside, Unplaced};
use super::plan_set::PlanSet;
use super::refusal::Refusal;
use super::site::Site;
use super::state::QueryState;
use flow::{RowBatch, Rows};
use packet::{KeyV4, KeyV6, MaskedKey};
use report::{Answer, Span, Status};
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

    /// Refuses lengths that are no multiples of the run's windows.
    pub(crate) fn check(every_ns: u64, over_ns: u64, site: &Site) -> Result<(), Refusal> {
        let is_multiple = |of: u64, by: u64| of != 0 && by != 0 && of.is_multiple_of(by);
        match site.window_ns {
            Some(window) if !is_multiple(every_ns, window) => Err(Refusal::NoSuchWindow { ns: every_ns }),
            Some(_) if !is_multiple(over_ns, every_ns) => Err(Refusal::NoSuchWindow { ns: over_ns }),
            Some(_) => Ok(()),
            None => Err(Refusal::NoSuchWindow { ns: every_ns }),
        }
    }
}

/// A window of the run that is closed.
#[derive(Clone, Copy, Debug)]
pub struct WindowAccount {
    /// The window.
    pub span: Span,
    /// The part of it that was watched.
    pub watched: Span,
    /// Packets received.
    pub received: u64,
    /// Packets lost before the table; `None` if the source cannot count its loss.
    pub lost: Option<u64>,
    /// Rows that could not be handed over.
    pub refused_rows: u64,
    /// Packets that are in no row.
    pub outside: Unplaced,
}

/// The account of several windows.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    received: u64,
    lost: Option<u64>,
    refused_rows: u64,
    outside: Unplaced,
}

impl Sum {
    fn add(&mut self, more: &Self) {
        self.received += more.received;
        self.lost = self.lost.zip(more.lost).map(|(one, other)| one + other);
        self.refused_rows += more.refused_rows;
        self.outside.add(&more.outside);
    }
}

/// What a pane's windows gave so far.
#[derive(Debug)]
struct Pane {
    rows: MergedRows,
    /// `None` before its first window is closed.
    account: Option<Sum>,
}

/// The panes of all lengths.
#[derive(Debug)]
pub struct LongWindows {
    plans: Arc<[LongPlans]>,
    site: Site,
    lengths: Vec<Length>,
    /// When watching began.
    begun: Option<u64>,
    /// Up to when it was watched.
    watched_until: u64,
}

/// The panes of one length, by their beginnings.
#[derive(Debug, Default)]
struct Length {
    panes: BTreeMap<u64, Pane>,
    /// The beginning of the first pane that is not answered.
    next: Option<u64>,
    /// How long a run of windows without a packet is that was not passed on yet, and when it began.
    empty: Option<(u64, u64)>,
}

impl LongWindows {
    pub(crate) fn new(plans: Arc<[LongPlans]>, site: Site) -> Self {
        let lengths = plans.iter().map(|_| Length::default()).collect();
        Self { plans, site, lengths, begun: None, watched_until: 0 }
    }

    /// Takes rows of a window of the run, which begins at this time.
    pub fn add(&mut self, start_ns: u64, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let Self { plans, site, lengths, .. } = self;
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            let pane = length.pane(start_ns, plans, site);
            pane.rows.add_v4(v4);
            pane.rows.add_v6(v6);
        }
    }

    /// Takes the account of a window of the run, all rows of which have come; returns the answers of the windows that end with it or
    /// ended before it.
    pub fn close(&mut self, window: &WindowAccount) -> Vec<Answer> {
        let Self { plans, site, lengths, begun, .. } = self;
        let begun = *begun.get_or_insert(window.watched.start_ns);
        let mut answers = Vec::new();
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            let first = window.span.start_ns / plans.every_ns * plans.every_ns;
            length.next.get_or_insert(first);
            let before = Span { start_ns: begun, end_ns: window.span.start_ns };
            length.answer_until(window.span.start_ns, plans, site, before, &mut answers);
            length.pass_empty(plans, &mut answers);
            let account = &mut length.pane(window.span.start_ns, plans, site).account;
            let own = Sum {
                received: window.received,
                lost: window.lost,
                refused_rows: window.refused_rows,
                outside: window.outside,
            };
            match account {
                Some(account) => account.add(&own),
                None => *account = Some(own),
            }
            let watched = Span { start_ns: begun, end_ns: window.watched.end_ns };
            length.answer_until(window.span.end_ns, plans, site, watched, &mut answers);
        }
        self.watched_until = window.watched.end_ns;
        answers
    }

    /// The answers of the windows that have not ended, and no state.
    pub fn end(&mut self) -> Vec<Answer> {
        let Self { plans, site, lengths, begun, watched_until } = self;
        let mut answers = Vec::new();
        let Some(begun) = begun.take() else { return answers };
        let watched = Span { start_ns: begun, end_ns: *watched_until };
        for (length, plans) in lengths.iter_mut().zip(plans.iter()) {
            if let Some((&last, _)) = length.panes.iter().rev().find(|(_, pane)| pane.account.is_some()) {
                length.answer_until(last.saturating_add(plans.every_ns), plans, site, watched, &mut answers);
            }
            length.pass_empty(plans, &mut answers);
            *length = Length::default();
        }
        answers
    }
}

impl Length {
    /// The pane of a time.
    fn pane(&mut self, start_ns: u64, plans: &LongPlans, site: &Site) -> &mut Pane {
        let start = start_ns / plans.every_ns * plans.every_ns;
        self.panes.entry(start).or_insert_with(|| Pane {
            rows: MergedRows::new(plans.plans.columns.clone(), site),
            account: None,
        })
    }

    /// Answers all windows that end by then, and frees the panes that no later one covers.
    fn answer_until(
        &mut self,
        time_ns: u64,
        plans: &LongPlans,
        site: &Site,
        watched: Span,
        answers: &mut Vec<Answer>,
    ) {
        let LongPlans { every_ns, over_ns, .. } = *plans;
        while let Some(start) = self.next {
            let Some(end) = start.checked_add(every_ns).filter(|end| *end <= time_ns) else { return };
            let covered = Span { start_ns: end.saturating_sub(over_ns), end_ns: end };
            self.panes = self.panes.split_off(&covered.start_ns);
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

    fn answer(&self, window: Span, plans: &LongPlans, site: &Site, watched: Span) -> Vec<Answer> {
        let watched = Span {
            start_ns: watched.start_ns.max(window.start_ns),
            end_ns: watched.end_ns.min(window.end_ns),
        };
        let panes: Vec<&Pane> = self.panes.range(..window.end_ns).map(|(_, pane)| pane).collect();
        let mut account = Sum { lost: Some(0), ..Sum::default() };
        panes.iter().filter_map(|pane| pane.account.as_ref()).for_each(|more| account.add(more));
        let mut states = plans.plans.states(site);
        let unplaced = match panes[..] {
            [pane] => add(&plans.plans, &mut states, &pane.rows),
            _ => {
                let mut rows = MergedRows::new(plans.plans.columns.clone(), site);
                panes.iter().for_each(|pane| rows.add_merged(&pane.rows));
                add(&plans.plans, &mut states, &rows)
            }
        };
        let outside = Outside::from(&account.outside);
        let covered = Covered { window: Some(window), watched: Some(watched), outside, plan: None };
        let mut answers = plans.plans.answers(&mut states, covered);
        for answer in &mut answers {
            if unplaced != 0 {
                answer.lacks(&format!("memory ran out: {unplaced} rows are in no flow"));
            }
            if account.refused_rows != 0 {
                answer.lacks(&format!("{} rows came faster than they were answered", account.refused_rows));
            }
            answer.coverage = account.lost.map(|lost| report::coverage(account.received, lost));
            if watched != window {
                answer.watched = Some(watched);
                if answer.status == Status::Complete {
                    answer.status = Status::Cut;
                }
            }
        }
        answers
    }
}

/// Adds merged rows to states; returns how many rows are in no flow.
fn add(plans: &PlanSet, states: &mut [QueryState], rows: &MergedRows) -> u64 {
    fn give<K: MaskedKey>(plans: &PlanSet, states: &mut [QueryState], batch: &RowBatch<K>) {
        plans.add(states, batch, |_| true);
    }
    rows.each_v4(|batch| give(plans, states, batch));
    rows.each_v6(|batch| give(plans, states, batch));
    rows.unplaced()
}
