//! `avg(x)`: the mean.

use super::words::{add_float, add_signed, signed};
use super::{AddedRows, KeptState, UpdatedByRows};
use crate::rows::input::Input;
use crate::rows::owners::Owners;
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use packet::MaskedKey;

/// The total in two words, and the number of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TotalAndNumber {
    node: NodeId,
    of: Type,
}

impl TotalAndNumber {
    pub(crate) fn new(node: NodeId, of: Type) -> Self {
        Self { node, of }
    }
}

impl KeptState for TotalAndNumber {
    fn initial(&self) -> &'static [u64] {
        &[0, 0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        match self.of {
            Type::Float => add_float(state, f64::from_bits(other[0])),
            _ => add_signed(state, signed(other)),
        }
        state[2] += other[2];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match self.of {
            _ if state[2] == 0 => Scalar::Null,
            Type::Float => Scalar::float(f64::from_bits(state[0]) / state[2] as f64),
            _ => Scalar::float(signed(state) as f64 / state[2] as f64),
        }
    }

    fn values(&self) -> Type {
        self.of
    }
}

impl UpdatedByRows for TotalAndNumber {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| {
            match input {
                Input::Unsigned(array) => add_signed(state, array.value(row).into()),
                Input::Signed(array) => add_signed(state, array.value(row).into()),
                Input::Float(array) => add_float(state, array.value(row)),
            }
            state[2] += 1;
        });
    }
}
