//! `max(x)`: the greatest value.

use super::meaning::value_text;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql,
    InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, has_rule, kind_of_picked};
use crate::rows::program::{NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use flow::Aggregation;
use model::ColumnKind;
use packet::MaskedKey;

/// `max(x)`.
pub(crate) struct MaxAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for MaxAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "max",
        usage: "max(VALUE)",
        meaning: "the greatest",
        forms: &[(Signature::Value(ValueUse::Compared, Aggregate::Max), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for MaxAggregate<'_> {
    fn name(&self) -> &'static str {
        "max"
    }

    fn text(&self) -> String {
        format!("max({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "the greatest value"
    }

    fn role(&self) -> AggregateRole {
        AggregateRole::Greatest
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn picked(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn reads_each_packet(&self, field: &str) -> bool {
        self.of.reads(field)
    }

    fn state_words(&self) -> u64 {
        1
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        format!("max({})", sql.row_value(self.of))
    }
}

impl AggregatePlanning for MaxAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let node = planner.compared(self.of)?;
        Ok(GreatestValue { node, of: planner.type_of(node) }.into())
    }

    fn column(&self, values: Type) -> (ColumnKind, &'static str) {
        kind_of_picked(self.of, values)
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        let part = || NodeParts::one(Aggregate::Max(self.of.clone().into()), MergeRule::Greatest);
        (!matches!(values, Type::Name(_))).then(part)
    }

    fn takes_packets(&self) -> bool {
        true
    }

    fn joins_fields(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "least and greatest values are of flows, not of packets"
    }
}

/// The order of the greatest value, and whether there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GreatestValue {
    node: NodeId,
    of: Type,
}

impl KeptState for GreatestValue {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    #[inline]
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

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        has_rule(self.node, Aggregation::Max, program)
    }
}

impl UpdatedByRows for GreatestValue {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| {
            state[0] = state[0].max(input.ordered(row));
            state[1] = 1;
        });
    }
}
