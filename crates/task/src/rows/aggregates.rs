//! The aggregates: each has a file of its own, and a line here.

mod added_rows;
mod avg;
mod avg_round_trip;
mod count;
mod count_distinct;
mod entropy;
mod kept_state;
mod max;
mod min;
mod quantile;
mod registered;
mod stddev;
mod sum;
mod words;

pub(crate) use added_rows::AddedRows;
pub(crate) use avg::TotalAndNumber;
pub(crate) use avg_round_trip::TotalQuotient;
pub(crate) use count::RowCount;
pub(crate) use count_distinct::DistinctValues;
pub(crate) use entropy::ValueWeights;
pub(crate) use kept_state::{BesideState, Collected, CounterWord, KeptState, UpdatedByRows};
pub(crate) use max::GreatestValue;
pub(crate) use min::LeastValue;
pub(crate) use quantile::KeptSamples;
pub(crate) use stddev::MomentWords;
pub(crate) use sum::RunningTotal;
pub(crate) use words::total;

use super::owners::Owners;
use super::scalar::Scalar;
use packet::MaskedKey;
use registered::registered;

registered! {
    count keeps RowCount;
    count_distinct keeps DistinctValues;
    sum keeps RunningTotal;
    min keeps LeastValue;
    max keeps GreatestValue;
    avg keeps TotalAndNumber;
    stddev keeps MomentWords;
    quantile keeps KeptSamples;
    entropy keeps ValueWeights;
    avg_round_trip keeps TotalQuotient;
}

/// An aggregate and its place in the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedAggregate {
    pub(crate) kind: Kind,
    /// Its first word.
    pub(crate) at: usize,
    /// The [pass](super::site::Site::passes) whose rows it reads.
    pub(crate) pass: usize,
}
