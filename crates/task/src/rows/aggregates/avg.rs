//! `avg(x)`: the mean.

use super::meaning::value_text;
use super::words::{add_float, add_signed, signed};
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, InLanguage, KeptState,
    Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::query::{Aggregate, Expression, Operator};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::input::AggregateInput;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, unit_of_value};
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use model::ColumnKind;
use packet::MaskedKey;

/// `avg(x)`.
pub(crate) struct MeanAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for MeanAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "avg",
        usage: "avg(VALUE)",
        meaning: "the mean",
        forms: &[(Signature::Value(ValueUse::Computed, Aggregate::Mean), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for MeanAggregate<'_> {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn text(&self) -> String {
        format!("avg({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a sum and a number"
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        format!("avg({})", sql.row_value(self.of))
    }
}

impl AggregatePlanning for MeanAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let node = planner.number(self.of)?;
        Ok(TotalAndNumber { node, of: planner.type_of(node) }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, unit_of_value(self.of))
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        let total = (Aggregate::Sum(self.of.clone().into()), MergeRule::total(values));
        let value = |parts: &[Scalar]| match parts {
            [total, number] => total.calculate(Operator::Divide, *number),
            _ => Scalar::Null,
        };
        Some(NodeParts { parts: vec![total, NodeParts::number_of(self.of)], value })
    }

    fn not_sketched(&self) -> &'static str {
        "means and deviations are of flows, not of packets"
    }
}

/// The total in two words, and the number of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TotalAndNumber {
    node: NodeId,
    of: Type,
}

impl KeptState for TotalAndNumber {
    fn initial(&self) -> &'static [u64] {
        &[0, 0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    #[inline]
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
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| {
            match input {
                AggregateInput::Unsigned(array) => add_signed(state, array.value(row).into()),
                AggregateInput::Signed(array) => add_signed(state, array.value(row).into()),
                AggregateInput::Float(array) => add_float(state, array.value(row)),
            }
            state[2] += 1;
        });
    }
}
