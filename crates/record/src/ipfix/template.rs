//! Templates (RFC 7011, section 3.4): which elements records of one shape have, and how they are encoded.

use super::shape::{Presence, RecordShape};
use super::{FIRST_STATISTIC, OWN_REVERSE, REVERSE_ENTERPRISE, element};
use crate::FileColumn;
use crate::line::LineBuffer;
use flow::{EndReason, FieldAccessor, FlowRecord, InformationElement};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of a field whose length is given in every record.
const VARIABLE: u16 = 0xffff;
/// The bit that is set in a field's number if an enterprise number follows.
const HAS_ENTERPRISE: u16 = 0x8000;

/// A field of a template: its element, the enterprise of its number, its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Specifier {
    pub(super) number: u16,
    pub(super) enterprise: u32,
    length: u16,
}

impl Specifier {
    /// Returns a field of fixed length.
    pub(super) const fn fixed(element: InformationElement, length: u16) -> Self {
        Self { number: element.number, enterprise: element.enterprise, length }
    }

    /// Returns a field of text.
    pub(super) const fn text(element: InformationElement) -> Self {
        Self::fixed(element, VARIABLE)
    }

    /// Returns the same field for the other direction.
    fn reversed(self) -> Self {
        match self.enterprise {
            0 => Self { enterprise: REVERSE_ENTERPRISE, ..self },
            _ => Self { number: self.number | OWN_REVERSE, ..self },
        }
    }

    fn put(self, out: &mut Vec<u8>) {
        let marked = self.number | if self.enterprise == 0 { 0 } else { HAS_ENTERPRISE };
        out.extend(marked.to_be_bytes());
        out.extend(self.length.to_be_bytes());
        if self.enterprise != 0 {
            out.extend(self.enterprise.to_be_bytes());
        }
    }
}

/// A template record.
pub(super) fn definition(id: u16, fields: &[Specifier]) -> Vec<u8> {
    let mut out = [id.to_be_bytes(), (fields.len() as u16).to_be_bytes()].concat();
    fields.iter().for_each(|field| field.put(&mut out));
    out
}

/// An options template record: the first `scope` fields identify what the others describe.
pub(super) fn options_definition(id: u16, scope: u16, fields: &[Specifier]) -> Vec<u8> {
    let mut out = [id, fields.len() as u16, scope].map(u16::to_be_bytes).concat();
    fields.iter().for_each(|field| field.put(&mut out));
    out
}

/// A text as in data records (RFC 7011, section 7), truncated at a character boundary if it is too long for a
/// length octet.
pub(super) fn text(text: &str) -> Vec<u8> {
    let mut end = text.len().min(254);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    [&[end as u8], &text.as_bytes()[..end]].concat()
}

/// The way in which a field is read and encoded.
#[derive(Clone, Copy, Debug)]
enum FieldEncoding {
    /// The lowest octets of a number, as many as `octets`.
    Unsigned {
        octets: usize,
        get: fn(&FlowRecord) -> u64,
    },
    /// The lowest octets of a number that a record may lack, 0 if there is none.
    Optional {
        octets: usize,
        get: fn(&FlowRecord) -> Option<u64>,
    },
    Ipv4(fn(&FlowRecord) -> Option<IpAddr>),
    Ipv6(fn(&FlowRecord) -> Option<IpAddr>),
    Mac(fn(&FlowRecord) -> [u8; 6]),
    Nanoseconds(fn(&FlowRecord) -> u64),
    Milliseconds(fn(&FlowRecord) -> u64),
    EndReason(fn(&FlowRecord) -> EndReason),
    Float(usize),
    Node,
    /// A constant octet.
    Octet(u8),
}

impl FieldEncoding {
    fn length(self) -> u16 {
        match self {
            Self::Unsigned { octets, .. } | Self::Optional { octets, .. } => octets as u16,
            Self::Ipv4(_) => 4,
            Self::Ipv6(_) => 16,
            Self::Mac(_) => 6,
            Self::Nanoseconds(_) | Self::Milliseconds(_) | Self::Float(_) => 8,
            Self::EndReason(_) | Self::Octet(_) => 1,
            Self::Node => VARIABLE,
        }
    }

