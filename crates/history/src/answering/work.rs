//! The state of the work while questions are answered: rows are taken, and answers given.

use super::group::{Answered, QuestionGroup};
use super::lacks::{complete, describe_ends, lack, lack_keyless};
use super::part::{PartSelection, ReadExtent};
use super::{ScanSummary, watched};
use crate::facts::{
    RefusedRows, sampled_by_window, untold_by_window, untold_of_records, watched_of, without_place_by_window,
};
use crate::files::{FlowFiles, StoredTimes, span_of, span_of_rows, span_without_key};
use crate::node_spans::NodeSpans;
use crate::question::{Period, Question};
use crate::totals::ColumnTotals;
use flow::{NULL, OpenFields, RowBatch, RowValue, Untold};
use model::Answer;
use packet::{KeyV4, KeyV6};
use record::read::{Contents, FilePart, ReadProjection, RowBlock, WithoutKey};
use std::sync::Arc;
use task::query::Over;
use task::rows::{PlanContext, RecordedRows, Unplaced};

/// The state of the work while questions are answered.
pub(super) struct AnsweringState<'a> {
    site: PlanContext,
    groups: Vec<QuestionGroup<'a>>,
    pub(super) outcome: ScanSummary,
    /// The times of the rows of each node, and whether these are known before all rows are read.
    spans: NodeSpans,
    are_spans_known: bool,
    /// True if the answers depend on the times of rows.
    counts_by_time: bool,
    /// The remarks on what all answers of windows lack.
    windows_lack: Vec<String>,
    times: Arc<StoredTimes>,
    refused: RefusedRows,
    totals: ColumnTotals,
    scratch: PeriodScratch,
}

/// Rows of one period.
#[derive(Default)]
struct PeriodScratch {
    v4: RowBatch<KeyV4>,
    v6: RowBatch<KeyV6>,
    rows: Vec<u32>,
    /// Rows that leave open a field that a question names.
    keyless: Vec<WithoutKey>,
}

impl<'a> AnsweringState<'a> {
    /// Creates the state before any part is read: it has what files tell apart from their rows. `known`: the times of all nodes, where files
    /// tell them.
    pub(super) fn new(
        files: &FlowFiles,
        groups: Vec<QuestionGroup<'a>>,
        site: PlanContext,
        known: Option<NodeSpans>,
        wanted: &ReadProjection,
    ) -> Self {
        let mut work = Self {
            site,
            groups,
            outcome: ScanSummary { errors: files.errors.clone(), ..ScanSummary::default() },
            are_spans_known: known.is_some(),
            spans: known.unwrap_or_else(|| files.told_spans()),
            counts_by_time: wanted.needs_time,
            windows_lack: Vec::new(),
            times: Arc::clone(&files.times),
            refused: RefusedRows::default(),
            totals: ColumnTotals::new(wanted),
            scratch: PeriodScratch::default(),
        };
        for node in &files.nodes {
            work.know(&Some(Arc::from(node.as_str())));
        }
        for ((path, contents), clip) in files.contents().zip(&files.clips) {
            let node = contents.node.as_deref().map(Arc::from);
            // It is answered without rows, too.
            if files.covers.is_none() && watched_of(contents).is_some() {
                work.know(&node);
            }
            work.refused.add(contents, *clip, &node);
            work.take_without_place(&path.display().to_string(), contents, *clip, &node);
        }
        work
    }

    pub(super) fn asks_for(&self, part: &FilePart, clip: Option<Period>, node: Option<&str>) -> bool {
        self.groups.iter().any(|group| group.asks_for(part, clip, node))
    }

    /// Makes a node known, which is answered whether it has rows or not.
    fn know(&mut self, node: &Option<Arc<str>>) {
        self.groups.iter_mut().for_each(|group| {
            let _ = group.node(node, &self.site);
        });
    }

    /// Remembers what a part that is not read shows: its node, and its time.
    pub(super) fn pass_over(&mut self, part: &FilePart, node: Option<&str>) {
        if let Some(node) = node {
            self.know(&Some(Arc::from(node)));
        }
        if let Some(span) = span_of(part).filter(|_| !self.are_spans_known) {
            self.spans.add(node.map(Arc::from), span);
        }
    }

