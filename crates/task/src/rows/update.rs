//! Adds rows to the states of their groups, one aggregate after the other: what an aggregate does is decided once for all rows.

use super::aggregates::{AddedRows, Collected, PlannedAggregate};
use super::evaluate::Evaluation;
use super::grouping::PlannedGrouping;
use super::input::AggregateInput;
use super::owners::Owners;
use super::plan::QueryPlan;
use super::samples::SampleList;
use super::values::ValueSet;
use crate::plan_context::PlanContext;
use packet::MaskedKey;

/// The inputs that a query reads of the rows of a batch.
#[derive(Debug)]
pub(crate) struct QueryInputs {
    /// The inputs of each aggregate.
    pub(crate) aggregates: Vec<[Option<AggregateInput>; 2]>,
    /// Values that are part of a group's key.
    pub(crate) extras: Vec<AggregateInput>,
}

impl QueryInputs {
    pub(crate) fn new<K: MaskedKey>(plan: &QueryPlan, evaluation: &mut Evaluation<'_, K>) -> Self {
        let pass = evaluation.pass();
        let mut of = |aggregate: &PlannedAggregate| {
            let is_read = aggregate.pass == pass;
            aggregate
                .kind
                .state()
                .inputs()
                .map(|node| node.filter(|_| is_read).map(|node| evaluation.input(node)))
        };
        let aggregates = plan.aggregates.iter().map(&mut of).collect();
        let extras = match &plan.grouping {
            PlannedGrouping::Parts(parts) => {
                parts.extras.iter().map(|node| evaluation.input(*node)).collect()
            }
            _ => Vec::new(),
        };
        Self { aggregates, extras }
    }
}

/// The values that are kept of groups outside their states.
#[derive(Debug)]
pub(crate) struct Collections {
    pub(crate) sets: Vec<ValueSet>,
    pub(crate) lists: Vec<SampleList>,
}

impl Collections {
    pub(crate) fn new(plan: &QueryPlan, site: &PlanContext) -> Self {
        Self {
            sets: plan.sets.iter().map(|have_weights| ValueSet::new(*have_weights, site)).collect(),
            lists: (0..plan.lists).map(|_| SampleList::new(site)).collect(),
        }
    }

    /// Removes all values and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.sets.iter_mut().for_each(ValueSet::clear);
        self.lists.iter_mut().for_each(SampleList::clear);
    }

    /// Adds another's values. `owner` gets the number of a value's group there, and passes the group's state and number here to its
    /// argument.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        plan: &QueryPlan,
        mut owner: impl FnMut(u64, &mut dyn FnMut(&mut [u64], u64)),
    ) {
        let mut merged = vec![false; self.lists.len()];
        for PlannedAggregate { kind, at, .. } in &plan.aggregates {
            match kind.state().collected() {
                Collected::Distinct(set, _) | Collected::Weights(set, _) => {
                    self.sets[set].merge(&other.sets[set], *at, &mut owner);
                }
                Collected::Samples(list) if !std::mem::replace(&mut merged[list], true) => {
                    self.lists[list].merge(&other.lists[list], *at, &mut owner);
                }
                _ => {}
            }
        }
    }
}

/// Adds rows to their states. Without collections each row is a group of its own, whose values are told apart already.
#[inline(always)]
pub(crate) fn update<K: MaskedKey>(
    plan: &QueryPlan,
    (evaluation, inputs): (&Evaluation<'_, K>, &QueryInputs),
    rows: &[u32],
    owners: &mut impl Owners,
    mut collections: Option<&mut Collections>,
) {
    let batch = evaluation.batch();
    for (aggregate, inputs) in plan.aggregates.iter().zip(&inputs.aggregates) {
        let PlannedAggregate { kind, at, pass } = aggregate;
        if *pass == evaluation.pass() {
            let collections = collections.as_deref_mut();
            kind.update(AddedRows { at: *at, batch, rows, inputs, owners, collections });
        }
    }
}
