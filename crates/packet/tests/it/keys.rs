//! Keys of any choice (`--key`), against masking whole addresses as numbers; and what is no key.

use crate::frames::{ethernet, ipv4, ipv6, udp};
use packet::{BurstParser, FlowKey, Frame, Key, KeySpec, KeyV4, KeyV6, LinkType, ParserConfig, Seed};
use proptest::prelude::*;
use std::net::IpAddr;

/// One packet: addresses, ports, VLAN and type of service, in a frame.
#[derive(Clone, Debug)]
struct Sent {
    src: IpAddr,
    dst: IpAddr,
    ports: [u16; 2],
    vlan: Option<u16>,
    tos: u8,
}

impl Sent {
    fn frame(&self) -> Vec<u8> {
        let mut transport = udp(self.ports[1], &[0; 30]);
        transport[..2].copy_from_slice(&self.ports[0].to_be_bytes());
        let (ethertype, packet) = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let mut packet = ipv4(17, &transport);
                packet[1] = self.tos;
                packet[12..16].copy_from_slice(&src.octets());
                packet[16..20].copy_from_slice(&dst.octets());
                (0x0800, packet)
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let mut packet = ipv6(17, &transport);
                packet[0] = 0x60 | self.tos >> 4;
                packet[1] = self.tos << 4;
                packet[8..24].copy_from_slice(&src.octets());
                packet[24..40].copy_from_slice(&dst.octets());
                (0x86dd, packet)
            }
            _ => unreachable!("one family"),
        };
        match self.vlan {
            None => ethernet(ethertype, &packet),
            Some(vlan) => {
                let tag = [vlan.to_be_bytes(), u16::to_be_bytes(ethertype)].concat();
                ethernet(0x8100, &[tag, packet].concat())
            }
        }
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    (any::<bool>(), any::<[u128; 2]>(), any::<[u16; 2]>(), prop::option::of(0..4095_u16), any::<u8>())
        .prop_map(|(is_v4, [src, dst], ports, vlan, tos)| {
            let address = |bits: u128| match is_v4 {
                true => IpAddr::from((bits as u32).to_be_bytes()),
                false => IpAddr::from(bits.to_be_bytes()),
            };
            Sent { src: address(src), dst: address(dst), ports, vlan, tos }
        })
}

