//! What the elements of templates mean, and where their values go. NetFlow v9 has the numbers of IPFIX up to 127.

use record::read::{Element, Template};

/// A number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Number {
    Bytes,
    Packets,
    WireBytes,
    ReverseBytes,
    ReversePackets,
    ReverseFlags,
    Protocol,
    Tos,
    Flags,
    SourcePort,
    DestinationPort,
    /// Type × 256 + code.
    Icmp,
    IcmpType,
    IcmpCode,
    Vlan,
    Ttl,
    TcpSeq,
    TcpAck,
    TcpWindow,
    EndReason,
    /// When the system began, milliseconds since the epoch.
    SystemStart,
    /// The number of a sampler, or of a selector.
    Sampler,
    /// The sampling interval N: one packet of N is counted.
    OneOf,
    /// The number of packets in sequence that are counted, ...
    PacketInterval,
    /// ... and of those after them that are not.
    PacketSpace,
    SampleSize,
    SamplePopulation,
}

/// How many there are.
pub(crate) const NUMBERS: usize = Number::SamplePopulation as usize + 1;

/// How a time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    NtpNanoseconds,
    NtpMicroseconds,
    Milliseconds,
    /// Microseconds before the export.
    MicrosecondsBefore,
    /// Milliseconds since the exporter's start.
    Uptime,
    Seconds,
}

/// Where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Source,
    Destination,
    SourceMac,
    DestinationMac,
    Start(Clock),
    End(Clock),
    Number(Number),
}

/// The enterprise of elements of the other direction (RFC 5103).
const REVERSE: u32 = 29305;

/// Elements of the registry. Of several that mean the same in one template, the one of the least rank is read.
const ELEMENTS: &[(u16, Target, u8)] = {
    use self::Number as N;
    use Clock::{MicrosecondsBefore, Milliseconds, NtpMicroseconds, NtpNanoseconds, Seconds, Uptime};
    use Target::{Destination, DestinationMac, End, Number, Source, SourceMac, Start};
    &[
        (8, Source, 0),
        (27, Source, 0),
        (12, Destination, 0),
        (28, Destination, 0),
        (56, SourceMac, 0),
        (80, DestinationMac, 0),
        (156, Start(NtpNanoseconds), 0),
        (154, Start(NtpMicroseconds), 1),
        (152, Start(Milliseconds), 2),
        (158, Start(MicrosecondsBefore), 3),
        (22, Start(Uptime), 4),
        (150, Start(Seconds), 5),
        (157, End(NtpNanoseconds), 0),
        (155, End(NtpMicroseconds), 1),
        (153, End(Milliseconds), 2),
        (159, End(MicrosecondsBefore), 3),
        (21, End(Uptime), 4),
        (151, End(Seconds), 5),
        (1, Number(N::Bytes), 0),
        (85, Number(N::Bytes), 1),
        // Of the initiator of a connection, as firewalls count.
        (231, Number(N::Bytes), 2),
        (23, Number(N::Bytes), 3),
        (2, Number(N::Packets), 0),
        (86, Number(N::Packets), 1),
        (298, Number(N::Packets), 2),
        (24, Number(N::Packets), 3),
        (232, Number(N::ReverseBytes), 1),
        (299, Number(N::ReversePackets), 1),
        (352, Number(N::WireBytes), 0),
        (353, Number(N::WireBytes), 1),
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
        (136, Number(N::EndReason), 0),
        (160, Number(N::SystemStart), 0),
        (302, Number(N::Sampler), 0),
        (48, Number(N::Sampler), 1),
        (50, Number(N::OneOf), 0),
        (34, Number(N::OneOf), 1),
        (305, Number(N::PacketInterval), 0),
        (306, Number(N::PacketSpace), 0),
        (309, Number(N::SampleSize), 0),
        (310, Number(N::SamplePopulation), 0),
    ]
};

/// What an element means, and its rank.
fn meaning(element: Element) -> Option<(Target, u8)> {
    match (element.enterprise, element.number) {
        (0, number) => {
            ELEMENTS.iter().find(|(own, ..)| *own == number).map(|(_, target, rank)| (*target, *rank))
        }
        (REVERSE, 1) => Some((Target::Number(Number::ReverseBytes), 0)),
        (REVERSE, 2) => Some((Target::Number(Number::ReversePackets), 0)),
        (REVERSE, 6) => Some((Target::Number(Number::ReverseFlags), 0)),
        _ => None,
    }
}

/// Which fields of a template's records are read, and where their values go.
#[derive(Debug)]
pub(crate) struct Plan(pub(crate) Vec<(usize, Target)>);

impl Plan {
    /// Of a template. A field of a length that its value cannot have is not read.
    pub(crate) fn of(template: &Template) -> Self {
        let mut found: Vec<(usize, Target, u8)> = Vec::new();
        for (at, (element, length)) in template.lengths().enumerate() {
            let Some((target, rank)) = meaning(element) else { continue };
            let fits = match (target, length) {
                (_, None) => true,
                (Target::Source | Target::Destination, Some(length)) => matches!(length, 4 | 16),
                (Target::SourceMac | Target::DestinationMac, Some(length)) => length == 6,
                (_, Some(length)) => length <= 8,
            };
            if !fits {
                continue;
            }
            // Addresses of both families may be there, of which one is zero.
            let is_address = matches!(target, Target::Source | Target::Destination);
            match found.iter_mut().find(|(_, known, _)| target.replaces(*known)) {
                Some(known) if !is_address => {
                    if rank < known.2 {
                        *known = (at, target, rank);
                    }
                }
                _ => found.push((at, target, rank)),
            }
        }
        Self(found.into_iter().map(|(at, target, _)| (at, target)).collect())
    }
}

impl Target {
    /// Whether both are the same value, told in whichever way.
    fn replaces(self, other: Self) -> bool {
        match (self, other) {
            (Self::Start(_), Self::Start(_)) | (Self::End(_), Self::End(_)) => true,
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::read::{Dialect, Octets, Told};

    #[test]
    fn each_value_is_read_from_one_field_that_fits() {
        // 150 seconds, 152 milliseconds, 23 octets out, 1 octets, 8 of three octets, 12, and 27 and 28 beside it.
        let fields = [(150, 4), (152, 8), (23, 4), (1, 4), (8, 3), (12, 4), (27, 16), (28, 16u16)];
        let mut octets = vec![1, 0, 0, fields.len() as u8];
        fields.iter().for_each(|(number, length): &(u16, u16)| {
            octets.extend(number.to_be_bytes());
            octets.extend(length.to_be_bytes());
        });
        let told = Template::read(&mut Octets(&octets), false, Dialect::Ipfix).expect("a template");
        let Some(Told::Definition(256, template)) = told else { panic!("a definition") };
        let expected = [
            (1, Target::Start(Clock::Milliseconds)),
            (3, Target::Number(Number::Bytes)),
            (5, Target::Destination),
            (6, Target::Source),
            (7, Target::Destination),
        ];
        assert_eq!(Plan::of(&template).0, expected);
    }

    #[test]
    fn no_element_is_twice_in_the_table() {
        for (at, (number, ..)) in ELEMENTS.iter().enumerate() {
            assert!(!ELEMENTS[..at].iter().any(|(other, ..)| other == number), "{number}");
        }
    }
}
