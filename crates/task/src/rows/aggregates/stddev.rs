//! `stddev(x)`: the standard deviation of the population.

use super::meaning::value_text;
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateSql, InLanguage, KeptState,
    Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::Dialect;
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, unit_of_value};
use crate::rows::program::{NodeId, Type};
use crate::rows::scalar::Scalar;
use model::ColumnKind;
use packet::MaskedKey;

/// `stddev(x)`.
pub(crate) struct DeviationAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for DeviationAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "stddev",
        usage: "stddev(VALUE)",
        meaning: "the standard deviation",
        forms: &[(Signature::Value(ValueUse::Computed, Aggregate::Deviation), ResultKind::OfValue)],
        is_nullable: true,
    });
}

impl AggregateMeaning for DeviationAggregate<'_> {
    fn name(&self) -> &'static str {
        "stddev"
    }

    fn text(&self) -> String {
        format!("stddev({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a number, a mean and a sum of squares"
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn state_words(&self) -> u64 {
        3
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        let value = sql.row_value(self.of);
        match sql.dialect() {
            Dialect::DuckDb | Dialect::Spark => format!("stddev_pop({value})"),
            Dialect::ClickHouse => format!("stddevPopStable({value})"),
        }
    }
}

impl AggregatePlanning for DeviationAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        Ok(MomentWords { node: planner.number(self.of)? }.into())
    }

    fn column(&self, _: Type) -> (ColumnKind, &'static str) {
        (ColumnKind::Float, unit_of_value(self.of))
    }

    fn not_sketched(&self) -> &'static str {
        "means and deviations are of flows, not of packets"
    }
}

/// The number of values, their mean, and the sum of squared distances from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MomentWords {
    node: NodeId,
}

impl KeptState for MomentWords {
    fn initial(&self) -> &'static [u64] {
        &[0, 0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    /// Merges the moments of two sets of values (Chan, Golub and LeVeque, COMPSTAT 1982).
    #[inline]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        if other[0] == 0 {
            return;
        }
        let (ours, theirs) = (state[0] as f64, other[0] as f64);
        let all = ours + theirs;
        let distance = f64::from_bits(other[1]) - f64::from_bits(state[1]);
        let mean = f64::from_bits(state[1]) + distance * theirs / all;
        let squares =
            f64::from_bits(state[2]) + f64::from_bits(other[2]) + distance * distance * ours * theirs / all;
        state[0] += other[0];
        (state[1], state[2]) = (mean.to_bits(), squares.to_bits());
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match state[0] {
            0 => Scalar::Null,
            count => Scalar::float((f64::from_bits(state[2]) / count as f64).max(0.0).sqrt()),
        }
    }

    fn is_flat(&self) -> bool {
        false
    }
}

impl UpdatedByRows for MomentWords {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| add_moment(state, input.float(row)));
    }
}

/// Adds a value to a number of values, their mean, and the sum of squared distances from it (Welford, Technometrics 1962).
#[inline(always)]
fn add_moment(state: &mut [u64], value: f64) {
    let (mean, squares) = (f64::from_bits(state[1]), f64::from_bits(state[2]));
    state[0] += 1;
    let distance = value - mean;
    let mean = mean + distance / state[0] as f64;
    state[1] = mean.to_bits();
    state[2] = (squares + distance * (value - mean)).to_bits();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_parts_are_those_of_the_whole() {
        let values: Vec<f64> = (0..200u32).map(|n| f64::from(n * n % 1009) + 1e6).collect();
        let mut whole = [0; 3];
        values.iter().for_each(|value| add_moment(&mut whole, *value));
        for cut in [0, 1, 77, 200] {
            let mut parts = [[0; 3]; 2];
            values[..cut].iter().for_each(|value| add_moment(&mut parts[0], *value));
            values[cut..].iter().for_each(|value| add_moment(&mut parts[1], *value));
            let [mut one, other] = parts;
            let kept = MomentWords { node: 0 };
            kept.merge(&mut one, &other);
            let [expected, merged] = [whole, one].map(|state| {
                let Scalar::Float(number) = kept.value(&state) else { panic!("no number") };
                number
            });
            let mean = values.iter().sum::<f64>() / 200.0;
            let direct = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
            assert!((merged / direct - 1.0).abs() < 1e-12 && (expected / direct - 1.0).abs() < 1e-12);
        }
    }
}
