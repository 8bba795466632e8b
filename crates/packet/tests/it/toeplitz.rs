//! The hash of receive-side scaling against Microsoft's verification suite, DPDK's `rte_softrss` and its
//! definition.

use packet::Toeplitz;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The definition, bit by bit: the key as one long number, shifted by one bit per bit of the input.
fn by_definition(key: &[u8; 40], input: &[u8]) -> u32 {
    let bit_of = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1 == 1;
    let window = |from: usize| (from..from + 32).fold(0, |w, at| w << 1 | u32::from(bit_of(key, at)));
    (0..input.len() * 8).filter(|&at| bit_of(input, at)).fold(0, |hash, at| hash ^ window(at))
}

fn v4(src: &str, dst: &str) -> [u8; 8] {
    let octets = |text: &str| text.parse::<Ipv4Addr>().unwrap().octets();
    [octets(src), octets(dst)].concat().try_into().unwrap()
}

fn v6(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().unwrap().octets()
}

fn ports(src: u16, dst: u16) -> [u8; 4] {
    [src.to_be_bytes(), dst.to_be_bytes()].concat().try_into().unwrap()
}

/// "Verifying the RSS hash calculation" (NDIS driver documentation): source, destination, the hash of the
/// addresses alone and the hash with ports.
#[test]
fn ipv4_is_as_microsoft_publishes() {
    let rss = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
    for (src, src_port, dst, dst_port, addresses_only, with_ports) in [
        ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e_8fc2, 0x51cc_c178),
        ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718_262a, 0xc626_b0ea),
        ("24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0_a5de, 0x5c2b_394a),
        ("38.27.205.30", 48228, "209.142.163.6", 2217, 0x8298_9176, 0xafc7_327f),
        ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d18_09c5, 0x10e8_28a2),
    ] {
        assert_eq!(rss.ipv4(&v4(src, dst)), addresses_only, "{src} {dst}");
        assert_eq!(rss.ipv4_ports(&v4(src, dst), &ports(src_port, dst_port)), with_ports, "{src} {dst}");
    }
}

#[test]
fn ipv6_is_as_microsoft_publishes() {
    let rss = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
    for (src, src_port, dst, dst_port, addresses_only, with_ports) in [
        ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc1_8cd5, 0x4020_7d3d),
        ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c_461c, 0xdde5_1bbf),
        (
            "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
            44251,
            "fe80::200:f8ff:fe21:67cf",
            38024,
            0x4b61_e985,
            0x02d1_feef,
        ),
    ] {
        assert_eq!(rss.ipv6(&v6(src), &v6(dst)), addresses_only, "{src} {dst}");
        assert_eq!(rss.ipv6_ports(&v6(src), &v6(dst), &ports(src_port, dst_port)), with_ports, "{src} {dst}");
    }
}

/// Bytes of hexadecimal digits.
fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    assert_eq!(hex.len(), 2 * N);
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

/// Random keys and inputs; the hashes are what DPDK 22.11's `rte_softrss` gives for them.
#[test]
fn other_keys_are_as_dpdk_computes() {
    let rss = Toeplitz::new(&bytes(
        "c5506a4104ee85b933bf6533957d6054930acb609ca8980aeadfa1f2eec83665587ba8550e731be6",
    ));
    assert_eq!(rss.ipv4(&bytes("e9bd3c57eb953d74")), 0x131f_fb04);
    let rss = Toeplitz::new(&bytes(
        "0996a61c81202a8d43dd555726a69eb7a70b7df5f18991b18a9e66e7d0fe734606c31cdad8ce0f9e",
    ));
    assert_eq!(rss.ipv4_ports(&bytes("16a040097f47f80b"), &bytes("f361b666")), 0x872b_f156);
    let rss = Toeplitz::new(&bytes(
        "9e87ffc2adb31833d935355b2dc8f4718623a771b764ce50bb85371ff65aebe97b77c3bb76f53906",
    ));
    let (src, dst) = ("53f3ded05e6f214442be06d8e66cbeb3", "fe07b842b791fd4823bdee93b036dd38");
    assert_eq!(rss.ipv6(&bytes(src), &bytes(dst)), 0x96ab_f5d0);
    let rss = Toeplitz::new(&bytes(
        "828e6a4826b5005d27df3ee4de98b3c035f98e1d393d5c9421e9306a2d1ae0832f92986ba8e51ca0",
    ));
    let (src, dst) = ("8f1a89d8162429a8b33e810c171604eb", "ac4d6d5b9630d230dc7167c422e61a05");
    assert_eq!(rss.ipv6_ports(&bytes(src), &bytes(dst), &bytes("eb6692c2")), 0xd348_fea3);
}