fn prefix(address: IpAddr, (v4, v6): (u32, u32)) -> IpAddr {
    // The bits below the prefix taken away as a remainder.
    let cut = |bits: u128, low: u32| if low == 128 { 0 } else { bits - bits % (1 << low) };
    match address {
        IpAddr::V4(a) => IpAddr::from((cut(u32::from(a).into(), 32 - v4) as u32).to_be_bytes()),
        IpAddr::V6(a) => IpAddr::from(cut(a.into(), 128 - v6).to_be_bytes()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(3000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_are_the_chosen_fields_with_the_rest_left_out(
        sent in sent(),
        chosen in prop::sample::subsequence(
            vec!["src_addr", "dst_addr", "protocol", "src_port", "dst_port", "vlan", "ip_tos"], 1..=7),
        lengths in (0..=32_u32, 0..=128_u32, 0..=32_u32, 0..=128_u32),
        paired in any::<bool>(),
    ) {
        let (s4, s6, d4, d6) = lengths;
        let list: Vec<String> = chosen.iter().map(|&name| match name {
            "src_addr" => format!("src_addr/{s4}/{s6}"),
            "dst_addr" => format!(" dst_addr/{d4}/{d6} "),
            name => name.to_owned(),
        }).collect();
        let spec = KeySpec::parse(&list.join(",")).unwrap();
        let has = |name| chosen.contains(&name);
        let expected = FlowKey {
            src_addr: has("src_addr").then(|| prefix(sent.src, (s4, s6))),
            dst_addr: has("dst_addr").then(|| prefix(sent.dst, (d4, d6))),
            src_port: has("src_port").then_some(sent.ports[0]),
            dst_port: has("dst_port").then_some(sent.ports[1]),
            protocol: has("protocol").then_some(17),
            vlan: sent.vlan.filter(|_| has("vlan")),
            ip_tos: has("ip_tos").then_some(sent.tos),
        };
        let seed = Seed::new(5);
        let mut parser = BurstParser::new(seed, ParserConfig { key: spec, paired, ..Default::default() }, 1);
        let data = sent.frame();
        let frame = Frame {
            data: &data, wire_len: data.len() as u32, time_ns: 1, link: LinkType::Ethernet, stripped_vlan: None,
        };
        parser.push::<false>(&frame, 0);
        let bursts = &parser.bursts;
        let v4 = bursts.v4.packets().iter().map(|p| (p.key.flow_key(&spec), p.hash, p.key.pair_hash(&seed)));
        let v6 = bursts.v6.packets().iter().map(|p| (p.key.flow_key(&spec), p.hash, p.key.pair_hash(&seed)));
        let keys: Vec<_> = v4.chain(v6).collect();
        prop_assert_eq!(keys.len(), 1);
        let v4 = bursts.v4.packets().iter().map(|p| (usize::from(p.fields.direction), p.key.direction()));
        let v6 = bursts.v6.packets().iter().map(|p| (usize::from(p.fields.direction), p.key.direction()));
        let agree = v4.chain(v6).all(|(noted, own)| noted == own * usize::from(paired));
        prop_assert!(agree);
        prop_assert_eq!(keys[0].0, expected);
        prop_assert_eq!(keys[0].1 == keys[0].2, paired || keys[0].1 == keys[0].2);
        // Without addresses both families share one table.
        if !has("src_addr") && !has("dst_addr") {
            prop_assert_eq!(parser.bursts.v4.packets().len(), 1);
        }
        prop_assert!(spec.columns().eq(chosen.iter().copied()));
    }

    #[test]
    fn both_directions_are_one_pair(
        v4: ([u8; 8], [u8; 4], u8), v6: ([u8; 16], [u8; 16], [u8; 4], u8), to_itself: bool,
    ) {
        let seed = Seed::new(3);
        let (mut a, p) = (v4.0, v4.1);
        if to_itself {
            a.copy_within(..4, 4);
        }
        let there = KeyV4::new(a, p, v4.2);
        let back = KeyV4::new([a[4], a[5], a[6], a[7], a[0], a[1], a[2], a[3]], [p[2], p[3], p[0], p[1]], v4.2);
        prop_assert_eq!(there.reversed(), back);
        prop_assert_eq!(there.pair_hash(&seed), back.pair_hash(&seed));
        prop_assert!(there == back || there.direction() != back.direction());
        prop_assert_eq!(there.pair(), (there.min(back), usize::from(back < there)));
        let (src, dst, p, protocol) = v6;
        let dst = if to_itself { src } else { dst };
        let there = KeyV6::new(&src, &dst, p, protocol);
        let back = KeyV6::new(&dst, &src, [p[2], p[3], p[0], p[1]], protocol);
        prop_assert_eq!(there.reversed(), back);
        prop_assert_eq!(there.pair_hash(&seed), back.pair_hash(&seed));
        prop_assert!(there == back || there.direction() != back.direction());
        prop_assert_eq!(there.pair(), (there.min(back), usize::from(back < there)));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}|[a-z_/,0-9 ]{0,40}") {
        if let Err(error) = KeySpec::parse(&text) {
            prop_assert!(error.to_string().contains('^'));
        }
    }
}

#[test]
fn the_default_is_the_five_tuple() {
    let spec = KeySpec::parse("src_addr,dst_addr,protocol,src_port,dst_port").unwrap();
    assert_eq!(spec, KeySpec::FIVE_TUPLE);
    assert!(spec.is_five_tuple() && spec.why_not_symmetric().is_none());
    assert_eq!(KeySpec::parse("src_addr/32/128,dst_addr/32,protocol,src_port,dst_port").unwrap(), spec);
    assert!(!KeySpec::parse("src_addr/24/64,dst_addr").unwrap().is_five_tuple());
}

#[test]
fn what_has_no_two_directions_says_why() {
    for lopsided in ["src_addr", "src_addr/24,dst_addr", "src_addr,dst_addr,src_port", "vlan"] {
        assert!(KeySpec::parse(lopsided).unwrap().why_not_symmetric().is_some(), "{lopsided}");
    }
    for fits in [
        "src_addr,dst_addr",
        "src_addr/24/64,dst_addr/24/64,protocol",
        "dst_port,src_addr,src_port,dst_addr,vlan",
    ] {
        assert_eq!(KeySpec::parse(fits).unwrap().why_not_symmetric(), None, "{fits}");
    }
}

#[test]
fn errors_underline_what_is_wrong_and_list_the_fields() {
    let cases = [
        ("src_addr,dts_port", "no key has a field 'dts_port'", "           ^^^^^^^^"),
        ("src_addr/33", "'33' is no prefix length from 0 to 32", "  ^^^^^^^^^^^"),
        ("src_addr/24/129", "'129' is no prefix length from 0 to 128", "  ^^^^^^^^^^^^^^^"),
        ("src_addr,, vlan", "a field is missing here", "           ^"),
        ("", "a field is missing here", "  ^"),
        ("vlan/12", "vlan has no prefix: only addresses do", "  ^^^^^^^"),
        ("vlan,ip_tos,VLAN", "vlan stands here twice", "              ^^^^"),
        ("src_addr/1/2/3", "an address has two prefix lengths at most: /IPV4/IPV6", "  ^^^^^^^^^^^^^^"),
    ];
    for (text, reason, under) in cases {
        let error = KeySpec::parse(text).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!((lines[0], lines[1].trim_start(), lines[2]), (reason, text, under), "{text}");
        assert!(lines[3].contains("src_addr, dst_addr, protocol, src_port, dst_port, vlan, ip_tos"));
    }
}
