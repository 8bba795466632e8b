//! The aggregates: each has a file of its own, and its line in the registry here.

mod added_rows;
mod argument;
mod avg;
mod avg_round_trip;
mod count;
mod count_distinct;
mod count_if;
mod entropy;
mod geomean;
mod kept_state;
mod language;
mod max;
mod meaning;
mod min;
mod planning;
mod quantile;
mod rate;
mod registered;
mod stddev;
mod sum;
mod top;
mod words;

pub(crate) use added_rows::AddedRows;
pub(crate) use argument::AggregateArgument;
pub(crate) use kept_state::{BesideState, Collected, CounterWord, KeptState, UpdatedByRows};
pub use language::{AggregateFunction, ResultKind, Signature, ValueUse};
pub use meaning::{AggregateMeaning, AggregateRole, AggregateSql, SideStep};
pub(crate) use min::LeastValue;
pub(crate) use planning::AggregatePlanning;
pub(crate) use words::total;

use super::owners::Owners;
use super::scalar::Scalar;
use crate::query::{Condition, Expression, GroupField, ValueWeight};
use language::InLanguage;
use packet::MaskedKey;
use registered::registered;
use serde::{Deserialize, Serialize};

registered! {
    /// The number of rows.
    Count => count::CountAggregate keeps RowCount;
    /// The number of distinct values of a field, exact up to one million in one query and window.
    CountDistinct(of: GroupField) => count_distinct::DistinctAggregate keeps DistinctValues;
    /// The number of rows for which a condition holds.
    CountIf(condition: Box<Condition>) => count_if::CountIfAggregate keeps ConditionCount;
    /// The total.
    Sum(of: Box<Expression>) => sum::SumAggregate keeps RunningTotal;
    /// The mean.
    Mean(of: Box<Expression>) => avg::MeanAggregate keeps TotalAndNumber;
    /// The geometric mean: 0 where a value is 0, null where one is negative.
    GeometricMean(of: Box<Expression>) => geomean::GeometricMeanAggregate keeps LogarithmWords;
    /// The sum of the natural logarithms, null where a value is not positive: what nodes compute of a geometric mean.
    LogarithmSum(of: Box<Expression>) => geomean::LogarithmSumAggregate;
    /// The least value.
    Min(of: Box<Expression>) => min::MinAggregate keeps LeastValue;
    /// The greatest value.
    Max(of: Box<Expression>) => max::MaxAggregate keeps GreatestValue;
    /// The standard deviation of the population.
    Deviation(of: Box<Expression>) => stddev::DeviationAggregate keeps MomentWords;
    /// The total per second of the time watched.
    Rate(of: Box<Expression>) => rate::RateAggregate;
    /// The least value that this share (between 0 and 1) of the values does not exceed.
    Quantile(of: Box<Expression>, share: f64) => quantile::QuantileAggregate keeps KeptSamples;
    /// Shannon's entropy of the values of a field, bits.
    Entropy(of: GroupField, weight: ValueWeight) => entropy::EntropyAggregate keeps ValueWeights;
    /// The values of a field that weigh most, and what all others weigh.
    Top(most: usize, of: GroupField, weight: ValueWeight) => top::TopAggregate;
    /// The mean round-trip time of all round trips measured, nanoseconds.
    MeanRoundTrip => avg_round_trip::MeanRoundTripAggregate keeps TotalQuotient;
}

/// An aggregate and its place in the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedAggregate {
    pub(crate) kind: Kind,
    /// The first word of its state.
    pub(crate) at: usize,
    /// The [pass](crate::rows::PlanContext::passes) whose rows it reads.
    pub(crate) pass: usize,
}
