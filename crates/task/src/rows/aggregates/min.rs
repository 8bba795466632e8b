//! `min(x)`: the least value.

use super::meaning::value_text;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql,
    CounterWord, InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::input::AggregateInput;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, has_rule, kind_of_picked, spilled_column};
use crate::rows::program::{NameTable, NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use flow::{Aggregation, NULL};
use model::ColumnKind;
use packet::MaskedKey;

/// `min(x)`.
pub(crate) struct MinAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for MinAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "min",
        usage: "min(VALUE)",
        meaning: "the least",
        forms: &[(Signature::Value(ValueUse::Compared, Aggregate::Min), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for MinAggregate<'_> {
    fn name(&self) -> &'static str {
        "min"
    }

    fn text(&self) -> String {
        format!("min({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "the least value"
    }

    fn role(&self) -> AggregateRole {
        AggregateRole::Least
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
        format!("min({})", sql.row_value(self.of))
    }
}

impl AggregatePlanning for MinAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let node = planner.compared(self.of)?;
        Ok(LeastValue { node, of: planner.type_of(node) }.into())
    }

    fn column(&self, values: Type) -> (ColumnKind, &'static str) {
        kind_of_picked(self.of, values)
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        let part = || NodeParts::one(Aggregate::Min(self.of.clone().into()), MergeRule::Least);
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

    #[inline]
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

    fn names(&self) -> Option<NameTable> {
        if let Type::Name(names) = self.of { Some(names) } else { None }
    }

    fn counter(&self) -> Option<CounterWord> {
        (self.of == Type::Unsigned).then_some(CounterWord { is_nullable: true, is_of_values: true })
    }

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        has_rule(self.node, Aggregation::Min, program)
    }

    fn spilled(&self, program: &RowProgram, is_of_flows: bool) -> SpilledValue {
        match is_of_flows {
            // The group's only row has the flow's own.
            true => spilled_column(self.node, program),
            false => SpilledValue::Unknown,
        }
    }
}

impl UpdatedByRows for LeastValue {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_word_of(AggregateInput::nulls(input), |least, row| {
            *least = (*least).min(input.ordered(row))
        });
    }
}