    /// Takes packets of a file that are in no row: those of each window, where it tells them, or of times that are not known: answers about
    /// a part of the time lack them.
    fn take_without_place(
        &mut self,
        file: &str,
        contents: &Contents,
        clip: Option<Period>,
        node: &Option<Arc<str>>,
    ) {
        let timed = without_place_by_window(contents);
        if let Some(all) = contents.without_place.filter(|all| timed.is_none() && all.packets != 0) {
            let WithoutKey { packets, bytes, wire_bytes, .. } = all;
            let lacking = format!(
                "{file}: {} no place in the table, at times that are not known",
                notation::counted_as(packets, "packet", ["had"; 2])
            );
            for group in &mut self.groups {
                let is_cut = group.period.is_some() || clip.is_some();
                group.lacks.extend(is_cut.then(|| lacking.clone()));
                if let Some(Answered { rows, .. }) = group.node(node, &self.site) {
                    rows.add_outside_windows(&Unplaced { packets, bytes, wire_bytes, keyless: 0 });
                }
            }
            self.windows_lack.push(lacking);
        }
        let timed = timed.into_iter().flatten();
        timed.for_each(|(time_ns, unplaced)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_outside(time_ns, &unplaced));
        });
        untold_by_window(contents).for_each(|(time_ns, untold)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_untold(time_ns, &untold));
        });
        sampled_by_window(contents).for_each(|(time_ns, sampled)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_sampled(time_ns, &sampled));
        });
        let Some(untold) = untold_of_records(contents) else { return };
        for group in &mut self.groups {
            if let Some(Answered { rows, .. }) = group.node(node, &self.site) {
                rows.add_untold_of_any_time(&untold);
            }
        }
    }

    /// Calls `take` with the rows of a node in each period that has this time.
    fn each_with(
        &mut self,
        time_ns: u64,
        clip: Option<Period>,
        node: &Option<Arc<str>>,
        take: impl Fn(&mut RecordedRows),
    ) {
        for group in &mut self.groups {
            let is_in = |period: Option<Period>| period.is_none_or(|period| period.contains(time_ns));
            if is_in(group.period)
                && is_in(clip)
                && let Some(Answered { rows, .. }) = group.node(node, &self.site)
            {
                take(rows);
            }
        }
    }

    /// Takes a block of rows; refuses one whose numbers cannot be added up. `is_measured`: those without a key are of the record `other`.
    pub(super) fn take(
        &mut self,
        block: &RowBlock,
        bounds: ReadExtent,
        wanted: &ReadProjection,
        is_measured: bool,
    ) -> Result<(), String> {
        let times = [block.v4.column(RowValue::Time), block.v6.column(RowValue::Time)];
        let has_none = times.iter().any(|times| times.contains(&NULL))
            || block.without_key.iter().any(|row| row.time_ns.is_none());
        if self.counts_by_time && has_none {
            return Err("a row has no time at which it counts".to_owned());
        }
        self.totals.add(block, wanted)?;
        let Self { site, groups, outcome, scratch, .. } = self;
        outcome.rows += (block.v4.len() + block.v6.len() + block.without_key.len()) as u64;
        outcome.without_key += block.without_key.len() as u64;
        if !self.are_spans_known {
            let of_block = [span_of_rows(&block.v4), span_of_rows(&block.v6)];
            let of_others = block.without_key.iter().filter_map(span_without_key);
            let all = of_block.into_iter().flatten().chain(of_others);
            all.for_each(|span| self.spans.add(block.node.clone(), span));
        }
        for group in groups {
            let share = bounds.share(group.period);
            let named = group.named;
            let Some(Answered { queries, rows }) = group.node(&block.node, site) else { continue };
            let PeriodScratch { v4, v6, rows: numbers, keyless } = scratch;
            keyless.clear();
            let period = match share {
                PartSelection::None => continue,
                PartSelection::All => None,
                PartSelection::Within(period) => Some(period),
            };
            if period.is_none() && !block.open.iter().flatten().any(|open| open.has_any(named)) {
                rows.add(queries, &block.v4, &block.v6);
            } else {
                pick(period, &block.v4, |at| block.open_v4(at).has_any(named), v4, numbers, keyless);
                pick(period, &block.v6, |at| block.open_v6(at).has_any(named), v6, numbers, keyless);
                rows.add(queries, v4, v6);
            }
            add_untold(rows, period, named, block.v4.column(RowValue::Time), &block.open[0]);
            add_untold(rows, period, named, block.v6.column(RowValue::Time), &block.open[1]);
            let without_key = block.without_key.iter().map(|row| (row, is_measured));
            for (row, is_other) in without_key.chain(keyless.iter().map(|row| (row, false))) {
                // Where it matters, all have times.
                let time_ns = row.time_ns.unwrap_or(0);
                if period.is_none_or(|period| period.contains(time_ns)) {
                    let WithoutKey { packets, bytes, wire_bytes, .. } = *row;
                    let keyless = if is_other { 0 } else { packets };
                    rows.add_outside(time_ns, &Unplaced { packets, bytes, wire_bytes, keyless });
                }
            }
            let all = block.without_key.iter().chain(keyless.iter());
            group.keyless += all.filter(|row| row.packets == 0).count() as u64;
        }
        Ok(())
    }

    /// Gives the answers of windows that end by this time. All rows that are not read yet are later.
    pub(super) fn answer_until(&mut self, until_ns: u64, give: &mut dyn FnMut(Answer)) {
        if !self.are_spans_known {
            return;
        }
        for group in &mut self.groups {
            for (node, Answered { rows, .. }) in &mut group.nodes {
                let Some(span) = self.spans.get(node) else { continue };
                let watched = watched(span, group.period);
                let answers = rows.answers_until(until_ns, watched);
                for mut answer in answers {
                    if group.period.is_none() {
                        lack(&mut answer, &self.windows_lack);
                    }
                    lack(&mut answer, &group.lacks);
                    lack_keyless(&mut answer, group.keyless);
                    self.refused.describe(&mut answer, node, group.period);
                    describe_ends(&self.refused, &mut answer, node, &group.questions, Some(span));
                    give(complete(answer, node, &self.outcome, &self.times));
                }
            }
        }
    }

    /// Gives all answers that are left.
    pub(super) fn finish(mut self, give: &mut dyn FnMut(Answer)) -> ScanSummary {
        self.outcome.span = self.spans.all();
        for group in &mut self.groups {
            if group.nodes.is_empty() {
                // Without rows there is the answer of none.
                let _ = group.node(&None, &self.site);
            }
            self.outcome.nodes.extend(group.nodes.keys().flatten().map(|node| node.to_string()));
            let runs =
                |question: &&Question| group.nodes.keys().any(|node| (question.runs_on)(node.as_deref()));
            let idle = group.questions.iter().filter(|question| !runs(question));
            self.outcome.without_node.extend(idle.map(|question| question.query.name.clone()));
            for (node, Answered { queries, rows }) in std::mem::take(&mut group.nodes) {
                let span = self.spans.get(&node);
                let answers = rows.finish(&queries, span.map(|span| watched(span, group.period)));
                let is_of_windows = |answer: &Answer| {
                    let of_windows =
                        group.questions.iter().filter(|question| question.query.over != Over::Run);
                    of_windows.map(|question| &question.query.name).any(|name| *name == answer.query)
                };
                for mut answer in answers {
                    if group.period.is_none() && is_of_windows(&answer) {
                        lack(&mut answer, &self.windows_lack);
                    }
                    lack(&mut answer, &group.lacks);
                    lack_keyless(&mut answer, group.keyless);
                    self.refused.describe(&mut answer, &node, group.period);
                    describe_ends(&self.refused, &mut answer, &node, &group.questions, span);
                    give(complete(answer, &node, &self.outcome, &self.times));
                }
            }
        }
        self.outcome
    }
}

