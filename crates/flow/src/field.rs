//! The field table: every field of a flow record, declared once.
//!
//! CSV headers, JSON names, the Parquet schema, the choice of fields and the table that users see are all read from [`FIELDS`]. The fields of
//! `--headers` have their rows in `header_field.rs`.

use crate::header_field::{HEADER, HeaderField};
use crate::{Aggregation, EndReason, FlowRecord, HEADER_FIELDS, InformationElement, Loss, Part, RowValue};
use std::net::IpAddr;

/// A way in which a field is read from a record, which also decides its type in every format.
#[derive(Clone, Copy, Debug)]
pub enum FieldAccessor {
    /// An unsigned integer of 8, 16, 32 or 64 bits.
    Unsigned(u8, fn(&FlowRecord) -> u64),
    /// An unsigned integer that a record may lack.
    Optional(u8, fn(&FlowRecord) -> Option<u64>),
    /// Nanoseconds since the epoch.
    Time(fn(&FlowRecord) -> u64),
    /// An IPv4 or IPv6 address.
    Address(fn(&FlowRecord) -> Option<IpAddr>),
    /// A MAC address; all zero means none.
    Mac(fn(&FlowRecord) -> [u8; 6]),
    /// The reason why the record ended, by name.
    EndReason(fn(&FlowRecord) -> EndReason),
    /// A statistic of the run, by its number ([`FlowRecord::statistic`]).
    Float(usize),
    /// The observation point's name, the same in every record of a file.
    Node,
}

impl FieldAccessor {
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
            Self::EndReason(_) | Self::Node => "text",
            Self::Float(_) => "float64",
        }
    }

    /// Returns true if a record may lack the value: null in JSON and Parquet, empty in CSV.
    pub const fn nullable(&self) -> bool {
        matches!(self, Self::Optional(..) | Self::Address(_) | Self::Mac(_) | Self::Float(_))
    }
}

/// The paper that defines the fields marked with `paper`.
const PAPER: &str = "Wu et al., Edison, IFIP 2019, section II.B";

/// A field of a flow record.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name of the field in columns, queries and options.
    pub name: &'static str,
    /// The function that reads the field, which also decides its type.
    pub value: FieldAccessor,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// The place of the field in window rows.
    pub row: RowValue,
    /// The rule by which values are merged.
    pub aggregation: Aggregation,
    /// A description in one line.
    pub meaning: &'static str,
    /// The paper that defines the field, if any.
    pub paper: Option<&'static str>,
    /// The information elements that carry the field in IPFIX. An address has one for IPv4 and one for IPv6, a time has
    /// the exact one and the one that older collectors know, other fields have one.
    pub elements: &'static [InformationElement],
    /// The standards that define the header that the field is read from; empty for a field that Edison defines.
    pub standard: &'static str,
    /// The part that the run must be configured for.
    pub part: Part,
    /// True if the value is a number that is an identifier, which has no unit and is no quantity.
    pub is_identifier: bool,
    /// The name of the field's value for a whole flow (`first_vlan`), if packets of one flow may differ in the field. A query by the field
    /// itself is about packets.
    pub of_flow: Option<&'static str>,
}

/// Fields are equal if their names are: a name belongs to one field.
impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Field {}

impl Field {
    /// Returns the paper, the IPFIX information elements and the standards that define the field.
    pub fn source(&self) -> String {
        let elements = self.elements.iter().map(|element| match element.enterprise {
            0 => format!("{} ({})", element.name, element.number),
            enterprise => format!("{} ({enterprise}/{})", element.name, element.number),
        });
        let elements: Vec<_> = elements.collect();
        let paper = self.paper.map(|paper| format!("paper: {paper}"));
        let ipfix = (!elements.is_empty()).then(|| format!("IPFIX {}", elements.join(", ")));
        let standard = (!self.standard.is_empty()).then(|| self.standard.to_owned());
        [paper, ipfix, standard].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns the way in which values of a column are merged over several rows of one flow key: that of the field, and the sum of what a mean is
    /// of.
    pub fn aggregation_of(column: RowValue) -> Aggregation {
        match column {
            RowValue::RttSum | RowValue::RttCount => Sum,
            column => FIELDS.iter().find(|field| field.row == column).map_or(Last, |field| field.aggregation),
        }
    }

    /// Returns the field of this name or alias ([`resolve_alias`](crate::resolve_alias())). Case is ignored.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = crate::resolve_alias(name);
        FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }

    const fn new(
        name: &'static str,
        value: FieldAccessor,
        aggregation: Aggregation,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            value,
            unit: "",
            row: if matches!(aggregation, Aggregation::Key) { RowValue::Key } else { RowValue::Absent },
            aggregation,
            meaning,
            paper: None,
            elements: &[],
            standard: "",
            part: Part::Plain,
            is_identifier: false,
            of_flow: None,
        }
    }

    /// Marks a field in which packets of one flow may differ.
    const fn changing(self, of_flow: &'static str) -> Self {
        Self { of_flow: Some(of_flow), ..self }
    }

    const fn row(self, row: RowValue) -> Self {
        Self { row, ..self }
    }

    const fn identifier(self) -> Self {
        Self { is_identifier: true, ..self }
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

    /// Returns a field of `--headers`. It is null where packets do not have it.
    const fn from_header(at: usize) -> Self {
        let HeaderField { name, bits, aggregation, is_identifier, unit, meaning, elements, standard } =
            HEADER[at];
        let field = Self::new(name, FieldAccessor::Optional(bits, HEADER_GETTERS[at]), aggregation, meaning);
        let row = RowValue::Header(at as u8);
        Self { part: Part::Headers, row, is_identifier, unit, elements, standard, ..field }
    }

    /// Returns a field of `--loss`. It is null where the flow is not TCP.
    const fn loss(
        name: &'static str,
        get: fn(&FlowRecord) -> Option<u64>,
        unit: &'static str,
        aggregation: Aggregation,
        meaning: &'static str,
    ) -> Self {
        let field = Self::new(name, FieldAccessor::Optional(64, get), aggregation, meaning).unit(unit);
        Self { part: Part::Loss, standard: "RFC 9293, tshark tcp.analysis; docs/loss.md", ..field }
    }
}

use Aggregation::{Constant, First, Key, Last, Max, Mean, Min, Or, Sum};

const fn element(name: &'static str, number: u16) -> InformationElement {
    InformationElement::registered(name, number)
}

const fn own(name: &'static str, number: u16) -> InformationElement {
    InformationElement::own(name, number)
}

/// Returns header field number `AT` of the record.
fn get_header<const AT: usize>(record: &FlowRecord) -> Option<u64> {
    record.headers.get(AT)
}

/// The accessors of header fields: as many as IPFIX records have room for.
const HEADER_GETTERS: [fn(&FlowRecord) -> Option<u64>; 9] = [
    get_header::<0>,
    get_header::<1>,
    get_header::<2>,
    get_header::<3>,
    get_header::<4>,
    get_header::<5>,
    get_header::<6>,
    get_header::<7>,
    get_header::<8>,
];

/// Returns a number from the losses of a record.
fn get_loss(record: &FlowRecord, get: fn(&Loss) -> u64) -> Option<u64> {
    record.loss().map(get)
}

/// The table of all fields with fixed names, in the order of columns: the paper's fields, the other plain fields, the fields of `--loss`,
/// of routers and of `--headers`.
pub const FIELDS: &[Field] = &ALL;

const ALL: [Field; OTHERS.len() + HEADER_FIELDS] = {
    let (mut all, mut at) = ([OTHERS[0]; OTHERS.len() + HEADER_FIELDS], 0);
    while at < all.len() {
        all[at] = if at < OTHERS.len() { OTHERS[at] } else { Field::from_header(at - OTHERS.len()) };
        at += 1;
    }
    all
};

