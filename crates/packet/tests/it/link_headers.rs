//! Link headers, byte by byte, down to a UDP packet.

use crate::frames::{bytes, ethernet, ipv4, ipv6, line, parsed, udp, whole};
use packet::{Frame, LinkType, Tunnel, parse};

const V4: &str = "10.0.0.1 1000 > 10.0.0.2 53 protocol 17 total 28";
const V6: &str = "2001:db8::1 1000 > 2001:db8::2 53 protocol 17 total 48";

fn v4() -> Vec<u8> {
    ipv4(17, &udp(53, &[]))
}

fn v6() -> Vec<u8> {
    ipv6(17, &udp(53, &[]))
}

/// Each frame gives the result written next to it.
fn check(link: LinkType, cases: &[(&str, Vec<u8>, &str)]) {
    for (name, frame, expected) in cases {
        assert_eq!(parsed(link, frame, Tunnel::Outer), *expected, "{name}");
    }
}

#[test]
fn ethernet_and_what_stands_behind_it() {
    let tagged = |tags: &str| format!("{V4} vlan {tags}");
    let control = vec![0; 46];
    check(
        LinkType::Ethernet,
        &[
            ("Ethernet II", ethernet(0x0800, &v4()), V4),
            ("IPv6", ethernet(0x86dd, &v6()), V6),
            ("padding is not counted", ethernet(0x0800, &bytes!(v4(), [0; 18])), V4),
            ("SNAP", ethernet(36, &bytes!([0xaa, 0xaa, 3, 0, 0, 0, 8, 0], v4())), V4),
            ("SNAP, bridge-tunnel form", ethernet(36, &bytes!([0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0], v4())), V4),
            ("SNAP of a vendor", ethernet(36, &bytes!([0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0], v4())), "not_ip"),
            ("LLC with IP's own number", ethernet(31, &bytes!([6, 6, 3], v4())), V4),
            ("spanning tree", ethernet(38, &bytes!([0x42, 0x42, 3], control)), "not_ip"),
            ("802.1Q", ethernet(0x8100, &bytes!([0xe0, 5, 8, 0], v4())), &tagged("5")),
            ("802.1Q, IPv6", ethernet(0x8100, &bytes!([0, 5, 0x86, 0xdd], v6())), &format!("{V6} vlan 5")),
            ("QinQ", ethernet(0x88a8, &bytes!([0, 100, 0x81, 0, 0, 5, 8, 0], v4())), &tagged("100")),
            ("old QinQ", ethernet(0x9100, &bytes!([0, 100, 0x81, 0, 0, 5, 8, 0], v4())), &tagged("100")),
            ("a tag before 802.3", ethernet(0x8100, &bytes!([0, 5, 0, 31, 6, 6, 3], v4())), &tagged("5")),
            ("MPLS, two labels", ethernet(0x8847, &bytes!([0, 1, 0, 64, 0, 2, 1, 64], v4())), V4),
            ("MPLS multicast, IPv6", ethernet(0x8848, &bytes!([0, 2, 1, 64], v6())), V6),
            (
                "MPLS pseudowire",
                ethernet(0x8847, &bytes!([0, 2, 1, 64, 0, 0, 0, 0], ethernet(0x0800, &v4()))),
                "not_ip",
            ),
            ("PPPoE", ethernet(0x8864, &bytes!([0x11, 0, 0, 1, 0, 30, 0, 0x21], v4())), V4),
            ("PPPoE, IPv6", ethernet(0x8864, &bytes!([0x11, 0, 0, 1, 0, 50, 0, 0x57], v6())), V6),
            ("PPPoE, LCP", ethernet(0x8864, &bytes!([0x11, 0, 0, 1, 0, 6, 0xc0, 0x21], control)), "not_ip"),
            ("PPPoE discovery", ethernet(0x8863, &control), "not_ip"),
            ("ARP", ethernet(0x0806, &control), "arp"),
            ("RARP", ethernet(0x8035, &control), "arp"),
            ("tagged ARP", ethernet(0x8100, &bytes!([0, 5, 8, 6], control)), "arp"),
            ("LLDP", ethernet(0x88cc, &control), "not_ip"),
            ("nothing", vec![], "malformed_link"),
            ("13 bytes", ethernet(0x0800, &[])[..13].to_vec(), "malformed_link"),
            ("ends in a tag", ethernet(0x8100, &[0, 5, 8]), "malformed_link"),
            ("ends behind a tag", ethernet(0x8100, &[0, 5, 8, 0]), "malformed_ip"),
            ("ends in LLC", ethernet(8, &[0xaa, 0xaa]), "malformed_link"),
            ("labels without a bottom", ethernet(0x8847, &[0, 1, 0, 64]), "malformed_link"),
            ("announced as IPv6", ethernet(0x86dd, &v4()), "malformed_ip"),
        ],
    );
}

