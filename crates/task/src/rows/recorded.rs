//! Queries over rows that were recorded: of any time, in any order, in columns.

use super::aggregates::{Collected, PlannedAggregate};
use super::answer::Covered;
use super::evaluate::Evaluation;
use super::executor::{ReadMode, RowQueries, WholeRows};
use super::long_windows::{ArrivalOrder, LongWindows, unmerged};
use super::merged::{MergedRows, columns_of_any_order};
use super::needed::RequiredMembers;
use super::outside::{Outside, Unplaced};
use super::partitioned::{HeldRows, can_be_partitioned};
use super::plan::QueryPlan;
use super::plan_set::PlanSet;
use super::program::NodeId;
use super::scratch::RowScratch;
use flow::{RowBatch, RowValue, Sampled, Untold};
use model::{Answer, Span};
use packet::{KeyV4, KeyV6, MaskedKey};
use std::sync::Arc;

/// The members of keys and the columns of recorded rows that queries need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedNeeds {
    /// Members of the key, by name.
    pub members: Vec<&'static str>,
    /// Columns; among them [`RowValue::Time`] where windows are asked about.
    pub columns: Vec<RowValue>,
    /// Columns that tell which rows are earlier. Without them rows are in the order in which they come.
    pub order: Vec<RowValue>,
}

/// The state of all queries of a set over recorded rows of one node.
#[derive(Debug)]
pub struct RecordedRows {
    /// The rows for queries over all rows that read merged rows, if there are any.
    merged: Option<(MergedRows, WholeRows)>,
    /// The one query that reads merged rows, if it is one alone: rows that it does not read need not be merged.
    only_merged: Option<usize>,
    part: RowScratch,
    /// The rows for the other queries.
    single: WholeRows,
    windows: LongWindows,
    outside: Unplaced,
    /// Numbers of packets and records that did not tell a value.
    untold: Untold,
    /// The sampling of the packets; `None` if all were taken.
    sampled: Option<Sampled>,
}

impl RowQueries {
    /// Returns what the queries need of recorded rows. Queries of single windows of a run's own length have no meaning there.
    pub fn needs_of_recorded(&self) -> RecordedNeeds {
        let mut needs = RecordedNeeds::default();
        let mut members = RequiredMembers::default();
        let mut add = |set: &PlanSet| {
            if set.plans.iter().any(|plan| plan.merges) {
                members.add_key(&self.site().key);
                needs.order.extend(columns_of_any_order(&set.columns));
            }
            needs.columns.extend(&set.columns);
            set.plans.iter().for_each(|plan| members.add_plan(plan));
            members.add_program(&set.program);
        };
        add(self.run_plans());
        self.long_plans().iter().for_each(|plans| add(plans.plans()));
        if self.has_long_windows() {
            needs.columns.push(RowValue::Time);
        }
        needs.members = members.names(&self.site().key);
        for columns in [&mut needs.columns, &mut needs.order] {
            columns.sort_unstable();
            columns.dedup();
        }
        needs
    }

    /// The empty state of recorded rows.
    pub fn recorded(&self) -> RecordedRows {
        let (set, site) = (self.run_plans(), self.site());
        let merges = set.plans.iter().any(|plan| plan.merges);
        // Distinct values of many groups are counted by partitions: the set of all would be in no cache.
        let is_held = |plan: &QueryPlan| {
            let is_distinct = |aggregate: &PlannedAggregate| {
                matches!(aggregate.kind.state().collected(), Collected::Distinct(..))
            };
            plan.aggregates.iter().any(is_distinct) && can_be_partitioned(plan, &set.program)
        };
        let reads_merged = |plan: &QueryPlan| plan.merges || merges && is_held(plan);
        let of_merged = |plan: &QueryPlan| match reads_merged(plan) {
            false => ReadMode::Nothing,
            true if can_be_partitioned(plan, &set.program) => ReadMode::Held,
            true => ReadMode::Rows,
        };
        let of_single = |plan: &QueryPlan| match reads_merged(plan) {
            true => ReadMode::Nothing,
            false if is_held(plan) => ReadMode::Held,
            false => ReadMode::Rows,
        };
        let mut of_merged_rows =
            (0..).zip(&set.plans).filter(|(_, plan)| reads_merged(plan)).map(|(at, _)| at);
        let only_merged = of_merged_rows.next().filter(|_| of_merged_rows.next().is_none());
        RecordedRows {
            only_merged,
            part: RowScratch::default(),
            merged: merges.then(|| {
                let merged = MergedRows::for_any_order(&set.columns, site);
                (merged, WholeRows::new(set, site, of_merged))
            }),
            single: WholeRows::new(set, site, of_single),
            windows: LongWindows::new(Arc::clone(self.long_plans()), site.clone(), ArrivalOrder::Any),
            outside: Unplaced::default(),
            untold: Untold::default(),
            sampled: None,
        }
    }
}

