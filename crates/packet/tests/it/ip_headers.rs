//! IP and transport headers, byte by byte.

use crate::frames::{self, TCP, bytes, ethernet, ipv4, ipv6, line, parsed, udp};
use packet::{Frame, LinkType, NotMeasured, Tunnel, parse};

const V4: &str = "10.0.0.1 1000 > 10.0.0.2 53 protocol 17";
const V6: &str = "2001:db8::1 1000 > 2001:db8::2 53 protocol 17";

/// Each raw packet gives the key written next to it.
fn check(cases: &[(&str, Vec<u8>, String)]) {
    for (name, packet, expected) in cases {
        assert_eq!(parsed(LinkType::Raw, packet, Tunnel::Outer), *expected, "{name}");
    }
}

/// The packet with the byte at `at` replaced.
fn with(mut packet: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    packet
}

fn keyed(src_port: u16, dst_port: u16, protocol: u8, rest: &str) -> String {
    format!("10.0.0.1 {src_port} > 10.0.0.2 {dst_port} protocol {protocol} {rest}")
}

fn keyed6(src_port: u16, dst_port: u16, protocol: u8, rest: &str) -> String {
    format!("2001:db8::1 {src_port} > 2001:db8::2 {dst_port} protocol {protocol} {rest}")
}

#[test]
fn transports() {
    let ports = [0x03, 0xe8, 0, 53, 0, 0, 0, 0];
    check(&[
        ("TCP", ipv4(6, &TCP), keyed(1000, 443, 6, "total 40")),
        ("TCP over IPv6", ipv6(6, &TCP), keyed6(1000, 443, 6, "total 60")),
        ("SCTP", ipv4(132, &bytes!(ports, [0; 4])), keyed(1000, 53, 132, "total 32")),
        ("SCTP over IPv6", ipv6(132, &bytes!(ports, [0; 4])), keyed6(1000, 53, 132, "total 52")),
        ("UDP-Lite", ipv4(136, &ports), keyed(1000, 53, 136, "total 28")),
        ("ICMP, port unreachable", ipv4(1, &[3, 3, 0, 0, 0, 0, 0, 0]), keyed(0, 771, 1, "total 28")),
        ("ICMPv6, echo", ipv6(58, &[128, 0, 0, 0, 0, 0, 0, 0]), keyed6(0, 32768, 58, "total 48")),
        ("ESP", ipv4(50, &[0xff; 40]), keyed(0, 0, 50, "total 60")),
        ("DCCP", ipv4(33, &ports), keyed(0, 0, 33, "total 28")),
        ("OSPF over IPv6", ipv6(89, &[2; 16]), keyed6(0, 0, 89, "total 56")),
        ("no next header", ipv6(59, &[]), keyed6(0, 0, 59, "total 40")),
        ("GRE", ipv4(47, &[0; 8]), keyed(0, 0, 47, "total 28")),
    ]);
}

#[test]
fn tcp_and_ip_fields() {
    for (packet, ttl) in [(ipv4(6, &TCP), 64), (with(ipv6(6, &TCP), 7, &[3]), 3)] {
        let fields = parse(&frames::whole(LinkType::Raw, &packet), Tunnel::Outer).expect("a packet").fields;
        assert_eq!((fields.tcp_seq, fields.tcp_ack), (0x0102_0304, 0x0506_0708));
        assert_eq!((fields.tcp_flags, fields.tcp_win), (0x18, 0x1234));
        assert_eq!((fields.ip_ttl, fields.ip_tos), (ttl, 0x28));
    }
    // All eight flags, and nothing of a header whose end was not captured.
    let packet = with(ipv4(6, &TCP), 33, &[0xff]);
    let fields = parse(&frames::whole(LinkType::Raw, &packet), Tunnel::Outer).expect("a packet").fields;
    assert_eq!(fields.tcp_flags, 0xff);
    let cut = Frame { data: &packet[..35], ..frames::whole(LinkType::Raw, &packet) };
    let fields = parse(&cut, Tunnel::Outer).expect("a packet").fields;
    assert_eq!((fields.tcp_seq, fields.tcp_flags, fields.tcp_win), (0, 0, 0));
}

