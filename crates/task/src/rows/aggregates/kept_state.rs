//! The state that a group keeps of an aggregate: what each state tells the executor.

use super::AddedRows;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::program::{NameTable, NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use crate::rows::update::Collections;
use crate::rows::values::ValueOf;
use crate::rows::weights::Entropies;
use flow::RowValue;
use packet::MaskedKey;

/// Words of a group's state, and their meaning.
///
/// Most defaults are the cautious answer, without bounds. `is_flat` and `is_kept_by_group` allow shortcuts: a state of sums of floats denies
/// them, as their order counts.
pub(crate) trait KeptState {
    /// Returns the words with which a group begins.
    fn initial(&self) -> &'static [u64];

    /// Returns the nodes whose values it reads.
    fn inputs(&self) -> [Option<NodeId>; 2];

    /// Adds the state of other rows to a state. Collections are merged separately, except for what is uncertain.
    fn merge(&self, state: &mut [u64], other: &[u64]);

    /// Returns the value of a group, as far as its state tells it.
    fn value(&self, state: &[u64]) -> Scalar;

    /// Returns the value of a group of which more than its state is kept.
    fn value_of_group(&self, state: &[u64], _: &BesideState<'_>) -> Scalar {
        self.value(state)
    }

    /// Returns the quantile of this share of a group's values; `None` where these are not kept.
    fn quantile(&self, _: &[u64], _: f64, _: &BesideState<'_>) -> Option<Scalar> {
        None
    }

    /// Returns the type of the values of rows that it is computed of.
    fn values(&self) -> Type {
        Type::Float
    }

    /// Returns the names whose numbers its value may be.
    fn names(&self) -> Option<NameTable> {
        None
    }

    /// Returns what its first word is for an order of groups; `None` if the word does not tell the order.
    fn counter(&self) -> Option<CounterWord> {
        None
    }

    /// Returns the values that are kept in addition to states.
    fn collected(&self) -> Collected {
        Collected::Nothing
    }

    /// Returns the place of the word that is not zero where a value has no more than bounds.
    fn doubtful(&self) -> Option<usize> {
        None
    }

    /// Returns true if values of several groups add up to that of all.
    fn is_total(&self) -> bool {
        false
    }

    /// Returns the column of rows whose total it is.
    fn total_of(&self, _: &RowProgram) -> Option<RowValue> {
        None
    }

    /// Returns true if several rows of one key give the same as one row that has what all of them have.
    fn is_of_any_rows(&self, _: &RowProgram) -> bool {
        false
    }

    /// Returns true if the state of a single row tells all, and that of some groups is the state of all without the others.
    fn is_flat(&self) -> bool {
        true
    }

    /// Returns true if groups can be completed in any order, one after the other.
    fn is_kept_by_group(&self) -> bool {
        true
    }

    /// Returns how packets that are in no row change the value. `is_of_flows`: each group is one flow.
    fn spilled(&self, _: &RowProgram, _is_of_flows: bool) -> SpilledValue {
        SpilledValue::Unknown
    }
}

/// The part of a state's meaning that runs for each row, so that it is compiled for each kind of key and of groups.
pub(crate) trait UpdatedByRows {
    /// Adds rows to the states of their groups.
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>);
}

/// The order that a word tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterWord {
    /// True if the word may be null.
    pub(crate) is_nullable: bool,
    /// True if the word is computed from values of rows, false if it counts rows.
    pub(crate) is_of_values: bool,
}

/// The values that an aggregate keeps in addition to the states of groups, with the number of the set or list that has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Collected {
    Nothing,
    /// Values that are told apart, and counted.
    Distinct(usize, ValueOf),
    /// Values that are told apart, with what each weighs.
    Weights(usize, ValueOf),
    /// The values of all rows.
    Samples(usize),
}

impl Collected {
    /// Returns what the values are of that are told apart.
    pub(crate) fn value_of(self) -> Option<ValueOf> {
        match self {
            Self::Distinct(_, of) | Self::Weights(_, of) => Some(of),
            Self::Nothing | Self::Samples(_) => None,
        }
    }
}

/// The data of a group that is kept in addition to its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BesideState<'a> {
    pub(crate) collections: Option<&'a Collections>,
    pub(crate) entropies: Option<&'a Entropies>,
    /// The number of the aggregate.
    pub(crate) aggregate: usize,
    /// The number of the group.
    pub(crate) group: u64,
}
