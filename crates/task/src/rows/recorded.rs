//! Queries over rows that were recorded: of any time, in any order, in columns.

use super::answer::{Covered, Unplaced};
use super::executor::{RowQueries, WholeRows};
use super::long_windows::{LongWindows, Order};
use super::merged::{MergedRows, columns_of_any_order};
use super::partitioned::HeldRows;
use super::plan_set::PlanSet;
use super::program::Needed;
use flow::{RowBatch, RowValue};
use packet::{KeyV4, KeyV6};
use report::{Answer, Span};
use std::sync::Arc;

/// What queries need of recorded rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedNeeds {
    /// Members of the key, by name.
    pub members: Vec<&'static str>,
    /// Columns; among them [`RowValue::Time`] where windows are asked about.
    pub columns: Vec<RowValue>,
}

/// The state of all queries of a set over recorded rows of one node.
#[derive(Debug)]
pub struct RecordedRows {
    /// For queries over all rows that read merged rows, if there are any.
    merged: Option<MergedRows>,
    whole: WholeRows,
    windows: LongWindows,
    outside: Unplaced,
}

impl RowQueries {
    /// What the queries need of recorded rows. Queries of single windows of a run's own length have no meaning there.
    pub fn needs_of_recorded(&self) -> RecordedNeeds {
        let mut needs = RecordedNeeds::default();
        let mut members = Needed::default();
        let mut add = |set: &PlanSet| {
            let columns = match set.plans.iter().any(|plan| plan.merges) {
                true => {
                    members.add_key(&self.site().key);
                    columns_of_any_order(&set.columns)
                }
                false => set.columns.clone(),
            };
            needs.columns.extend(columns);
            set.plans.iter().for_each(|plan| members.add_plan(plan));
            members.add_program(&set.program);
        };
        add(self.run_plans());
        self.long_plans().iter().for_each(|plans| add(plans.plans()));
        if self.has_long_windows() {
            needs.columns.push(RowValue::Time);
        }
        needs.members = members.names(&self.site().key);
        needs.columns.sort_unstable();
        needs.columns.dedup();
        needs
    }

    /// The empty state of recorded rows.
    pub fn recorded(&self) -> RecordedRows {
        let set = self.run_plans();
        let merges = set.plans.iter().any(|plan| plan.merges);
        RecordedRows {
            merged: merges.then(|| MergedRows::of_any_order(&set.columns, self.site())),
            whole: WholeRows::new(set, self.site()),
            windows: LongWindows::new(Arc::clone(self.long_plans()), self.site().clone(), Order::Any),
            outside: Unplaced::default(),
        }
    }
}

impl RecordedRows {
    /// Adds rows, which have what [`RowQueries::needs_of_recorded`] says.
    pub fn add(&mut self, queries: &RowQueries, v4: &RowBatch<KeyV4>, v6: &RowBatch<KeyV6>) {
        let Self { merged, whole, windows, .. } = self;
        let set = queries.run_plans();
        if !set.plans.is_empty() {
            if let Some(merged) = merged {
                merged.add_batch_v4(v4);
                merged.add_batch_v6(v6);
            }
            whole.add_single(set, v4);
            whole.add_single(set, v6);
        }
        windows.add_recorded(v4, v6);
    }

    /// Adds packets that are in no row, of this time.
    pub fn add_outside(&mut self, time_ns: u64, outside: &Unplaced) {
        self.outside.add(outside);
        self.windows.add_outside(time_ns, outside);
    }

    /// The answers of the windows that end by then, of which no more rows come. `watched`: the time that rows cover.
    pub fn answers_until(&mut self, until_ns: u64, watched: Span) -> Vec<Answer> {
        self.windows.answer_recorded(until_ns, watched)
    }

    /// The answers of all windows that are left, then those over all rows.
    pub fn finish(self, queries: &RowQueries, watched: Option<Span>) -> Vec<Answer> {
        let Self { merged, mut whole, windows, outside } = self;
        let set = queries.run_plans();
        let mut answers = watched.map_or_else(Vec::new, |watched| windows.end_recorded(watched));
        let mut unplaced = 0;
        if let Some(merged) = merged {
            merged.each_v4(|batch| whole.add(set, batch, HeldRows::push_v4));
            merged.each_v6(|batch| whole.add(set, batch, HeldRows::push_v6));
            unplaced = merged.unplaced();
        }
        let mut states = whole.states(set, queries.site());
        let covered = Covered { window: watched, watched, outside: &outside };
        let mut of_all = set.answers(&mut states, covered);
        if unplaced != 0 {
            let reason = format!("memory ran out: {unplaced} rows are in no flow");
            let merges =
                |answer: &Answer| set.plans.iter().any(|plan| plan.merges && plan.query.name == answer.query);
            of_all.iter_mut().filter(|answer| merges(answer)).for_each(|answer| answer.lacks(&reason));
        }
        answers.extend(of_all);
        answers
    }
}