#[test]
fn ipv4_options_and_header_length() {
    let mut options = with(ipv4(17, &bytes!([0x94, 4, 0, 0], udp(53, &[]))), 0, &[0x46]);
    check(&[
        ("one word", options.clone(), format!("{V4} total 32")),
        ("all words", with(ipv4(17, &bytes!([1; 40], udp(53, &[]))), 0, &[0x4f]), format!("{V4} total 68")),
        ("length below the least", with(ipv4(17, &udp(53, &[])), 0, &[0x44]), "malformed_ip".to_owned()),
        (
            "options longer than the packet",
            with(ipv4(17, &udp(53, &[])), 0, &[0x48]),
            "bad_length".to_owned(),
        ),
        ("options without end", with(ipv4(17, &[]), 0, &[0x45]), keyed(0, 0, 17, "total 20 ports_missing")),
    ]);
    // The snap length cut the options: the addresses are there.
    let wire_len = options.len() as u32;
    options.truncate(22);
    let cut = Frame { wire_len, ..frames::whole(LinkType::Raw, &options) };
    assert_eq!(line(parse(&cut, Tunnel::Outer)), keyed(0, 0, 17, "total 32 ports_truncated"));
}

#[test]
fn lengths() {
    let packet = ipv4(17, &udp(53, &[]));
    let v6 = ipv6(17, &udp(53, &[]));
    let padded = ethernet(0x0800, &bytes!(with(packet.clone(), 2, &[0, 0]), [0; 18]));
    check(&[
        ("IPv4, zero", with(packet.clone(), 2, &[0, 0]), format!("{V4} total 28")),
        ("IPv6, zero", with(v6.clone(), 4, &[0, 0]), format!("{V6} total 48")),
        ("IPv4, more than the frame", with(packet.clone(), 2, &[0, 29]), "bad_length".to_owned()),
        ("IPv6, more than the frame", with(v6.clone(), 4, &[0, 9]), "bad_length".to_owned()),
        ("IPv4, less than its header", with(packet.clone(), 2, &[0, 19]), "bad_length".to_owned()),
        ("IPv4, one byte", with(packet.clone(), 2, &[0, 1]), "bad_length".to_owned()),
        ("IPv4, 19 bytes", packet[..19].to_vec(), "malformed_ip".to_owned()),
        ("IPv6, 39 bytes", v6[..39].to_vec(), "malformed_ip".to_owned()),
        ("ends before the ports", ipv4(17, &[3, 0xe8, 0]), keyed(0, 0, 17, "total 23 ports_missing")),
        ("ends before the ports, IPv6", ipv6(6, &[]), keyed6(0, 0, 6, "total 40 ports_missing")),
        ("ends within ICMP", ipv4(1, &[8]), keyed(0, 0, 1, "total 21 ports_missing")),
        // Bytes after the packet are padding, not ports.
        ("ports in the padding", bytes!(ipv4(17, &[]), [9; 26]), keyed(0, 0, 17, "total 20 ports_missing")),
    ]);
    // A zero length includes the padding: the packet's end is unknown.
    assert_eq!(parsed(LinkType::Ethernet, &padded, Tunnel::Outer), format!("{V4} total 46"));
}

fn ports_of_tcp() -> [u8; 4] {
    [0x03, 0xe8, 0, 53]
}

