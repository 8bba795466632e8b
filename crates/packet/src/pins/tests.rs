use super::*;
use crate::KeyParts;
use proptest::prelude::*;

fn seed() -> Seed {
    Seed::new(7)
}

/// Keys of few addresses and ports, so that they often agree with pins.
fn address(number: u8) -> IpAddr {
    match number % 8 {
        0..4 => IpAddr::from([10, number & 1, 0, number & 3]),
        _ => IpAddr::from([0x2001, 0xdb8, u16::from(number & 1), 0, 0, 0, 0, u16::from(number & 3)]),
    }
}

/// A flow's key, as data.
#[derive(Clone, Copy, Debug)]
struct Flow {
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    protocol: u8,
}

fn flow() -> impl Strategy<Value = Flow> {
    let port = || prop_oneof![Just(80), Just(443)];
    (any::<bool>(), 0u8..4, 0u8..4, port(), port(), prop_oneof![Just(6), Just(17)]).prop_map(
        |(is_v6, one, other, from, to, protocol)| {
            let more = if is_v6 { 4 } else { 0 };
            Flow { addresses: [address(one + more), address(other + more)], ports: [from, to], protocol }
        },
    )
}

fn pin() -> impl Strategy<Value = Pin> {
    let bits = prop_oneof![Just(0u8), Just(15), Just(31), Just(32), Just(47), Just(128)];
    let network = || proptest::option::of((0u8..8, bits.clone()).prop_map(|(at, bits)| (address(at), bits)));
    let port = || proptest::option::of(prop_oneof![Just(80), Just(443)]);
    let protocol = proptest::option::of(prop_oneof![Just(6), Just(17)]);
    ([network(), network()], [port(), port()], protocol).prop_map(|(networks, ports, protocol)| {
        let networks = networks.map(|network| {
            network
                .map(|(address, bits): Network| (address, bits.min(if address.is_ipv4() { 32 } else { 128 })))
        });
        Pin { networks, ports, protocol }
    })
}

/// What a pin means, bit by bit.
fn is_pinned(pin: &Pin, flow: &Flow) -> bool {
    let bits = |address: IpAddr| -> Vec<bool> {
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1 == 1)).collect()
    };
    let side = |side: usize| {
        let in_network = pin.networks[side].is_none_or(|(network, length)| {
            let length = usize::from(length);
            network.is_ipv4() == flow.addresses[side].is_ipv4()
                && bits(network)[..length] == bits(flow.addresses[side])[..length]
        });
        in_network && pin.ports[side].is_none_or(|port| port == flow.ports[side])
    };
    side(0) && side(1) && pin.protocol.is_none_or(|protocol| protocol == flow.protocol)
}

fn reversed(flow: &Flow) -> Flow {
    let Flow { addresses: [source, destination], ports: [from, to], protocol } = *flow;
    Flow { addresses: [destination, source], ports: [to, from], protocol }
}

/// Whether pins have a flow, by a lookup; a flow that they have passes the sieve.
fn have(pins: &Pins, flow: &Flow) -> bool {
    fn of<K: MaskedKey>(pins: &Pins, key: &K) -> bool {
        let have = pins.have(key);
        let hashes = [key.hash(&seed()), key.pair_hash(&seed())];
        assert!(!have || hashes.iter().all(|hash| pins.may_have(*hash)) && pins.may_have_ports(key));
        have
    }
    let parts = KeyParts { ports: flow.ports, protocol: flow.protocol, ..KeyParts::default() };
    match flow.addresses {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            of(pins, &KeyV4::from_parts([source.octets(), destination.octets()], parts))
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            of(pins, &KeyV6::from_parts([source.octets(), destination.octets()], parts))
        }
        mixed => panic!("no packet has {mixed:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn a_lookup_tells_what_pins_mean(
        all in proptest::collection::vec(pin(), 0..12),
        flows in proptest::collection::vec(flow(), 16),
    ) {
        let pins = Pins::new(all.clone(), seed()).expect("few");
        for flow in &flows {
            let either = |pin: &Pin| is_pinned(pin, flow) || is_pinned(pin, &reversed(flow));
            prop_assert_eq!(have(&pins, flow), all.iter().any(either), "{:?}", flow);
        }
    }

    #[test]
    fn both_pins_together_mean_both(one in pin(), other in pin(), flow in flow()) {
        let both = one.and(&other).is_some_and(|both| is_pinned(&both, &flow));
        prop_assert_eq!(both, is_pinned(&one, &flow) && is_pinned(&other, &flow));
    }
}

/// Pins of whole keys, with ports that count up.
fn whole(pins: usize) -> impl Iterator<Item = Pin> {
    let networks = [Some((address(0), 32)), Some((address(1), 32))];
    (0..pins).map(move |at| Pin { networks, ports: [Some(at as u16), Some(80)], protocol: Some(6) })
}

#[test]
fn more_pins_than_possible_are_refused() {
    assert!(Pins::new(whole(Pins::MOST), seed()).is_ok());
    let refused = Pins::new(whole(Pins::MOST + 1), seed()).expect_err("one too many");
    assert_eq!(refused, PinsError::TooMany { pins: 4097 });
    assert!(refused.to_string().contains("4097") && refused.to_string().contains("4096"), "{refused}");
    // The same pin counts once.
    assert!(Pins::new(whole(Pins::MOST).chain(whole(1)), seed()).is_ok());
    let lengths = (1..=32).flat_map(|bits| (1..=3).map(move |more| (bits, more)));
    let many = lengths.map(|(bits, more)| Pin {
        networks: [Some((address(0), bits)), None],
        ports: [None, Some(80).filter(|_| more & 1 != 0)],
        protocol: Some(6).filter(|_| more & 2 != 0),
    });
    let refused = Pins::new(many, seed()).expect_err("too many masks");
    assert!(matches!(refused, PinsError::TooManyShapes { .. }), "{refused}");
}

#[test]
fn the_sieve_excludes_most_other_flows_where_whole_keys_are_pinned() {
    let pins = Pins::new(whole(64), seed()).expect("few");
    let mut state = 1;
    let passed = (0..100_000).filter(|_| pins.may_have(crate::split_mix(&mut state))).count();
    assert!((100..1_000).contains(&passed), "{passed}");
    assert!(Pins::none(seed()).is_empty() && !Pins::none(seed()).may_have(0));
    // Sources of other flows have any port.
    let port = |from: u16| KeyV4::new([9, 0, 0, 1, 9, 0, 0, 2], [(from >> 8) as u8, from as u8, 1, 187], 6);
    let few = Pins::new(whole(64), seed()).expect("few");
    assert!((0..u16::MAX).filter(|from| few.may_have_ports(&port(*from))).count() <= 64 * 8);
    assert!(!Pins::none(seed()).may_have_ports(&port(1)));
}

#[test]
fn a_protocol_alone_singles_out_nothing() {
    let of = |networks, ports| Pin { networks, ports, protocol: Some(6) }.is_narrow();
    assert!(!of([None, None], [None, None]));
    assert!(!of([Some((address(0), 0)), None], [None, None]));
    assert!(of([None, Some((address(0), 8))], [None, None]));
    assert!(of([None, None], [None, Some(443)]));
}
