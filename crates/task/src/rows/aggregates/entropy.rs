//! `entropy(x)` and `entropy(x, counter)`: Shannon's entropy of the values of a field, bits.

use super::added_rows::places;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, BesideState, Collected,
    InLanguage, KeptState, Kind, ResultKind, SideStep, Signature, UpdatedByRows,
};
use crate::query::{Aggregate, Expression, GroupField, ValueWeight};
use crate::row_refusal::Refusal;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, is_total, reads_only_keys};
use crate::rows::program::{NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use crate::rows::values::ValueOf;
use model::ColumnKind;
use packet::MaskedKey;

/// `entropy(x, counter)`.
pub(crate) struct EntropyAggregate<'a> {
    pub(crate) of: &'a GroupField,
    pub(crate) weight: &'a ValueWeight,
}

impl InLanguage for EntropyAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "entropy",
        usage: "entropy(FIELD) or entropy(FIELD, COUNTER)",
        meaning: "Shannon's entropy in bits, weighted by packets or by another counter",
        forms: &[
            (
                Signature::Field(|of| Aggregate::Entropy(of, ValueWeight::Sum("total_count".to_owned()))),
                ResultKind::Number("bits"),
            ),
            (Signature::FieldAndWeight(Aggregate::Entropy), ResultKind::Number("bits")),
        ],
        is_nullable: true,
    });
}

impl AggregateMeaning for EntropyAggregate<'_> {
    fn name(&self) -> &'static str {
        "entropy"
    }

    fn text(&self) -> String {
        format!("entropy({})", self.of.field)
    }

    fn partial(&self) -> &'static str {
        "the weight of each value"
    }

    fn reads_each_packet(&self, field: &str) -> bool {
        self.of.field == field
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn value_words(&self, flows: u64, words: &dyn Fn(&GroupField) -> u64) -> u64 {
        flows.saturating_mul(words(self.of) + 2)
    }

    /// Returns NULL: the side step computes the value.
    fn sql(&self, _: &dyn AggregateSql) -> String {
        "NULL".to_owned()
    }

    fn side_step(&self, sql: &dyn AggregateSql) -> Option<SideStep<'_>> {
        Some(SideStep {
            step: "the entropy of values",
            of: self.of,
            weight: self.weight.sql(sql),
            needs_weight: false,
            // DuckDB refuses the logarithm of zero. The last bits depend on the order of the sum.
            result: "abs(round(log2(nullif(sum(weight), 0)) - sum(weight * log2(nullif(weight, 0))) / sum(weight), 9)) AS result"
                .to_owned(),
        })
    }
}

impl AggregatePlanning for EntropyAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        ValueWeights::planned(self.of, self.weight, planner)
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, "bits")
    }

    fn takes_packets(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "it is counted otherwise"
    }
}

/// The weight of rows whose values had no memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueWeights {
    /// The number of the set of values.
    set: usize,
    of: ValueOf,
    /// The weight of a row; `None` where each has the same.
    weight: Option<NodeId>,
}

impl ValueWeights {
    /// Returns the weights of a field's values, as `entropy` and `top` keep them.
    pub(super) fn planned(
        of: &GroupField,
        weight: &ValueWeight,
        planner: &mut PlanBuilder<'_>,
    ) -> Result<Kind, Refusal> {
        let of = planner.counted(of)?;
        let weight = match weight {
            ValueWeight::Rows => None,
            ValueWeight::Sum(field) => Some(planner.summed(&Expression::field(field.clone()))?),
        };
        Ok(Self { set: planner.set(of, Some(weight)), of, weight }.into())
    }
}

impl KeptState for ValueWeights {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [self.of.node(), self.weight]
    }

    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
    }

    fn value(&self, _: &[u64]) -> Scalar {
        Scalar::Null
    }

    fn value_of_group(&self, state: &[u64], beside: &BesideState<'_>) -> Scalar {
        let BesideState { entropies, aggregate, group, .. } = *beside;
        entropies.map_or(Scalar::Null, |entropies| entropies.estimate(aggregate, group, state[0]))
    }

    fn collected(&self) -> Collected {
        Collected::Weights(self.set, self.of)
    }

    fn doubtful(&self) -> Option<usize> {
        Some(0)
    }

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        reads_only_keys(&self.of, program) && self.weight.is_some_and(|weight| is_total(weight, program))
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
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let AddedRows { at, batch, rows, inputs, owners, collections } = rows;
        let Some(collections) = collections else { return };
        let [input, weight] = inputs.each_ref().map(Option::as_ref);
        collections.sets[self.set].weigh(self.of, batch, input, weight, places(rows), owners, at);
    }
}
