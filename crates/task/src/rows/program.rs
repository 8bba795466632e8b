//! Programs that queries compute of each row: expressions and conditions as one graph without repetitions, so that queries of a set share
//! what they have in common.

mod condition;

use crate::plan_context::PlanContext;
use crate::query::{Comparison, Expression, Operator};
use crate::row_refusal::Refusal;
use flow::{Aggregation, Derived, DerivedField, Field, RowValue};
use geo::Databases;
use std::net::IpAddr;
use std::sync::Arc;

/// Members of the flow key that are read from keys; the others are values of rows too.
pub(crate) const KEY_MEMBERS: [&str; 5] = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"];

/// The number of a node in a [`RowProgram`].
pub(crate) type NodeId = usize;

/// The type of a node's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Counters, numbers of headers, times: at most 2⁶³.
    Unsigned,
    /// Results of integer arithmetic.
    Signed,
    Float,
    Boolean,
    /// Numbers of names.
    Name(NameTable),
}

/// Names by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameTable {
    Protocol,
    Service,
    /// The two letters of a country are the bytes of its number.
    Country,
}

/// Both letters of the countries that there can be.
const LETTERS: std::ops::RangeInclusive<u8> = b'A'..=b'Z';

impl NameTable {
    /// The name with this number.
    pub(crate) fn name(self, number: u64) -> String {
        match self {
            Self::Protocol => u8::try_from(number).map_or_else(|_| number.to_string(), flow::protocol_name),
            Self::Service => {
                let service = usize::try_from(number).ok().and_then(|number| flow::SERVICES.get(number));
                service.map_or_else(String::new, |(_, name)| (*name).to_owned())
            }
            Self::Country => number.to_be_bytes()[6..].iter().map(|letter| char::from(*letter)).collect(),
        }
    }

    /// The numbers of the names that pass a test.
    fn numbers(self, test: impl Fn(&str) -> bool) -> Vec<u64> {
        let mut all: Vec<u64> = match self {
            Self::Protocol => (0..256).collect(),
            Self::Service => (0..flow::SERVICES.len() as u64).collect(),
            Self::Country => {
                let number = |first, second| u16::from_be_bytes([first, second]).into();
                LETTERS.flat_map(|first| LETTERS.map(move |second| number(first, second))).collect()
            }
        };
        all.retain(|number| test(&self.name(*number)));
        all
    }
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constant {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Boolean(bool),
}

/// A number in a row's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKeyMember {
    Protocol,
    SourcePort,
    DestinationPort,
}

/// Addresses of one family that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkMask {
    pub(crate) is_v6: bool,
    pub(crate) mask: u128,
    pub(crate) bits: u128,
}

impl NetworkMask {
    /// The network that an address and a length denote.
    pub(crate) fn new((address, length): (IpAddr, u8)) -> Self {
        let (bits, length) = match address {
            // In keys, IPv4's addresses are mapped ones.
            IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), 96 + u32::from(length.min(32))),
            IpAddr::V6(v6) => (v6.to_bits(), u32::from(length.min(128))),
        };
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        Self { is_v6: address.is_ipv6(), mask, bits: bits & mask }
    }
}

/// A step: its value for each row. Its operands have smaller numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProgramNode {
    Column(RowValue),
    Member(RowKeyMember),
    Duration,
    /// The field `forward`: 1 where the source is the lesser endpoint, else 0.
    Forward,
    /// The protocol, as the number of its name.
    ProtocolName,
    /// The number of the service's name.
    Service,
    /// The autonomous system of the address of this side.
    Asn(usize),
    /// The number of the country of the address of this side.
    Country(usize),
    Constant(Constant),
    Cast(NodeId, Type),
    /// Both operands are signed or both floating point numbers.
    Arithmetic(NodeId, Operator, NodeId),
    /// Both operands have one type.
    Compare(NodeId, Comparison, NodeId),
    /// The value is one of these, in order.
    IsIn(NodeId, Vec<u64>),
    /// An address of these sides (source, destination) is in one of the networks.
    InNetworks(&'static [usize], Vec<NetworkMask>),
    /// Source and destination are the same address.
    SameAddress,
    /// The flow without its direction matches one of these patterns of `like`, as text.
    Conversation(Vec<String>),
    IsNull(NodeId),
    Not(NodeId),
    And(Vec<NodeId>),
    Or(Vec<NodeId>),
}

/// The nodes of queries, each once, after their operands.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowProgram {
    nodes: Vec<(ProgramNode, Type)>,
    /// The databases in which [`ProgramNode::Asn`] and [`ProgramNode::Country`] are found.
    places: Option<Arc<Databases>>,
}

