//! The header fields of `--headers`: a row for each. "A header field" of ARCHITECTURE.md says what a new one needs.

use crate::{Aggregation, InformationElement};

/// A field of IP headers that flows keep beyond the plain record. Its number is its place in [`HEADER`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderField {
    /// The name that columns, queries and options carry.
    pub(crate) name: &'static str,
    /// The bits of its type in every format: 8, 16 or 32.
    pub(crate) bits: u8,
    /// The way in which the values of packets are merged, which does not depend on their order: `Min`, `Max` or `Same`.
    pub(crate) aggregation: Aggregation,
    /// True if the value is an identifier.
    pub(crate) is_identifier: bool,
    /// The unit; empty where there is none.
    pub(crate) unit: &'static str,
    /// A description in one line.
    pub(crate) meaning: &'static str,
    /// The information element that carries it in IPFIX.
    pub(crate) elements: &'static [InformationElement],
    /// The standards that define it.
    pub(crate) standard: &'static str,
}

/// Table of all header fields. New ones come last: their numbers are those of the parser's values.
pub(crate) const HEADER: &[HeaderField] = &[
    HeaderField {
        name: "flow_label",
        bits: 32,
        aggregation: Aggregation::Same,
        is_identifier: true,
        unit: "",
        meaning: "IPv6 flow label that all packets have; null where they differ, and for IPv4",
        elements: &[InformationElement::registered("flowLabelIPv6", 31)],
        standard: "RFC 8200, RFC 6437",
    },
    HeaderField {
        name: "ip_ttl_min",
        bits: 8,
        aggregation: Aggregation::Min,
        is_identifier: false,
        unit: "hops",
        meaning: "least time to live or hop limit of the packets",
        elements: &[InformationElement::registered("minimumTTL", 52)],
        standard: "RFC 791, RFC 8200",
    },
    HeaderField {
        name: "ip_ttl_max",
        bits: 8,
        aggregation: Aggregation::Max,
        is_identifier: false,
        unit: "hops",
        meaning: "greatest time to live or hop limit of the packets",
        elements: &[InformationElement::registered("maximumTTL", 53)],
        standard: "RFC 791, RFC 8200",
    },
];
