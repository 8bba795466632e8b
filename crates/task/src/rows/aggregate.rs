//! Aggregates of groups: what each keeps of the rows of a group, as words of the group's state.

use super::input::{float_of_order, signed_of_order};
use super::program::{NodeId, Type};
use super::scalar::Scalar;
use flow::NULL;
use packet::KeySpec;

/// An aggregate and its place in the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedAggregate {
    pub(crate) kind: Kind,
    /// The place of the aggregate's first word in the state.
    pub(crate) at: usize,
    /// A row that lacks the value leaves the total of its group not known. Without this it adds nothing.
    pub(crate) needs_all: bool,
    /// The [pass](crate::rows::Site::passes) whose rows it reads.
    pub(crate) pass: usize,
}

/// The kind of an aggregate: what is kept of the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The number of rows.
    Count,
    /// The total: one word, of signed integers two.
    Sum(NodeId, Type),
    /// The order of the least value, or [`NULL`].
    Least(NodeId, Type),
    /// The order of the greatest value, and whether there is one.
    Greatest(NodeId, Type),
    /// The total in two words, and the number of values.
    Mean(NodeId, Type),
    /// The number of values, their mean, and the sum of squared distances from it.
    Deviation(NodeId),
    /// Totals of two columns, of which the mean is the quotient.
    Quotient(NodeId, NodeId),
    /// Values counted, and rows whose values may or may not be new. Contains the number of the set of values.
    Distinct(usize, ValueOf),
    /// The weight of rows whose values had no memory. Contains the number of the set of values.
    Weights(usize, ValueOf, Option<NodeId>),
    /// Rows whose values had no memory. Contains the number of the list of values.
    Samples(usize, NodeId, Type),
}

/// The values that are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueOf {
    Key(KeySpec),
    /// The 5-tuple without its direction.
    Conversation,
    Node(NodeId),
}

impl Kind {
    /// The words with which a group begins.
    pub(crate) fn initial(&self) -> &'static [u64] {
        match self {
            Self::Count | Self::Weights(..) | Self::Samples(..) => &[0],
            Self::Sum(_, Type::Signed) => &[0, 0],
            Self::Sum(..) => &[0],
            Self::Least(..) => &[NULL],
            Self::Greatest(..) | Self::Quotient(..) | Self::Distinct(..) => &[0, 0],
            Self::Mean(..) | Self::Deviation(_) => &[0, 0, 0],
        }
    }

    /// The nodes that it reads.
    pub(crate) fn inputs(&self) -> [Option<NodeId>; 2] {
        match self {
            Self::Count => [None; 2],
            Self::Sum(node, _)
            | Self::Least(node, _)
            | Self::Greatest(node, _)
            | Self::Mean(node, _)
            | Self::Deviation(node)
            | Self::Samples(_, node, _) => [Some(*node), None],
            Self::Quotient(one, other) => [Some(*one), Some(*other)],
            Self::Distinct(_, of) => [of.node(), None],
            Self::Weights(_, of, weight) => [of.node(), *weight],
        }
    }

    /// A row of the group lacks the value of a total that needs all.
    pub(crate) fn set_unknown(&self, state: &mut [u64]) {
        match self {
            Self::Sum(_, Type::Signed) => put_signed(state, UNKNOWN),
            Self::Sum(_, Type::Float) => state[0] = f64::NAN.to_bits(),
            Self::Sum(..) => state[0] = NULL,
            _ => {}
        }
    }

    /// Returns true if a group's state alone tells the value.
    pub(crate) fn is_simple(&self) -> bool {
        !matches!(self, Self::Distinct(..) | Self::Weights(..) | Self::Samples(..))
    }

    /// Returns true if values of several groups add up to that of all.
    pub(crate) fn is_total(&self) -> bool {
        matches!(self, Self::Count | Self::Sum(..))
    }

    /// Adds a state to another. What values are counted of is left to their sets, except for what is uncertain.
    pub(crate) fn merge(&self, state: &mut [u64], other: &[u64]) {
        match self {
            Self::Count | Self::Sum(_, Type::Unsigned | Type::Name(_) | Type::Boolean) => {
                state[0] = total(state[0], other[0]);
            }
            Self::Sum(_, Type::Signed) => add_known(state, signed(other)),
            Self::Sum(_, Type::Float) => add_float(state, f64::from_bits(other[0])),
            Self::Least(..) => state[0] = state[0].min(other[0]),
            Self::Greatest(..) => {
                state[0] = state[0].max(other[0]);
                state[1] |= other[1];
            }
            Self::Mean(_, Type::Float) => {
                add_float(state, f64::from_bits(other[0]));
                state[2] += other[2];
            }
            Self::Mean(..) => {
                add_signed(state, signed(other));
                state[2] += other[2];
            }
            Self::Deviation(_) => merge_moments(state, other),
            Self::Quotient(..) => {
                state[0] += other[0];
                state[1] += other[1];
            }
            Self::Distinct(..) => state[1] += other[1],
            Self::Weights(..) | Self::Samples(..) => state[0] += other[0],
        }
    }

    /// The value of a group, as far as its state tells it.
    pub(crate) fn value(&self, state: &[u64]) -> Scalar {
        match self {
            Self::Count | Self::Sum(_, Type::Unsigned | Type::Name(_) | Type::Boolean) => match state[0] {
                NULL => Scalar::Null,
                total => Scalar::Integer(total.into()),
            },
            Self::Sum(_, Type::Signed) => match signed(state) {
                UNKNOWN => Scalar::Null,
                total => Scalar::Integer(total),
            },
            Self::Sum(_, Type::Float) => Scalar::float(f64::from_bits(state[0])),
            Self::Least(_, of) => match state[0] {
                NULL => Scalar::Null,
                order => of_order(order, *of),
            },
            Self::Greatest(_, of) => match state[1] {
                0 => Scalar::Null,
                _ => of_order(state[0], *of),
            },
            Self::Mean(..) if state[2] == 0 => Scalar::Null,
            Self::Mean(_, Type::Float) => Scalar::float(f64::from_bits(state[0]) / state[2] as f64),
            Self::Mean(..) => Scalar::float(signed(state) as f64 / state[2] as f64),
            Self::Deviation(_) => match state[0] {
                0 => Scalar::Null,
                count => Scalar::float((f64::from_bits(state[2]) / count as f64).max(0.0).sqrt()),
            },
            Self::Quotient(..) => {
                state[0].checked_div(state[1]).map_or(Scalar::Null, |mean| Scalar::Integer(mean.into()))
            }
            Self::Distinct(..) => match (state[0], state[1]) {
                (count, 0) => Scalar::Integer(count.into()),
                (count, unsure) => distinct(count, unsure, None),
            },
            Self::Weights(..) | Self::Samples(..) => Scalar::Null,
        }
    }
}