const BOTH: &[usize] = &[0, 1];

impl RowProgram {
    /// A node.
    pub(crate) fn node(&self, id: NodeId) -> &ProgramNode {
        &self.nodes[id].0
    }

    /// The type of a node's values.
    pub(crate) fn type_of(&self, id: NodeId) -> Type {
        self.nodes[id].1
    }

    /// Returns true if a node's value is computed from a column of rows.
    pub(crate) fn reads(&self, id: NodeId, column: RowValue) -> bool {
        match self.node(id) {
            ProgramNode::Column(own) => *own == column,
            ProgramNode::Cast(of, _) => self.reads(*of, column),
            ProgramNode::Arithmetic(one, _, other) => self.reads(*one, column) || self.reads(*other, column),
            _ => false,
        }
    }

    /// The databases of autonomous systems and countries, where a node needs them.
    pub(crate) fn places(&self) -> Option<&Databases> {
        self.places.as_deref()
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the nodes in their order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &ProgramNode> {
        self.nodes.iter().map(|(node, _)| node)
    }

    /// The columns of rows that the nodes read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = RowValue> + '_ {
        self.nodes
            .iter()
            .flat_map(|(node, _)| match node {
                // Rows without packets have no part in what all packets have.
                ProgramNode::Column(column) if Field::aggregation_of(*column) == Aggregation::Same => {
                    [Some(*column), Some(RowValue::Packets)]
                }
                ProgramNode::Column(column) => [Some(*column), None],
                ProgramNode::Duration => [Some(RowValue::First), Some(RowValue::Last)],
                _ => [None; 2],
            })
            .flatten()
    }

    fn add(&mut self, node: ProgramNode, of: Type) -> NodeId {
        let known = self.nodes.iter().position(|(known, known_type)| *known == node && *known_type == of);
        known.unwrap_or_else(|| {
            self.nodes.push((node, of));
            self.nodes.len() - 1
        })
    }

    fn constant(&mut self, constant: Constant) -> NodeId {
        let of = match constant {
            Constant::Unsigned(_) => Type::Unsigned,
            Constant::Signed(_) => Type::Signed,
            Constant::Float(_) => Type::Float,
            Constant::Boolean(_) => Type::Boolean,
        };
        self.add(ProgramNode::Constant(constant), of)
    }

    /// A column of rows.
    pub(crate) fn column(&mut self, column: RowValue) -> NodeId {
        let of = if matches!(column, RowValue::Statistic(_)) { Type::Float } else { Type::Unsigned };
        self.add(ProgramNode::Column(column), of)
    }

    /// A field that is a number or a name.
    pub(crate) fn field(&mut self, field: &str, site: &PlanContext) -> Result<NodeId, Refusal> {
        let name = flow::resolve_alias(field).to_ascii_lowercase();
        let member = match name.as_str() {
            "protocol" => Some(RowKeyMember::Protocol),
            "src_port" => Some(RowKeyMember::SourcePort),
            "dst_port" => Some(RowKeyMember::DestinationPort),
            _ => None,
        };
        if let Some(member) = member {
            site.needs(&name)?;
            return Ok(self.add(ProgramNode::Member(member), Type::Unsigned));
        }
        let Some(derived) = DerivedField::named(&name) else {
            return site.column(field).map(|of| self.column(of));
        };
        derived.from.iter().try_for_each(|from| match Field::named(from).map(|from| from.aggregation) {
            Some(Aggregation::Key) => site.needs(from),
            _ => site.column(from).map(|_| ()),
        })?;
        if derived.derived.needs_geo() {
            let places = site.geo.as_ref().ok_or_else(|| Refusal::NeedsGeo { field: name.clone() })?;
            self.places = Some(Arc::clone(places));
        }
        let packets = RowValue::Packets;
        Ok(match derived.derived {
            Derived::Duration => self.add(ProgramNode::Duration, Type::Unsigned),
            Derived::PacketRate => {
                let packets = self.column(packets);
                self.per_second(packets)
            }
            Derived::BitRate => {
                let bytes = self.column(RowValue::Bytes);
                let eight = self.constant(Constant::Signed(8));
                let bits = self.arithmetic(bytes, Operator::Multiply, eight);
                self.per_second(bits)
            }
            Derived::BytesPerPacket => {
                let (bytes, packets) = (self.column(RowValue::Bytes), self.column(packets));
                self.arithmetic(bytes, Operator::Divide, packets)
            }
            Derived::Forward => self.add(ProgramNode::Forward, Type::Unsigned),
            Derived::ProtocolName => self.add(ProgramNode::ProtocolName, Type::Name(NameTable::Protocol)),
            Derived::Service => self.add(ProgramNode::Service, Type::Name(NameTable::Service)),
            Derived::Asn(side) => self.add(ProgramNode::Asn(side), Type::Unsigned),
            Derived::Country(side) => self.add(ProgramNode::Country(side), Type::Name(NameTable::Country)),
            // A plan has the field's own name instead.
            Derived::OfFlow => return Err(Refusal::WrongType { field: field.to_owned() }),
            Derived::Address | Derived::Port | Derived::Conversation => {
                return Err(Refusal::WrongType { field: field.to_owned() });
            }
        })
    }

