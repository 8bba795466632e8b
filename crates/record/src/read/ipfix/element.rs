//! The meaning of the registry's elements, and the places where their values go. NetFlow v9 has the numbers of IPFIX up to 127.

use super::template::Element;
use super::totals::COUNTERS;
use crate::ipfix::{OWN_REVERSE, REVERSE_ENTERPRISE};
use flow::{FIELDS, Field, FieldAccessor, HEADER_FIELDS, RowValue};

/// A number of a record, of one of its directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum NumericElement {
    /// Bytes since the last record of the flow.
    Bytes,
    /// Bytes of a connection's initiator, as firewalls count; those of the responder are of the other direction.
    InitiatorBytes,
    /// Bytes as they left the observation point.
    OutBytes,
    /// Bytes since the flow began.
    TotalBytes,
    /// Bytes since the flow began, as they left the observation point.
    TotalOutBytes,
    /// Packets since the last record of the flow.
    Packets,
    /// Packets of a connection's initiator.
    InitiatorPackets,
    /// Packets that left the observation point.
    OutPackets,
    /// Packets since the flow began.
    TotalPackets,
    /// Packets since the flow began that left the observation point.
    TotalOutPackets,
    /// Bytes on the wire since the last record of the flow.
    WireBytes,
    /// Bytes on the wire since the flow began.
    TotalWireBytes,
    /// protocolIdentifier.
    Protocol,
    /// ipClassOfService.
    Tos,
    /// The lowest 8 bits of tcpControlBits.
    Flags,
    /// The source port.
    SourcePort,
    /// The destination port.
    DestinationPort,
    /// Type × 256 + code of ICMP.
    Icmp,
    /// The type of ICMP.
    IcmpType,
    /// The code of ICMP.
    IcmpCode,
    /// The VLAN, which is not 0.
    Vlan,
    /// ipTTL.
    Ttl,
    /// tcpSequenceNumber.
    TcpSeq,
    /// tcpAcknowledgementNumber.
    TcpAck,
    /// tcpWindowSize.
    TcpWindow,
    /// The source address of the link layer, which is not 0.
    SourceMac,
    /// The destination address of the link layer, which is not 0.
    DestinationMac,
    /// flowEndReason.
    EndReason,
    /// The time at which the system began, milliseconds since the epoch.
    SystemStart,
    /// The interface through which packets came.
    Ingress,
    /// The interface through which packets left.
    Egress,
    /// The direction: 1 where a flow was observed as it left.
    Direction,
    /// The number of a sampler, or of a selector.
    Sampler,
    /// The number of a sequence of selectors.
    Sequence,
    /// The algorithm by which a sampler, or a selector, selects.
    Algorithm,
    /// The sampling interval N: one packet of N is counted.
    OneOf,
    /// The number of packets in sequence that are counted.
    PacketInterval,
    /// The number of packets after a sequence of counted ones that are not counted.
    PacketSpace,
    /// The number of packets of which a sample is counted.
    SamplePopulation,
    /// The number of packets of a sample population that are counted.
    SampleSize,
    /// The probability with which a packet is counted: the bits of a float of 64 bits.
    Probability,
}

/// The number of variants of [`NumericElement`].
pub(crate) const NUMBERS: usize = NumericElement::Probability as usize + 1;

/// The numbers from which a counter is read: the first one that is not 0, first of those since the last record, then of those since the flow
/// began.
pub(crate) const SOURCES: [(&[NumericElement], &[NumericElement]); COUNTERS] = [
    (
        &[NumericElement::Packets, NumericElement::InitiatorPackets, NumericElement::OutPackets],
        &[NumericElement::TotalPackets, NumericElement::TotalOutPackets],
    ),
    (
        &[NumericElement::Bytes, NumericElement::InitiatorBytes, NumericElement::OutBytes],
        &[NumericElement::TotalBytes, NumericElement::TotalOutBytes],
    ),
    (&[NumericElement::WireBytes], &[NumericElement::TotalWireBytes]),
];

/// The form in which a time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeEncoding {
    /// An NTP timestamp (RFC 7011, section 6.1.10).
    NtpNanoseconds,
    /// An NTP timestamp whose fraction is of microseconds (RFC 7011, section 6.1.9).
    NtpMicroseconds,
    /// Milliseconds since the epoch.
    Milliseconds,
    /// Microseconds before the export.
    MicrosecondsBefore,
    /// Milliseconds since the exporter's start.
    Uptime,
    /// Seconds since the epoch.
    Seconds,
}

