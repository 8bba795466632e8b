//! The packets of pinned flows are named, with the segments that a parser of all segments reads.

use crate::frames::{TCP, bytes, ethernet, ipv4, ipv6, udp, whole};
use packet::{BurstParser, KeyBurst, LinkType, MaskedKey, ParserConfig, Pin, Pins, Remark, Seed, TcpSegment};
use std::net::IpAddr;
use std::sync::Arc;

/// TCP as usual, with timestamps, with a window scale, cut short, with a length that cannot be; UDP; behind a tag; IPv6.
fn all_frames() -> Vec<Vec<u8>> {
    let with = |length: u8, options: &[u8]| {
        let mut header = [&TCP[..], options].concat();
        header[12] = length << 4;
        header
    };
    let timestamps = with(8, &[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7]);
    let scale = with(6, &[3, 3, 7, 0]);
    let tagged = bytes!([0, 5, 0x08, 0x00], ipv4(6, &TCP));
    [
        ethernet(0x0800, &ipv4(6, &bytes!(TCP, [0; 100]))),
        ethernet(0x0800, &ipv4(6, &bytes!(timestamps, [0; 10]))),
        ethernet(0x0800, &ipv4(6, &scale)),
        ethernet(0x0800, &ipv4(6, &with(15, &[]))),
        ethernet(0x0800, &ipv4(17, &udp(443, &[0; 30]))),
        ethernet(0x8100, &tagged),
        ethernet(0x86dd, &ipv6(6, &bytes!(TCP, [0; 7]))),
        ethernet(0x86dd, &ipv6(6, &scale)),
        ethernet(0x86dd, &ipv6(17, &udp(53, &[0; 30]))),
    ]
    .to_vec()
}

/// `is_pinning`: by the way for pins, where it may be taken.
fn parsed_by(is_pinning: bool, pins: Option<Pins>, segments: bool, paired: bool) -> BurstParser {
    let config = ParserConfig { segments, paired, ..ParserConfig::default() };
    let mut parser = BurstParser::new(Seed::new(1), config, 4);
    parser.set_pins(pins.map(Arc::new));
    for (number, data) in (1..).zip(all_frames()) {
        let frame = whole(LinkType::Ethernet, &data);
        match (parser.is_plain(), parser.is_pinning() && is_pinning) {
            (true, _) => parser.push::<true>(&frame, number),
            (false, true) => parser.push_pinning(&frame, number),
            (false, false) => parser.push::<false>(&frame, number),
        }
    }
    parser
}

fn parsed(pins: Option<Pins>, segments: bool, paired: bool) -> BurstParser {
    parsed_by(false, pins, segments, paired)
}

/// Segments by place.
fn pinned<K: packet::Key>(burst: &KeyBurst<K>) -> Vec<(usize, TcpSegment)> {
    burst.pinned().iter().map(|pinned| (pinned.at, pinned.segment)).collect()
}

/// What is to be pinned: the places of keys that pins have, with the segments of a parser that reads all.
fn expected<K: MaskedKey>(burst: &KeyBurst<K>, pins: &Pins) -> Vec<(usize, TcpSegment)> {
    let places = burst.packets().iter().zip(burst.segments()).enumerate();
    places
        .filter(|(_, (packet, _))| pins.have(&packet.key))
        .map(|(at, (_, segment))| (at, *segment))
        .collect()
}

fn of_address(address: &str, bits: u8) -> Pin {
    Pin { networks: [Some((address.parse::<IpAddr>().expect("an address"), bits)), None], ..Pin::ANY }
}

#[test]
fn pinned_packets_have_the_segments_of_a_parser_of_all_segments() {
    let whole = Pin {
        networks: [of_address("10.0.0.2", 32).networks[0], of_address("10.0.0.1", 32).networks[0]],
        ports: [Some(443), Some(1000)],
        protocol: Some(6),
    };
    let port = |port| Pin { ports: [None, Some(port)], ..Pin::ANY };
    for (all, named) in [
        (vec![whole], [5, 0]),
        (vec![of_address("10.0.0.0", 8)], [6, 0]),
        (vec![of_address("2001:db8::2", 128)], [0, 3]),
        (vec![port(443)], [6, 2]),
        (vec![port(53), whole], [5, 1]),
        (vec![port(9)], [0, 0]),
        (Vec::new(), [0, 0]),
    ] {
        let pins = Pins::new(all.clone(), Seed::new(1)).expect("few");
        for (paired, is_pinning) in [(false, false), (false, true), (true, false)] {
            let with_pins = parsed_by(is_pinning, Some(pins.clone()), false, paired).bursts;
            let plain = parsed(None, false, paired).bursts;
            let tracked = parsed(None, true, paired).bursts;
            assert_eq!(pinned(&with_pins.v4), expected(&tracked.v4, &pins), "{all:?}");
            assert_eq!(pinned(&with_pins.v6), expected(&tracked.v6, &pins), "{all:?}");
            assert_eq!([with_pins.v4.pinned().len(), with_pins.v6.pinned().len()], named, "{all:?}");
            // Nothing else of the packets is another.
            let same = |one: &[packet::KeyedPacket<_>], other: &[packet::KeyedPacket<_>]| {
                let of =
                    |packet: &packet::KeyedPacket<packet::KeyV4>| (packet.key, packet.hash, packet.fields);
                one.iter().map(of).eq(other.iter().map(of))
            };
            assert!(same(with_pins.v4.packets(), plain.v4.packets()), "{all:?}");
            assert!(with_pins.v4.segments().is_empty() && with_pins.v6.segments().is_empty());
            // Beside the segments of all packets.
            let beside = parsed_by(is_pinning, Some(pins.clone()), true, paired).bursts;
            assert_eq!(pinned(&beside.v4), pinned(&with_pins.v4), "{all:?}");
            assert_eq!(pinned(&beside.v6), pinned(&with_pins.v6), "{all:?}");
            assert_eq!(beside.v4.segments(), tracked.v4.segments());
            assert_eq!(beside.v6.segments(), tracked.v6.segments());
        }
    }
}

#[test]
fn a_segment_that_cannot_be_parsed_is_remarked_where_it_is_looked_at() {
    let remarks = |parser: &BurstParser| parser.remarks[Remark::SegmentUnparsed as usize];
    let pins = |pin| Pins::new([pin], Seed::new(1)).expect("one");
    assert_eq!(remarks(&parsed(None, true, false)), 1);
    assert_eq!(remarks(&parsed(Some(pins(of_address("10.0.0.1", 32))), false, false)), 1);
    assert_eq!(remarks(&parsed(Some(pins(of_address("2001:db8::1", 128))), false, false)), 0);
    assert_eq!(remarks(&parsed(Some(pins(of_address("10.0.0.1", 32))), true, false)), 1);
}

#[test]
fn pins_end_with_their_set() {
    let pins = Arc::new(Pins::new([of_address("10.0.0.1", 32)], Seed::new(1)).expect("one"));
    let mut parser = BurstParser::new(Seed::new(1), ParserConfig::default(), 4);
    let data = &all_frames()[0];
    for (set, named) in [(Some(pins), 1), (None, 0), (Some(Arc::new(Pins::none(Seed::new(1)))), 0)] {
        parser.set_pins(set);
        assert_eq!(parser.is_plain(), named == 0);
        parser.push::<false>(&whole(LinkType::Ethernet, data), 1);
        assert_eq!(parser.bursts.v4.pinned().len(), named);
        parser.clear();
        assert!(parser.bursts.v4.pinned().is_empty());
    }
}