    /// A number per second of a row's duration.
    fn per_second(&mut self, number: NodeId) -> NodeId {
        let duration = self.add(ProgramNode::Duration, Type::Unsigned);
        let second = self.constant(Constant::Float(1e9));
        let seconds = self.arithmetic(duration, Operator::Divide, second);
        self.arithmetic(number, Operator::Divide, seconds)
    }

    /// An expression of rows.
    pub(crate) fn expression(
        &mut self,
        expression: &Expression,
        site: &PlanContext,
    ) -> Result<NodeId, Refusal> {
        Ok(match expression {
            Expression::Field(field) => self.field(field, site)?,
            Expression::Integer(number) => self.constant(Constant::Signed(*number)),
            Expression::Float(number) => self.constant(Constant::Float(*number)),
            Expression::Text(text) => return Err(Refusal::Misplaced { what: format!("the text '{text}'") }),
            Expression::Arithmetic(left, operator, right) => {
                let [left, right] = [self.number(left, site)?, self.number(right, site)?];
                self.arithmetic(left, *operator, right)
            }
            Expression::Aggregate(_) => {
                return Err(Refusal::Misplaced {
                    what: "an aggregate of rows, where a value of one row is needed,".to_owned(),
                });
            }
        })
    }

    /// An expression whose values are numbers.
    pub(crate) fn number(&mut self, expression: &Expression, site: &PlanContext) -> Result<NodeId, Refusal> {
        let node = self.expression(expression, site)?;
        match (self.type_of(node), expression) {
            (Type::Unsigned | Type::Signed | Type::Float, _) => Ok(node),
            (_, Expression::Field(field)) => Err(Refusal::WrongType { field: field.clone() }),
            _ => Err(Refusal::Misplaced { what: "a value that is no number".to_owned() }),
        }
    }

    fn arithmetic(&mut self, left: NodeId, operator: Operator, right: NodeId) -> NodeId {
        let is_float = |of: Type| of == Type::Float;
        let is_float =
            operator == Operator::Divide || is_float(self.type_of(left)) || is_float(self.type_of(right));
        let of = if is_float { Type::Float } else { Type::Signed };
        let (left, right) = (self.cast(left, of), self.cast(right, of));
        self.add(ProgramNode::Arithmetic(left, operator, right), of)
    }

    /// Adds a node with the same values as another type of numbers.
    fn cast(&mut self, node: NodeId, to: Type) -> NodeId {
        let constant = match (self.node(node), to) {
            _ if self.type_of(node) == to => return node,
            (ProgramNode::Constant(Constant::Signed(number)), Type::Float) => {
                Some(Constant::Float(*number as f64))
            }
            (ProgramNode::Constant(Constant::Signed(number)), Type::Unsigned) => {
                u64::try_from(*number).ok().map(Constant::Unsigned)
            }
            _ => None,
        };
        match constant {
            Some(constant) => self.constant(constant),
            None => self.add(ProgramNode::Cast(node, to), to),
        }
    }

    fn compare(&mut self, left: NodeId, comparison: Comparison, right: NodeId) -> NodeId {
        let types = [left, right].map(|node| self.type_of(node));
        let is_natural = |node| match self.node(node) {
            ProgramNode::Constant(Constant::Signed(number)) => *number >= 0,
            _ => self.type_of(node) == Type::Unsigned,
        };
        let to = match types {
            _ if types.contains(&Type::Float) => Type::Float,
            // A column is compared as it is.
            _ if is_natural(left) && is_natural(right) => Type::Unsigned,
            _ => Type::Signed,
        };
        let (left, right) = (self.cast(left, to), self.cast(right, to));
        self.add(ProgramNode::Compare(left, comparison, right), Type::Boolean)
    }
}
