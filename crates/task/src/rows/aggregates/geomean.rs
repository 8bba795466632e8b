//! `geomean(x)`: the geometric mean.

use super::meaning::value_text;
use super::words::add_float;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, InLanguage, KeptState,
    Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::query::{Aggregate, Expression, Operator};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, unit_of_value};
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use model::ColumnKind;
use packet::MaskedKey;

/// `geomean(x)`: e to the mean of the logarithms. It is 0 where a value is 0, and null where one is negative.
///
/// The sum of logarithms is exact up to floating point: its last digits depend on the order of rows and of merged parts. Of a million
/// flows, two orders differ by less than 10⁻⁸ of the value (n ⋅ 2⁻⁵³ ⋅ ln 2⁶⁴ on either side), and by 10⁻¹² as a rule.
pub(crate) struct GeometricMeanAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for GeometricMeanAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "geomean",
        usage: "geomean(VALUE)",
        meaning: "the geometric mean",
        forms: &[(Signature::Value(ValueUse::Computed, Aggregate::GeometricMean), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for GeometricMeanAggregate<'_> {
    fn name(&self) -> &'static str {
        "geomean"
    }

    fn text(&self) -> String {
        format!("geomean({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a sum of logarithms and a number"
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        let value = sql.row_value(self.of);
        let mean = format!("exp(avg({}))", logarithm_sql(&value));
        let zero = sql.dialect().float(0.0);
        // Engines refuse the logarithm of zero and of negative numbers.
        format!("CASE WHEN min({value}) > 0 THEN {mean} WHEN min({value}) = 0 THEN {zero} END")
    }
}

impl AggregatePlanning for GeometricMeanAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        Ok(LogarithmWords { node: planner.number(self.of)?, is_sum: false }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, unit_of_value(self.of))
    }

    fn parts(&self, _: Type) -> Option<NodeParts> {
        let of = || Box::new(self.of.clone());
        let sum = (Aggregate::LogarithmSum(of()), MergeRule::total(Type::Float));
        let least = (Aggregate::Min(of()), MergeRule::Least);
        Some(NodeParts { parts: vec![sum, NodeParts::number_of(self.of), least], value: of_parts })
    }

    fn is_of_greatest_parts(&self) -> bool {
        // Of logarithms below 0 the greatest sum is that of the node that has counted least.
        false
    }

    fn not_sketched(&self) -> &'static str {
        "means are of flows, not of packets"
    }
}

/// The sum of the logarithms, which nodes compute of a geometric mean: no text of Equery has it. It is null where a value is 0 or negative.
pub(crate) struct LogarithmSumAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for LogarithmSumAggregate<'_> {}

impl AggregateMeaning for LogarithmSumAggregate<'_> {
    fn name(&self) -> &'static str {
        "geomean"
    }

    fn text(&self) -> String {
        format!("sum(ln({}))", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a sum of logarithms and a number"
    }

    fn state_words(&self) -> u64 {
        2
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        format!("sum({})", logarithm_sql(&sql.row_value(self.of)))
    }
}

impl AggregatePlanning for LogarithmSumAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        Ok(LogarithmWords { node: planner.number(self.of)?, is_sum: true }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, "")
    }

    fn not_sketched(&self) -> &'static str {
        "means are of flows, not of packets"
    }
}

/// The sum of the logarithms, and the number of values. The logarithm of 0 is −∞, of a negative number it is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogarithmWords {
    node: NodeId,
    /// The value is the sum, not the mean.
    is_sum: bool,
}

impl KeptState for LogarithmWords {
    fn initial(&self) -> &'static [u64] {
        &[0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        add_float(state, f64::from_bits(other[0]));
        state[1] += other[1];
    }

    fn value(&self, state: &[u64]) -> Scalar {
        let (sum, number) = (f64::from_bits(state[0]), state[1]);
        match number {
            _ if self.is_sum => Scalar::float(sum),
            0 => Scalar::Null,
            number => Scalar::float(rounded((sum / number as f64).exp())),
        }
    }

    fn is_flat(&self) -> bool {
        false
    }

    fn is_kept_by_group(&self) -> bool {
        false
    }
}

impl UpdatedByRows for LogarithmWords {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| {
            add_float(state, input.float(row).ln());
            state[1] += 1;
        });
    }
}

/// Returns the geometric mean of the values of all nodes, from the sum of their logarithms, their number and the least of them.
fn of_parts(parts: &[Scalar]) -> Scalar {
    let [sum, number, least] = parts else { return Scalar::Null };
    let mean = || match sum.calculate(Operator::Divide, *number) {
        Scalar::Float(mean) => Scalar::float(rounded(mean.exp())),
        Scalar::Between { value, lower, upper } => {
            let [value, lower, upper] = [value, lower, upper].map(|mean| rounded(mean.exp()));
            Scalar::Between { value, lower, upper }
        }
        other => other,
    };
    match least.interval() {
        None => *least,
        Some([_, lower, _]) if lower > 0.0 => mean(),
        Some([_, lower, upper]) if lower == upper => match lower < 0.0 {
            true => Scalar::Null,
            false => Scalar::Float(0.0),
        },
        // A node may have left out values, of which one may be 0 or negative.
        Some(_) => mean().likely().map_or(Scalar::Unknown, Scalar::unbounded),
    }
}

/// Rounds a mean to 12 significant digits. The order in which logarithms are added decides later ones, and no condition is to depend on it.
fn rounded(mean: f64) -> f64 {
    format!("{mean:.11e}").parse().unwrap_or(mean)
}

/// Returns the logarithm of a value that is positive as SQL; null of others.
fn logarithm_sql(value: &str) -> String {
    format!("ln(CASE WHEN {value} > 0 THEN {value} END)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_flows_decides_no_digit() {
        let words = LogarithmWords { node: 0, is_sum: false };
        let of = |sizes: &[f64]| {
            let mut sum = [0f64.to_bits(), 0];
            sizes.iter().for_each(|size| words.merge(&mut sum, &[size.ln().to_bits(), 1]));
            sum
        };
        for number in [1, 2, 3, 97, 1000, 4096] {
            for size in [1.0, 48.0, 100.0, 1500.0, 1e12] {
                let alike = of(&vec![size; number]);
                assert_eq!(words.value(&alike), Scalar::Float(size), "{number} times {size}");
            }
            // 50 and 200 in turn, in order, and in parts.
            let mixed: Vec<f64> = (0..2 * number).map(|at| if at % 2 == 0 { 50.0 } else { 200.0 }).collect();
            let mut sorted = mixed.clone();
            sorted.sort_by(f64::total_cmp);
            let (one, other) = sorted.split_at(number / 3);
            let mut parts = of(other);
            words.merge(&mut parts, &of(one));
            for state in [of(&mixed), of(&sorted), parts] {
                assert_eq!(words.value(&state), Scalar::Float(100.0), "{number}");
            }
        }
    }
}