/// The place where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueTarget {
    /// The source address.
    Source,
    /// The destination address.
    Destination,
    /// The time at which the first packet came.
    Start(TimeEncoding),
    /// The time at which the last packet came.
    End(TimeEncoding),
    /// The time of the event that the record tells of.
    Event(TimeEncoding),
    /// The duration of the flow, in units of this number of nanoseconds.
    Duration(u64),
    /// A number.
    Number(NumericElement),
    /// A header field, by its number: one whose element the field table alone has.
    Header(u8),
}

/// Elements of the registry. Of several that mean the same in one template, the one of the least rank is read.
const ELEMENTS: &[(u16, ValueTarget, u8)] = {
    use self::NumericElement as N;
    use TimeEncoding::{MicrosecondsBefore, Milliseconds, NtpMicroseconds, NtpNanoseconds, Seconds, Uptime};
    use ValueTarget::{Destination, Duration, End, Event, Number, Source, Start};
    &[
        (8, Source, 0),
        (27, Source, 0),
        (12, Destination, 0),
        (28, Destination, 0),
        (156, Start(NtpNanoseconds), 0),
        (154, Start(NtpMicroseconds), 1),
        (152, Start(Milliseconds), 2),
        (158, Start(MicrosecondsBefore), 3),
        (22, Start(Uptime), 4),
        (150, Start(Seconds), 5),
        // Of several flows together: minFlowStart…
        (273, Start(NtpNanoseconds), 6),
        (271, Start(NtpMicroseconds), 7),
        (272, Start(Milliseconds), 8),
        (265, Start(Seconds), 9),
        (157, End(NtpNanoseconds), 0),
        (155, End(NtpMicroseconds), 1),
        (153, End(Milliseconds), 2),
        (159, End(MicrosecondsBefore), 3),
        (21, End(Uptime), 4),
        (151, End(Seconds), 5),
        // … and maxFlowEnd….
        (270, End(NtpNanoseconds), 6),
        (268, End(NtpMicroseconds), 7),
        (269, End(Milliseconds), 8),
        (261, End(Seconds), 9),
        (325, Event(NtpNanoseconds), 0),
        (324, Event(NtpMicroseconds), 1),
        (323, Event(Milliseconds), 2),
        (322, Event(Seconds), 3),
        // When a collector received the record that another one passes on.
        (258, Event(Milliseconds), 4),
        (162, Duration(1_000), 0),
        (161, Duration(1_000_000), 1),
        (1, Number(N::Bytes), 0),
        (231, Number(N::InitiatorBytes), 0),
        (23, Number(N::OutBytes), 0),
        (85, Number(N::TotalBytes), 0),
        (171, Number(N::TotalOutBytes), 0),
        (2, Number(N::Packets), 0),
        (298, Number(N::InitiatorPackets), 0),
        (24, Number(N::OutPackets), 0),
        (86, Number(N::TotalPackets), 0),
        (172, Number(N::TotalOutPackets), 0),
        (352, Number(N::WireBytes), 0),
        (353, Number(N::TotalWireBytes), 0),
        (4, Number(N::Protocol), 0),
        (5, Number(N::Tos), 0),
        (6, Number(N::Flags), 0),
        (7, Number(N::SourcePort), 0),
        (180, Number(N::SourcePort), 1),
        (182, Number(N::SourcePort), 1),
        (11, Number(N::DestinationPort), 0),
        (181, Number(N::DestinationPort), 1),
        (183, Number(N::DestinationPort), 1),
        (32, Number(N::Icmp), 0),
        (139, Number(N::Icmp), 0),
        (176, Number(N::IcmpType), 0),
        (178, Number(N::IcmpType), 0),
        (177, Number(N::IcmpCode), 0),
        (179, Number(N::IcmpCode), 0),
        (58, Number(N::Vlan), 0),
        (243, Number(N::Vlan), 1),
        (192, Number(N::Ttl), 0),
        (184, Number(N::TcpSeq), 0),
        (185, Number(N::TcpAck), 0),
        (186, Number(N::TcpWindow), 0),
        (56, Number(N::SourceMac), 0),
        (80, Number(N::DestinationMac), 0),
        (136, Number(N::EndReason), 0),
        (160, Number(N::SystemStart), 0),
        (10, Number(N::Ingress), 0),
        (14, Number(N::Egress), 0),
        (61, Number(N::Direction), 0),
        (301, Number(N::Sequence), 0),
        (302, Number(N::Sampler), 0),
        (48, Number(N::Sampler), 1),
        (304, Number(N::Algorithm), 0),
        (49, Number(N::Algorithm), 1),
        (35, Number(N::Algorithm), 2),
        (50, Number(N::OneOf), 0),
        (34, Number(N::OneOf), 1),
        (305, Number(N::PacketInterval), 0),
        (306, Number(N::PacketSpace), 0),
        (309, Number(N::SampleSize), 0),
        (310, Number(N::SamplePopulation), 0),
        (311, Number(N::Probability), 0),
    ]
};

