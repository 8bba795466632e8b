//! The parts of which a flow key consists (`--key`): fields, and prefixes of addresses.
//!
//! A key of any choice is the whole key under a mask, so that it costs one `and` per word and no branch.

use crate::transport::TransportWord;
use std::fmt;

/// A field that a key may have.
struct KeyField {
    name: &'static str,
    bit: u8,
    /// The bits of the word after the addresses.
    rest: u64,
}

const SRC_ADDR: u8 = 1;
const DST_ADDR: u8 = 2;
const PROTOCOL: u8 = 4;
const SRC_PORT: u8 = 8;
const DST_PORT: u8 = 16;
const VLAN: u8 = 32;
const IP_TOS: u8 = 64;

/// The bytes of a port in the word, wherever the processor has them.
const fn ports(ports: [u8; 4]) -> u64 {
    u32::from_ne_bytes(ports) as u64
}

const KEY_FIELDS: [KeyField; 7] = [
    KeyField { name: "src_addr", bit: SRC_ADDR, rest: 0 },
    KeyField { name: "dst_addr", bit: DST_ADDR, rest: 0 },
    KeyField { name: "protocol", bit: PROTOCOL, rest: 0xff << 32 },
    KeyField { name: "src_port", bit: SRC_PORT, rest: ports([0xff, 0xff, 0, 0]) },
    KeyField { name: "dst_port", bit: DST_PORT, rest: ports([0, 0, 0xff, 0xff]) },
    KeyField { name: "vlan", bit: VLAN, rest: 0xffff << 48 },
    KeyField { name: "ip_tos", bit: IP_TOS, rest: 0xff << 40 },
];

/// Fields and prefix lengths of a run's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// Relevant bits in a [`crate::KeyV4`].
    pub(crate) v4: [u64; 2],
    /// Relevant bits in a [`crate::KeyV6`].
    pub(crate) v6: [u64; 5],
    fields: u8,
}

impl KeySpec {
    /// The specification without a field: all keys are equal.
    pub const NOTHING: Self = Self { v4: [0; 2], v6: [0; 5], fields: 0 };

    /// Addresses, ports, protocol.
    pub const FIVE_TUPLE: Self = {
        let rest = ports([0xff; 4]) | 0xff << 32;
        let all = u64::MAX;
        Self {
            v4: [all, rest],
            v6: [all, all, all, all, rest],
            fields: SRC_ADDR | DST_ADDR | PROTOCOL | SRC_PORT | DST_PORT,
        }
    };

    /// Reads `src_addr/24/64,dst_port`: names of fields; after an address the length of its prefix, for IPv4
    /// and, after a second slash, for IPv6 (without it, the same share of 128 bits).
    ///
    /// # Errors
    /// Returns what is wrong and where, with the known fields.
    pub fn parse(text: &str) -> Result<Self, KeySpecError> {
        let mut spec = Self { v4: [0; 2], v6: [0; 5], fields: 0 };
        let mut start = 0;
        for item in text.split(',') {
            let blanks = item.len() - item.trim_start().len();
            let at = start + blanks;
            spec.add(item.trim())
                .map_err(|reason| KeySpecError::new(text, at, item.trim().len(), &reason))?;
            start += item.len() + 1;
        }
        Ok(spec)
    }

