//! Fields that queries compute from others.

/// The value of a derived field, and what it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derived {
    /// The time from the first packet to the last one, nanoseconds.
    Duration,
    /// Packets per second of the duration; null where that is 0.
    PacketRate,
    /// Layer-3 bits per second of the duration; null where that is 0.
    BitRate,
    /// Layer-3 bytes of a packet, on average; null without packets.
    BytesPerPacket,
    /// The protocol's name, or its number as text.
    ProtocolName,
    /// The service's name ([`service`](crate::service())).
    Service,
    /// The field `forward`: 1 where the source is the lesser endpoint, which a conversation names first, else 0.
    Forward,
    /// The source's or the destination's address.
    Address,
    /// The source's or the destination's port.
    Port,
    /// The 5-tuple without direction, the lesser endpoint first.
    Conversation,
    /// The autonomous system of the source (0) or the destination (1), by geographic databases.
    Asn(usize),
    /// The country of the source (0) or the destination (1), by geographic databases.
    Country(usize),
    /// A field in which packets of a flow may differ, of the whole flow ([`Field::of_flow`]).
    ///
    /// [`Field::of_flow`]: crate::Field::of_flow
    OfFlow,
}

impl Derived {
    /// Returns true if only a run with geographic databases has the field.
    pub const fn needs_geo(self) -> bool {
        matches!(self, Self::Asn(_) | Self::Country(_))
    }
}

/// A derived field.
#[derive(Clone, Copy, Debug)]
pub struct DerivedField {
    /// The name in queries.
    pub name: &'static str,
    /// The value that the field has.
    pub derived: Derived,
    /// The name of its type, as `edison fields` prints it.
    pub type_name: &'static str,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// True if a row may lack the value.
    pub nullable: bool,
    /// The fields that it is computed from.
    pub from: &'static [&'static str],
    /// A description in one line.
    pub meaning: &'static str,
}

impl DerivedField {
    /// The derived field of this name, upper and lower case alike.
    pub fn named(name: &str) -> Option<&'static Self> {
        DERIVED.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }
}

