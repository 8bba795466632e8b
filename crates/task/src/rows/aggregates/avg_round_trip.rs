//! `avg(rtt_avg)` of all round trips, as reports have it: no text of Equery has it.

use super::{AddedRows, KeptState, UpdatedByRows};
use crate::rows::owners::Owners;
use crate::rows::plan::is_total;
use crate::rows::program::{NodeId, Program};
use crate::rows::scalar::Scalar;
use packet::MaskedKey;

/// Totals of two columns, of which the mean is the quotient.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TotalQuotient {
    total: NodeId,
    number: NodeId,
}

impl TotalQuotient {
    pub(crate) fn new(total: NodeId, number: NodeId) -> Self {
        Self { total, number }
    }
}

impl KeptState for TotalQuotient {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.total), Some(self.number)]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
        state[1] += other[1];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        state[0].checked_div(state[1]).map_or(Scalar::Null, |mean| Scalar::Integer(mean.into()))
    }

    fn is_of_any_rows(&self, program: &Program) -> bool {
        is_total(self.total, program) && is_total(self.number, program)
    }
}

impl UpdatedByRows for TotalQuotient {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let [Some(total), number] = rows.inputs else { return };
        rows.each_state_of(total.nulls(), |state, row| {
            state[0] += total.ordered(row);
            state[1] += number.as_ref().map_or(0, |number| number.ordered(row));
        });
    }
}
