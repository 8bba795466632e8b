//! What one query has of one window: partial answers that merge.

use super::batch::Batch;
use super::keyed::{Groups, base};
use super::plan::{DistinctOf, Grouping, ItemKind, Plan};
use super::site::Site;
use super::top_rows::TopRows;
use flow::NULL;
use packet::MaskedKey;
use summary::{GroupTable, NO_GROUP};

/// Distinct values that one item of one query counts exactly in one window. Beyond, and where memory ends, a count has bounds.
pub const MOST_DISTINCT: usize = 1_000_000;

/// Words of a distinct value: whose it is, and the value.
const VALUE_WORDS: usize = 8;

/// What one query has of one window.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) groups: Kinds,
    distinct: Distinct,
    /// Rows whose groups found no memory: their number, and the state that they would be one group with.
    pub(crate) unplaced: Vec<u64>,
    pub(crate) unplaced_rows: u64,
    scratch: Scratch,
}

/// The groups, by how rows are grouped.
#[derive(Debug)]
pub(crate) enum Kinds {
    All(Vec<u64>),
    Rows(TopRows),
    Parts(Groups),
}

/// Memory that batches have in common.
#[derive(Debug, Default)]
struct Scratch {
    selected: Vec<u32>,
    found: Vec<u32>,
}

impl QueryState {
    pub(crate) fn new(plan: &Plan, site: &Site) -> Self {
        let groups = match &plan.grouping {
            Grouping::All => Kinds::All(plan.initial.clone()),
            Grouping::Rows => Kinds::Rows(TopRows::new(plan)),
            Grouping::Parts(parts) => Kinds::Parts(Groups::new(parts, &plan.initial, site)),
        };
        Self {
            groups,
            distinct: Distinct::new(plan.sets(), site),
            unplaced: plan.initial.clone(),
            unplaced_rows: 0,
            scratch: Scratch::default(),
        }
    }

    /// Takes the rows of a batch that the query's filter lets through.
    pub(crate) fn add<K: MaskedKey>(&mut self, plan: &Plan, batch: &Batch<K>) {
        let Self { groups, distinct, unplaced, unplaced_rows, scratch } = self;
        let Scratch { selected, found } = scratch;
        selected.clear();
        match &plan.filter {
            Some(test) => test.select(batch, selected),
            None => selected.extend(0..batch.len() as u32),
        }
        match (groups, &plan.grouping) {
            (Kinds::All(state), _) => {
                for &row in selected.iter() {
                    update(plan, state, batch, row as usize, 0, distinct);
                }
            }
            (Kinds::Rows(top), _) => top.add(plan, batch, selected),
            (Kinds::Parts(groups), Grouping::Parts(parts)) => {
                groups.add(parts, batch, selected, found, |state, row, group| match state {
                    Some(state) => update(plan, state, batch, row, group, distinct),
                    None => {
                        *unplaced_rows += 1;
                        update(plan, unplaced, batch, row, u64::MAX, distinct);
                    }
                });
            }
            (Kinds::Parts(_), _) => {}
        }
    }

    /// Adds what another core or node has of the same query and window.
    pub(crate) fn merge(&mut self, plan: &Plan, other: &Self) {
        self.unplaced_rows += other.unplaced_rows;
        let Self { groups, distinct, unplaced, .. } = self;
        plan.merge_states(unplaced, &other.unplaced);
        // Values of each of the other's groups by the numbers that groups have here.
        let mut renumbered = |group: u64, state: &mut [u64], theirs: &[u64], number: u64| {
            plan.merge_states(state, theirs);
            distinct.merge(&other.distinct, plan, state, group, number);
        };
        match (groups, &other.groups) {
            (Kinds::All(state), Kinds::All(theirs)) => renumbered(0, state, theirs, 0),
            (Kinds::Rows(top), Kinds::Rows(theirs)) => top.merge(plan, theirs),
            (Kinds::Parts(groups), Kinds::Parts(theirs)) => {
                let lost = groups.merge(theirs, &mut renumbered);
                for state in lost {
                    self.unplaced_rows += 1;
                    plan.merge_states(&mut self.unplaced, &state);
                }
            }
            _ => {}
        }
    }
}

