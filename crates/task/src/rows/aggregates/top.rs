//! `top(n, x)` and `top(n, x, counter)`: the values of a field that weigh most, and what all others weigh. Its state is that of `entropy`.

use super::entropy::ValueWeights;
use super::{
    AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, InLanguage, Kind, ResultKind,
    SideStep, Signature,
};
use crate::Dialect;
use crate::query::{Aggregate, GroupField, ValueWeight};
use crate::row_refusal::Refusal;
use crate::rows::plan::PlanBuilder;
use crate::rows::program::Type;
use model::ColumnKind;

/// `top(n, x, counter)`.
pub(crate) struct TopAggregate<'a> {
    pub(crate) most: &'a usize,
    pub(crate) of: &'a GroupField,
    pub(crate) weight: &'a ValueWeight,
}

impl InLanguage for TopAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "top",
        usage: "top(NUMBER, FIELD) or top(NUMBER, FIELD, ITEM)",
        meaning: "the values of a field that weigh most, by bytes or by another item",
        forms: &[
            (
                Signature::NumberAndField(|most, of| {
                    Aggregate::Top(most, of, ValueWeight::Sum("total_byte".to_owned()))
                }),
                ResultKind::List,
            ),
            (Signature::NumberFieldAndWeight(Aggregate::Top), ResultKind::List),
        ],
        is_nullable: true,
    });
}

impl AggregateMeaning for TopAggregate<'_> {
    fn name(&self) -> &'static str {
        "top"
    }

    fn text(&self) -> String {
        format!("top({}, {})", self.most, self.of.field)
    }

    fn partial(&self) -> &'static str {
        "the weight of each value"
    }

    fn heaviest(&self) -> Option<(usize, &GroupField, &ValueWeight)> {
        Some((*self.most, self.of, self.weight))
    }

    fn reads_each_packet(&self, field: &str) -> bool {
        self.of.field == field
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn value_words(&self, flows: u64, words: &dyn Fn(&GroupField) -> u64) -> u64 {
        flows.max(*self.most as u64).saturating_mul(words(self.of) + 2)
    }

    /// Returns NULL: the side step computes the value.
    fn sql(&self, _: &dyn AggregateSql) -> String {
        "NULL".to_owned()
    }

    fn side_step(&self, sql: &dyn AggregateSql) -> Option<SideStep<'_>> {
        let list = heaviest(sql.dialect(), *self.most, shown(self.of));
        Some(SideStep {
            step: "the values that weigh most",
            of: self.of,
            weight: self.weight.sql(sql),
            // What has no weight is neither one of the heaviest nor one of the others.
            needs_weight: true,
            result: format!("{list} AS result, count(*) AS number, sum(weight) AS total"),
        })
    }
}

impl AggregatePlanning for TopAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        ValueWeights::planned(self.of, self.weight, planner)
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Heaviest, self.weight.unit())
    }

    fn takes_packets(&self) -> bool {
        true
    }

    fn not_sketched(&self) -> &'static str {
        "top(…) is an item of a row: group by its field, with a limit"
    }
}

/// Returns a value as it is shown in a list: the bytes of addresses as hexadecimal digits.
fn shown(of: &GroupField) -> &'static str {
    match of.field.as_str() {
        "src_addr" | "dst_addr" | "addr" => "hex(value)",
        _ => "value",
    }
}

/// Returns the values that weigh most as a list, of those of a table with `value` and `weight`. `shown`: the value as it is to be shown.
fn heaviest(dialect: Dialect, most: usize, shown: &str) -> String {
    match dialect {
        Dialect::DuckDb => format!(
            "list(struct_pack(value := {shown}, weight := weight) ORDER BY weight DESC, value)[1:{most}]"
        ),
        Dialect::ClickHouse => format!(
            "arraySlice(arraySort(item -> (-toInt64(item.2), item.1), groupArray(({shown}, weight))), 1, {most})"
        ),
        Dialect::Spark => format!(
            "slice(array_sort(collect_list(named_struct('less', -weight, 'value', {shown}, 'weight', weight))), 1, {most})"
        ),
    }
}
