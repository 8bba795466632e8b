//! Tunnel headers, byte by byte.

use crate::frames::{self, TCP, bytes, ethernet, ipv4, ipv6, parsed, udp};
use packet::{Frame, LinkType, Remark, Tunnel};

const INNER: &str = "2001:db8::1 1000 > 2001:db8::2 443 protocol 6 total 60";

/// An inner packet, which no outer one here is like.
fn inner() -> Vec<u8> {
    ipv6(6, &TCP)
}

fn bridged() -> Vec<u8> {
    ethernet(0x86dd, &inner())
}

fn gtp(kind: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    let [high, low] = (rest.len() as u16).to_be_bytes();
    udp(2152, &bytes!([0x30 | flags, kind, high, low, 0, 0, 0, 1], rest))
}

fn at(tunnel: Tunnel, packet: &[u8]) -> String {
    parsed(LinkType::Raw, packet, tunnel)
}

#[test]
fn tunnels_are_entered_only_where_asked() {
    let tagged = ethernet(0x8100, &bytes!([0, 5, 0x86, 0xdd], inner()));
    let erspan3 =
        bytes!([0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], [0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0; 8], bridged());
    let gtp_extended = bytes!([0, 0, 0, 0x85], [1, 0x10, 9, 0], inner());
    let cases: &[(&str, Vec<u8>, u8)] = &[
        ("6in4", inner(), 41),
        ("GRE", bytes!([0, 0, 0x86, 0xdd], inner()), 47),
        ("GRE, checksum, key, sequence", bytes!([0xb0, 0, 0x86, 0xdd], [9; 12], inner()), 47),
        ("GRE version 1, PPP", bytes!([0x30, 0x81, 0x88, 0x0b], [9; 12], [0xff, 3, 0, 0x57], inner()), 47),
        ("NVGRE", bytes!([0x20, 0, 0x65, 0x58, 0, 0, 1, 0], bridged()), 47),
        ("GRE, MPLS", bytes!([0, 0, 0x88, 0x47, 0, 2, 1, 64], inner()), 47),
        ("ERSPAN I", bytes!([0, 0, 0x88, 0xbe], bridged()), 47),
        ("ERSPAN II", bytes!([0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], [0x10, 0, 0, 0, 0, 0, 0, 0], bridged()), 47),
        ("ERSPAN III with a sub-header", erspan3, 47),
        ("VXLAN", udp(4789, &bytes!([8, 0, 0, 0, 0, 0, 1, 0], bridged())), 17),
        ("VXLAN on Linux's old port, tag inside", udp(8472, &bytes!([8, 0, 0, 0, 0, 0, 1, 0], tagged)), 17),
        ("Geneve, bridged", udp(6081, &bytes!([0, 0, 0x65, 0x58, 0, 0, 1, 0], bridged())), 17),
        ("Geneve, options, IPv6", udp(6081, &bytes!([2, 0, 0x86, 0xdd, 0, 0, 1, 0], [7; 8], inner())), 17),
        ("GTP-U", gtp(255, 0, &inner()), 17),
        ("GTP-U, sequence", gtp(255, 2, &bytes!([0, 1, 0, 0], inner())), 17),
        ("GTP-U, extension", gtp(255, 4, &gtp_extended), 17),
    ];
    for (name, payload, protocol) in cases {
        let packet = ipv4(*protocol, payload);
        assert_eq!(at(Tunnel::Inner, &packet), INNER, "{name}");
        assert!(at(Tunnel::Outer, &packet).starts_with("10.0.0.1 "), "{name}");
        // The same after IPv6, where the outer one has the same addresses as the inner one but another
        // length.
        assert_eq!(at(Tunnel::Inner, &ipv6(*protocol, payload)), INNER, "{name} over IPv6");
    }
    assert_eq!(
        at(Tunnel::Inner, &ipv6(4, &ipv4(6, &TCP))),
        "10.0.0.1 1000 > 10.0.0.2 443 protocol 6 total 40"
    );
}

