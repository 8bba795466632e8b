//! Adds rows to the states of their groups, one aggregate after the other: what an aggregate does is decided once for all rows.

use super::aggregate::{Kind, PlannedAggregate, add_float, add_known, add_moment, add_signed, total};
use super::evaluate::Evaluation;
use super::grouping::PlannedGrouping;
use super::input::Input;
use super::owners::Owners;
use super::plan::Plan;
use super::samples::SampleList;
use super::values::ValueSet;
use crate::row_site::Site;
use arrow_array::Array;
use arrow_buffer::NullBuffer;
use packet::MaskedKey;

/// The inputs that a query reads of the rows of a batch.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The inputs of each aggregate.
    pub(crate) aggregates: Vec<[Option<Input>; 2]>,
    /// Values that are part of a group's key.
    pub(crate) extras: Vec<Input>,
}

impl Inputs {
    pub(crate) fn new<K: MaskedKey>(plan: &Plan, evaluation: &mut Evaluation<'_, K>) -> Self {
        let pass = evaluation.pass();
        let mut of = |aggregate: &PlannedAggregate| {
            let is_read = aggregate.pass == pass;
            aggregate.kind.inputs().map(|node| node.filter(|_| is_read).map(|node| evaluation.input(node)))
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
    pub(crate) fn new(plan: &Plan, site: &Site) -> Self {
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
        plan: &Plan,
        mut owner: impl FnMut(u64, &mut dyn FnMut(&mut [u64], u64)),
    ) {
        let mut merged = vec![false; self.lists.len()];
        for PlannedAggregate { kind, at, .. } in &plan.aggregates {
            match kind {
                Kind::Distinct(set, _) | Kind::Weights(set, ..) => {
                    self.sets[*set].merge(&other.sets[*set], *at, &mut owner);
                }
                Kind::Samples(list, ..) if !std::mem::replace(&mut merged[*list], true) => {
                    self.lists[*list].merge(&other.lists[*list], *at, &mut owner);
                }
                _ => {}
            }
        }
    }
}

/// Adds rows to their states. Without collections each row is a group of its own, whose values are told apart already.
#[inline(always)]
pub(crate) fn update<K: MaskedKey>(
    plan: &Plan,
    evaluated: (&Evaluation<'_, K>, &Inputs),
    rows: &[u32],
    owners: &mut impl Owners,
    mut collections: Option<&mut Collections>,
) {
    let (evaluation, inputs) = evaluated;
    let rows = || rows.iter().map(|row| *row as usize).enumerate();
    for (aggregate, [input, second]) in plan.aggregates.iter().zip(&inputs.aggregates) {
        let PlannedAggregate { kind, at, needs_all, pass } = aggregate;
        if *pass != evaluation.pass() {
            continue;
        }
        let at = *at;
        match (kind, input) {
            (Kind::Count, _) => rows().for_each(|(place, _)| owners.owner(place).0[at] += 1),
            (Kind::Sum(..), Some(input)) if *needs_all => rows().for_each(|(place, row)| {
                let state = &mut owners.owner(place).0[at..];
                match input {
                    input if input.is_null(row) => kind.set_unknown(state),
                    Input::Unsigned(array) => state[0] = total(state[0], array.value(row)),
                    Input::Signed(array) => add_known(state, array.value(row).into()),
                    Input::Float(array) => add_float(state, array.value(row)),
                }
            }),
            (Kind::Sum(..), Some(Input::Unsigned(array))) => {
                let values = array.values();
                each(rows(), array.nulls(), |place, row| owners.owner(place).0[at] += values[row]);
            }
            (Kind::Sum(..), Some(Input::Signed(array))) => {
                let values = array.values();
                each(rows(), array.nulls(), |place, row| {
                    add_signed(&mut owners.owner(place).0[at..], values[row].into());
                });
            }
            (Kind::Sum(..), Some(Input::Float(array))) => {
                let values = array.values();
                each(rows(), array.nulls(), |place, row| {
                    add_float(&mut owners.owner(place).0[at..], values[row]);
                });
            }
            (Kind::Least(..), Some(input)) => each(rows(), input.nulls(), |place, row| {
                let least = &mut owners.owner(place).0[at];
                *least = (*least).min(input.ordered(row));
            }),
            (Kind::Greatest(..), Some(input)) => each(rows(), input.nulls(), |place, row| {
                let state = &mut owners.owner(place).0[at..];
                state[0] = state[0].max(input.ordered(row));
                state[1] = 1;
            }),
            (Kind::Mean(..), Some(input)) => each(rows(), input.nulls(), |place, row| {
                let state = &mut owners.owner(place).0[at..];
                match input {
                    Input::Unsigned(array) => add_signed(state, array.value(row).into()),
                    Input::Signed(array) => add_signed(state, array.value(row).into()),
                    Input::Float(array) => add_float(state, array.value(row)),
                }
                state[2] += 1;
            }),
            (Kind::Deviation(_), Some(input)) => each(rows(), input.nulls(), |place, row| {
                add_moment(&mut owners.owner(place).0[at..], input.float(row));
            }),
            (Kind::Quotient(..), Some(input)) => each(rows(), input.nulls(), |place, row| {
                let state = &mut owners.owner(place).0[at..];
                state[0] += input.ordered(row);
                state[1] += second.as_ref().map_or(0, |second| second.ordered(row));
            }),
            (Kind::Distinct(set, of), input) => match &mut collections {
                Some(collections) => {
                    let set = &mut collections.sets[*set];
                    set.count(*of, evaluation.batch(), input.as_ref(), rows(), owners, at);
                }
                None => each(rows(), input.as_ref().and_then(Input::nulls), |place, _| {
                    owners.owner(place).0[at] += 1;
                }),
            },
            (Kind::Weights(set, of, _), input) => {
                if let Some(collections) = &mut collections {
                    let set = &mut collections.sets[*set];
                    let batch = evaluation.batch();
                    set.weigh(*of, batch, input.as_ref(), second.as_ref(), rows(), owners, at);
                }
            }
            (Kind::Samples(list, ..), Some(input)) => {
                if let Some(collections) = &mut collections {
                    collections.lists[*list].add(input, rows(), owners, at);
                }
            }
            // All these have inputs.
            (
                Kind::Sum(..)
                | Kind::Least(..)
                | Kind::Greatest(..)
                | Kind::Mean(..)
                | Kind::Deviation(_)
                | Kind::Quotient(..)
                | Kind::Samples(..),
                None,
            ) => {}
        }
    }
}

/// Calls `work` with the places and numbers of the rows that have values.
#[inline(always)]
fn each(
    rows: impl Iterator<Item = (usize, usize)>,
    nulls: Option<&NullBuffer>,
    mut work: impl FnMut(usize, usize),
) {
    match nulls {
        None => rows.for_each(|(place, row)| work(place, row)),
        Some(nulls) => {
            rows.filter(|(_, row)| nulls.is_valid(*row)).for_each(|(place, row)| work(place, row));
        }
    }
}