impl RecordedRows {
    /// Adds rows, which have what [`RowQueries::needs_of_recorded`] says.
    pub fn add(&mut self, queries: &RowQueries, v4: &RowBatch<KeyV4>, v6: &RowBatch<KeyV6>) {
        let Self { merged, single, windows, only_merged, part, .. } = self;
        let set = queries.run_plans();
        if !set.plans.is_empty() {
            if let Some((merged, whole)) = merged {
                let filters = only_merged.map_or(&[][..], |at| &set.plans[at].key_filters);
                let v4 = passing(v4, filters, set, &mut part.v4);
                let v6 = passing(v6, filters, set, &mut part.v6);
                // What has no memory counts as flows of its own: totals stay right.
                if let Some(rows) = merged.add_batch_v4(v4) {
                    whole.add(set, &rows, HeldRows::push_v4);
                }
                if let Some(rows) = merged.add_batch_v6(v6) {
                    whole.add(set, &rows, HeldRows::push_v6);
                }
            }
            single.add(set, v4, HeldRows::push_v4);
            single.add(set, v6, HeldRows::push_v6);
        }
        windows.add_recorded(v4, v6);
    }

    /// Sets the times of which nothing is known, in order: what a window has at its ends was not watched.
    pub fn miss(&mut self, missing: Vec<Span>) {
        self.windows.miss(missing);
    }

    /// Adds packets that are in no row, of this time.
    pub fn add_outside(&mut self, time_ns: u64, outside: &Unplaced) {
        self.outside.add(outside);
        self.windows.add_outside(time_ns, outside);
    }

    /// Returns whether windows are asked for, so that answers depend on times.
    pub fn has_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Adds the numbers of packets and records of this time that did not tell a value.
    pub fn add_untold(&mut self, time_ns: u64, untold: &Untold) {
        self.untold.add(untold);
        self.windows.add_untold(time_ns, untold);
    }

    /// Adds the sampling of the packets of a window that has frames, of this time. All windows of an answer have one share.
    pub fn add_sampled(&mut self, time_ns: u64, sampled: &Sampled) {
        Sampled::merge_into(&mut self.sampled, Some(sampled));
        self.windows.add_sampled(time_ns, sampled);
    }

    /// Adds the numbers of packets and records of an unknown time that did not tell a value: they count in every answer.
    pub fn add_untold_of_any_time(&mut self, untold: &Untold) {
        self.untold.add(untold);
        self.windows.add_untold_of_any_time(untold);
    }

    /// Adds packets that are in no row, of times that are not known: only answers over all rows have them.
    pub fn add_outside_windows(&mut self, outside: &Unplaced) {
        self.outside.add(outside);
    }

    /// The answers of the windows that end by this time and whose rows are complete. `watched`: the time that the rows cover.
    pub fn answers_until(&mut self, until_ns: u64, watched: Span) -> Vec<Answer> {
        self.windows.answer_recorded(until_ns, watched)
    }

    /// The answers of all windows that are left, then those over all rows.
    pub fn finish(self, queries: &RowQueries, watched: Option<Span>) -> Vec<Answer> {
        let Self { merged, single, windows, outside, untold, sampled, .. } = self;
        let (set, site) = (queries.run_plans(), queries.site());
        let missing = windows.missing().to_vec();
        let mut answers = watched.map_or_else(Vec::new, |watched| windows.end_recorded(watched));
        let mut states = single.states(set, site);
        let mut unplaced = 0;
        if let Some((merged, mut whole)) = merged {
            merged.each_v4(|batch| whole.add(set, batch, HeldRows::push_v4));
            merged.each_v6(|batch| whole.add(set, batch, HeldRows::push_v6));
            unplaced = merged.unplaced();
            drop(merged);
            let reads = whole.reads().to_vec();
            let of_merged = whole.states(set, site).into_iter().zip(reads);
            for (state, (own, reads)) in states.iter_mut().zip(of_merged) {
                if reads != ReadMode::Nothing {
                    *state = own;
                }
            }
        }
        let covered = Covered {
            window: watched,
            watched: watched.and_then(|watched| known_of(watched, &missing)),
            outside: Outside { untold, sampled, ..Outside::from(&outside) },
            plan: None,
        };
        let mut of_all = set.answers(&mut states, covered);
        for answer in &mut of_all {
            let plan = set.plans.iter().find(|plan| plan.query.name == answer.query);
            plan.into_iter().for_each(|plan| plan.tell_rates(&untold, answer));
        }
        if unplaced != 0 {
            let reason = unmerged(unplaced);
            let merges =
                |answer: &Answer| set.plans.iter().any(|plan| plan.merges && plan.query.name == answer.query);
            of_all.iter_mut().filter(|answer| merges(answer)).for_each(|answer| answer.mark_partial(&reason));
        }
        answers.extend(of_all);
        answers
    }
}

/// Returns the time that rates over all rows are over: without what is missing at its ends. `None` if all of it is missing.
fn known_of(watched: Span, missing: &[Span]) -> Option<Span> {
    (!watched.is_within(missing)).then(|| watched.without(missing).unwrap_or(watched))
}

/// The rows that pass filters which read keys alone.
fn passing<'a, K: MaskedKey>(
    rows: &'a RowBatch<K>,
    filters: &[NodeId],
    set: &PlanSet,
    part: &'a mut RowBatch<K>,
) -> &'a RowBatch<K> {
    if filters.is_empty() || rows.is_empty() {
        return rows;
    }
    let mut evaluation = Evaluation::new(&set.program, rows);
    let mut selected = Vec::new();
    for (number, filter) in filters.iter().enumerate() {
        let mut passing = Vec::new();
        evaluation.select(*filter, &mut passing);
        match number {
            0 => selected = passing,
            // Both are in order.
            _ => selected.retain(|row| passing.binary_search(row).is_ok()),
        }
    }
    part.fill_from(rows, &selected);
    part
}