/// Table of all derived fields.
pub const DERIVED: &[DerivedField] = &[
    DerivedField {
        name: "duration",
        derived: Derived::Duration,
        type_name: "uint64",
        unit: "ns",
        nullable: false,
        from: &["stime", "ltime"],
        meaning: "time from the first packet to the last",
    },
    DerivedField {
        name: "pps",
        derived: Derived::PacketRate,
        type_name: "float64",
        unit: "packets/s",
        nullable: true,
        from: &["total_count", "stime", "ltime"],
        meaning: "packets per second of the duration; null where the duration is 0",
    },
    DerivedField {
        name: "bps",
        derived: Derived::BitRate,
        type_name: "float64",
        unit: "bits/s",
        nullable: true,
        from: &["total_byte", "stime", "ltime"],
        meaning: "layer-3 bits per second of the duration; null where the duration is 0",
    },
    DerivedField {
        name: "bytes_per_packet",
        derived: Derived::BytesPerPacket,
        type_name: "float64",
        unit: "bytes",
        nullable: true,
        from: &["total_byte", "total_count"],
        meaning: "layer-3 bytes per packet; null without packets",
    },
    DerivedField {
        name: "protocol_name",
        derived: Derived::ProtocolName,
        type_name: "text",
        unit: "",
        nullable: false,
        from: &["protocol"],
        meaning: "name of the protocol; its number where it has none",
    },
    DerivedField {
        name: "service",
        derived: Derived::Service,
        type_name: "text",
        unit: "",
        nullable: true,
        from: &["protocol", "src_port", "dst_port"],
        meaning: "name of the service by destination port, else by source port; null where neither has one",
    },
    DerivedField {
        name: "forward",
        derived: Derived::Forward,
        type_name: "uint8",
        unit: "",
        nullable: false,
        from: &["src_addr", "dst_addr", "protocol", "src_port", "dst_port"],
        meaning: "1 where the source is the endpoint that conversation names first, else 0",
    },
    DerivedField {
        name: "addr",
        derived: Derived::Address,
        type_name: "address",
        unit: "",
        nullable: false,
        from: &["src_addr", "dst_addr"],
        meaning: "address of either end: a row is in the groups of both",
    },
    DerivedField {
        name: "port",
        derived: Derived::Port,
        type_name: "uint16",
        unit: "",
        nullable: false,
        from: &["src_port", "dst_port"],
        meaning: "port of either end: a row is in the groups of both",
    },
    DerivedField {
        name: "conversation",
        derived: Derived::Conversation,
        type_name: "text",
        unit: "",
        nullable: false,
        from: &["src_addr", "dst_addr", "protocol", "src_port", "dst_port"],
        meaning: "the 5-tuple without direction, the lesser endpoint first",
    },
    asn("src_asn", 0, "autonomous system of the source address; null where --geo knows none"),
    asn("dst_asn", 1, "autonomous system of the destination address; null where --geo knows none"),
    country("src_country", 0, "country of the source address (ISO 3166); null where --geo knows none"),
    country("dst_country", 1, "country of the destination address (ISO 3166); null where --geo knows none"),
    define_flow_field(
        "first_smac",
        &["smac"],
        "text",
        "source MAC address of the flow record's first packet, which may be before the window",
    ),
    define_flow_field(
        "first_dmac",
        &["dmac"],
        "text",
        "destination MAC address of the flow record's first packet, which may be before the window",
    ),
    define_flow_field("last_ip_ttl", &["ip_ttl"], "uint8", "time to live of the flow's last packet"),
    define_flow_field("last_ip_tos", &["ip_tos"], "uint8", "type of service of the flow's last packet"),
    define_flow_field(
        "last_tcp_seq",
        &["tcp_seq"],
        "uint32",
        "TCP sequence number of the flow's last packet",
    ),
    define_flow_field(
        "last_tcp_ack",
        &["tcp_ack"],
        "uint32",
        "TCP acknowledgement number of the flow's last packet",
    ),
    define_flow_field("last_tcp_win", &["tcp_win"], "uint16", "TCP window of the flow's last packet"),
    define_flow_field("any_tcp_flags", &["tcp_flags"], "uint8", "TCP flags that any packet of the flow had"),
    define_flow_field(
        "first_vlan",
        &["vlan"],
        "uint16",
        "VLAN identifier of the flow record's first packet, which may be before the window; null where untagged",
    ),
];

/// The address of each side.
const ADDRESSES: [&[&str]; 2] = [&["src_addr"], &["dst_addr"]];

const fn asn(name: &'static str, side: usize, meaning: &'static str) -> DerivedField {
    DerivedField {
        name,
        derived: Derived::Asn(side),
        type_name: "uint32",
        unit: "",
        nullable: true,
        from: ADDRESSES[side],
        meaning,
    }
}

const fn country(name: &'static str, side: usize, meaning: &'static str) -> DerivedField {
    DerivedField { derived: Derived::Country(side), type_name: "text", ..asn(name, side, meaning) }
}

const fn define_flow_field(
    name: &'static str,
    from: &'static [&'static str],
    type_name: &'static str,
    meaning: &'static str,
) -> DerivedField {
    DerivedField { name, derived: Derived::OfFlow, type_name, unit: "", nullable: true, from, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aggregation, FIELDS, Field, RowValue};

    #[test]
    fn what_changes_within_a_flow_has_a_name_for_what_the_flow_has() {
        for field in FIELDS {
            let derived = field.of_flow.map(|name| DerivedField::named(name).expect(name));
            if let Some(derived) = derived {
                assert_eq!((derived.derived, derived.from), (Derived::OfFlow, &[field.name][..]));
            }
            // First and last values are one packet's of several; a union is of all.
            use Aggregation::{First, Last, Or};
            let changes = matches!(field.aggregation, First | Last | Or) && field.row != RowValue::Absent;
            assert_eq!(field.of_flow.is_some(), changes, "{}", field.name);
        }
    }

    #[test]
    fn derived_fields_have_names_of_their_own_and_known_sources() {
        for field in DERIVED {
            assert!(Field::named(field.name).is_none(), "{}", field.name);
            assert!(field.from.iter().all(|name| Field::named(name).is_some()), "{}", field.name);
            assert_eq!(
                DerivedField::named(&field.name.to_uppercase()).map(|found| found.name),
                Some(field.name)
            );
        }
    }
}