    #[inline]
    fn put(self, line: &mut LineBuffer<'_>, record: &FlowRecord, node: &[u8]) {
        let number = |line: &mut LineBuffer<'_>, octets: usize, number: u64| {
            line.piece(&(number << (64 - 8 * octets)).to_be_bytes(), octets);
        };
        match self {
            Self::Unsigned { octets, get } => number(line, octets, get(record)),
            Self::Optional { octets, get } => number(line, octets, get(record).unwrap_or(0)),
            Self::Ipv4(get) => {
                let address = match get(record) {
                    Some(IpAddr::V4(address)) => address,
                    _ => Ipv4Addr::UNSPECIFIED,
                };
                line.piece(&address.octets(), 4);
            }
            Self::Ipv6(get) => {
                let address = match get(record) {
                    Some(IpAddr::V6(address)) => address,
                    _ => Ipv6Addr::UNSPECIFIED,
                };
                line.piece(&address.octets(), 16);
            }
            Self::Mac(get) => line.piece(&get(record), 6),
            Self::Nanoseconds(get) => line.piece(&ntp(get(record)).to_be_bytes(), 8),
            Self::Milliseconds(get) => line.piece(&(get(record) / 1_000_000).to_be_bytes(), 8),
            Self::EndReason(get) => line.piece(&[get(record).number()], 1),
            Self::Float(at) => {
                line.piece(&record.statistic(at).unwrap_or(f64::NAN).to_be_bytes(), 8);
            }
            Self::Node => line.bytes(node),
            Self::Octet(octet) => line.piece(&[octet], 1),
        }
    }
}

/// Seconds since 1900 modulo 2³², and 2⁻³² of a second (RFC 7011, section 6.1.10). The fraction is rounded up: readers
/// that cut what is below a nanosecond get the same nanosecond.
fn ntp(ns: u64) -> u64 {
    /// The seconds from 1900 to 1970.
    const SECONDS: u64 = 2_208_988_800;
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let fraction = (rest << 32).div_ceil(1_000_000_000);
    (seconds + SECONDS) << 32 | fraction
}

/// The elements that carry a column in records of this shape, and how they are read.
fn items(column: &FileColumn, shape: RecordShape, presence: Presence) -> Vec<(Specifier, FieldEncoding)> {
    let with = |element: &InformationElement, item: FieldEncoding| {
        let specifier = Specifier::fixed(*element, item.length());
        (if column.is_reverse() { specifier.reversed() } else { specifier }, item)
    };
    match (column.value(), column.elements()) {
        (FieldAccessor::Unsigned(bits, get), [element, ..]) => {
            vec![with(element, FieldEncoding::Unsigned { octets: usize::from(bits / 8), get })]
        }
        (FieldAccessor::Optional(bits, get), [element, ..]) => {
            vec![with(element, FieldEncoding::Optional { octets: usize::from(bits / 8), get })]
        }
        (FieldAccessor::Address(get), [v4, v6, v4_length, v6_length]) => {
            let is_v6 = shape.is_v6(presence);
            let address =
                if is_v6 { with(v6, FieldEncoding::Ipv6(get)) } else { with(v4, FieldEncoding::Ipv4(get)) };
            let length = column.prefix_lengths().map(|[v4, v6]| match is_v6 {
                true => with(v6_length, FieldEncoding::Octet(v6)),
                false => with(v4_length, FieldEncoding::Octet(v4)),
            });
            std::iter::once(address).chain(length).collect()
        }
        (FieldAccessor::Time(get), [exact, usual, ..]) => {
            vec![with(exact, FieldEncoding::Nanoseconds(get)), with(usual, FieldEncoding::Milliseconds(get))]
        }
        (FieldAccessor::Mac(get), [element, ..]) => vec![with(element, FieldEncoding::Mac(get))],
        (FieldAccessor::EndReason(get), [element, ..]) => vec![with(element, FieldEncoding::EndReason(get))],
        (FieldAccessor::Node, [element, ..]) => vec![with(element, FieldEncoding::Node)],
        (FieldAccessor::Float(at), _) => {
            let element = InformationElement::own("", FIRST_STATISTIC + at as u16);
            vec![with(&element, FieldEncoding::Float(at))]
        }
        // A test of the field table ensures that each field has elements.
        _ => Vec::new(),
    }
}

