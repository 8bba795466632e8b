//! `quantile(x, share)`: the least value that this share of the values does not exceed.

use super::added_rows::places;
use super::{AddedRows, BesideState, Collected, KeptState, UpdatedByRows};
use crate::rows::owners::Owners;
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use packet::MaskedKey;

/// The number of rows whose values had no memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeptSamples {
    /// The number of the list of values. Quantiles of the same values have one list.
    list: usize,
    node: NodeId,
    of: Type,
}

impl KeptSamples {
    pub(crate) fn new(list: usize, node: NodeId, of: Type) -> Self {
        Self { list, node, of }
    }
}

impl KeptState for KeptSamples {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
    }

    fn value(&self, _: &[u64]) -> Scalar {
        Scalar::Null
    }

    fn quantile(&self, state: &[u64], share: f64, beside: &BesideState<'_>) -> Option<Scalar> {
        let list = &beside.collections?.lists[self.list];
        Some(list.quantile(beside.group, share, self.of, state[0]))
    }

    fn values(&self) -> Type {
        self.of
    }

    fn collected(&self) -> Collected {
        Collected::Samples(self.list)
    }

    fn doubtful(&self) -> Option<usize> {
        Some(0)
    }

    fn is_flat(&self) -> bool {
        false
    }

    fn is_kept_by_group(&self) -> bool {
        false
    }
}

impl UpdatedByRows for KeptSamples {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let (Some(input), Some(collections)) = (&rows.inputs[0], rows.collections.take()) else { return };
        collections.lists[self.list].add(input, places(rows.rows), rows.owners, rows.at);
    }
}
