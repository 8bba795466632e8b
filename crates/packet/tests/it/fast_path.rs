//! `BurstParser::push`, which has a separate path for common frames, against `parse`, on frames that are
//! nearly common.

use crate::frames::{TCP, bytes, ethernet, ipv4, ipv6, udp};
use packet::{
    BurstParser, Frame, Key, LinkType, NotMeasured, PacketFields, PacketKey, ParserConfig, Remark, Seed,
    Tunnel, parse,
};
use proptest::prelude::*;

/// A frame with everything that a [`Frame`] borrows.
#[derive(Clone, Debug)]
struct Owned {
    data: Vec<u8>,
    wire_len: u32,
    link: LinkType,
    stripped_vlan: Option<u16>,
}

impl Owned {
    fn frame(&self) -> Frame<'_> {
        let Self { data, wire_len, link, stripped_vlan } = self;
        Frame { data, wire_len: *wire_len, time_ns: 99, link: *link, stripped_vlan: *stripped_vlan }
    }
}

fn template() -> impl Strategy<Value = Vec<u8>> {
    let payload = || prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![
        4 => payload().prop_map(|payload| ethernet(0x0800, &ipv4(6, &bytes!(TCP, payload)))),
        4 => (any::<u16>(), payload()).prop_map(|(port, p)| ethernet(0x0800, &ipv4(17, &udp(port, &p)))),
        1 => payload().prop_map(|payload| ethernet(0x86dd, &ipv6(6, &bytes!(TCP, payload)))),
        1 => payload().prop_map(|p| ethernet(0x8100, &bytes!([0, 5, 8, 0], ipv4(17, &udp(53, &p))))),
        1 => payload().prop_map(|p| ethernet(0x0800, &ipv4(17, &udp(4789, &bytes!([8, 0, 0, 0, 0, 0, 1, 0], p))))),
        1 => payload().prop_map(|p| ethernet(0x0800, &ipv4(17, &udp(2152, &bytes!([0x30, 255, 0, 0, 0, 0, 0, 1], ipv4(6, &p)))))),
    ]
}

/// Bytes that decide something: type, version and length, total length, fragment, protocol, UDP port.
fn mutation() -> impl Strategy<Value = (usize, u8)> {
    let place = prop_oneof![
        Just(12_usize),
        Just(13),
        Just(14),
        Just(16),
        Just(17),
        Just(20),
        Just(21),
        Just(23),
        0..80_usize
    ];
    (place, prop_oneof![0..64_u8, any::<u8>()])
}

fn link() -> impl Strategy<Value = LinkType> {
    prop_oneof![
        9 => Just(LinkType::Ethernet),
        1 => (0..300_u32).prop_map(LinkType::from),
    ]
}

prop_compose! {
    fn nearly_common()(
        mut data in template(),
        mutations in prop::collection::vec(mutation(), 0..3),
        padding in prop_oneof![2 => Just(0_usize), 1 => 0..40_usize],
        kept in prop_oneof![3 => Just(usize::MAX), 1 => 0..90_usize],
        unseen in prop_oneof![3 => Just(0_u32), 1 => 0..2000_u32],
        link in link(),
        stripped_vlan in prop_oneof![9 => Just(None), 1 => any::<u16>().prop_map(Some)],
    ) -> Owned {
        for (at, byte) in mutations {
            if let Some(place) = data.get_mut(at) {
                *place = byte;
            }
        }
        data.resize(data.len() + padding, 0);
        let wire_len = data.len() as u32;
        data.truncate(kept);
        // The frame ends where it was cut, or it went on beyond the snap length.
        let wire_len = if unseen == 0 { data.len() as u32 } else { wire_len + unseen };
        Owned { data, wire_len, link, stripped_vlan }
    }
}