impl ValueOf {
    fn node(self) -> Option<NodeId> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

/// A distinct count of which `unsure` rows had values for which there was no room: at least one of these is new, and at most each
/// is. `likely`: an estimate of how many are.
pub(crate) fn distinct(count: u64, unsure: u64, likely: Option<f64>) -> Scalar {
    let (lower, upper) = ((count + 1) as f64, (count + unsure) as f64);
    let value = likely.map_or(lower, |likely| (count as f64 + likely).round().clamp(lower, upper));
    Scalar::Between { value, lower, upper }
}

fn of_order(order: u64, of: Type) -> Scalar {
    match of {
        Type::Signed => Scalar::Integer(signed_of_order(order).into()),
        Type::Float => Scalar::float(float_of_order(order)),
        _ => Scalar::Integer(order.into()),
    }
}

/// A signed integer of two words, the lower one first.
pub(crate) fn signed(words: &[u64]) -> i128 {
    (u128::from(words[1]) << 64 | u128::from(words[0])).cast_signed()
}

/// Adds to such an integer. Some 2⁶⁴ values would be needed to exceed it.
#[inline(always)]
pub(crate) fn add_signed(words: &mut [u64], number: i128) {
    put_signed(words, signed(words).wrapping_add(number));
}

#[inline(always)]
fn put_signed(words: &mut [u64], number: i128) {
    let number = number.cast_unsigned();
    (words[0], words[1]) = (number as u64, (number >> 64) as u64);
}

/// A total in two words of which a value is not known. No sum of rows is this number.
const UNKNOWN: i128 = i128::MAX;

/// Adds a number to a total in two words. The sum is [`UNKNOWN`] where one of them is.
#[inline(always)]
pub(crate) fn add_known(words: &mut [u64], number: i128) {
    match [signed(words), number].contains(&UNKNOWN) {
        true => put_signed(words, UNKNOWN),
        false => add_signed(words, number),
    }
}

/// Returns the sum of two totals; [`NULL`] where one of them is not known. The totals of all rows that are read are less than that.
#[inline(always)]
pub(crate) fn total(one: u64, other: u64) -> u64 {
    if one == NULL || other == NULL { NULL } else { one + other }
}

#[inline(always)]
pub(crate) fn add_float(words: &mut [u64], number: f64) {
    words[0] = (f64::from_bits(words[0]) + number).to_bits();
}

/// Adds a value to a number of values, their mean, and the sum of squared distances from it (Welford, Technometrics 1962).
#[inline(always)]
pub(crate) fn add_moment(state: &mut [u64], value: f64) {
    let (mean, squares) = (f64::from_bits(state[1]), f64::from_bits(state[2]));
    state[0] += 1;
    let distance = value - mean;
    let mean = mean + distance / state[0] as f64;
    state[1] = mean.to_bits();
    state[2] = (squares + distance * (value - mean)).to_bits();
}

/// Merges the moments of two sets of values (Chan, Golub and LeVeque, COMPSTAT 1982).
fn merge_moments(state: &mut [u64], other: &[u64]) {
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
            merge_moments(&mut one, &other);
            let [expected, merged] = [whole, one].map(|state| {
                let Scalar::Float(number) = Kind::Deviation(0).value(&state) else { panic!("no number") };
                number
            });
            let mean = values.iter().sum::<f64>() / 200.0;
            let direct = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
            assert!((merged / direct - 1.0).abs() < 1e-12 && (expected / direct - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_of_signed_integers_carry() {
        let mut words = [0; 2];
        for number in [i64::MAX, i64::MAX, i64::MAX, -5, i64::MIN] {
            add_signed(&mut words, number.into());
        }
        assert_eq!(signed(&words), 3 * i128::from(i64::MAX) - 5 + i128::from(i64::MIN));
    }
}