#[test]
fn what_cannot_be_entered_is_measured_outside() {
    let unparsed = |protocol: u8, port: &str, total: usize| {
        format!("10.0.0.1 {port} protocol {protocol} total {total} inner_unparsed")
    };
    let cases: &[(&str, Vec<u8>, String)] = &[
        ("6in4 with a bad length", ipv4(41, &inner()[..59]), unparsed(41, "0 > 10.0.0.2 0", 79)),
        ("IPv6 announced as IPv4", ipv4(4, &inner()), unparsed(4, "0 > 10.0.0.2 0", 80)),
        ("GRE, ARP", ipv4(47, &bytes!([0, 0, 8, 6], [0; 28])), unparsed(47, "0 > 10.0.0.2 0", 52)),
        (
            "GRE, source routes",
            ipv4(47, &bytes!([0x40, 0, 0x86, 0xdd], inner())),
            unparsed(47, "0 > 10.0.0.2 0", 84),
        ),
        (
            "GRE, version 2",
            ipv4(47, &bytes!([0, 2, 0x86, 0xdd], inner())),
            unparsed(47, "0 > 10.0.0.2 0", 84),
        ),
        ("VXLAN without its flag", ipv4(17, &udp(4789, &[0; 60])), unparsed(17, "1000 > 10.0.0.2 4789", 88)),
        ("Geneve, version 1", ipv4(17, &udp(6081, &[0x40; 60])), unparsed(17, "1000 > 10.0.0.2 6081", 88)),
        ("GTP-U, echo", ipv4(17, &gtp(1, 0, &[])), unparsed(17, "1000 > 10.0.0.2 2152", 36)),
        (
            "GTP-U, an extension of no length",
            ipv4(17, &gtp(255, 4, &bytes!([0, 0, 0, 0x85], [0; 8]))),
            unparsed(17, "1000 > 10.0.0.2 2152", 48),
        ),
    ];
    for (name, packet, expected) in cases {
        assert_eq!(at(Tunnel::Inner, packet), *expected, "{name}");
    }
}

#[test]
fn icmp_errors_are_no_tunnels() {
    let packet = ipv4(1, &bytes!([3, 3, 0, 0, 0, 0, 0, 0], ipv4(6, &TCP)));
    assert_eq!(at(Tunnel::Inner, &packet), "10.0.0.1 0 > 10.0.0.2 771 protocol 1 total 68");
}

#[test]
fn four_levels_are_looked_at() {
    let nested = |levels: usize| (1..levels).fold(ipv4(6, &TCP), |packet, _| ipv4(4, &packet));
    assert_eq!(at(Tunnel::Inner, &nested(4)), "10.0.0.1 1000 > 10.0.0.2 443 protocol 6 total 40");
    assert_eq!(at(Tunnel::Inner, &nested(5)), "10.0.0.1 0 > 10.0.0.2 0 protocol 4 total 60");
    assert_eq!(at(Tunnel::Inner, &nested(3000)), "10.0.0.1 0 > 10.0.0.2 0 protocol 4 total 59960");
    assert_eq!(at(Tunnel::Outer, &nested(5)), "10.0.0.1 0 > 10.0.0.2 0 protocol 4 total 120");
}

#[test]
fn later_fragments_have_no_inner_header() {
    let mut packet = ipv4(47, &bytes!([0, 0, 0x86, 0xdd], inner()));
    packet[7] = 100;
    assert_eq!(at(Tunnel::Inner, &packet), "10.0.0.1 0 > 10.0.0.2 0 protocol 47 total 84 inner_unparsed");
}

