//! Headers by hand, and what the parser makes of a frame, as one line.

use packet::{Frame, Key, KeySpec, LinkType, NotMeasured, Packet, PacketFields, PacketKey, Tunnel};

/// Several byte strings as one.
macro_rules! bytes {
    ($($part:expr),* $(,)?) => {{
        let parts: &[&[u8]] = &[$(&$part[..]),*];
        parts.concat()
    }};
}
pub(crate) use bytes;

/// TCP from port 1000 to 443: sequence number 0x01020304, acknowledgement 0x05060708, PSH and ACK, window 0x1234.
pub(crate) const TCP: [u8; 20] =
    [0x03, 0xe8, 0x01, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x18, 0x12, 0x34, 0, 0, 0, 0];

/// An IPv4 header from 10.0.0.1 to 10.0.0.2 before `payload`, with an honest length.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    bytes!([0x45, 0x28, high, low, 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2], payload)
}

/// An IPv6 header from 2001:db8::1 to 2001:db8::2 before `payload`, with an honest length.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let address = |last| [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    bytes!([0x62, 0x80, 0, 0, high, low, next, 64], address(1), address(2), payload)
}

/// UDP from port 1000.
pub(crate) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let ([high, low], [long, short]) = (port.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes());
    bytes!([0x03, 0xe8, high, low, long, short, 0, 0], payload)
}

/// An Ethernet header from 02:00:00:00:00:01 to 02:00:00:00:00:02.
pub(crate) fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    bytes!([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], ethertype.to_be_bytes(), payload)
}

/// A frame captured whole.
pub(crate) fn whole(link: LinkType, data: &[u8]) -> Frame<'_> {
    Frame { data, wire_len: data.len() as u32, time_ns: 7, link, stripped_vlan: None }
}

/// The key, the IP length, and what else is not as usual.
pub(crate) fn line(result: Result<Packet, NotMeasured>) -> String {
    let packet = match result {
        Ok(packet) => packet,
        Err(reason) => return reason.name().to_owned(),
    };
    let key = match packet.key {
        PacketKey::V4(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
        PacketKey::V6(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
    };
    let mut line = format!(
        "{} {} > {} {} protocol {} total {}",
        key.src_addr.unwrap(),
        key.src_port.unwrap(),
        key.dst_addr.unwrap(),
        key.dst_port.unwrap(),
        key.protocol.unwrap(),
        packet.fields.total_byte
    );
    if packet.fields.vlan != PacketFields::NO_VLAN {
        line += &format!(" vlan {}", packet.fields.vlan);
    }
    packet.remarks().for_each(|remark| line += &format!(" {}", remark.name()));
    line
}

/// What the parser makes of `data`, captured whole.
pub(crate) fn parsed(link: LinkType, data: &[u8], tunnel: Tunnel) -> String {
    line(packet::parse(&whole(link, data), tunnel))
}
