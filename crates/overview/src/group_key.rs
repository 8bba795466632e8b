//! The key of a group.

use model::view::now::RankingBy;
use model::{Column, ColumnKind, Item, Value, network};
use packet::KeySpec;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of IPv4-mapped addresses (RFC 4291, section 2.5.5.2), without its last 32 bits.
const MAPPED: u128 = 0xffff;

/// The key of a group. A message has its members, from which its kind follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GroupKey {
    /// An address.
    Address(IpAddr),
    /// Two addresses, the lesser one first.
    Pair(IpAddr, IpAddr),
    /// The number of a protocol, and a port.
    Port(u8, u16),
    /// The number of a protocol.
    Protocol(u8),
    /// The addresses and ports of a flow, source first, and the number of its protocol.
    Flow([IpAddr; 2], [u16; 2], u8),
}

impl GroupKey {
    /// Creates the key of two addresses in either order.
    pub fn pair(one: IpAddr, other: IpAddr) -> Self {
        Self::Pair(one.min(other), one.max(other))
    }

    /// Returns true if a ranking of a kind has such keys.
    pub(crate) fn is_of(self, by: RankingBy) -> bool {
        match by {
            RankingBy::Source | RankingBy::Destination => matches!(self, Self::Address(_)),
            RankingBy::Conversation => matches!(self, Self::Pair(one, other) if one <= other),
            RankingBy::Port => matches!(self, Self::Port(..)),
            RankingBy::Protocol => matches!(self, Self::Protocol(_)),
        }
    }

    /// Returns the key with other addresses.
    #[must_use]
    pub fn map(self, f: &mut dyn FnMut(IpAddr) -> IpAddr) -> Self {
        match self {
            Self::Address(address) => Self::Address(f(address)),
            Self::Pair(one, other) => Self::pair(f(one), f(other)),
            Self::Flow(addresses, ports, protocol) => Self::Flow(addresses.map(f), ports, protocol),
            Self::Port(..) | Self::Protocol(_) => self,
        }
    }
}

/// Returns the address of a number: of those that are mapped, the one of IPv4.
pub(crate) fn address(number: u128) -> IpAddr {
    match number >> 32 == MAPPED {
        true => Ipv4Addr::from_bits(number as u32).into(),
        false => Ipv6Addr::from_bits(number).into(),
    }
}

/// Returns the two words of a number, the upper half first.
#[inline(always)]
pub(crate) fn words(number: u128) -> [u64; 2] {
    [(number >> 64) as u64, number as u64]
}

/// Returns the number of two words.
pub(crate) fn number([upper, lower]: [u64; 2]) -> u128 {
    u128::from(upper) << 64 | u128::from(lower)
}

/// The parts of the keys of flows that groups are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyShape {
    /// The lengths of the prefixes of sources, of IPv4 and IPv6; `None` where keys have no source.
    pub source: Option<[u8; 2]>,
    /// The lengths of the prefixes of destinations.
    pub destination: Option<[u8; 2]>,
    /// True if keys have both ports and the protocol.
    pub has_ports: bool,
    /// True if keys have the protocol.
    pub has_protocol: bool,
    /// The reason why there are no rows to make groups of; `None` where there are.
    pub without_rows: Option<&'static str>,
}

impl KeyShape {
    /// Returns the shape of the keys of a definition of flows.
    pub fn from_spec(key: &KeySpec) -> Self {
        let has = |name: &str| key.columns().any(|column| column == name);
        let prefix = |name: &str| has(name).then(|| key.prefix_lengths(name).unwrap_or([32, 128]));
        Self {
            source: prefix("src_addr"),
            destination: prefix("dst_addr"),
            has_ports: ["src_port", "dst_port", "protocol"].into_iter().all(has),
            has_protocol: has("protocol"),
            without_rows: None,
        }
    }

    /// Returns why there is no ranking of a kind; `None` where there is one.
    pub fn refuses(&self, by: RankingBy) -> Option<&'static str> {
        match by {
            _ if self.without_rows.is_some() => self.without_rows,
            RankingBy::Source if self.source.is_none() => {
                Some("flows have no source address: add src_addr to --key")
            }
            RankingBy::Destination if self.destination.is_none() => {
                Some("flows have no destination address: add dst_addr to --key")
            }
            RankingBy::Conversation if self.source.is_none() || self.source != self.destination => {
                Some("a conversation needs both addresses, of one length: add src_addr and dst_addr to --key")
            }
            RankingBy::Port if !self.has_ports => {
                Some("flows have no ports: add src_port, dst_port and protocol to --key")
            }
            RankingBy::Protocol if !self.has_protocol => {
                Some("flows have no protocol: add protocol to --key")
            }
            _ => None,
        }
    }

    /// Returns the names of the members of keys of a kind.
    pub(crate) fn members(by: RankingBy) -> &'static [&'static str] {
        match by {
            RankingBy::Source => &["src_addr"],
            RankingBy::Destination => &["dst_addr"],
            RankingBy::Conversation => &["addr_a", "addr_b"],
            RankingBy::Port => &["protocol", "port"],
            RankingBy::Protocol => &["protocol"],
        }
    }

    /// Returns a key with the names of its members.
    pub(crate) fn items(&self, by: RankingBy, key: GroupKey) -> Vec<Item> {
        let lengths = match by {
            RankingBy::Destination => self.destination,
            _ => self.source,
        };
        let members = Self::members(by);
        let of = |name: &str, value: Value| item(name, value);
        match key {
            GroupKey::Address(address) => vec![of(members[0], place(address, lengths))],
            GroupKey::Pair(one, other) => ["addr_a", "addr_b"]
                .into_iter()
                .zip([one, other])
                .map(|(name, address)| of(name, place(address, lengths)))
                .collect(),
            GroupKey::Port(protocol, port) => vec![of("protocol", protocol.into()), of("port", port.into())],
            GroupKey::Protocol(protocol) => vec![of("protocol", protocol.into())],
            GroupKey::Flow([source, destination], [source_port, destination_port], protocol) => {
                let mut items = vec![
                    of("src_addr", place(source, self.source)),
                    of("dst_addr", place(destination, self.destination)),
                ];
                if self.has_ports {
                    items.push(of("src_port", source_port.into()));
                    items.push(of("dst_port", destination_port.into()));
                }
                items.extend(self.has_protocol.then(|| of("protocol", protocol.into())));
                items
            }
        }
    }
}

/// Returns a value with its name.
pub(crate) fn item(name: &str, value: Value) -> Item {
    let kind = match value {
        Value::Address(_) => ColumnKind::Address,
        Value::Prefix { .. } => ColumnKind::Prefix,
        Value::Text(_) => ColumnKind::Text,
        _ => ColumnKind::Unsigned,
    };
    Item { column: Column::new(name, kind, ""), value }
}

/// Returns an address, or the prefix that stands in its place.
fn place(address: IpAddr, lengths: Option<[u8; 2]>) -> Value {
    let [v4, v6] = lengths.unwrap_or([32, 128]);
    let (length, whole) = if address.is_ipv4() { (v4, 32) } else { (v6, 128) };
    match length == whole {
        true => Value::Address(address),
        false => Value::Prefix { address: network(address, length), length },
    }
}