/// An inner packet that continues in the next fragment has its whole length, and its ports.
#[test]
fn first_fragments_have_the_inner_header() {
    // 1,480 bytes of GRE were cut behind 64; a first fragment says that more follow.
    let first = |mut packet: Vec<u8>| {
        packet[6] = 0x20;
        packet
    };
    let long = |header: Vec<u8>, at: usize, length: u16| {
        let mut packet = header;
        packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
        bytes!(packet, [7; 20])
    };
    let v6 = "2001:db8::1 1000 > 2001:db8::2 443 protocol 6 total 1440";
    let v4 = "10.0.0.1 1000 > 10.0.0.2 443 protocol 6 total 1480";
    let (inner_v6, inner_v4) = (long(inner(), 4, 1_400), long(ipv4(6, &TCP), 2, 1_480));
    for (name, packet, expected) in [
        ("GRE", first(ipv4(47, &bytes!([0, 0, 0x86, 0xdd], inner_v6))), v6),
        ("IPv4 in IPv4", first(ipv4(4, &inner_v4)), v4),
        ("GTP-U", first(ipv4(17, &gtp(255, 0, &inner_v4))), v4),
        // A fragment header with more to come.
        ("6in6", ipv6(44, &bytes!([41, 0, 0, 1, 0, 0, 0, 9], inner_v6)), v6),
        // The packet in between is no fragment, but it ends where the fragment does.
        ("two tunnels", first(ipv4(4, &long(ipv4(41, &inner_v6), 2, 1_460))), v6),
    ] {
        assert_eq!(at(Tunnel::Inner, &packet), expected, "{name}");
    }
    // What is no fragment has no more than there is.
    let whole = at(Tunnel::Inner, &ipv4(4, &inner_v4));
    assert_eq!(whole, "10.0.0.1 0 > 10.0.0.2 0 protocol 4 total 80 inner_unparsed");
    // Without the whole header there is no inner flow.
    let cut = first(ipv4(47, &bytes!([0, 0, 0x86, 0xdd], inner_v6[..39])));
    assert!(at(Tunnel::Inner, &cut).ends_with("protocol 47 total 63 inner_unparsed"));
}

/// Each tunnel has the least captured length that includes its inner IP header. A shorter frame does not show what is inside.
#[test]
fn inner_headers_that_were_cut_are_told_from_those_that_cannot_be_parsed() {
    let inner = ipv4(6, &TCP);
    for (name, packet, whole) in [
        ("IPv4 in IPv4", ipv4(4, &inner), 40),
        ("GRE", ipv4(47, &bytes!([0, 0, 8, 0], inner)), 44),
        // Whether the port is one of a tunnel is not known before byte 24.
        ("GTP-U", ipv4(17, &gtp(255, 0, &inner)), 56),
        // A tunnel may follow a truncated extension header.
        ("extension", ipv6(60, &bytes!([4, 0, 1, 4, 0, 0, 0, 0], inner)), 68),
    ] {
        let least = if packet[0] >> 4 == 6 { 40 } else { 20 };
        for captured in least..packet.len() {
            let frame = Frame { data: &packet[..captured], ..frames::whole(LinkType::Raw, &packet) };
            let [of_inner, of_outer] = [Tunnel::Inner, Tunnel::Outer].map(|tunnel| {
                let packet = packet::parse(&frame, tunnel).expect("it is measured");
                (packet.inner, packet.remarks().any(|remark| remark == Remark::InnerTruncated))
            });
            let expected = (captured < whole).then_some(Remark::InnerTruncated);
            assert_eq!(of_inner, (expected, expected.is_some()), "{name} {captured}");
            assert_eq!(of_outer, (None, false), "{name} {captured}");
        }
    }
    // No tunnel, whatever was cut.
    for (packet, captured) in [(ipv4(6, &TCP), 20), (ipv4(6, &TCP), 30), (ipv4(1, &[8, 0, 0, 0]), 20)] {
        let frame = Frame { data: &packet[..captured], ..frames::whole(LinkType::Raw, &packet) };
        assert_eq!(packet::parse(&frame, Tunnel::Inner).expect("it is measured").inner, None);
    }
}

#[test]
fn the_record_keeps_the_outer_frames_tag() {
    let inside = ethernet(0x8100, &bytes!([0, 5, 0x86, 0xdd], inner()));
    let vxlan = ipv4(17, &udp(4789, &bytes!([8, 0, 0, 0, 0, 0, 1, 0], inside)));
    let frame = ethernet(0x8100, &bytes!([0, 9, 8, 0], vxlan));
    assert_eq!(parsed(LinkType::Ethernet, &frame, Tunnel::Inner), format!("{INNER} vlan 9"));
}
