//! `min(x)`: the least value.

use super::{AddedRows, CounterWord, KeptState, UpdatedByRows};
use crate::rows::input::Input;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{has_rule, spilled_column};
use crate::rows::program::{Names, NodeId, Program, Type};
use crate::rows::scalar::Scalar;
use flow::{Aggregation, NULL};
use packet::MaskedKey;

/// The order of the least value, or [`NULL`]. A flow's own value of a field is kept in this way too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeastValue {
    pub(crate) node: NodeId,
    pub(crate) of: Type,
}

impl KeptState for LeastValue {
    fn initial(&self) -> &'static [u64] {
        &[NULL]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] = state[0].min(other[0]);
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match state[0] {
            NULL => Scalar::Null,
            order => Scalar::of_order(order, self.of),
        }
    }

    fn values(&self) -> Type {
        self.of
    }

    fn names(&self) -> Option<Names> {
        if let Type::Name(names) = self.of { Some(names) } else { None }
    }

    fn counter(&self) -> Option<CounterWord> {
        (self.of == Type::Unsigned).then_some(CounterWord { is_nullable: true, is_of_values: true })
    }

    fn is_of_any_rows(&self, program: &Program) -> bool {
        has_rule(self.node, Aggregation::Min, program)
    }

    fn spilled(&self, program: &Program, is_of_flows: bool) -> SpilledValue {
        match is_of_flows {
            // The group's only row has the flow's own.
            true => spilled_column(self.node, program),
            false => SpilledValue::Unknown,
        }
    }
}

impl UpdatedByRows for LeastValue {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_word_of(Input::nulls(input), |least, row| *least = (*least).min(input.ordered(row)));
    }
}
