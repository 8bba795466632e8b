//! `count(*)`: the number of flows.

use super::words::total;
use super::{AddedRows, CounterWord, KeptState, UpdatedByRows};
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::program::{NodeId, Program};
use crate::rows::scalar::Scalar;
use flow::NULL;
use packet::MaskedKey;

/// The number of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowCount;

impl KeptState for RowCount {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [None; 2]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] = total(state[0], other[0]);
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match state[0] {
            NULL => Scalar::Null,
            total => Scalar::Integer(total.into()),
        }
    }

    fn counter(&self) -> Option<CounterWord> {
        Some(CounterWord { is_nullable: false, is_of_values: false })
    }

    fn is_total(&self) -> bool {
        true
    }

    fn spilled(&self, _: &Program, _: bool) -> SpilledValue {
        SpilledValue::Different
    }
}

impl UpdatedByRows for RowCount {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        rows.each_word(|number, _| *number += 1);
    }
}
