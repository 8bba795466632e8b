//! Names of IP protocols.

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
