//! The field table: every field of a flow record, declared once.
//!
//! CSV headers, JSON names, the Parquet schema, `--fields` and `edison fields` are all read from [`FIELDS`], so a
//! new field is one new entry.

use crate::FlowRecord;
use std::net::IpAddr;

/// How a field is read from a record, which also decides its type in every format.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An unsigned integer of 8, 16, 32 or 64 bits.
    Unsigned(u8, fn(&FlowRecord) -> u64),
    /// The same where a record may have none.
    Optional(u8, fn(&FlowRecord) -> Option<u64>),
    /// Nanoseconds since the epoch.
    Time(fn(&FlowRecord) -> u64),
    /// An IPv4 or IPv6 address.
    Address(fn(&FlowRecord) -> Option<IpAddr>),
    /// A MAC address; all zero stands for none.
    Mac(fn(&FlowRecord) -> [u8; 6]),
    /// One name of a closed set: lower-case letters and `_`.
    Name(fn(&FlowRecord) -> &'static str),
    /// The observation point's name, the same in every record of a file.
    Node,
}

impl Value {
    /// The name of the type, as `edison fields` prints it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Unsigned(bits, _) | Self::Optional(bits, _) => match bits {
                8 => "uint8",
                16 => "uint16",
                32 => "uint32",
                _ => "uint64",
            },
            Self::Time(_) => "time",
            Self::Address(_) => "address",
            Self::Mac(_) => "mac",
            Self::Name(_) | Self::Node => "text",
        }
    }

    /// Whether a record may lack the value: null in JSON and Parquet, empty in CSV.
    pub const fn nullable(&self) -> bool {
        matches!(self, Self::Optional(..) | Self::Address(_) | Self::Mac(_))
    }
}

/// What one flow's field holds once the values of several packets, or of several records, have come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregation {
    /// Part of the flow key: equal in all of them.
    Key,
    /// The first packet's.
    First,
    /// The last packet's.
    Last,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The total.
    Sum,
    /// The bits that any of them set.
    Or,
    /// The same in every record of one observation point.
    Constant,
}

impl Aggregation {
    /// The name that `edison fields` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::First => "first",
            Self::Last => "last",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Or => "or",
            Self::Constant => "constant",
        }
    }
}

/// An IPFIX information element: its name and number in the registry of RFC 7012.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InformationElement(pub &'static str, pub u16);

/// Where the paper's fields come from.
const PAPER: &str = "Wu et al., Edison, IFIP 2019, section II.B";

/// One field of a flow record.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name that columns, queries and options carry.
    pub name: &'static str,
    /// How it is read, and so its type.
    pub value: Value,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// How values come together.
    pub aggregation: Aggregation,
    /// One line on what it says.
    pub meaning: &'static str,
    /// The paper that has it, if any.
    pub paper: Option<&'static str>,
    /// The information elements that carry it in IPFIX: one, or IPv4's and IPv6's.
    pub elements: &'static [InformationElement],
    /// The standards that define what it is read from; empty where it is Edison's own.
    pub standard: &'static str,
}