/// Elements of the responder of a connection, as firewalls count: what is of the other direction without the enterprise for that.
const RESPONDER: [(u16, NumericElement); 2] =
    [(232, NumericElement::InitiatorBytes), (299, NumericElement::InitiatorPackets)];

/// The interface, of what options of NetFlow v9 are about (RFC 3954, section 6.1).
const SCOPE_INTERFACE: u16 = 2;

/// The meaning of an element of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementRole {
    pub(crate) target: ValueTarget,
    /// True if the element is of the other direction (RFC 5103).
    pub(crate) is_reverse: bool,
    /// The rank among the elements in a template that mean the same: the element of the least rank is read.
    pub(crate) rank: u8,
}

impl ElementRole {
    /// The role of an element; `None` where it has none.
    pub(crate) fn from_element(element: Element) -> Option<Self> {
        let Element { enterprise, number } = element;
        let is_reverse = match enterprise {
            Element::SCOPE if number == SCOPE_INTERFACE => {
                return Some(Self {
                    target: ValueTarget::Number(NumericElement::Ingress),
                    is_reverse: false,
                    rank: 0,
                });
            }
            0 => false,
            REVERSE_ENTERPRISE => true,
            _ => {
                let plain = Element { enterprise, number: number & !OWN_REVERSE };
                let target = ValueTarget::Header(header_field(plain)?);
                return Some(Self { target, is_reverse: plain != element, rank: 0 });
            }
        };
        let responder = RESPONDER.iter().find(|(own, _)| *own == number && !is_reverse);
        if let Some((_, number)) = responder {
            return Some(Self { target: ValueTarget::Number(*number), is_reverse: true, rank: 0 });
        }
        let known =
            ELEMENTS.iter().find(|(own, ..)| *own == number).map(|(_, target, rank)| (*target, *rank));
        let (target, rank) = known.or_else(|| {
            header_field(Element { enterprise: 0, number }).map(|at| (ValueTarget::Header(at), 0))
        })?;
        // Both directions have the same key.
        (!is_reverse || target.is_of_a_direction()).then_some(Self { target, is_reverse, rank })
    }
}

impl ValueTarget {
    /// Returns true if both are the same value, told in whichever way.
    pub(crate) fn replaces(self, other: Self) -> bool {
        match (self, other) {
            (Self::Start(_), Self::Start(_))
            | (Self::End(_), Self::End(_))
            | (Self::Event(_), Self::Event(_))
            | (Self::Duration(_), Self::Duration(_)) => true,
            _ => self == other,
        }
    }

    /// Returns true if the other direction may have a value of its own.
    fn is_of_a_direction(self) -> bool {
        use NumericElement as N;
        match self {
            Self::Source | Self::Destination => false,
            Self::Number(number) => !matches!(
                number,
                N::Protocol
                    | N::SourcePort
                    | N::DestinationPort
                    | N::Icmp
                    | N::IcmpType
                    | N::IcmpCode
                    | N::SystemStart
                    | N::Direction
                    | N::Sampler
                    | N::Sequence
                    | N::Algorithm
                    | N::OneOf
                    | N::PacketInterval
                    | N::PacketSpace
                    | N::SamplePopulation
                    | N::SampleSize
                    | N::Probability
            ),
            _ => true,
        }
    }

    /// The fields of a row that the value is, or is a part of.
    pub(crate) fn columns(self) -> &'static [&'static str] {
        use NumericElement as N;
        match self {
            Self::Source => &["src_addr"],
            Self::Destination => &["dst_addr"],
            Self::Start(_) => &["stime"],
            Self::End(_) => &["ltime"],
            // Whichever of both is not told.
            Self::Event(_) | Self::Duration(_) => &["stime", "ltime"],
            Self::Header(at) => HEADER_COLUMNS.get(usize::from(at)).map_or(&[], |column| column),
            Self::Number(number) => match number {
                N::Bytes | N::InitiatorBytes | N::OutBytes | N::TotalBytes | N::TotalOutBytes => {
                    &["total_byte"]
                }
                N::Packets | N::InitiatorPackets | N::OutPackets | N::TotalPackets | N::TotalOutPackets => {
                    &["total_count"]
                }
                N::WireBytes | N::TotalWireBytes => &["wire_byte"],
                N::Protocol => &["protocol"],
                N::Tos => &["ip_tos"],
                N::Flags => &["tcp_flags"],
                N::SourcePort => &["src_port"],
                N::DestinationPort | N::Icmp | N::IcmpType | N::IcmpCode => &["dst_port"],
                N::Vlan => &["vlan"],
                N::Ttl => &["ip_ttl"],
                N::TcpSeq => &["tcp_seq"],
                N::TcpAck => &["tcp_ack"],
                N::TcpWindow => &["tcp_win"],
                N::SourceMac => &["smac"],
                N::DestinationMac => &["dmac"],
                N::EndReason
                | N::SystemStart
                | N::Ingress
                | N::Egress
                | N::Direction
                | N::Sampler
                | N::Sequence
                | N::Algorithm
                | N::OneOf
                | N::PacketInterval
                | N::PacketSpace
                | N::SamplePopulation
                | N::SampleSize
                | N::Probability => &[],
            },
        }
    }
}

