//! `count(*)`: the number of flows.

use super::words::total;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql,
    CounterWord, InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows,
};
use crate::query::Aggregate;
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::PlanBuilder;
use crate::rows::program::{NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use flow::NULL;
use model::ColumnKind;
use packet::MaskedKey;

/// `count(*)`.
pub(crate) struct CountAggregate;

impl InLanguage for CountAggregate {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "count",
        usage: "count(*), count(FIELD) or count(distinct FIELD)",
        meaning: "flows, or the values of a field",
        forms: &[
            (Signature::Rows(|| Aggregate::Count), ResultKind::Number("flows")),
            (Signature::Field(Aggregate::CountDistinct), ResultKind::Number("")),
        ],
        is_nullable: false,
    });
}

impl AggregateMeaning for CountAggregate {
    fn name(&self) -> &'static str {
        "count"
    }

    fn text(&self) -> String {
        "count(*)".to_owned()
    }

    fn partial(&self) -> &'static str {
        "the number of rows"
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

    fn sql(&self, _: &dyn AggregateSql) -> String {
        "count(*)".to_owned()
    }
}

impl AggregatePlanning for CountAggregate {
    fn plan(&self, _: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        Ok(RowCount.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Unsigned, "flows")
    }

    fn parts(&self, _: Type) -> Option<NodeParts> {
        Some(NodeParts::one(Aggregate::Count, MergeRule::total(Type::Unsigned)))
    }

    fn counts_flows(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "structures count packets, and count(*) counts flows"
    }
}

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

    #[inline(always)]
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

    fn spilled(&self, _: &RowProgram, _: bool) -> SpilledValue {
        SpilledValue::Different
    }
}

impl UpdatedByRows for RowCount {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        rows.each_word(|number, _| *number += 1);
    }
}