#[test]
fn a_snap_length_cuts_captured_bytes_only() {
    let cut = |packet: &[u8], captured: usize| {
        let frame = Frame { data: &packet[..captured], ..frames::whole(LinkType::Raw, packet) };
        line(parse(&frame, Tunnel::Outer))
    };
    let packet = ipv4(17, &udp(53, &[0; 1000]));
    assert_eq!(cut(&packet, 0), NotMeasured::Truncated.name());
    assert_eq!(cut(&packet, 19), "truncated");
    assert_eq!(cut(&packet, 20), keyed(0, 0, 17, "total 1028 ports_truncated"));
    assert_eq!(cut(&packet, 23), keyed(0, 0, 17, "total 1028 ports_truncated"));
    assert_eq!(cut(&packet, 24), format!("{V4} total 1028"));
    let packet = ipv6(60, &bytes!([17, 1, 1, 12], [0; 12], udp(53, &[0; 1000])));
    assert_eq!(cut(&packet, 39), "truncated");
    assert_eq!(
        cut(&packet, 40),
        keyed6(0, 0, 60, "total 1064 ports_truncated protocol_truncated tcp_truncated")
    );
    assert_eq!(cut(&packet, 57), keyed6(0, 0, 17, "total 1064 ports_truncated"));
    assert_eq!(cut(&packet, 60), format!("{V6} total 1064"));
    // Sequence number, flags and window are known of a TCP header of which 16 bytes are there.
    let packet = ipv4(6, &bytes!(ports_of_tcp(), [0, 0, 0, 9, 0, 0, 0, 8, 0x50, 0x12, 0, 7], [0; 100]));
    assert_eq!(cut(&packet, 20), keyed(0, 0, 6, "total 136 ports_truncated tcp_truncated"));
    assert_eq!(cut(&packet, 24), keyed(1000, 53, 6, "total 136 tcp_truncated"));
    assert_eq!(cut(&packet, 35), keyed(1000, 53, 6, "total 136 tcp_truncated"));
    assert_eq!(cut(&packet, 36), keyed(1000, 53, 6, "total 136"));
    // The packet itself ends there: no more was on the wire.
    assert_eq!(cut(&ipv4(6, &ports_of_tcp()), 24), keyed(1000, 53, 6, "total 24"));
    let esp = ipv4(50, &[0; 1000]);
    assert_eq!(cut(&esp, 20), keyed(0, 0, 50, "total 1020"));
}

#[test]
fn fragments() {
    let packet = ipv4(17, &udp(53, &[]));
    let fragment = |offset_and_flag: [u8; 2]| bytes!([17, 0], offset_and_flag, [0, 0, 0, 1], udp(53, &[]));
    check(&[
        ("IPv4, first", with(packet.clone(), 6, &[0x20, 0]), format!("{V4} total 28")),
        ("IPv4, later", with(packet.clone(), 6, &[0x20, 185]), keyed(0, 0, 17, "total 28")),
        ("IPv4, last", with(packet.clone(), 6, &[0, 185]), keyed(0, 0, 17, "total 28")),
        ("IPv6, first", ipv6(44, &fragment([0, 1])), format!("{V6} total 56")),
        ("IPv6, whole", ipv6(44, &fragment([0, 0])), format!("{V6} total 56")),
        ("IPv6, later", ipv6(44, &fragment([5, 0xa9])), keyed6(0, 0, 17, "total 56")),
        // The reserved bits of the offset are no offset.
        ("IPv6, reserved bits", ipv6(44, &fragment([0, 6])), format!("{V6} total 56")),
    ]);
}

#[test]
fn extension_headers_and_ah() {
    let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    let routing = |next: u8| bytes!([next, 2, 0, 1], [0; 20]);
    let ah = |next: u8| bytes!([next, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], [0xaa; 12]);
    let udp = udp(53, &[]);
    check(&[
        ("hop by hop", ipv6(0, &bytes!(options(17), udp)), format!("{V6} total 56")),
        ("destination options", ipv6(60, &bytes!(options(17), udp)), format!("{V6} total 56")),
        ("routing", ipv6(43, &bytes!(routing(17), udp)), format!("{V6} total 72")),
        (
            "all",
            ipv6(0, &bytes!(options(43), routing(60), options(51), ah(17), udp)),
            format!("{V6} total 112"),
        ),
        ("AH, IPv4", ipv4(51, &bytes!(ah(17), udp)), format!("{V4} total 52")),
        ("AH before ESP", ipv4(51, &bytes!(ah(50), [0; 8])), keyed(0, 0, 50, "total 52")),
        ("AH beyond the packet", ipv4(51, &ah(17)[..20]), keyed(0, 0, 51, "total 40 ports_missing")),
        (
            "an extension header beyond the packet",
            ipv6(60, &[17, 9, 0, 0, 0, 0, 0, 0]),
            keyed6(0, 0, 60, "total 48 ports_missing"),
        ),
        ("mobility is a protocol", ipv6(135, &[59, 0, 0, 0, 0, 0, 0, 0]), keyed6(0, 0, 135, "total 48")),
        // In IPv4 these numbers are no extension headers.
        ("IPv4, protocol 0", ipv4(0, &options(17)), keyed(0, 0, 0, "total 28")),
        ("IPv4, protocol 60", ipv4(60, &options(17)), keyed(0, 0, 60, "total 28")),
    ]);
}