/// Takes the fields that rows of a period leave open. Rows that leave open what the questions name are in no group, and told as such.
fn add_untold(
    rows: &mut RecordedRows,
    period: Option<Period>,
    named: OpenFields,
    times: &[u64],
    open: &[OpenFields],
) {
    let mut last: Option<(u64, Untold)> = None;
    for (at, open) in open.iter().enumerate().filter(|(_, open)| !open.is_empty() && !open.has_any(named)) {
        // Where it matters, all have times.
        let time_ns = times.get(at).copied().unwrap_or(0);
        if !period.is_none_or(|period| period.contains(time_ns)) {
            continue;
        }
        // Rows of one time are added together, and all rows where no windows are asked for.
        let time_ns = if rows.has_windows() { time_ns } else { 0 };
        match &mut last {
            Some((known_ns, untold)) if *known_ns == time_ns => untold.add_row(*open),
            _ => {
                let mut untold = Untold::default();
                untold.add_row(*open);
                if let Some((known_ns, known)) = last.replace((time_ns, untold)) {
                    rows.add_untold(known_ns, &known);
                }
            }
        }
    }
    if let Some((time_ns, untold)) = last {
        rows.add_untold(time_ns, &untold);
    }
}

/// Picks the rows of a period that have a key; `lacks_key` says of a row whether it has none. Appends the others to `keyless`.
fn pick<K: Copy>(
    period: Option<Period>,
    rows: &RowBatch<K>,
    lacks_key: impl Fn(usize) -> bool,
    picked: &mut RowBatch<K>,
    numbers: &mut Vec<u32>,
    keyless: &mut Vec<WithoutKey>,
) {
    numbers.clear();
    let times = rows.column(RowValue::Time);
    for at in 0..rows.len() {
        let of = |column: RowValue| rows.column(column).get(at).copied();
        let is_in = |period: Period| times.get(at).is_some_and(|time_ns| period.contains(*time_ns));
        if !period.is_none_or(is_in) {
            continue;
        }
        if lacks_key(at) {
            keyless.push(WithoutKey::from_values(of));
        } else {
            numbers.push(at as u32);
        }
    }
    picked.fill_from(rows, numbers);
}
