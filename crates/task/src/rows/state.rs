//! The state of one query for one window: partial answers that can be merged.

use super::evaluate::Evaluation;
use super::grouping::PlannedGrouping;
use super::keyed::{Groups, OF_V6, States, TakeGroups};
use super::owners::{ALL, OneState, Owners};
use super::plan::QueryPlan;
use super::top_rows::TopRows;
use super::update::{Collections, QueryInputs, update};
use crate::plan_context::PlanContext;
use flowtable::NO_GROUP;
use packet::MaskedKey;

/// Number of the group of rows whose groups had no memory.
const UNPLACED: u64 = u64::MAX;

/// The state of one query for one window.
#[derive(Debug)]
pub(crate) struct QueryWindowState {
    pub(crate) groups: Kinds,
    pub(crate) collections: Collections,
    /// Rows whose groups had no memory: their number, and their state as a single group.
    pub(crate) unplaced: Vec<u64>,
    pub(crate) unplaced_rows: u64,
    scratch: BatchScratch,
}

/// The groups, by how rows are grouped.
#[derive(Debug)]
pub(crate) enum Kinds {
    All(Vec<u64>),
    Rows(TopRows),
    Parts(Box<Groups>),
    /// The first groups, and the sums of all: partitions that were answered one after the other.
    Ranked(TopRows),
}

/// Memory that batches have in common.
#[derive(Debug, Default)]
struct BatchScratch {
    selected: Vec<u32>,
    found: Vec<u32>,
}

impl QueryWindowState {
    pub(crate) fn new(plan: &QueryPlan, site: &PlanContext) -> Self {
        let groups = match &plan.grouping {
            PlannedGrouping::All => Kinds::All(plan.initial.clone()),
            PlannedGrouping::Rows => Kinds::Rows(TopRows::new(plan)),
            PlannedGrouping::Parts(parts) => Kinds::Parts(Box::new(Groups::new(parts, &plan.initial, site))),
        };
        Self {
            groups,
            collections: Collections::new(plan, site),
            unplaced: plan.initial.clone(),
            unplaced_rows: 0,
            scratch: BatchScratch::default(),
        }
    }

    /// Adds the rows of a batch that pass the query's filter.
    pub(crate) fn add<K: MaskedKey>(&mut self, plan: &QueryPlan, evaluation: &mut Evaluation<'_, K>) {
        let Self { groups, collections, unplaced, unplaced_rows, scratch } = self;
        let BatchScratch { selected, found } = scratch;
        selected.clear();
        match plan.filter {
            Some(filter) => evaluation.select(filter, selected),
            None => selected.extend(0..evaluation.batch().len() as u32),
        }
        if selected.is_empty() {
            return;
        }
        let inputs = QueryInputs::new(plan, evaluation);
        let evaluated = (&*evaluation, &inputs);
        match (groups, &plan.grouping) {
            (Kinds::All(state), _) => {
                update(plan, evaluated, selected, &mut OneState(state), Some(collections));
            }
            (Kinds::Rows(top), _) => top.add(plan, evaluated, selected),
            (Kinds::Parts(groups), PlannedGrouping::Parts(parts)) => {
                let mut taker = Taker { plan, evaluated, collections, unplaced, unplaced_rows };
                groups.add(parts, evaluation.batch(), &inputs.extras, selected, found, &mut taker);
            }
            (Kinds::Parts(_) | Kinds::Ranked(_), _) => {}
        }
    }

    /// Passes on the key's words, the family and the state of each group, and leaves none.
    pub(crate) fn drain_groups(&mut self, mut take: impl FnMut(&[u64], bool, &[u64])) {
        if let Kinds::Parts(groups) = &mut self.groups {
            groups.each(|number, words, state| take(words, number & OF_V6 != 0, state));
            groups.clear();
        }
        self.collections.clear();
    }

    /// Merges the state of another core or node for the same query and window.
    pub(crate) fn merge(&mut self, plan: &QueryPlan, other: &Self) {
        let Self { groups, collections, unplaced, unplaced_rows, .. } = self;
        *unplaced_rows += other.unplaced_rows;
        plan.merge_states(unplaced, &other.unplaced);
        match (groups, &other.groups) {
            (Kinds::All(state), Kinds::All(theirs)) => {
                plan.merge_states(state, theirs);
                collections.merge(&other.collections, plan, |_, add| add(state, ALL));
            }
            (Kinds::Rows(top), Kinds::Rows(theirs)) => top.merge(plan, theirs),
            (Kinds::Parts(groups), Kinds::Parts(theirs)) => {
                let numbers = groups.merge(theirs, &mut |state, theirs| match state {
                    Some(state) => plan.merge_states(state, theirs),
                    None => {
                        *unplaced_rows += 1;
                        plan.merge_states(unplaced, theirs);
                    }
                });
                collections.merge(&other.collections, plan, |number, add| match numbers.get(number) {
                    Some(number) => add(groups.state_mut(number), number),
                    None => add(unplaced, UNPLACED),
                });
            }
            _ => {}
        }
    }
}

/// Each row has a group of a table, or none.
struct GroupStates<'a, T> {
    table: &'a mut T,
    found: &'a [u32],
    unplaced: &'a mut [u64],
}

impl<T: States> Owners for GroupStates<'_, T> {
    #[inline(always)]
    fn owner(&mut self, place: usize) -> (&mut [u64], u64) {
        match self.found[place] {
            NO_GROUP => (self.unplaced, UNPLACED),
            group => self.table.state_of(group),
        }
    }
}

/// Adds rows to the states of their groups.
struct Taker<'a, 'b, K> {
    plan: &'a QueryPlan,
    evaluated: (&'a Evaluation<'b, K>, &'a QueryInputs),
    collections: &'a mut Collections,
    unplaced: &'a mut [u64],
    unplaced_rows: &'a mut u64,
}

impl<K: MaskedKey> TakeGroups for Taker<'_, '_, K> {
    #[inline(always)]
    fn take(&mut self, states: &mut impl States, rows: &[u32], found: &[u32]) {
        // All passes have the same groups.
        if self.evaluated.0.pass() == 0 {
            *self.unplaced_rows += found.iter().filter(|group| **group == NO_GROUP).count() as u64;
        }
        let mut owners = GroupStates { table: states, found, unplaced: self.unplaced };
        update(self.plan, self.evaluated, rows, &mut owners, Some(self.collections));
    }
}
