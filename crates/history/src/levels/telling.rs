//! The remarks of answers on time: what is missing, and windows of which nothing is stored apart from those without packets.

use super::reading::ScanPlan;
use super::share::QuestionShare;
use super::times::NodeTimes;
use crate::facts::{OVER_ALL, count_at_end};
use crate::question::Period;
use model::{Answer, AnswerStatus, Missing, MissingReason, Rest, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use task::query::Over;

/// The windows of a query, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct QuerySteps {
    every_ns: u64,
    over_ns: u64,
    /// The time that the windows of this share add, each by the step that it has more than the one before.
    own: Period,
}

impl QuerySteps {
    /// The part of a run, which is given by the steps that its windows add, whose windows are this share's own; `None` of no window.
    fn own_part(&self, [from, to]: [u64; 2]) -> Option<[u64; 2]> {
        let [from, to] = [from.max(self.own.from_ns), to.min(self.own.to_ns)];
        (from < to).then_some([from, to])
    }

    /// The time of the windows that add these steps.
    fn window(&self, [from, to]: [u64; 2]) -> Span {
        Span { start_ns: from.saturating_add(self.every_ns).saturating_sub(self.over_ns), end_ns: to }
    }

    /// The steps that the windows of a time add.
    fn steps_within(&self, window: Span) -> [u64; 2] {
        [window.start_ns.saturating_add(self.over_ns).saturating_sub(self.every_ns), window.end_ns]
    }
}

/// The windows of a query on a node that were answered.
#[derive(Debug)]
struct AnsweredWindows {
    /// The time up to which windows were answered, nanoseconds since the epoch.
    until_ns: u64,
    /// An answer without rows.
    empty: Answer,
}

/// Completes the answers of questions that are read together.
#[derive(Debug)]
pub(super) struct AnswerCompleter<'a> {
    reading: &'a ScanPlan,
    steps: BTreeMap<String, QuerySteps>,
    /// The queries that have rates.
    rates: BTreeSet<String>,
    /// The time that rates are over, and that of the windows in it, whatever nodes watched of it; `None`: rates are over what they watched.
    rates_over: Option<Span>,
    /// The nodes whose rows are of records that were imported.
    of_records: BTreeSet<Option<Arc<str>>>,
    told: BTreeMap<(String, Option<String>), AnsweredWindows>,
    /// The known times of nodes. The time of each file that was found to be damaged is missing in them.
    times: BTreeMap<String, NodeTimes>,
}

impl<'a> AnswerCompleter<'a> {
    /// Prepares the completion of the answers to these questions. `rates_over`: the time that rates are over, by the window, whatever nodes
    /// watched of it; `None` where they are over what was watched.
    pub(super) fn new(
        reading: &'a ScanPlan,
        shares: &[QuestionShare],
        rates_over: Option<Span>,
        of_records: BTreeSet<Option<Arc<str>>>,
    ) -> Self {
        let with_rates = shares.iter().filter(|share| share.question.query.has_rates());
        let rates = with_rates.map(|share| share.question.query.name.clone()).collect();
        let steps = shares.iter().filter_map(|share| match share.question.query.over {
            Over::Windows { every_ns, over_ns } => {
                let every_ns = every_ns.max(1);
                let steps = QuerySteps { every_ns, over_ns, own: share.steps(every_ns, over_ns) };
                Some((share.question.query.name.clone(), steps))
            }
            Over::Run | Over::Window => None,
        });
        let (steps, told, times) = (steps.collect(), BTreeMap::new(), reading.times.clone());
        Self { reading, steps, rates, rates_over, of_records, told, times }
    }

