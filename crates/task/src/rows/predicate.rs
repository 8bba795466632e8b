//! Filters as far as a packet's flow key decides them.

use crate::query::Comparison;
use crate::rows::program::{Constant, NetworkMask, NodeId, ProgramNode, RowKeyMember, RowProgram, Type};
use packet::{KeyV6, MaskedKey};

/// A filter over flow keys. What depends on a flow's other values is unknown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyPredicate {
    Always(bool),
    Unknown,
    And(Vec<KeyPredicate>),
    Or(Vec<KeyPredicate>),
    Not(Box<KeyPredicate>),
    Compare(KeyNumber, Comparison, KeyNumber),
    IsIn(KeyNumber, Vec<u64>),
    InNetworks(&'static [usize], Vec<NetworkMask>),
    SameAddress,
}

/// A number that a key has, or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeyNumber {
    Member(RowKeyMember),
    Constant(i128),
}

impl KeyPredicate {
    /// The condition that is this node of a program.
    pub(crate) fn from_node(node: NodeId, program: &RowProgram) -> Self {
        let all = |nodes: &[NodeId]| nodes.iter().map(|node| Self::from_node(*node, program)).collect();
        let unknown = |predicate: Option<Self>| predicate.unwrap_or(Self::Unknown);
        match program.node(node) {
            ProgramNode::Constant(Constant::Boolean(holds)) => Self::Always(*holds),
            ProgramNode::And(parts) => Self::And(all(parts)),
            ProgramNode::Or(parts) => Self::Or(all(parts)),
            ProgramNode::Not(part) => Self::Not(Box::new(Self::from_node(*part, program))),
            ProgramNode::InNetworks(sides, networks) => Self::InNetworks(sides, networks.clone()),
            ProgramNode::SameAddress => Self::SameAddress,
            ProgramNode::Compare(left, comparison, right) => {
                let number = |node: &NodeId| KeyNumber::from_node(*node, program);
                unknown(
                    number(left)
                        .zip(number(right))
                        .map(|(left, right)| Self::Compare(left, *comparison, right)),
                )
            }
            ProgramNode::IsIn(value, list) => {
                unknown(KeyNumber::from_node(*value, program).map(|value| Self::IsIn(value, list.clone())))
            }
            ProgramNode::IsNull(value) => {
                unknown(KeyNumber::from_node(*value, program).map(|_| Self::Always(false)))
            }
            _ => Self::Unknown,
        }
    }

    /// Returns true if every key decides the predicate.
    pub(crate) fn is_decided(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::is_decided),
            Self::Not(part) => part.is_decided(),
            _ => true,
        }
    }

    /// Returns true if the predicate holds for all packets of a flow; `None` if the key does not tell.
    pub(crate) fn holds<K: MaskedKey>(&self, key: &K) -> Option<bool> {
        match self {
            Self::Always(holds) => Some(*holds),
            Self::Unknown => None,
            Self::And(parts) => junction(parts, key, false),
            Self::Or(parts) => junction(parts, key, true),
            Self::Not(part) => part.holds(key).map(|holds| !holds),
            Self::Compare(left, comparison, right) => {
                Some(comparison.holds(left.in_key(key).cmp(&right.in_key(key))))
            }
            Self::IsIn(value, list) => {
                Some(u64::try_from(value.in_key(key)).is_ok_and(|value| list.contains(&value)))
            }
            Self::InNetworks(sides, networks) => {
                let addresses = key.addresses();
                let is_v6 = K::WORDS == KeyV6::WORDS;
                let is_in = |side: &usize| {
                    let in_network = |network: &NetworkMask| {
                        network.is_v6 == is_v6 && addresses[*side] & network.mask == network.bits
                    };
                    networks.iter().any(in_network)
                };
                Some(sides.iter().any(is_in))
            }
            Self::SameAddress => {
                let [source, destination] = key.addresses();
                Some(source == destination)
            }
        }
    }
}

/// Judges a key by several parts. `decisive`: the value of a part that decides the whole.
fn junction<K: MaskedKey>(parts: &[KeyPredicate], key: &K, decisive: bool) -> Option<bool> {
    let mut is_known = true;
    for part in parts {
        match part.holds(key) {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(!decisive)
}

impl KeyNumber {
    fn from_node(node: NodeId, program: &RowProgram) -> Option<Self> {
        match program.node(node) {
            ProgramNode::Member(member) => Some(Self::Member(*member)),
            ProgramNode::Constant(Constant::Unsigned(number)) => Some(Self::Constant((*number).into())),
            ProgramNode::Constant(Constant::Signed(number)) => Some(Self::Constant((*number).into())),
            ProgramNode::Cast(node, Type::Signed) => Self::from_node(*node, program),
            _ => None,
        }
    }

    fn in_key<K: MaskedKey>(self, key: &K) -> i128 {
        match self {
            Self::Member(RowKeyMember::Protocol) => key.protocol().into(),
            Self::Member(RowKeyMember::SourcePort) => key.ports()[0].into(),
            Self::Member(RowKeyMember::DestinationPort) => key.ports()[1].into(),
            Self::Constant(number) => number,
        }
    }
}