/// What a burst has of a packet: key, hash, number and fields.
fn expected<K: Key>(
    key: K,
    paired: bool,
    seed: &Seed,
    number: u64,
    fields: PacketFields,
) -> (K, u64, u64, PacketFields) {
    match paired {
        true => (
            key,
            key.pair_hash(seed),
            number,
            PacketFields { direction: u8::from(key.reversed() < key), ..fields },
        ),
        false => (key, key.hash(seed), number, fields),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(4000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pushing_gives_what_parsing_gives(
        owned in prop::collection::vec(nearly_common(), 1..8),
        number in 0..u64::MAX - 8,
        inner in any::<bool>(),
        [segments, headers, paired] in any::<[bool; 3]>(),
    ) {
        let tunnel = if inner { Tunnel::Inner } else { Tunnel::Outer };
        let seed = Seed::new(number);
        let mut parser = BurstParser::new(seed, ParserConfig { segments, headers, paired, ..tunnel.into() }, 4);
        let (mut v4_segments, mut v6_segments) = (Vec::new(), Vec::new());
        let (mut v4_headers, mut v6_headers) = (Vec::new(), Vec::new());
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        let mut not_measured = [0; NotMeasured::ALL.len()];
        let mut remarks = [0; Remark::ALL.len()];
        parser.number_near(number);
        for (at, owned) in (number..).zip(&owned) {
            // Both ways, in turn.
            match parser.is_plain() && at % 2 == 0 {
                true => parser.push::<true>(&owned.frame(), at),
                false => parser.push::<false>(&owned.frame(), at),
            }
            match parse(&owned.frame(), tunnel) {
                Ok(packet) => {
                    packet.remarks().for_each(|remark| remarks[remark as usize] += 1);
                    let is_unparsed = segments && packet.segment.is_unparsed();
                    remarks[Remark::SegmentUnparsed as usize] += u64::from(is_unparsed);
                    let fields = PacketFields { number: at as u32, ..packet.fields };
                    match packet.key {
                        PacketKey::V4(key) => {
                            v4.push(expected(key, paired, &seed, at, fields));
                            v4_segments.push(packet.segment);
                            v4_headers.push(packet.headers);
                        }
                        PacketKey::V6(key) => {
                            v6.push(expected(key, paired, &seed, at, fields));
                            v6_segments.push(packet.segment);
                            v6_headers.push(packet.headers);
                        }
                    }
                }
                Err(reason) => not_measured[reason as usize] += 1,
            }
        }
        let at = |fields: &PacketFields| parser.bursts.v4.numbers().number_of(fields);
        let pushed: Vec<_> =
            parser.bursts.v4.packets().iter().map(|p| (p.key, p.hash, at(&p.fields), p.fields)).collect();
        prop_assert_eq!(pushed, v4);
        let at = |fields: &PacketFields| parser.bursts.v6.numbers().number_of(fields);
        let pushed: Vec<_> =
            parser.bursts.v6.packets().iter().map(|p| (p.key, p.hash, at(&p.fields), p.fields)).collect();
        prop_assert_eq!(pushed, v6);
        prop_assert_eq!(parser.bursts.v4.segments(), if segments { &v4_segments[..] } else { &[] });
        prop_assert_eq!(parser.bursts.v6.segments(), if segments { &v6_segments[..] } else { &[] });
        prop_assert_eq!(parser.bursts.v4.headers(), if headers { &v4_headers[..] } else { &[] });
        prop_assert_eq!(parser.bursts.v6.headers(), if headers { &v6_headers[..] } else { &[] });
        prop_assert_eq!(parser.not_measured, not_measured);
        prop_assert_eq!(parser.remarks, remarks);

        // Cleared, it has no packet left and forgets no counter.
        parser.clear();
        prop_assert!(parser.bursts.v4.packets().is_empty() && parser.bursts.v6.packets().is_empty());
        prop_assert_eq!(parser.not_measured, not_measured);
    }
}

proptest! {
    // Each of as many frames as eight cases above.
    #![proptest_config(ProptestConfig { cases: testbed::cases(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_in_order_are_those_that_are_pushed_one_by_one(
        owned in prop::collection::vec((nearly_common(), prop_oneof![4 => 0..3_u64, 1 => 0..40_u64]), 1..70),
        (number, start) in (0..u64::MAX - 80, 0..40_u64),
        alert in 0..60_u64,
        inner in any::<bool>(),
        burst in 1..80_usize,
    ) {
        let tunnel = if inner { Tunnel::Inner } else { Tunnel::Outer };
        // Some come late, some after the time at which each is looked at.
        let mut time_ns = start;
        let frames: Vec<_> = owned.iter().map(|(owned, step)| {
            time_ns = if *step > 30 { time_ns.saturating_sub(*step) } else { time_ns + step };
            Frame { time_ns, ..owned.frame() }
        }).collect();
        let mut parser = BurstParser::new(Seed::new(number), tunnel, burst);
        let mut one_by_one = BurstParser::new(Seed::new(number), tunnel, burst);
        let (mut rest, mut latest, mut at) = (frames.iter().copied(), start, number);
        while rest.len() != 0 {
            let in_order = frames[frames.len() - rest.len()..]
                .iter()
                .scan(latest, |latest, frame| {
                    let is_in_order = (*latest..alert).contains(&frame.time_ns);
                    *latest = frame.time_ns;
                    is_in_order.then_some(*latest)
                });
            let (expected, last) = (in_order.clone().count() as u64, in_order.last().unwrap_or(latest));
            let left = rest.len() as u64;
            let (taken, time_ns) = parser.push_in_order(&mut rest, at, latest, alert);
            prop_assert_eq!((taken, time_ns, rest.len() as u64), (expected, last, left - expected));
            latest = time_ns;
            at += taken;
            if let Some(frame) = rest.next() {
                at += 1;
                parser.push::<false>(&frame, at);
                latest = latest.max(frame.time_ns);
            }
        }
        for (number, frame) in (number + 1..).zip(&frames) {
            one_by_one.push::<false>(frame, number);
        }
        let packets = |parser: &BurstParser| {
            let v4: Vec<_> = parser.bursts.v4.packets().iter().map(|p| (p.key, p.hash, p.fields)).collect();
            let v6: Vec<_> = parser.bursts.v6.packets().iter().map(|p| (p.key, p.hash, p.fields)).collect();
            (v4, v6)
        };
        prop_assert_eq!(packets(&parser), packets(&one_by_one));
        prop_assert_eq!(parser.not_measured, one_by_one.not_measured);
        prop_assert_eq!(parser.remarks, one_by_one.remarks);
    }
}