    /// Tells in an answer what it was read from and what it lacks, and gives it. Of a node and query they come in the order of time.
    pub(super) fn take(&mut self, mut answer: Answer, give: &mut dyn FnMut(Answer)) {
        let window = answer.window;
        self.learn(&mut answer);
        let times = answer.node.as_ref().and_then(|node| self.times.get(node));
        if self.reading.nodes.is_empty() {
            answer.mark_partial("nothing is stored as yet");
        }
        let (Some(steps), Some(window)) = (self.steps.get(&answer.query).copied(), window) else {
            self.reading.describe(&mut answer);
            if let Some(times) = times {
                times.describe(&mut answer, true);
                self.remark_rates(&mut answer, times);
            }
            return give(answer);
        };
        let Some(times) = times else {
            if answer.empty.is_some() {
                let Some(own) = steps.own_part(steps.steps_within(window)) else { return };
                answer.window = Some(steps.window(own));
                answer.empty = Some((own[1] - own[0]) / steps.every_ns);
            }
            self.reading.describe(&mut answer);
            return give(answer);
        };
        // Each window is told by the step that it adds to the one before.
        let [start_ns, end_ns] = steps.steps_within(window);
        let of = (answer.query.clone(), answer.node.clone());
        let told = self.told.entry(of).or_insert_with(|| {
            let asked = times.asked().start_ns;
            let empty = without_rows(&answer, &self.of_records);
            AnsweredWindows { until_ns: asked - asked % steps.every_ns, empty }
        });
        let gap = Span { start_ns: told.until_ns, end_ns: start_ns };
        told.until_ns = told.until_ns.max(end_ns);
        let empty = told.empty.clone();
        let mut describe = |mut answer: Answer| {
            self.reading.describe(&mut answer);
            times.describe(&mut answer, false);
            give(answer);
        };
        windows_of(gap, &empty, false, steps, times, &mut describe);
        match answer.empty {
            Some(_) => {
                let empty = Answer { watched: None, empty: None, ..answer };
                windows_of(Span { start_ns, end_ns }, &empty, true, steps, times, &mut describe);
            }
            None => {
                self.remark_rates(&mut answer, times);
                describe(answer);
            }
        }
    }

    /// Learns which files of a node were found to be damaged from an answer, which names all of them whatever its time is.
    fn learn(&mut self, answer: &mut Answer) {
        let is_damaged = |missing: &Missing| missing.reason == MissingReason::Damaged;
        let damaged: Vec<Missing> = answer.missing.extract_if(.., |missing| is_damaged(missing)).collect();
        let times = answer.node.as_ref().and_then(|node| self.times.get_mut(node));
        if let Some(times) = times {
            return damaged.iter().for_each(|damaged| times.damage(damaged.span));
        }
        let window = answer.window;
        let both = |Missing { span, reason }| match window {
            None => Some(Missing { span, reason }),
            Some(window) => {
                let start_ns = span.start_ns.max(window.start_ns);
                let span = Span { start_ns, end_ns: span.end_ns.min(window.end_ns) };
                (span.start_ns < span.end_ns).then_some(Missing { span, reason })
            }
        };
        let of_answer: Vec<Missing> = damaged.into_iter().filter_map(both).collect();
        answer.mark_missing(&of_answer);
    }

    /// Says in an answer that its rates are over time that was not watched, too: time between what was watched, and where they are over whole
    /// windows time before and behind it.
    fn remark_rates(&self, answer: &mut Answer, times: &NodeTimes) {
        if answer.rows.is_empty() || !self.rates.contains(&answer.query) {
            return;
        }
        let window = answer.window.filter(|_| self.steps.contains_key(&answer.query));
        let time = match (self.rates_over, window) {
            (Some(all), Some(window)) => {
                Span { start_ns: window.start_ns.max(all.start_ns), end_ns: window.end_ns.min(all.end_ns) }
            }
            (Some(all), None) => all,
            // Of a window that is cut, rates are over what was watched.
            (None, _) => answer.watched.or(answer.window).unwrap_or(times.asked()),
        };
        let unwatched = times.unwatched_in(time);
        let is_between = time.without(&unwatched).is_none() && !time.is_within(&unwatched);
        // Other nodes may have measured before this one, or after it.
        let asked = times.asked();
        let is_beyond = time.start_ns < asked.start_ns || asked.end_ns < time.end_ns;
        if is_between || self.rates_over.is_some() && (is_beyond || !unwatched.is_empty()) {
            answer.remark(OVER_ALL);
        }
    }

