//! `avg(rtt_avg)` of all round trips, as reports have it: no text of Equery has it.

use super::{
    AddedRows, AggregateMeaning, AggregatePlanning, AggregateSql, InLanguage, KeptState, Kind, UpdatedByRows,
};
use crate::row_refusal::Refusal;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, is_total};
use crate::rows::program::{NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use flow::RowValue;
use model::ColumnKind;
use packet::MaskedKey;

/// `avg(rtt_avg)` of all round trips.
pub(crate) struct MeanRoundTripAggregate;

impl InLanguage for MeanRoundTripAggregate {}

impl AggregateMeaning for MeanRoundTripAggregate {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn text(&self) -> String {
        "avg(rtt_avg)".to_owned()
    }

    fn partial(&self) -> &'static str {
        "a sum and a number"
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn sql(&self, _: &dyn AggregateSql) -> String {
        "avg(rtt_avg)".to_owned()
    }
}

impl AggregatePlanning for MeanRoundTripAggregate {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        planner.needs_column("rtt_avg")?;
        let total = planner.column(RowValue::RttSum);
        Ok(TotalQuotient { total, number: planner.column(RowValue::RttCount) }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Unsigned, "ns")
    }

    fn also_reads(&self) -> Option<&'static str> {
        Some("rtt_avg")
    }

    fn takes_packets(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "round trips are not counted by structures"
    }
}

/// Totals of two columns, of which the mean is the quotient.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TotalQuotient {
    total: NodeId,
    number: NodeId,
}

impl KeptState for TotalQuotient {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.total), Some(self.number)]
    }

    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[0] += other[0];
        state[1] += other[1];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        state[0].checked_div(state[1]).map_or(Scalar::Null, |mean| Scalar::Integer(mean.into()))
    }

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        is_total(self.total, program) && is_total(self.number, program)
    }
}

impl UpdatedByRows for TotalQuotient {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let [Some(total), number] = rows.inputs else { return };
        rows.each_state_of(total.nulls(), |state, row| {
            state[0] += total.ordered(row);
            state[1] += number.as_ref().map_or(0, |number| number.ordered(row));
        });
    }
}