#[test]
fn other_links() {
    let null = |family: [u8; 4], packet: Vec<u8>| bytes!(family, packet);
    let cooked = |hardware: u16, protocol: u16, packet: Vec<u8>| {
        bytes!([0, 0], hardware.to_be_bytes(), [0, 6, 2, 0, 0, 0, 0, 9, 0, 0], protocol.to_be_bytes(), packet)
    };
    let cooked2 = |hardware: u16, protocol: u16, packet: Vec<u8>| {
        let head = bytes!(protocol.to_be_bytes(), [0; 6], hardware.to_be_bytes());
        bytes!(head, [0, 6, 2, 0, 0, 0, 0, 9, 0, 0], packet)
    };
    let tagged = format!("{V4} vlan 5");
    check(
        LinkType::Raw,
        &[
            ("IPv4", v4(), V4),
            ("IPv6", v6(), V6),
            ("neither", vec![0x50; 60], "malformed_ip"),
            ("nothing", vec![], "malformed_ip"),
        ],
    );
    check(LinkType::RawIpv4, &[("IPv4", v4(), V4), ("IPv6", v6(), "malformed_ip")]);
    check(LinkType::RawIpv6, &[("IPv6", v6(), V6), ("IPv4", v4(), "malformed_ip")]);
    for link in [LinkType::BsdNull, LinkType::BsdLoop] {
        check(
            link,
            &[
                ("little-endian", null([2, 0, 0, 0], v4()), V4),
                ("big-endian", null([0, 0, 0, 2], v4()), V4),
                ("NetBSD", null([24, 0, 0, 0], v6()), V6),
                ("FreeBSD", null([0, 0, 0, 28], v6()), V6),
                ("macOS", null([30, 0, 0, 0], v6()), V6),
                ("AppleTalk", null([16, 0, 0, 0], v4()), "not_ip"),
                ("cut", vec![2, 0, 0], "malformed_link"),
            ],
        );
    }
    check(
        LinkType::LinuxCooked,
        &[
            ("IPv4", cooked(1, 0x0800, v4()), V4),
            ("IPv6", cooked(1, 0x86dd, v6()), V6),
            ("tag", cooked(1, 0x8100, bytes!([0, 5, 8, 0], v4())), &tagged),
            ("LLC", cooked(1, 4, bytes!([0xaa, 0xaa, 3, 0, 0, 0, 8, 0], v4())), V4),
            ("ARP", cooked(1, 0x0806, vec![0; 28]), "arp"),
            ("netlink", cooked(824, 0x0800, v4()), "not_ip"),
            ("cut", cooked(1, 0x0800, vec![])[..15].to_vec(), "malformed_link"),
        ],
    );
    check(
        LinkType::LinuxCooked2,
        &[
            ("IPv4", cooked2(1, 0x0800, v4()), V4),
            ("IPv6", cooked2(1, 0x86dd, v6()), V6),
            ("ARP", cooked2(1, 0x0806, vec![0; 28]), "arp"),
            ("netlink", cooked2(824, 0x0800, v4()), "not_ip"),
            ("cut", cooked2(1, 0x0800, vec![])[..19].to_vec(), "malformed_link"),
        ],
    );
    check(
        LinkType::Ppp,
        &[
            ("plain", bytes!([0, 0x21], v4()), V4),
            ("HDLC address and control", bytes!([0xff, 3, 0, 0x57], v6()), V6),
            ("short protocol", bytes!([0x21], v4()), V4),
            ("MPLS", bytes!([2, 0x81, 0, 2, 1, 64], v4()), V4),
            ("LCP", bytes!([0xff, 3, 0xc0, 0x21], [0; 8]), "not_ip"),
            // As tshark 4 dissects them under link types 9 and 50.
            ("Cisco HDLC", bytes!([0x0f, 0, 8, 0], v4()), V4),
            ("Cisco HDLC, multicast, IPv6", bytes!([0x8f, 0, 0x86, 0xdd], v6()), V6),
            ("Cisco HDLC, any control byte", bytes!([0x8f, 0x55, 8, 0], v4()), V4),
            ("Cisco HDLC, keep-alive", bytes!([0x8f, 0, 0x80, 0x35], [0; 18]), "not_ip"),
            ("Cisco HDLC, cut", vec![0x0f, 0, 8], "malformed_link"),
            ("cut", vec![0xff, 3, 0], "malformed_link"),
        ],
    );
    check(
        LinkType::CiscoHdlc,
        &[
            ("IPv4", bytes!([0x0f, 0, 8, 0], v4()), V4),
            ("IPv6", bytes!([0x0f, 0, 0x86, 0xdd], v6()), V6),
            ("keep-alive", bytes!([0x8f, 0, 0x80, 0x35], [0; 18]), "not_ip"),
        ],
    );
    check(LinkType::Unsupported, &[("anything", v4(), "link_type"), ("nothing", vec![], "link_type")]);
}

