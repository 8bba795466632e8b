//! `count_if(condition)`: the number of flows for which a condition holds.

use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql,
    CounterWord, InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows,
};
use crate::Dialect;
use crate::query::{Aggregate, Condition};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::input::AggregateInput;
use crate::rows::owners::Owners;
use crate::rows::plan::PlanBuilder;
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use model::ColumnKind;
use packet::MaskedKey;

/// `count_if(condition)`.
///
/// Packets that are in no row, and packets that were not sampled, may change whether the condition holds for a flow: the number has no
/// bounds then.
pub(crate) struct CountIfAggregate<'a> {
    pub(crate) condition: &'a Condition,
}

impl InLanguage for CountIfAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "count_if",
        usage: "count_if(CONDITION), such as count_if(total_byte > 1M)",
        meaning: "flows for which the condition holds",
        forms: &[(Signature::Condition(Aggregate::CountIf), ResultKind::Number("flows"))],
        is_nullable: false,
    });
}

impl AggregateMeaning for CountIfAggregate<'_> {
    fn name(&self) -> &'static str {
        "count_if"
    }

    fn text(&self) -> String {
        "count_if(…)".to_owned()
    }

    fn partial(&self) -> &'static str {
        "the number of rows for which a condition holds"
    }

    fn role(&self) -> AggregateRole {
        AggregateRole::Total
    }

    fn is_zero_without_rows(&self) -> bool {
        true
    }

    fn is_total(&self) -> bool {
        true
    }

    fn state_words(&self) -> u64 {
        1
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        let condition = sql.row_condition(self.condition);
        match sql.dialect() {
            Dialect::DuckDb | Dialect::Spark => format!("count(*) FILTER (WHERE {condition})"),
            // Null where no row has a condition that is known.
            Dialect::ClickHouse => format!("coalesce(countIf({condition}), 0)"),
        }
    }
}

impl AggregatePlanning for CountIfAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        Ok(ConditionCount { condition: planner.row_condition(self.condition)? }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Unsigned, "flows")
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        Some(NodeParts::one(Aggregate::CountIf(self.condition.clone().into()), MergeRule::total(values)))
    }

    fn counts_flows(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "structures count packets, and count_if(…) counts flows"
    }
}

/// The number of rows for which a condition is true: not where it is unknown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConditionCount {
    condition: NodeId,
}

impl KeptState for ConditionCount {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.condition), None]
    }

    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        Scalar::Integer(state[0].into())
    }

    fn values(&self) -> Type {
        Type::Boolean
    }

    fn counter(&self) -> Option<CounterWord> {
        Some(CounterWord { is_nullable: false, is_of_values: true })
    }

    fn is_total(&self) -> bool {
        true
    }
}

impl UpdatedByRows for ConditionCount {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(AggregateInput::Unsigned(holds)) = &rows.inputs[0] else { return };
        let holds: &[u64] = holds.values();
        rows.each_word(move |number, row| *number += holds[row]);
    }
}
