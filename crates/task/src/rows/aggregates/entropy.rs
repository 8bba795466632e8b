//! `entropy(x)` and `entropy(x, counter)`: Shannon's entropy of the values of a field, bits.

use super::added_rows::places;
use super::{AddedRows, BesideState, Collected, KeptState, UpdatedByRows};
use crate::rows::owners::Owners;
use crate::rows::plan::{is_total, of_keys};
use crate::rows::program::{NodeId, Program};
use crate::rows::scalar::Scalar;
use crate::rows::values::ValueOf;
use packet::MaskedKey;

/// The weight of rows whose values had no memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueWeights {
    /// The number of the set of values.
    pub(crate) set: usize,
    pub(crate) of: ValueOf,
    /// The weight of a row; `None` where each has the same.
    pub(crate) weight: Option<NodeId>,
}

impl KeptState for ValueWeights {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [self.of.node(), self.weight]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
    }

    fn value(&self, _: &[u64]) -> Scalar {
        Scalar::Null
    }

    fn value_of_group(&self, state: &[u64], beside: &BesideState<'_>) -> Scalar {
        let BesideState { entropies, aggregate, group, .. } = *beside;
        entropies.map_or(Scalar::Null, |entropies| entropies.of(aggregate, group, state[0]))
    }

    fn collected(&self) -> Collected {
        Collected::Weights(self.set, self.of)
    }

    fn doubtful(&self) -> Option<usize> {
        Some(0)
    }

    fn is_of_any_rows(&self, program: &Program) -> bool {
        of_keys(&self.of, program) && self.weight.is_some_and(|weight| is_total(weight, program))
    }

    fn is_flat(&self) -> bool {
        false
    }

    fn is_kept_by_group(&self) -> bool {
        false
    }
}

impl UpdatedByRows for ValueWeights {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let Some(collections) = rows.collections.take() else { return };
        let set = &mut collections.sets[self.set];
        let [input, weight] = rows.inputs.each_ref().map(Option::as_ref);
        set.weigh(self.of, rows.batch, input, weight, places(rows.rows), rows.owners, rows.at);
    }
}
