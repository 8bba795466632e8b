//! Expressions and conditions of groups.

use super::overflow::SpilledValue;
use super::program::NetworkMask;
use super::scalar::Scalar;
use crate::query::{Comparison, Operator};
use model::Value;
use std::net::IpAddr;

/// A value of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupValue {
    /// The value of an aggregate, by its number.
    Aggregate(usize),
    /// The value of an aggregate per second of the time watched.
    Rate(usize),
    /// A quantile of an aggregate's values: the share that it does not exceed.
    Quantile(usize, f64),
    /// A grouped field that is a number, by its number.
    Member(usize),
    Constant(Scalar),
    Arithmetic(Box<GroupValue>, Operator, Box<GroupValue>),
}

/// A condition on a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupCondition {
    And(Vec<GroupCondition>),
    Or(Vec<GroupCondition>),
    Not(Box<GroupCondition>),
    Compare(GroupValue, Comparison, GroupValue),
    IsNull(GroupValue),
    /// A grouped field is null.
    IsMemberNull(usize),
    /// A grouped address is in one of the networks.
    InNetworks(usize, Vec<NetworkMask>),
    /// A grouped text is one of these, letters of either case equal.
    IsText(usize, Vec<String>),
}

/// A group from which values are computed.
pub(crate) trait Group {
    /// The value of an aggregate.
    fn aggregate(&self, number: usize) -> Scalar;
    /// A quantile of an aggregate's values.
    fn quantile(&self, number: usize, share: f64) -> Scalar;
    /// The value of a grouped field; `None` if it is not known.
    fn member(&self, number: usize) -> Option<Value>;
    /// The flow that the group is, without its direction; null of other groups.
    fn conversation(&self) -> Value {
        Value::Null
    }
    /// The seconds watched; `None` if that is not known.
    fn seconds(&self) -> Option<f64>;
    /// The value of an aggregate per second.
    fn rate(&self, number: usize) -> Scalar {
        let seconds = self.seconds().map_or(Scalar::Unknown, Scalar::Float);
        self.aggregate(number).calculate(Operator::Divide, seconds)
    }
}

impl GroupValue {
    /// True if it depends on how long the window was watched.
    pub(crate) fn has_rate(&self) -> bool {
        match self {
            Self::Rate(_) => true,
            Self::Arithmetic(left, _, right) => left.has_rate() || right.has_rate(),
            _ => false,
        }
    }

    /// True if packets without a place tell all that it depends on.
    pub(crate) fn is_bounded(&self, spilled: &[SpilledValue]) -> bool {
        self.is_of(&|number| spilled[number] != SpilledValue::Unknown)
    }

    /// True if it is computed of aggregates of which this holds, and of nothing else but constants and fields that are grouped by.
    pub(crate) fn is_of(&self, holds: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Self::Aggregate(number) | Self::Rate(number) => holds(*number),
            Self::Quantile(..) => false,
            Self::Member(_) | Self::Constant(_) => true,
            Self::Arithmetic(left, _, right) => left.is_of(holds) && right.is_of(holds),
        }
    }

    pub(crate) fn evaluate(&self, group: &impl Group) -> Scalar {
        match self {
            Self::Aggregate(number) => group.aggregate(*number),
            Self::Rate(number) => group.rate(*number),
            Self::Quantile(number, share) => group.quantile(*number, *share),
            Self::Member(number) => match group.member(*number) {
                Some(Value::Unsigned(number) | Value::Time(number)) => Scalar::Integer(number.into()),
                Some(_) => Scalar::Null,
                None => Scalar::Unknown,
            },
            Self::Constant(constant) => *constant,
            Self::Arithmetic(left, operator, right) => {
                left.evaluate(group).calculate(*operator, right.evaluate(group))
            }
        }
    }
}

impl GroupCondition {
    /// Returns true if the group fulfils the condition; `None` if that is not known.
    pub(crate) fn holds(&self, group: &impl Group) -> Option<bool> {
        match self {
            Self::And(parts) => {
                let not = parts.iter().try_fold(true, |all, part| match part.holds(group) {
                    Some(false) => Err(()),
                    Some(true) => Ok(all),
                    None => Ok(false),
                });
                not.map_or(Some(false), |all| all.then_some(true))
            }
            Self::Or(parts) => {
                let not = parts.iter().try_fold(true, |none, part| match part.holds(group) {
                    Some(true) => Err(()),
                    Some(false) => Ok(none),
                    None => Ok(false),
                });
                not.map_or(Some(true), |none| none.then_some(false))
            }
            Self::Not(part) => part.holds(group).map(|holds| !holds),
            Self::Compare(left, comparison, right) => {
                left.evaluate(group).compare(*comparison, right.evaluate(group))
            }
            Self::IsNull(value) => value.evaluate(group).is_null(),
            Self::IsMemberNull(number) => group.member(*number).map(|member| member == Value::Null),
            Self::InNetworks(number, networks) => {
                let Some(Value::Address(address) | Value::Prefix { address, .. }) = group.member(*number)
                else {
                    return None;
                };
                let bits = match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
                    IpAddr::V6(v6) => v6.to_bits(),
                };
                Some(
                    networks.iter().any(|network| {
                        network.is_v6 == address.is_ipv6() && bits & network.mask == network.bits
                    }),
                )
            }
            Self::IsText(number, texts) => match group.member(*number) {
                Some(Value::Text(own)) => Some(texts.iter().any(|text| text.eq_ignore_ascii_case(&own))),
                Some(Value::Conversation(own)) => {
                    let own = own.to_string();
                    Some(texts.iter().any(|text| text.eq_ignore_ascii_case(&own)))
                }
                _ => None,
            },
        }
    }
}