    /// Gives what is missing behind the last answers. `blanks`: for each node an answer without rows, of the query of this name.
    pub(super) fn finish(&mut self, query: &str, blanks: &[Answer], give: &mut dyn FnMut(Answer)) {
        let Some(steps) = self.steps.get(query).copied() else { return };
        for blank in blanks {
            let mut blank = blank.clone();
            self.learn(&mut blank);
            let Some(times) = blank.node.as_ref().and_then(|node| self.times.get(node)) else {
                continue;
            };
            let asked = times.asked();
            let told = self.told.get(&(query.to_owned(), blank.node.clone()));
            let start_ns =
                told.map_or(asked.start_ns - asked.start_ns % steps.every_ns, |told| told.until_ns);
            let end_ns = asked.end_ns.checked_next_multiple_of(steps.every_ns).unwrap_or(asked.end_ns);
            let empty =
                told.map_or_else(|| without_rows(&blank, &self.of_records), |told| told.empty.clone());
            let mut describe = |mut answer: Answer| {
                self.reading.describe(&mut answer);
                times.describe(&mut answer, false);
                give(answer);
            };
            let mut is_told = told.is_some();
            let mut describe = |answer: Answer| {
                is_told = true;
                describe(answer);
            };
            windows_of(Span { start_ns, end_ns }, &empty, false, steps, times, &mut describe);
            // Which windows a run would have had that was killed is not known.
            if !is_told && times.lacks_a_run() {
                let mut blank = Answer { window: None, ..empty };
                self.reading.describe(&mut blank);
                times.describe(&mut blank, true);
                give(blank);
            }
        }
    }

    /// Returns true if queries of windows are among the questions.
    pub(super) fn has_window_queries(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// Returns an answer about windows of the same query and node that have no rows. `of_records`: the nodes whose rows are of records that were imported.
fn without_rows(answer: &Answer, of_records: &BTreeSet<Option<Arc<str>>>) -> Answer {
    let mut blank = Answer {
        rows: Vec::new(),
        rest: Rest::default(),
        status: AnswerStatus::Complete,
        watched: None,
        empty: None,
        reason: None,
        missing: Vec::new(),
        coverage: None,
        bounds: "exact".to_owned(),
        ..answer.clone()
    };
    if of_records.contains(&answer.node.as_deref().map(Arc::from)) {
        count_at_end(&mut blank, "window");
    }
    blank
}

/// The windows of a time without rows: runs of those of which something is missing and, if they are asked for, of the others, which had no packet.
fn windows_of(
    time: Span,
    empty: &Answer,
    has_others: bool,
    steps: QuerySteps,
    times: &NodeTimes,
    give: &mut dyn FnMut(Answer),
) {
    let QuerySteps { every_ns, .. } = steps;
    let mut run = |from: u64, to: u64, is_missing: bool| {
        // Of a run that two shares have, each gives the windows that are its own.
        let Some([from, to]) = steps.own_part([from, to]).filter(|_| is_missing || has_others) else {
            return;
        };
        let windows = (!is_missing).then_some((to - from) / every_ns);
        let window = steps.window([from, to]);
        let watched = times.watched_of(window);
        give(Answer { window: Some(window), watched, empty: windows, ..empty.clone() });
    };
    let mut next = time.start_ns;
    let mut open: Option<[u64; 2]> = None;
    for missing in times.missing_in(time) {
        let floor = |ns: u64| ns - ns % every_ns;
        let from = floor(missing.span.start_ns).max(time.start_ns);
        let to = missing.span.end_ns.checked_next_multiple_of(every_ns).unwrap_or(time.end_ns);
        let to = to.min(time.end_ns);
        match &mut open {
            Some(open) if from <= open[1] => open[1] = open[1].max(to),
            _ => {
                if let Some([from, to]) = open.replace([from, to]) {
                    run(next, from, false);
                    run(from, to, true);
                    next = to;
                }
            }
        }
    }
    if let Some([from, to]) = open {
        run(next, from, false);
        run(from, to, true);
        next = to;
    }
    run(next, time.end_ns, false);
}