/// The template of one shape.
#[derive(Debug)]
pub(super) struct ExportTemplate {
    pub(super) shape: RecordShape,
    pub(super) id: u16,
    /// The maximum length of a record.
    pub(super) record_len: usize,
    fields: Vec<Specifier>,
    /// Items read from the record, then from its other direction, alternately.
    groups: Vec<(bool, Vec<FieldEncoding>)>,
}

impl ExportTemplate {
    /// `node` is the length of the node's name with its length prefix.
    pub(super) fn new(id: u16, shape: RecordShape, columns: &[FileColumn], node: usize) -> Self {
        let mut template = Self { shape, id, record_len: 0, fields: Vec::new(), groups: Vec::new() };
        for column in columns {
            let presence = Presence::from_column(column);
            if shape.has(presence) {
                for (specifier, item) in items(column, shape, presence) {
                    template.add(column.is_reverse(), specifier, item, node);
                }
            }
        }
        if shape.has_reverse() {
            // 1: the first packet's direction is the flow's (RFC 5103, section 6.3).
            template.add(
                false,
                Specifier::fixed(element::BIFLOW_DIRECTION, 1),
                FieldEncoding::Octet(1),
                node,
            );
        }
        if template.fields.is_empty() {
            // A template without fields would withdraw one.
            template.add(false, Specifier::fixed(element::PADDING, 1), FieldEncoding::Octet(0), node);
        }
        template
    }

    fn add(&mut self, is_reverse: bool, specifier: Specifier, item: FieldEncoding, node: usize) {
        self.record_len += if specifier.length == VARIABLE { node } else { usize::from(specifier.length) };
        self.fields.push(specifier);
        match self.groups.last_mut() {
            Some((of_group, items)) if *of_group == is_reverse => items.push(item),
            _ => self.groups.push((is_reverse, vec![item])),
        }
    }

    /// The template record.
    pub(super) fn definition(&self) -> Vec<u8> {
        definition(self.id, &self.fields)
    }

    /// Encodes a record of this template's shape; `node` is the name as encoded by [`text`].
    #[inline]
    pub(super) fn put(&self, line: &mut LineBuffer<'_>, record: &FlowRecord, node: &[u8]) {
        for (is_reverse, items) in &self.groups {
            // The shape guarantees that it exists.
            let record = if *is_reverse { record.reverse().unwrap_or(record) } else { record };
            for item in items {
                item.put(line, record, node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ntp_timestamps() {
        // RFC 5905, figure 4: 1 January 1970 is second 2,208,988,800 of the first era.
        assert_eq!(ntp(0), 2_208_988_800 << 32);
        assert_eq!(ntp(500_000_000), 2_208_988_800 << 32 | 0x8000_0000);
        // The second era begins on 7 February 2036, 06:28:16 UTC.
        assert_eq!(ntp(2_085_978_496_000_000_000), 0);
        assert_eq!(ntp(2_085_978_496_250_000_000), 0x4000_0000);
    }

    #[test]
    fn readers_get_the_same_nanosecond_however_they_round() {
        for ns in (0..1_000_000_000).step_by(997).chain([1, 2, 3, 999_999_999]) {
            let fraction = ntp(ns) & 0xffff_ffff;
            assert_eq!((fraction * 1_000_000_000) >> 32, ns, "cut");
            assert_eq!((fraction as f64 * 1e9 / 4_294_967_296.0).round() as u64, ns, "rounded");
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let long = text(&"ü".repeat(200));
        assert_eq!((long.len(), long[0]), (255, 254));
        assert!(std::str::from_utf8(&long[1..]).is_ok());
        assert_eq!(text("a"), [1, b'a']);
        let odd = text(&format!("a{}", "ü".repeat(200)));
        assert_eq!((odd.len(), odd[0]), (254, 253));
    }
}
