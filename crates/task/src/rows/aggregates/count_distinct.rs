//! `count(x)`: the number of distinct values of a field.

use super::added_rows::places;
use super::{
    AddedRows, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql, BesideState, Collected,
    CounterWord, InLanguage, KeptState, Kind, SideStep, UpdatedByRows,
};
use crate::query::GroupField;
use crate::row_refusal::Refusal;
use crate::rows::input::AggregateInput;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, reads_only_keys};
use crate::rows::program::{NodeId, RowProgram, Type};
use crate::rows::scalar::Scalar;
use crate::rows::values::ValueOf;
use model::ColumnKind;
use packet::MaskedKey;

/// `count(x)`. Its function is that of `count(*)`.
pub(crate) struct DistinctAggregate<'a> {
    pub(crate) of: &'a GroupField,
}

impl InLanguage for DistinctAggregate<'_> {}

impl AggregateMeaning for DistinctAggregate<'_> {
    fn name(&self) -> &'static str {
        "count"
    }

    fn text(&self) -> String {
        format!("count(distinct {})", self.of.field)
    }

    fn partial(&self) -> &'static str {
        "the set of values"
    }

    fn exactness(&self) -> Option<&'static str> {
        Some("distinct values: exact up to one million, then an interval")
    }

    fn role(&self) -> AggregateRole {
        AggregateRole::Total
    }

    fn is_zero_without_rows(&self) -> bool {
        true
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

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        format!("count(DISTINCT {})", sql.grouped(self.of))
    }

    fn side_step(&self, _: &dyn AggregateSql) -> Option<SideStep<'_>> {
        matches!(self.of.field.as_str(), "addr" | "port").then(|| SideStep {
            step: "count distinct values of either end",
            of: self.of,
            weight: "1".to_owned(),
            needs_weight: false,
            result: "count(value) AS result".to_owned(),
        })
    }

    fn of_side_step(&self, result: String) -> String {
        format!("coalesce({result}, 0)")
    }
}

impl AggregatePlanning for DistinctAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let of = planner.counted(self.of)?;
        Ok(DistinctValues { set: planner.set(of, None), of }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Unsigned, "")
    }

    fn takes_packets(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "it is counted otherwise"
    }
}

/// Values counted, and rows whose values may or may not be new.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DistinctValues {
    /// The number of the set of values.
    set: usize,
    of: ValueOf,
}

impl KeptState for DistinctValues {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [self.of.node(), None]
    }

    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        state[1] += other[1];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match (state[0], state[1]) {
            (count, 0) => Scalar::Integer(count.into()),
            (count, unsure) => between(count, unsure, None),
        }
    }

    fn value_of_group(&self, state: &[u64], beside: &BesideState<'_>) -> Scalar {
        match beside.collections {
            Some(collections) if state[1] != 0 => {
                between(state[0], state[1], collections.sets[self.set].beyond(beside.group))
            }
            _ => self.value(state),
        }
    }

    fn counter(&self) -> Option<CounterWord> {
        Some(CounterWord { is_nullable: false, is_of_values: false })
    }

    fn collected(&self) -> Collected {
        Collected::Distinct(self.set, self.of)
    }

    fn doubtful(&self) -> Option<usize> {
        Some(1)
    }

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        reads_only_keys(&self.of, program)
    }

    fn spilled(&self, _: &RowProgram, _: bool) -> SpilledValue {
        match self.of {
            ValueOf::Key(_) | ValueOf::Conversation => SpilledValue::Different,
            ValueOf::Node(_) => SpilledValue::Unknown,
        }
    }
}

impl UpdatedByRows for DistinctValues {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let input = rows.inputs[0].as_ref();
        match rows.collections {
            Some(collections) => {
                let AddedRows { at, batch, rows, owners, .. } = rows;
                collections.sets[self.set].count(self.of, batch, input, places(rows), owners, at);
            }
            None => rows.each_word_of(input.and_then(AggregateInput::nulls), |number, _| *number += 1),
        }
    }
}

/// Returns a distinct count of which `unsure` rows had values for which there was no room: at least one of these is new, and at most each
/// is. `likely`: an estimate of how many are.
fn between(count: u64, unsure: u64, likely: Option<f64>) -> Scalar {
    let (lower, upper) = ((count + 1) as f64, (count + unsure) as f64);
    let value = likely.map_or(lower, |likely| (count as f64 + likely).round().clamp(lower, upper));
    Scalar::Between { value, lower, upper }
}
