//! `max(x)`: the greatest value.

use super::{AddedRows, KeptState, UpdatedByRows};
use crate::rows::owners::Owners;
use crate::rows::plan::has_rule;
use crate::rows::program::{NodeId, Program, Type};
use crate::rows::scalar::Scalar;
use flow::Aggregation;
use packet::MaskedKey;

/// The order of the greatest value, and whether there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GreatestValue {
    node: NodeId,
    of: Type,
}

impl GreatestValue {
    pub(crate) fn new(node: NodeId, of: Type) -> Self {
        Self { node, of }
    }
}

impl KeptState for GreatestValue {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] = state[0].max(other[0]);
        state[1] |= other[1];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match state[1] {
            0 => Scalar::Null,
            _ => Scalar::of_order(state[0], self.of),
        }
    }

    fn values(&self) -> Type {
        self.of
    }

    fn is_of_any_rows(&self, program: &Program) -> bool {
        has_rule(self.node, Aggregation::Max, program)
    }
}

impl UpdatedByRows for GreatestValue {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| {
            state[0] = state[0].max(input.ordered(row));
            state[1] = 1;
        });
    }
}
