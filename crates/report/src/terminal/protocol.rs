//! IP protocols by name.

/// An IP protocol's short name (IANA), or its number.
pub fn protocol_name(number: u8) -> String {
    let name = match number {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        41 => "6in4",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplite",
        _ => return number.to_string(),
    };
    name.to_owned()
}

/// Whether its ports are ports: TCP, UDP, SCTP, UDP-Lite.
pub(super) fn has_ports(number: u64) -> bool {
    matches!(number, 6 | 17 | 132 | 136)
}

/// Its name; ICMP with type and code, which take the place of the destination port.
pub(super) fn with_type(number: u64, dst_port: Option<u64>) -> String {
    let name = u8::try_from(number).map_or_else(|_| number.to_string(), protocol_name);
    match (number, dst_port) {
        (1 | 58, Some(port)) => format!("{name} {}/{}", port >> 8, port & 0xff),
        _ => name,
    }
}