#[test]
fn addresses_and_wire_length_are_the_frames() {
    let data = ethernet(0x0800, &bytes!(v4(), [0; 18]));
    let fields = parse(&whole(LinkType::Ethernet, &data), Tunnel::Outer).expect("a packet").fields;
    assert_eq!((fields.smac(), fields.dmac()), ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]));
    assert_eq!((fields.wire_byte, fields.total_byte, fields.time_ns), (60, 28, 7));
    let data = bytes!([0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, 8, 0], v4());
    let fields = parse(&whole(LinkType::LinuxCooked, &data), Tunnel::Outer).expect("a packet").fields;
    assert_eq!((fields.smac(), fields.dmac()), ([2, 0, 0, 0, 0, 9], [0; 6]));
}

#[test]
fn a_stripped_tag_is_put_back() {
    let data = ethernet(0x8100, &bytes!([0, 5, 8, 0], v4()));
    let frame = Frame { stripped_vlan: Some(0xa064), ..whole(LinkType::Ethernet, &data) };
    let packet = parse(&frame, Tunnel::Outer);
    assert_eq!(packet.map(|packet| packet.fields.wire_byte), Ok(14 + 4 + 28 + 4));
    assert_eq!(line(packet), format!("{V4} vlan 100"));
}

#[test]
fn headers_without_end_are_refused() {
    for tag in [[0x81, 0, 0, 1], [0x88, 0xa8, 0, 1]] {
        let tags = tag.repeat(4000);
        let data = bytes!([2; 12], tags, [8, 0], v4());
        assert_eq!(parsed(LinkType::Ethernet, &data, Tunnel::Outer), "malformed_nesting");
    }
    let labels = ethernet(0x8847, &bytes!([0, 1, 0, 64].repeat(4000), [0, 1, 1, 64], v4()));
    assert_eq!(parsed(LinkType::Ethernet, &labels, Tunnel::Outer), "malformed_nesting");
    let extensions = ipv6(60, &bytes!([60, 0, 1, 4, 0, 0, 0, 0].repeat(4000), udp(53, &[])));
    assert_eq!(parsed(LinkType::Raw, &extensions, Tunnel::Outer), "malformed_nesting");
    let headers = ipv4(51, &bytes!([51, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1].repeat(4000), udp(53, &[])));
    assert_eq!(parsed(LinkType::Raw, &headers, Tunnel::Outer), "malformed_nesting");
    // What real frames have, they may have.
    let data = bytes!([2; 12], [0x81, 0, 0, 1].repeat(32), [8, 0], v4());
    assert_eq!(parsed(LinkType::Ethernet, &data, Tunnel::Outer), format!("{V4} vlan 1"));
}