impl Field {
    /// The headings of [`Field::describe`].
    pub const HEADINGS: [&'static str; 7] =
        ["name", "type", "unit", "aggregation", "nullable", "meaning", "source"];

    /// One row of `edison fields`.
    pub fn describe(&self) -> [String; 7] {
        [
            self.name.to_owned(),
            self.value.type_name().to_owned(),
            self.unit.to_owned(),
            self.aggregation.name().to_owned(),
            if self.value.nullable() { "yes" } else { "no" }.to_owned(),
            self.meaning.to_owned(),
            self.source(),
        ]
    }

    /// Paper, IPFIX information elements and standards, as far as the field has them.
    pub fn source(&self) -> String {
        let elements: Vec<_> = self
            .elements
            .iter()
            .map(|InformationElement(name, number)| format!("{name} ({number})"))
            .collect();
        let paper = self.paper.map(|paper| format!("paper: {paper}"));
        let ipfix = (!elements.is_empty()).then(|| format!("IPFIX {}", elements.join(", ")));
        let standard = (!self.standard.is_empty()).then(|| self.standard.to_owned());
        [paper, ipfix, standard].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The field of this name, upper and lower case alike.
    pub fn named(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }

    const fn new(name: &'static str, value: Value, aggregation: Aggregation, meaning: &'static str) -> Self {
        Self { name, value, unit: "", aggregation, meaning, paper: None, elements: &[], standard: "" }
    }

    const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    const fn paper(self) -> Self {
        Self { paper: Some(PAPER), ..self }
    }

    const fn ipfix(self, elements: &'static [InformationElement]) -> Self {
        Self { elements, ..self }
    }

    const fn standard(self, standard: &'static str) -> Self {
        Self { standard, ..self }
    }
}

use Aggregation::{Constant, First, Key, Last, Max, Min, Or, Sum};
use InformationElement as Element;

/// All fields in the order of the columns: the paper's first.
pub const FIELDS: &[Field] = &[
    Field::new("src_addr", Value::Address(|r| r.key.map(|k| k.src_addr)), Key, "source address")
        .paper()
        .ipfix(&[Element("sourceIPv4Address", 8), Element("sourceIPv6Address", 27)])
        .standard("RFC 791, RFC 8200"),
    Field::new("dst_addr", Value::Address(|r| r.key.map(|k| k.dst_addr)), Key, "destination address")
        .paper()
        .ipfix(&[Element("destinationIPv4Address", 12), Element("destinationIPv6Address", 28)])
        .standard("RFC 791, RFC 8200"),
    Field::new(
        "protocol",
        Value::Optional(8, |r| r.key.map(|k| k.protocol.into())),
        Key,
        "IP protocol number; IPv6: of the header after the last extension header",
    )
    .paper()
    .ipfix(&[Element("protocolIdentifier", 4)])
    .standard("RFC 791, RFC 8200"),
    Field::new(
        "src_port",
        Value::Optional(16, |r| r.key.map(|k| k.src_port.into())),
        Key,
        "source port; 0 where the protocol has none, and in non-first fragments",
    )
    .paper()
    .ipfix(&[Element("sourceTransportPort", 7)])
    .standard("RFC 9293, RFC 768, RFC 9260"),
    Field::new(
        "dst_port",
        Value::Optional(16, |r| r.key.map(|k| k.dst_port.into())),
        Key,
        "destination port, 0 as in src_port; ICMP: type × 256 + code",
    )
    .paper()
    .ipfix(&[Element("destinationTransportPort", 11)])
    .standard("RFC 9293, RFC 768, RFC 9260, RFC 792, RFC 4443"),
    Field::new("node_id", Value::Node, Constant, "name of the observation point (--node)")
        .paper()
        .ipfix(&[Element("observationDomainName", 300)])
        .standard("RFC 7011"),
    Field::new("stime", Value::Time(|r| r.stime), Min, "time of the earliest packet, since the epoch (UTC)")
        .unit("ns")
        .paper()
        .ipfix(&[Element("flowStartNanoseconds", 156)]),
    Field::new("ltime", Value::Time(|r| r.ltime), Max, "time of the latest packet, since the epoch (UTC)")
        .unit("ns")
        .paper()
        .ipfix(&[Element("flowEndNanoseconds", 157)]),
    Field::new(
        "smac",
        Value::Mac(|r| r.smac),
        First,
        "source MAC address; null where the link has none, and where it is all zero",
    )
    .paper()
    .ipfix(&[Element("sourceMacAddress", 56)])
    .standard("IEEE 802.3"),
    Field::new("dmac", Value::Mac(|r| r.dmac), First, "destination MAC address; null as in smac")
        .paper()
        .ipfix(&[Element("destinationMacAddress", 80)])
        .standard("IEEE 802.3"),
    Field::new("ip_ttl", Value::Unsigned(8, |r| r.ip_ttl.into()), Last, "time to live (IPv6: hop limit)")
        .unit("hops")
        .paper()
        .ipfix(&[Element("ipTTL", 192)])
        .standard("RFC 791, RFC 8200"),
    Field::new(
        "ip_tos",
        Value::Unsigned(8, |r| r.ip_tos.into()),
        Last,
        "type of service (IPv6: traffic class): DSCP in the upper six bits, ECN in the lower two",
    )
    .paper()
    .ipfix(&[Element("ipClassOfService", 5)])
    .standard("RFC 2474, RFC 3168"),
    Field::new(
        "tcp_seq",
        Value::Unsigned(32, |r| r.tcp_seq.into()),
        Last,
        "TCP sequence number; 0 where the protocol is not TCP",
    )
    .paper()
    .ipfix(&[Element("tcpSequenceNumber", 184)])
    .standard("RFC 9293"),
    Field::new(
        "tcp_ack",
        Value::Unsigned(32, |r| r.tcp_ack.into()),
        Last,
        "TCP acknowledgement number; 0 where the protocol is not TCP",
    )
    .paper()
    .ipfix(&[Element("tcpAcknowledgementNumber", 185)])
    .standard("RFC 9293"),
    Field::new(
        "tcp_win",
        Value::Unsigned(16, |r| r.tcp_win.into()),
        Last,
        "TCP window as the header states it, unscaled; 0 where the protocol is not TCP",
    )
    .unit("bytes")
    .paper()
    .ipfix(&[Element("tcpWindowSize", 186)])
    .standard("RFC 9293"),
    Field::new("total_count", Value::Unsigned(64, |r| r.total_count), Sum, "packets")
        .unit("packets")
        .paper()
        .ipfix(&[Element("packetDeltaCount", 2)]),
    Field::new(
        "total_byte",
        Value::Unsigned(64, |r| r.total_byte),
        Sum,
        "layer-3 bytes as the IP headers state them: headers and payload, no padding",
    )
    .unit("bytes")
    .paper()
    .ipfix(&[Element("octetDeltaCount", 1)])
    .standard("RFC 791, RFC 8200"),
    Field::new(
        "wire_byte",
        Value::Unsigned(64, |r| r.wire_byte),
        Sum,
        "bytes of the frames on the wire, without the frame check sequence",
    )
    .unit("bytes")
    .ipfix(&[Element("layer2OctetDeltaCount", 352)])
    .standard("IEEE 802.3"),
    Field::new(
        "tcp_flags",
        Value::Unsigned(8, |r| r.tcp_flags.into()),
        Or,
        "TCP flags that any packet had: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128; 0 where not TCP",
    )
    .ipfix(&[Element("tcpControlBits", 6)])
    .standard("RFC 9293, RFC 3168"),
    Field::new(
        "vlan",
        Value::Optional(16, |r| r.vlan.map(u64::from)),
        First,
        "VLAN identifier of the outermost tag; null where untagged",
    )
    .ipfix(&[Element("vlanId", 58)])
    .standard("IEEE 802.1Q"),
    Field::new(
        "end_reason",
        Value::Name(|r| r.end_reason.name()),
        Last,
        "why the record ended: idle, active (timeouts), end (of the source)",
    )
    .ipfix(&[Element("flowEndReason", 136)])
    .standard("RFC 5102"),
];