#[test]
fn the_symmetric_key_gives_both_directions_one_hash_and_microsofts_does_not() {
    let (there, back) = (v4("10.0.0.1", "192.0.2.77"), v4("192.0.2.77", "10.0.0.1"));
    let (src, dst) = (v6("2001:db8::1"), v6("2001:db8:8000::2"));
    let (out, home) = (ports(50_000, 443), ports(443, 50_000));
    let symmetric = Toeplitz::new(&Toeplitz::SYMMETRIC_KEY);
    assert_eq!(symmetric.ipv4(&there), symmetric.ipv4(&back));
    assert_eq!(symmetric.ipv4_ports(&there, &out), symmetric.ipv4_ports(&back, &home));
    assert_eq!(symmetric.ipv6_ports(&src, &dst, &out), symmetric.ipv6_ports(&dst, &src, &home));
    // What that costs: 16 bits are left of 32.
    assert_eq!(symmetric.ipv4_ports(&there, &out) >> 16, symmetric.ipv4_ports(&there, &out) & 0xffff);
    let microsoft = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
    assert_ne!(microsoft.ipv4_ports(&there, &out), microsoft.ipv4_ports(&back, &home));
    assert_ne!(microsoft.ipv6(&src, &dst), microsoft.ipv6(&dst, &src));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn any_key_and_input_is_by_definition(
        key in any::<[[u8; 20]; 2]>(),
        src in any::<[u8; 16]>(),
        dst in any::<[u8; 16]>(),
        ports in any::<[u8; 4]>(),
    ) {
        let key = key.concat().try_into().unwrap();
        let rss = Toeplitz::new(&key);
        let addresses: [u8; 8] = src[..8].try_into().unwrap();
        prop_assert_eq!(rss.ipv4(&addresses), by_definition(&key, &addresses));
        let both = [&addresses[..], &ports].concat();
        prop_assert_eq!(rss.ipv4_ports(&addresses, &ports), by_definition(&key, &both));
        prop_assert_eq!(rss.ipv6(&src, &dst), by_definition(&key, &[src, dst].concat()));
        prop_assert_eq!(
            rss.ipv6_ports(&src, &dst, &ports),
            by_definition(&key, &[&src[..], &dst, &ports].concat())
        );
    }
}

/// An Ethernet frame around these bytes.
fn hash_of(ethertype: u16, bytes: &[u8]) -> Option<u32> {
    let data = [&[2; 12][..], &ethertype.to_be_bytes(), bytes].concat();
    let frame = packet::Frame {
        wire_len: data.len() as u32,
        data: &data,
        time_ns: 0,
        link: packet::LinkType::Ethernet,
        stripped_vlan: None,
    };
    Toeplitz::new(&Toeplitz::MICROSOFT_KEY).frame(&frame)
}

#[test]
fn frames_are_hashed_by_addresses_and_by_ports_where_there_are_some() {
    let rss = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
    let addresses = v4("10.0.0.1", "192.0.2.77");
    let ipv4 = |protocol: u8, fragment: u16| {
        let mut header =
            vec![0x45, 0, 0, 28, 0, 0, (fragment >> 8) as u8, fragment as u8, 64, protocol, 0, 0];
        header.extend(addresses);
        header.extend(ports(50_000, 443));
        header.extend([0; 4]);
        hash_of(0x0800, &header)
    };
    let (with, without) = (rss.ipv4_ports(&addresses, &ports(50_000, 443)), rss.ipv4(&addresses));
    assert_ne!(with, without);
    assert_eq!((ipv4(17, 0), ipv4(6, 0), ipv4(17, 0x4000)), (Some(with), Some(with), Some(with)));
    assert_eq!((ipv4(17, 0x2000), ipv4(17, 7), ipv4(47, 0)), (Some(without), Some(without), Some(without)));
    // ICMP's type and code are no ports, and SCTP's are not among those that cards take by default.
    assert_eq!((ipv4(1, 0), ipv4(132, 0)), (Some(without), Some(without)));

    let (src, dst) = (v6("2001:db8::1"), v6("2001:db8:8000::2"));
    let ipv6 = |next: u8, extension: &[u8]| {
        let length = (extension.len() + 8) as u8;
        let mut header = vec![0x60, 0, 0, 0, 0, length, next, 64];
        header.extend([&src[..], &dst, extension, &ports(50_000, 443), &[0; 4]].concat());
        hash_of(0x86dd, &header)
    };
    let (with, without) = (rss.ipv6_ports(&src, &dst, &ports(50_000, 443)), rss.ipv6(&src, &dst));
    assert_eq!(ipv6(17, &[]), Some(with));
    assert_eq!(ipv6(60, &[17, 0, 0, 0, 0, 0, 0, 0]), Some(with), "behind an extension header");
    assert_eq!(ipv6(44, &[17, 0, 0, 1, 0, 0, 0, 0]), Some(without), "the first fragment");
    assert_eq!(ipv6(44, &[17, 0, 0, 8, 0, 0, 0, 0]), Some(without), "a later fragment");

    assert_eq!(hash_of(0x0806, &[0; 28]), None);
    assert_eq!(hash_of(0x0800, &[0x45]), None);
}
