//! Any bytes on any link: one answer, no panic, bounded work, and what is measured keeps its promises.

use crate::frames::{self, TCP, bytes, ethernet, ipv4, ipv6, udp};
use packet::{Frame, LinkType, Tunnel, parse};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Every link type, and one that is none.
const LINKS: [LinkType; 11] = [
    LinkType::Ethernet,
    LinkType::Raw,
    LinkType::RawIpv4,
    LinkType::RawIpv6,
    LinkType::LinuxCooked,
    LinkType::LinuxCooked2,
    LinkType::BsdNull,
    LinkType::BsdLoop,
    LinkType::Ppp,
    LinkType::CiscoHdlc,
    LinkType::Unsupported,
];

/// Parses on every link, outer and inner, and checks what holds for any answer.
fn check(data: &[u8], wire_len: u32) -> Result<(), TestCaseError> {
    for link in LINKS {
        let frame = Frame { data, wire_len, time_ns: 1, link, stripped_vlan: None };
        let outer = parse(&frame, Tunnel::Outer);
        let inner = parse(&frame, Tunnel::Inner);
        // Only the outer header decides whether a frame is measured.
        prop_assert_eq!(outer.as_ref().err(), inner.as_ref().err());
        // The rest of an inner packet may be in later fragments of the outer one.
        for (packet, most) in [(outer, wire_len), (inner, u32::from(u16::MAX) + 40)] {
            let Ok(packet) = packet else { continue };
            prop_assert!(packet.fields.total_byte >= 20);
            prop_assert!(packet.fields.total_byte <= most, "{} of {most}", packet.fields.total_byte);
            prop_assert_eq!(packet.fields.wire_byte, wire_len);
        }
    }
    Ok(())
}

/// A valid packet in a chain of tunnels, extension headers and tags: garbage gets deep only from a start like it.
fn nested() -> impl Strategy<Value = Vec<u8>> {
    let core = prop_oneof![Just(ipv4(6, &TCP)), Just(ipv6(17, &udp(53, &[1; 9])))];
    core.prop_recursive(6, 6, 1, |inside| {
        (inside, 0..9_u8).prop_map(|(packet, kind)| {
            let is_v4 = packet[0] >> 4 == 4;
            let ethertype: u16 = if is_v4 { 0x0800 } else { 0x86dd };
            match kind {
                0 => ipv4(if is_v4 { 4 } else { 41 }, &packet),
                1 => ipv6(if is_v4 { 4 } else { 41 }, &packet),
                2 => {
                    ipv4(47, &bytes!([0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], [0; 8], ethernet(ethertype, &packet)))
                }
                3 => ipv6(47, &bytes!([0xb0, 0], ethertype.to_be_bytes(), [0; 12], packet)),
                4 => ipv4(17, &udp(4789, &bytes!([8, 0, 0, 0, 0, 0, 1, 0], ethernet(ethertype, &packet)))),
                5 => ipv6(17, &udp(6081, &bytes!([1, 0], ethertype.to_be_bytes(), [0; 8], packet))),
                6 => ipv4(
                    17,
                    &udp(2152, &bytes!([0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0], packet)),
                ),
                7 => ipv6(60, &bytes!([if is_v4 { 4 } else { 41 }, 0, 0, 0, 0, 0, 0, 0], packet)),
                _ => ipv4(51, &bytes!([if is_v4 { 4 } else { 41 }, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], packet)),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(3000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage(data in prop::collection::vec(any::<u8>(), 0..400), unseen in 0..70_000_u32) {
        check(&data, data.len() as u32)?;
        check(&data, data.len() as u32 + unseen)?;
    }

    #[test]
    fn damaged_nests(
        packet in nested(),
        link_header in 0..3_u8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        kept in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let ethertype = if packet[0] >> 4 == 4 { 0x0800 } else { 0x86dd };
        let mut data = match link_header {
            0 => packet,
            1 => ethernet(ethertype, &packet),
            _ => ethernet(0x8100, &bytes!([0, 5], ethertype.to_be_bytes(), packet)),
        };
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        let wire_len = data.len() as u32;
        if cut {
            data.truncate(kept.index(data.len()));
        }
        check(&data, wire_len)?;
        check(&data, data.len() as u32)?;
    }
}

#[test]
fn every_length_of_every_pattern() {
    let patterns: [&[u8]; 8] = [
        &[0x00],
        &[0xff],
        &[0x45],
        &[0x60, 0, 0, 0, 0, 0, 0, 0],
        &[0x81, 0x00, 0, 1],
        &[0x88, 0x47, 0, 0],
        &[60, 0, 0, 0, 0, 0, 0, 0],
        &[0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0],
    ];
    for pattern in patterns {
        let data: Vec<u8> = pattern.iter().copied().cycle().take(65_535).collect();
        let lengths = (0..=300).chain((300..=65_535).step_by(311)).chain([65_534, 65_535]);
        for length in lengths {
            check(&data[..length], length as u32)
                .unwrap_or_else(|error| panic!("{pattern:x?} × {length}: {error}"));
        }
    }
}

/// The longest loops that headers can be made to: many times what the bounded work takes, far below what
/// unbounded work would.
#[test]
fn work_per_frame_is_bounded() {
    let deepest = [
        ethernet(0x8100, &[0x81, 0, 0, 1].repeat(16_000)),
        ethernet(0x8847, &[0, 1, 0, 64].repeat(16_000)),
        ethernet(0x86dd, &ipv6(60, &[60, 0, 0, 0, 0, 0, 0, 0].repeat(8000))),
        ethernet(0x0800, &ipv4(51, &[51, 0, 0, 0, 0, 0, 0, 0].repeat(8000))),
        ethernet(
            0x0800,
            &ipv4(17, &udp(2152, &bytes!([0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], [1; 60_000]))),
        ),
    ];
    const FRAMES: u32 = 100_000;
    for data in deepest {
        let begin = Instant::now();
        for _ in 0..FRAMES {
            let frame = frames::whole(LinkType::Ethernet, std::hint::black_box(&data));
            let _ = std::hint::black_box(parse(&frame, Tunnel::Inner));
        }
        let each = begin.elapsed() / FRAMES;
        assert!(each < Duration::from_micros(5), "{each:?} for a frame that begins {:x?}", &data[..32]);
    }
}