/// All fields but those of `--headers`, which [`HEADER`] has.
const OTHERS: &[Field] = &[
    Field::new("src_addr", FieldAccessor::Address(|r| r.key.and_then(|k| k.src_addr)), Key, "source address")
        .paper()
        .ipfix(&[
            element("sourceIPv4Address", 8),
            element("sourceIPv6Address", 27),
            element("sourceIPv4PrefixLength", 9),
            element("sourceIPv6PrefixLength", 29),
        ])
        .standard("RFC 791, RFC 8200"),
    Field::new("dst_addr", FieldAccessor::Address(|r| r.key.and_then(|k| k.dst_addr)), Key, "destination address")
        .paper()
        .ipfix(&[
            element("destinationIPv4Address", 12),
            element("destinationIPv6Address", 28),
            element("destinationIPv4PrefixLength", 13),
            element("destinationIPv6PrefixLength", 30),
        ])
        .standard("RFC 791, RFC 8200"),
    Field::new(
        "protocol",
        FieldAccessor::Optional(8, |r| r.key.and_then(|k| k.protocol).map(u64::from)),
        Key,
        "IP protocol number; IPv6: of the header after the last extension header",
    )
    .paper()
    .ipfix(&[element("protocolIdentifier", 4)])
    .standard("RFC 791, RFC 8200"),
    Field::new(
        "src_port",
        FieldAccessor::Optional(16, |r| r.key.and_then(|k| k.src_port).map(u64::from)),
        Key,
        "source port; 0 where the protocol has none, and in non-first fragments",
    )
    .paper()
    .ipfix(&[element("sourceTransportPort", 7)])
    .standard("RFC 9293, RFC 768, RFC 9260"),
    Field::new(
        "dst_port",
        FieldAccessor::Optional(16, |r| r.key.and_then(|k| k.dst_port).map(u64::from)),
        Key,
        "destination port, 0 as in src_port; ICMP: type × 256 + code",
    )
    .paper()
    .ipfix(&[element("destinationTransportPort", 11)])
    .standard("RFC 9293, RFC 768, RFC 9260, RFC 792, RFC 4443"),
    Field::new("node_id", FieldAccessor::Node, Constant, "name of the observation point")
        .paper()
        .ipfix(&[element("observationDomainName", 300)])
        .standard("RFC 7011"),
    Field::new("stime", FieldAccessor::Time(|r| r.stime), Min, "time of the earliest packet, since the epoch (UTC)")
    .row(RowValue::First)
        .unit("ns")
        .paper()
        .ipfix(&[element("flowStartNanoseconds", 156), element("flowStartMilliseconds", 152)]),
    Field::new("ltime", FieldAccessor::Time(|r| r.ltime), Max, "time of the latest packet, since the epoch (UTC)")
    .row(RowValue::Last)
        .unit("ns")
        .paper()
        .ipfix(&[element("flowEndNanoseconds", 157), element("flowEndMilliseconds", 153)]),
    Field::new(
        "smac",
        FieldAccessor::Mac(|r| r.smac),
        First,
        "source MAC address; null where the link has none, and where it is all zero",
    )
    .row(RowValue::SourceMac)
    .changing("first_smac")
    .paper()
    .ipfix(&[element("sourceMacAddress", 56)])
    .standard("IEEE 802.3"),
    Field::new("dmac", FieldAccessor::Mac(|r| r.dmac), First, "destination MAC address; null as in smac")
    .row(RowValue::DestinationMac)
    .changing("first_dmac")
        .paper()
        .ipfix(&[element("destinationMacAddress", 80)])
        .standard("IEEE 802.3"),
    Field::new("ip_ttl", FieldAccessor::Unsigned(8, |r| r.ip_ttl.into()), Last, "time to live (IPv6: hop limit)")
    .row(RowValue::IpTtl)
    .changing("last_ip_ttl")
        .unit("hops")
        .paper()
        .ipfix(&[element("ipTTL", 192)])
        .standard("RFC 791, RFC 8200"),
    Field::new(
        "ip_tos",
        FieldAccessor::Unsigned(8, |r| r.ip_tos.into()),
        Last,
        "type of service (IPv6: traffic class): DSCP in the upper six bits, ECN in the lower two",
    )
    .row(RowValue::IpTos)
    .changing("last_ip_tos")
    .paper()
    .ipfix(&[element("ipClassOfService", 5)])
    .standard("RFC 2474, RFC 3168"),
    Field::new(
        "tcp_seq",
        FieldAccessor::Unsigned(32, |r| r.tcp_seq.into()),
        Last,
        "TCP sequence number; 0 where the protocol is not TCP",
    )
    .row(RowValue::TcpSeq)
    .changing("last_tcp_seq")
    .paper()
    .ipfix(&[element("tcpSequenceNumber", 184)])
    .standard("RFC 9293"),
    Field::new(
        "tcp_ack",
        FieldAccessor::Unsigned(32, |r| r.tcp_ack.into()),
        Last,
        "TCP acknowledgement number; 0 where the protocol is not TCP",
    )
    .row(RowValue::TcpAck)
    .changing("last_tcp_ack")
    .paper()
    .ipfix(&[element("tcpAcknowledgementNumber", 185)])
    .standard("RFC 9293"),
    Field::new(
        "tcp_win",
        FieldAccessor::Unsigned(16, |r| r.tcp_win.into()),
        Last,
        "TCP window as the header states it, unscaled; 0 where the protocol is not TCP",
    )
    .row(RowValue::TcpWin)
    .changing("last_tcp_win")
    .unit("bytes")
    .paper()
    .ipfix(&[element("tcpWindowSize", 186)])
    .standard("RFC 9293"),
    Field::new("total_count", FieldAccessor::Unsigned(64, |r| r.total_count), Sum, "packets")
    .row(RowValue::Packets)
        .unit("packets")
        .paper()
        .ipfix(&[element("packetDeltaCount", 2)]),
    Field::new(
        "total_byte",
        FieldAccessor::Unsigned(64, |r| r.total_byte),
        Sum,
        "layer-3 bytes as the IP headers state them: headers and payload, no padding",
    )
    .row(RowValue::Bytes)
    .unit("bytes")
    .paper()
    .ipfix(&[element("octetDeltaCount", 1)])
    .standard("RFC 791, RFC 8200"),
    Field::new(
        "wire_byte",
        FieldAccessor::Optional(64, |r| r.wire_bytes()),
        Sum,
        "bytes of the frames on the wire, without the frame check sequence",
    )
    .row(RowValue::WireBytes)
    .unit("bytes")
    .ipfix(&[element("layer2OctetDeltaCount", 352)])
    .standard("IEEE 802.3"),
    Field::new(
        "tcp_flags",
        FieldAccessor::Unsigned(8, |r| r.tcp_flags.into()),
        Or,
        "TCP flags that any packet had: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128; 0 where not TCP",
    )
    .row(RowValue::TcpFlags)
    .changing("any_tcp_flags")
    .identifier()
    .ipfix(&[element("tcpControlBits", 6)])
    .standard("RFC 9293, RFC 3168"),
    Field::new(
        "vlan",
        FieldAccessor::Optional(16, |r| r.vlan.or(r.key.and_then(|k| k.vlan)).map(u64::from)),
        First,
        "VLAN identifier of the outermost tag; null where untagged",
    )
    .row(RowValue::Vlan)
    .changing("first_vlan")
    .identifier()
    .ipfix(&[element("vlanId", 58)])
    .standard("IEEE 802.1Q"),
    Field::new(
        "end_reason",
        FieldAccessor::EndReason(|r| r.end_reason),
        Last,
        "why the record ended: idle, active (timeouts), end (of the source)",
    )
    .ipfix(&[element("flowEndReason", 136)])
    .standard("RFC 5102"),
    Field::loss(
        "ploss_byte",
        |r| get_loss(r, |l| l.ploss_byte),
        "bytes",
        Sum,
        "bytes lost before the observation point, repaired later or not",
    )
    .row(RowValue::PlossByte)
    .paper()
    .ipfix(&[own("ploss_byte", 1)]),
    Field::loss(
        "ploss_count",
        |r| get_loss(r, |l| l.ploss_count),
        "segments",
        Sum,
        "segments that repaired them, or would have",
    )
    .row(RowValue::PlossCount)
    .paper()
    .ipfix(&[own("ploss_count", 2)]),
    Field::loss(
        "reorder_count",
        |r| get_loss(r, |l| l.reorder_count),
        "segments",
        Sum,
        "segments that came late, but within the reordering window",
    )
    .row(RowValue::ReorderCount)
    .ipfix(&[own("reorder_count", 3)]),
    Field::loss(
        "retrans_count",
        |r| get_loss(r, |l| l.retrans_count),
        "segments",
        Sum,
        "segments with sequence numbers that were seen before",
    )
    .row(RowValue::RetransCount)
    .ipfix(&[own("retrans_count", 4)]),
    Field::loss(
        "retrans_byte",
        |r| get_loss(r, |l| l.retrans_byte),
        "bytes",
        Sum,
        "their bytes that were seen before: lost after the observation point, or sent without need",
    )
    .row(RowValue::RetransByte)
    .ipfix(&[own("retrans_byte", 5)]),
    Field::loss(
        "unseen_byte",
        |r| get_loss(r, |l| l.unseen_byte),
        "bytes",
        Sum,
        "bytes that the peer acknowledged but that were not seen here: the tap lost them",
    )
    .row(RowValue::UnseenByte)
    .ipfix(&[own("unseen_byte", 6)]),
    Field::loss(
        "zero_window_count",
        |r| get_loss(r, |l| l.zero_window_count),
        "segments",
        Sum,
        "segments that announced a window of zero",
    )
    .row(RowValue::ZeroWindowCount)
    .ipfix(&[own("zero_window_count", 7)]),
    Field::loss(
        "hole_count",
        |r| get_loss(r, |l| l.hole_count),
        "holes",
        Sum,
        "times that sequence numbers skipped ahead",
    )
    .row(RowValue::HoleCount)
    .ipfix(&[own("hole_count", 8)]),
    Field::loss(
        "resync_count",
        |r| get_loss(r, |l| l.resync_count),
        "times",
        Sum,
        "times that sequence numbers made no sense and tracking began anew",
    )
    .row(RowValue::ResyncCount)
    .ipfix(&[own("resync_count", 9)]),
    Field::loss(
        "rtt_min",
        |r| r.loss()?.rtt_min,
        "ns",
        Min,
        "least round-trip time from here to the receiver and back; null where none was measured",
    )
    .row(RowValue::RttMin)
    .ipfix(&[own("rtt_min", 10)]),
    Field::loss("rtt_avg", |r| r.loss()?.rtt_avg, "ns", Mean, "mean of it")
    .row(RowValue::RttAvg).ipfix(&[own("rtt_avg", 11)]),
    Field {
        part: Part::Sampling,
        ..Field::new(
            "sampling_rate",
            FieldAccessor::Optional(32, |r| (r.sampling_rate != 0).then_some(r.sampling_rate.into())),
            Max,
            "how many packets each one stands for that a router counted, by which packets and bytes are multiplied; 1: it counted all; null: not known",
        )
        .unit("packets")
        .ipfix(&[own("sampling_rate", 12)])
        .standard("RFC 5477, RFC 3954")
    },
];