    fn add(&mut self, item: &str) -> Result<(), String> {
        let mut parts = item.split('/');
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err("a field is missing here".to_owned());
        }
        let meant = flow::resolve_alias(name);
        let field = KEY_FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(meant));
        let field = field.ok_or_else(|| format!("no key has a field '{name}'"))?;
        if self.fields & field.bit != 0 {
            return Err(format!("{} stands here twice", field.name));
        }
        let lengths: Vec<&str> = parts.collect();
        if field.rest != 0 && !lengths.is_empty() {
            return Err(format!("{} has no prefix: only addresses do", field.name));
        }
        let length = |text: &str, most: u32| match text.parse::<u32>() {
            Ok(bits) if bits <= most => Ok(bits),
            _ => Err(format!("'{text}' is no prefix length from 0 to {most}")),
        };
        let (v4, v6) = match lengths[..] {
            [] => (32, 128),
            [v4] => (length(v4, 32)?, length(v4, 32)? * 4),
            [v4, v6] => (length(v4, 32)?, length(v6, 128)?),
            _ => return Err("an address has two prefix lengths at most: /IPV4/IPV6".to_owned()),
        };
        self.fields |= field.bit;
        self.v4[1] |= field.rest;
        self.v6[4] |= field.rest;
        if field.rest == 0 {
            self.add_prefix(usize::from(field.bit == DST_ADDR), v4, v6);
        }
        Ok(())
    }

    /// Keys of these members: prefixes of addresses, each with as many bits in either family, ports, protocol. Source first.
    pub(crate) fn from_members(prefixes: [Option<u8>; 2], ports: [bool; 2], has_protocol: bool) -> Self {
        let mut spec = Self::NOTHING;
        let has = [prefixes[0].is_some(), prefixes[1].is_some(), has_protocol, ports[0], ports[1]];
        for (field, _) in KEY_FIELDS.iter().zip(has).filter(|(_, has)| *has) {
            spec.fields |= field.bit;
            spec.v4[1] |= field.rest;
            spec.v6[4] |= field.rest;
        }
        for (side, bits) in prefixes.iter().enumerate() {
            spec.add_prefix(side, bits.unwrap_or(0).min(32).into(), bits.unwrap_or(0).min(128).into());
        }
        spec
    }

    /// The leading bits of the address of a side count: `v4` of IPv4, `v6` of IPv6.
    fn add_prefix(&mut self, side: usize, v4: u32, v6: u32) {
        let mask = u32::MAX.checked_shl(32 - v4).unwrap_or(0).to_be_bytes();
        let mut bytes = [0; 8];
        bytes[4 * side..][..4].copy_from_slice(&mask);
        self.v4[0] |= u64::from_ne_bytes(bytes);
        let mask = u128::MAX.checked_shl(128 - v6).unwrap_or(0).to_be_bytes();
        for half in 0..2 {
            let bytes: [u8; 8] = std::array::from_fn(|i| mask[half * 8 + i]);
            self.v6[side * 2 + half] = u64::from_ne_bytes(bytes);
        }
    }

    /// The fields that a key may have.
    pub fn field_names() -> impl Iterator<Item = &'static str> + Clone {
        KEY_FIELDS.iter().map(|field| field.name)
    }

    /// The key's columns, in the order of the fields.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        let fields = self.fields;
        KEY_FIELDS.iter().filter(move |field| fields & field.bit != 0).map(|field| field.name)
    }

    /// The first field that `part` requires and that keys of this kind lack, or have with a shorter prefix.
    /// If there is none, [`crate::MaskedKey::masked`] makes keys of `part` of these.
    pub fn lacks(&self, part: &Self) -> Option<&'static str> {
        let is_lacking = |field: &KeyField| {
            let (asked, ours) = (part.address(field), self.address(field));
            self.fields & field.bit == 0
                || field.rest == 0 && asked.iter().zip(ours).any(|(asked, ours)| asked & !ours != 0)
        };
        let mut asked = KEY_FIELDS.iter().filter(|field| part.fields & field.bit != 0);
        asked.find(|field| is_lacking(field)).map(|field| field.name)
    }

    /// Bits that count of an address: of IPv4, and of both halves of IPv6.
    fn address(&self, field: &KeyField) -> [u64; 3] {
        let word = usize::from(field.bit == DST_ADDR);
        let v4 = self.v4[0].to_ne_bytes();
        let half: [u8; 4] = std::array::from_fn(|i| v4[4 * word + i]);
        [u64::from(u32::from_ne_bytes(half)), self.v6[2 * word], self.v6[2 * word + 1]]
    }

    /// Returns the parts of the key as [`KeySpec::parse`] reads them: prefixes with their lengths.
    pub fn parts(&self) -> Vec<String> {
        let part = |name: &str| match self.prefix_lengths(name) {
            None | Some([32, 128]) => name.to_owned(),
            Some([v4, v6]) => format!("{name}/{v4}/{v6}"),
        };
        self.columns().map(part).collect()
    }

    /// The prefix lengths of the address `name` in keys, of IPv4 and of IPv6; `None` if keys lack this
    /// address.
    pub fn prefix_lengths(&self, name: &str) -> Option<[u8; 2]> {
        let field = KEY_FIELDS.iter().find(|field| field.name == name && field.rest == 0)?;
        let bits = self.address(field).map(|word| word.count_ones() as u8);
        (self.fields & field.bit != 0).then_some([bits[0], bits[1] + bits[2]])
    }

    /// Keys of one of its members alone, with its prefix; `None` if there is no such member.
    pub fn only(&self, name: &str) -> Option<Self> {
        let field = KEY_FIELDS.iter().find(|field| field.name == name && self.fields & field.bit != 0)?;
        let mut spec = Self { fields: field.bit, ..Self::NOTHING };
        if field.rest == 0 {
            let word = usize::from(field.bit == DST_ADDR);
            let side = if word == 0 {
                [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]
            } else {
                [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]
            };
            spec.v4[0] = self.v4[0] & u64::from_ne_bytes(side);
            spec.v6[2 * word..][..2].copy_from_slice(&self.v6[2 * word..][..2]);
        } else {
            (spec.v4[1], spec.v6[4]) = (field.rest, field.rest);
        }
        Some(spec)
    }

    /// Returns the specification of all that either of the two requires.
    #[must_use]
    pub fn with(&self, more: &Self) -> Self {
        Self {
            v4: std::array::from_fn(|word| self.v4[word] | more.v4[word]),
            v6: std::array::from_fn(|word| self.v6[word] | more.v6[word]),
            fields: self.fields | more.fields,
        }
    }

    /// Bits of an IPv4 key of this kind: there are no more such keys than two to their power.
    pub fn bits(&self) -> u32 {
        self.v4.iter().map(|word| word.count_ones()).sum()
    }

    /// True for the 5-tuple with whole addresses, the key of RFC 7011's usual flow.
    pub fn is_five_tuple(&self) -> bool {
        *self == Self::FIVE_TUPLE
    }

    /// Returns the reason why the two directions cannot be matched by this key; `None` if they can.
    pub fn why_not_symmetric(&self) -> Option<&'static str> {
        let both = |a: u8, b: u8| (self.fields & a == 0) == (self.fields & b == 0);
        let same_prefix = self.v4[0] == self.v4[0].rotate_left(32) && self.v6[..2] == self.v6[2..4];
        if !self.has_src_addr() || !self.has_dst_addr() || !same_prefix {
            return Some("the key must have src_addr and dst_addr with the same prefix");
        }
        (!both(SRC_PORT, DST_PORT)).then_some("the key must have both ports or none")
    }

    /// Returns true if keys have an address. Without addresses, IPv4 and IPv6 packets have the same keys.
    #[inline(always)]
    pub fn has_addresses(&self) -> bool {
        self.fields & (SRC_ADDR | DST_ADDR) != 0
    }

    pub(crate) fn has_src_addr(&self) -> bool {
        self.fields & SRC_ADDR != 0
    }

    pub(crate) fn has_dst_addr(&self) -> bool {
        self.fields & DST_ADDR != 0
    }

    pub(crate) fn has_src_port(&self) -> bool {
        self.fields & SRC_PORT != 0
    }

    pub(crate) fn has_dst_port(&self) -> bool {
        self.fields & DST_PORT != 0
    }

    pub(crate) fn has_protocol(&self) -> bool {
        self.fields & PROTOCOL != 0
    }

    pub(crate) fn has_vlan(&self) -> bool {
        self.fields & VLAN != 0
    }

    pub(crate) fn has_ip_tos(&self) -> bool {
        self.fields & IP_TOS != 0
    }
}

impl Default for KeySpec {
    fn default() -> Self {
        Self::FIVE_TUPLE
    }
}

/// The word after the addresses never has other bits than these.
const _: () = {
    let mut all = 0;
    let mut i = 0;
    while i < KEY_FIELDS.len() {
        assert!(all & KEY_FIELDS[i].rest == 0);
        all |= KEY_FIELDS[i].rest;
        i += 1;
    }
    assert!(all == u64::MAX && size_of::<TransportWord>() == 8);
};

/// An invalid key expression: the expression, the place in it, and what is possible instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpecError(String);

impl KeySpecError {
    fn new(text: &str, at: usize, length: usize, reason: &str) -> Self {
        let before = " ".repeat(text[..at].chars().count());
        let under = "^".repeat(text[at..at + length].chars().count().max(1));
        let names: Vec<_> = KeySpec::field_names().collect();
        Self(format!(
            "{reason}\n  {text}\n  {before}{under}\nfields: {}; addresses with prefixes as src_addr/24/64",
            names.join(", ")
        ))
    }
}

impl fmt::Display for KeySpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeySpecError {}