/// The name of each header field, by its number.
static HEADER_COLUMNS: [[&str; 1]; HEADER_FIELDS] = {
    let (mut columns, mut at) = ([[""]; HEADER_FIELDS], 0);
    while at < FIELDS.len() {
        if let RowValue::Header(number) = FIELDS[at].row {
            columns[number as usize] = [FIELDS[at].name];
        }
        at += 1;
    }
    columns
};

/// Returns the number of the header field that has this element.
fn header_field(element: Element) -> Option<u8> {
    FIELDS.iter().find_map(|field| match field.row {
        RowValue::Header(at) if has_element(field, element) => Some(at),
        _ => None,
    })
}

fn has_element(field: &Field, element: Element) -> bool {
    field.elements.iter().any(|own| (own.enterprise, own.number) == (element.enterprise, element.number))
}

/// The greatest value of each header field, by its number.
pub(crate) static HEADER_MOST: [u64; HEADER_FIELDS] = {
    let (mut most, mut at) = ([0; HEADER_FIELDS], 0);
    while at < FIELDS.len() {
        if let (RowValue::Header(number), FieldAccessor::Optional(bits, _)) =
            (FIELDS[at].row, FIELDS[at].value)
        {
            most[number as usize] = (1 << bits) - 1;
        }
        at += 1;
    }
    most
};

impl NumericElement {
    /// Returns whether 0 says that there is none.
    pub(crate) fn is_none_if_zero(self) -> bool {
        matches!(self, Self::Vlan | Self::SourceMac | Self::DestinationMac)
    }

    /// The greatest value that it can have.
    pub(crate) fn most(self) -> u64 {
        match self {
            Self::Protocol | Self::Tos | Self::IcmpType | Self::IcmpCode | Self::Ttl => u8::MAX.into(),
            Self::SourcePort | Self::DestinationPort | Self::Icmp | Self::TcpWindow => u16::MAX.into(),
            Self::TcpSeq | Self::TcpAck => u32::MAX.into(),
            _ => u64::MAX - 1,
        }
    }

    /// Returns true if the number tells of sampling.
    pub(crate) fn is_of_sampling(self) -> bool {
        matches!(
            self,
            Self::Algorithm
                | Self::OneOf
                | Self::PacketInterval
                | Self::PacketSpace
                | Self::SamplePopulation
                | Self::SampleSize
                | Self::Probability
        )
    }

    /// Returns true if the number counts since the flow began.
    pub(crate) fn is_total(self) -> bool {
        matches!(
            self,
            Self::TotalBytes
                | Self::TotalOutBytes
                | Self::TotalPackets
                | Self::TotalOutPackets
                | Self::TotalWireBytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_element_is_twice_in_the_table() {
        for (at, (number, ..)) in ELEMENTS.iter().enumerate() {
            assert!(!ELEMENTS[..at].iter().any(|(other, ..)| other == number), "{number}");
            assert_eq!(header_field(Element { enterprise: 0, number: *number }), None, "{number}");
        }
    }

    #[test]
    fn the_other_direction_has_values_of_its_own() {
        let of = |enterprise, number| {
            ElementRole::from_element(Element { enterprise, number })
                .map(|role| (role.target, role.is_reverse))
        };
        assert_eq!(
            of(REVERSE_ENTERPRISE, 86),
            Some((ValueTarget::Number(NumericElement::TotalPackets), true))
        );
        assert_eq!(of(0, 299), Some((ValueTarget::Number(NumericElement::InitiatorPackets), true)));
        assert_eq!(of(REVERSE_ENTERPRISE, 153), Some((ValueTarget::End(TimeEncoding::Milliseconds), true)));
        for key in [8, 4, 7, 299] {
            assert_eq!(of(REVERSE_ENTERPRISE, key), None, "{key}");
        }
        assert_eq!(of(9, 1), None);
    }
}
