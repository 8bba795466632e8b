//! IP protocols by name.

use flow::protocol_name;

/// Returns true if the protocol has ports: TCP, UDP, SCTP, UDP-Lite.
pub(crate) fn has_ports(number: u64) -> bool {
    matches!(number, 6 | 17 | 132 | 136)
}

/// Returns the name of a protocol; of ICMP with type and code, which take the place of the destination port.
pub(crate) fn with_type(number: u64, dst_port: Option<u64>) -> String {
    let name = u8::try_from(number).map_or_else(|_| number.to_string(), protocol_name);
    match (number, dst_port) {
        (1 | 58, Some(port)) => format!("{name} {}/{}", port >> 8, port & 0xff),
        _ => name,
    }
}
