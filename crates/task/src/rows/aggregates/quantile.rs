//! `quantile(x, share)`: the least value that this share of the values does not exceed.

use super::added_rows::places;
use super::meaning::value_text;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, BesideState, Collected,
    InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::Dialect;
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::group_value::GroupValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, kind_of_picked};
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use model::ColumnKind;
use packet::MaskedKey;

/// `quantile(x, share)`.
pub(crate) struct QuantileAggregate<'a> {
    pub(crate) of: &'a Expression,
    pub(crate) share: &'a f64,
}

impl InLanguage for QuantileAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "quantile",
        usage: "quantile(VALUE, SHARE), such as quantile(duration, 0.99)",
        meaning: "the value below which this share lies",
        forms: &[(Signature::ValueAndShare(ValueUse::Computed, Aggregate::Quantile), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for QuantileAggregate<'_> {
    fn name(&self) -> &'static str {
        "quantile"
    }

    fn text(&self) -> String {
        format!("quantile({}, {})", value_text(self.of), self.share)
    }

    fn partial(&self) -> &'static str {
        "the values"
    }

    fn exactness(&self) -> Option<&'static str> {
        Some("quantiles: exact within one window of one node, a sketch when merged")
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn picked(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn state_words(&self) -> u64 {
        3
    }

    fn value_words(&self, flows: u64, _: &dyn Fn(&crate::query::GroupField) -> u64) -> u64 {
        flows
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        let (dialect, value, share) = (sql.dialect(), sql.row_value(self.of), *self.share);
        let place = format!("greatest(1, ceil({} * count({value})))", dialect.float(share));
        match dialect {
            Dialect::DuckDb => format!("quantile_disc({value}, {share})"),
            // Those of its own that are exact round the place otherwise.
            Dialect::ClickHouse => {
                format!("if(count({value}) = 0, NULL, arraySort(groupArray({value}))[toUInt64({place})])")
            }
            Dialect::Spark => {
                format!("try_element_at(array_sort(collect_list({value})), CAST({place} AS INT))")
            }
        }
    }
}

impl AggregatePlanning for QuantileAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let share = self.share;
        if !(0.0..=1.0).contains(share) {
            return Err(Refusal::Misplaced {
                what: format!("the share {share}, which is not between 0 and 1,"),
            });
        }
        let node = planner.number(self.of)?;
        Ok(KeptSamples { list: planner.list(node), node, of: planner.type_of(node) }.into())
    }

    fn column(&self, values: Type) -> (ColumnKind, &'static str) {
        kind_of_picked(self.of, values)
    }

    fn value(&self, number: usize) -> GroupValue {
        // Of one list of values there may be several quantiles.
        GroupValue::Quantile(number, *self.share)
    }

    fn not_sketched(&self) -> &'static str {
        "a query's quantile is that of flows, a structure's that of packets, which --task quantiles answers"
    }
}

/// The number of rows whose values had no memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeptSamples {
    /// The number of the list of values. Quantiles of the same values have one list.
    list: usize,
    node: NodeId,
    of: Type,
}

impl KeptState for KeptSamples {
    fn initial(&self) -> &'static [u64] {
        &[0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    #[inline]
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
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let AddedRows { at, rows, inputs, owners, collections, .. } = rows;
        if let (Some(input), Some(collections)) = (&inputs[0], collections) {
            collections.lists[self.list].add(input, places(rows), owners, at);
        }
    }
}
