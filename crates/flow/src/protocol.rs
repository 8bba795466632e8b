//! Names of IP protocols.

/// Numbers and short names (IANA).
const NAMES: [(u8, &str); 15] = [
    (1, "icmp"),
    (2, "igmp"),
    (4, "ipip"),
    (6, "tcp"),
    (17, "udp"),
    (41, "6in4"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "icmp6"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (132, "sctp"),
    (136, "udplite"),
];

/// An IP protocol's short name (IANA), or its number.
pub fn protocol_name(number: u8) -> String {
    let name = NAMES.iter().find(|(of, _)| *of == number);
    name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

/// The number of the protocol with this name, upper and lower case alike.
pub fn protocol_number(name: &str) -> Option<u8> {
    NAMES.iter().find(|(_, of)| of.eq_ignore_ascii_case(name)).map(|(number, _)| *number)
}

/// The names that [`protocol_number`] knows.
pub fn protocol_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(_, name)| *name)
}
