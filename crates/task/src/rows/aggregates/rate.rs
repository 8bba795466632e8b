//! `rate(x)`: the total per second of the time watched. Its state is that of `sum(x)`.

use super::meaning::value_text;
use super::sum::{RunningTotal, total_sql};
use super::{
    AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql, InLanguage, Kind,
    ResultKind, Signature, ValueUse,
};
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::group_value::GroupValue;
use crate::rows::plan::{PlanBuilder, unit_of_value};
use crate::rows::program::Type;
use model::ColumnKind;

/// `rate(x)`.
pub(crate) struct RateAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for RateAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "rate",
        usage: "rate(VALUE)",
        meaning: "a counter, per second of the window",
        forms: &[(Signature::Value(ValueUse::Counted, Aggregate::Rate), ResultKind::PerSecond)],
        is_nullable: true,
    });
}

impl AggregateMeaning for RateAggregate<'_> {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn text(&self) -> String {
        format!("rate({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a sum"
    }

    fn role(&self) -> AggregateRole {
        if self.of.is_never_negative() { AggregateRole::Rate } else { AggregateRole::Other }
    }

    fn is_zero_without_rows(&self) -> bool {
        true
    }

    fn is_rate(&self) -> bool {
        true
    }

    fn state_words(&self) -> u64 {
        1
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        format!("{} / {}", total_sql(self.of, sql), sql.seconds())
    }
}

impl AggregatePlanning for RateAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        RunningTotal::planned(self.of, planner)
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, per_second(unit_of_value(self.of)))
    }

    fn value(&self, number: usize) -> GroupValue {
        GroupValue::Rate(number)
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        Some(NodeParts::one(Aggregate::Sum(self.of.clone().into()), MergeRule::total(values)))
    }

    fn summed(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn not_sketched(&self) -> &'static str {
        "structures have sums: select sum(total_byte) or sum(total_count)"
    }
}

/// Returns the unit of a rate.
fn per_second(unit: &str) -> &'static str {
    match unit {
        "bytes" => "bytes/s",
        "packets" => "packets/s",
        "segments" => "segments/s",
        "holes" => "holes/s",
        "ns" => "ns/s",
        _ => "1/s",
    }
}