/// Adds a row to a state.
#[inline(always)]
fn update<K: MaskedKey>(
    plan: &Plan,
    state: &mut [u64],
    batch: &Batch<K>,
    row: usize,
    group: u64,
    distinct: &mut Distinct,
) {
    for item in &plan.items {
        match item.kind {
            ItemKind::Sum(column) => match batch.column(column)[row] {
                NULL => {}
                value => state[item.at] += value,
            },
            ItemKind::SumOf(parts) => {
                for column in parts.into_iter().flatten() {
                    let value = batch.column(column)[row];
                    state[item.at] += if value == NULL { 0 } else { value };
                }
            }
            ItemKind::Min(column) => state[item.at] = state[item.at].min(batch.column(column)[row]),
            ItemKind::Count => state[item.at] += 1,
            ItemKind::Distinct(set, of) => {
                let mut value = [0; VALUE_WORDS];
                match of {
                    // The families' addresses differ, whatever their words; ports do not.
                    DistinctOf::Key(spec) if spec.has_addresses() => {
                        base(&batch.keys[row].masked(&spec), &mut value[1..]);
                        value[7] = K::WORDS as u64;
                    }
                    DistinctOf::Key(spec) => {
                        base(&batch.keys[row].without_addresses().masked(&spec), &mut value[1..]);
                    }
                    DistinctOf::Column(column) => match batch.column(column)[row] {
                        NULL => continue,
                        number => value[1] = number,
                    },
                }
                let counts = &mut state[item.at..item.at + 2];
                match distinct.add(set, group, value) {
                    Seen::New => counts[0] += 1,
                    Seen::Known => {}
                    Seen::Unsure => counts[1] += 1,
                }
            }
            ItemKind::MeanRoundTrip => {
                use flow::RowValue::{RttCount, RttSum};
                let (sum, count) = (batch.column(RttSum)[row], batch.column(RttCount)[row]);
                if count != NULL {
                    state[item.at] += sum;
                    state[item.at + 1] += count;
                }
            }
        }
    }
}

/// The distinct values of all groups, by item.
#[derive(Debug)]
struct Distinct {
    sets: Vec<GroupTable<VALUE_WORDS>>,
    found: Vec<u32>,
}

/// Whether a value was there before.
enum Seen {
    New,
    Known,
    /// There is no room to tell.
    Unsure,
}

impl Distinct {
    fn new(sets: usize, site: &Site) -> Self {
        let set = || GroupTable::new(&[], site.seed, &site.limits);
        Self { sets: (0..sets).map(|_| set()).collect(), found: Vec::new() }
    }

    fn add(&mut self, set: usize, group: u64, mut value: [u64; VALUE_WORDS]) -> Seen {
        value[0] = group;
        let values = &mut self.sets[set];
        let before = values.len();
        if before >= MOST_DISTINCT && !values.has(&value) {
            return Seen::Unsure;
        }
        values.groups(&[value], &mut self.found);
        match self.found[0] {
            NO_GROUP => Seen::Unsure,
            _ if values.len() > before => Seen::New,
            _ => Seen::Known,
        }
    }

    /// Adds another's values of its group `number` to those of `group`, and counts the new ones in its state.
    fn merge(&mut self, other: &Self, plan: &Plan, state: &mut [u64], group: u64, number: u64) {
        for item in &plan.items {
            let ItemKind::Distinct(set, _) = item.kind else { continue };
            for value in other.sets[set].keys().iter().filter(|value| value[0] == number) {
                match self.add(set, group, *value) {
                    Seen::New => state[item.at] += 1,
                    Seen::Known => {}
                    Seen::Unsure => state[item.at + 1] += 1,
                }
            }
        }
    }
}
