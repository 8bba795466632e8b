//! Crypto-PAn: the published vectors, the property that it is made for, key files.

use crate::sample;
use crate::tool;
use flow::FlowRecord;
use model::{Answer, Column, ColumnKind, Value};
use proptest::prelude::*;
use record::Anonymizer;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The key of the authors' own distribution.
const KEY: [u8; 32] = [
    21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121, 121, 101,
    39, 98, 87, 76, 45, 42, 132, 34, 2,
];

/// Its sample trace, and what becomes of it.
const TRACE: &str = "
128.11.68.132 135.242.180.132
129.118.74.4 134.136.186.123
130.132.252.244 133.68.164.234
141.223.7.43 141.167.8.160
141.233.145.108 141.129.237.235
152.163.225.39 151.140.114.167
156.29.3.236 147.225.12.42
165.247.96.84 162.9.99.234
166.107.77.190 160.132.178.185
192.102.249.13 252.138.62.131
192.215.32.125 252.43.47.189
192.233.80.103 252.25.108.8
192.41.57.43 252.222.221.184
193.150.244.223 253.169.52.216
195.205.63.100 255.186.223.5
198.200.171.101 249.199.68.213
198.26.132.101 249.36.123.202
198.36.213.5 249.7.21.132
198.51.77.238 249.18.186.254
199.217.79.101 248.38.184.213
202.49.198.20 245.206.7.234
203.12.160.252 244.248.163.4
204.184.162.189 243.192.77.90
204.202.136.230 243.178.4.198
204.29.20.4 243.33.20.123
205.178.38.67 242.108.198.51
205.188.147.153 242.96.16.101
205.188.248.25 242.96.88.27
205.245.121.43 242.21.121.163
207.105.49.5 241.118.205.138
207.135.65.238 241.202.129.222
207.155.9.214 241.220.250.22
207.188.7.45 241.255.249.220
207.25.71.27 241.33.119.156
207.33.151.131 241.1.233.131
208.147.89.59 227.237.98.191
208.234.120.210 227.154.67.17
208.28.185.184 227.39.94.90
208.52.56.122 227.8.63.165
209.12.231.7 226.243.167.8
209.238.72.3 226.6.119.243
209.246.74.109 226.22.124.76
209.68.60.238 226.184.220.233
209.85.249.6 226.170.70.6
212.120.124.31 228.135.163.231
212.146.8.236 228.19.4.234
212.186.227.154 228.59.98.98
212.204.172.118 228.71.195.169
212.206.130.201 228.69.242.193
216.148.237.145 235.84.194.111
216.157.30.252 235.89.31.26
216.184.159.48 235.96.225.78
216.227.10.221 235.28.253.36
216.254.18.172 235.7.16.162
216.32.132.250 235.192.139.38
216.35.217.178 235.195.157.81
24.0.250.221 100.15.198.226
24.13.62.231 100.2.192.247
24.14.213.138 100.1.42.141
24.5.0.80 100.9.15.210
24.7.198.88 100.10.6.25
24.94.26.44 100.88.228.35
38.15.67.68 64.3.66.187
4.3.88.225 124.60.155.63
63.14.55.111 95.9.215.7
63.195.241.44 95.179.238.44
63.97.7.140 95.97.9.123
64.14.118.196 0.255.183.58
64.34.154.117 0.221.154.117
64.39.15.238 0.219.7.41
10.185.25.118 117.161.29.118
";

/// The same key over IPv6, as other implementations publish it.
const IPV6: [(&str, &str); 5] = [
    ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
    ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
    ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
    ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
    ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
];

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_published_vectors() {
    let mut anonymizer = Anonymizer::new(&KEY);
    let pairs: Vec<_> = TRACE.trim().lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(pairs.len(), 71);
    // The second time they come out of the cache.
    for _ in 0..2 {
        for (before, after) in pairs.iter().copied().chain(IPV6) {
            assert_eq!(anonymizer.address(address(before)), address(after), "{before}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn what_two_addresses_share_at_the_front_their_replacements_share(a: u32, bit in 0_u32..32, rest: u32, key: [u8; 32]) {
        let mut anonymizer = Anonymizer::new(&key);
        // Equal before `bit`, different in it, anything after it.
        let behind = u32::MAX.checked_shr(bit + 1).unwrap_or(0);
        let b = a ^ (1 << (31 - bit)) ^ (rest & behind);
        let mut after = |bits: u32| match anonymizer.address(Ipv4Addr::from_bits(bits).into()) {
            IpAddr::V4(address) => address.to_bits(),
            IpAddr::V6(_) => panic!("another family"),
        };
        prop_assert_eq!((after(a) ^ after(b)).leading_zeros(), bit);
        prop_assert_eq!(after(a), Anonymizer::new(&key).address(Ipv4Addr::from_bits(a).into()).to_string()
            .parse::<Ipv4Addr>().unwrap().to_bits());
    }

    #[test]
    fn the_same_of_ipv6(a: u128, bit in 0_u32..128, rest: u128, key: [u8; 32]) {
        let mut anonymizer = Anonymizer::new(&key);
        let behind = u128::MAX.checked_shr(bit + 1).unwrap_or(0);
        let b = a ^ (1 << (127 - bit)) ^ (rest & behind);
        let mut after = |bits: u128| match anonymizer.address(Ipv6Addr::from_bits(bits).into()) {
            IpAddr::V6(address) => address.to_bits(),
            IpAddr::V4(_) => panic!("another family"),
        };
        prop_assert_eq!((after(a) ^ after(b)).leading_zeros(), bit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    /// What replaces an address is put back to it; of a prefix the bits that it has are.
    #[test]
    fn a_replacement_is_put_back(v4: u32, v6: u128, kept in 1_u32..32, key: [u8; 32]) {
        let mut anonymizer = Anonymizer::new(&key);
        for address in [IpAddr::from(Ipv4Addr::from_bits(v4)), IpAddr::from(Ipv6Addr::from_bits(v6))] {
            let replaced = anonymizer.address(address);
            prop_assert_eq!(anonymizer.restore(replaced), address);
        }
        let mask = u32::MAX << (32 - kept);
        let IpAddr::V4(replaced) = anonymizer.address(Ipv4Addr::from_bits(v4).into()) else { unreachable!() };
        let IpAddr::V4(restored) = anonymizer.restore(Ipv4Addr::from_bits(replaced.to_bits() & mask).into()) else {
            unreachable!()
        };
        prop_assert_eq!(restored.to_bits() & mask, v4 & mask);
    }
}

#[test]
fn more_addresses_than_the_cache_has_places_get_the_same_as_without() {
    let mut anonymizer = Anonymizer::new(&KEY);
    let addresses = || {
        let v4 = (0..60_000_u32).map(|i| IpAddr::from(Ipv4Addr::from_bits(i.wrapping_mul(0x9e37_79b1))));
        let v6 = (0..60_000_u128).map(|i| IpAddr::from(Ipv6Addr::from_bits(0x2001_0db8 << 96 | i << 40 | i)));
        v4.chain(v6)
    };
    let first: Vec<_> = addresses().map(|address| anonymizer.address(address)).collect();
    let second: Vec<_> = addresses().map(|address| anonymizer.address(address)).collect();
    assert_eq!(first, second);
    let different: std::collections::HashSet<_> = first.iter().collect();
    assert_eq!(different.len(), first.len(), "no two become one");
    // Through no cache that was ever used before.
    for (before, after) in addresses().zip(&first).step_by(997) {
        assert_eq!(Anonymizer::new(&KEY).address(before), *after);
    }
}

#[test]
fn records_lose_addresses_of_both_directions_and_nothing_else() {
    let mut anonymizer = Anonymizer::new(&KEY);
    for before in sample::full_records(500) {
        let mut after = before.clone();
        anonymizer.record(&mut after);
        let mut check = |before: &FlowRecord, after: &FlowRecord| {
            let mut want = before.clone();
            want.smac = [0; 6];
            want.dmac = [0; 6];
            want.more = None;
            if let Some(key) = &mut want.key {
                key.src_addr = key.src_addr.map(|address| anonymizer.address(address));
                key.dst_addr = key.dst_addr.map(|address| anonymizer.address(address));
            }
            assert_eq!(FlowRecord { more: None, ..after.clone() }, want);
            // Some statistics are no numbers, which equal nothing.
            let rest = |record: &FlowRecord| {
                record.more.as_ref().map(|more| (more.loss, more.statistics.map(f64::to_bits)))
            };
            assert_eq!(rest(after), rest(before));
        };
        check(&before, &after);
        assert_eq!(before.reverse().is_some(), after.reverse().is_some());
        if let (Some(before), Some(after)) = (before.reverse(), after.reverse()) {
            check(before, after);
        }
    }
}

#[test]
fn a_prefix_stays_a_prefix() {
    let mut anonymizer = Anonymizer::new(&KEY);
    let net = anonymizer.address(address("192.0.2.0"));
    let host = anonymizer.address(address("192.0.2.77"));
    let (IpAddr::V4(net), IpAddr::V4(host)) = (net, host) else { panic!() };
    assert_eq!(net.octets()[..3], host.octets()[..3]);
}

#[test]
fn key_files_are_octets_or_digits() {
    let directory = tool::Directory::new("keys");
    let hex: String = KEY.iter().map(|octet| format!("{octet:02x}")).collect();
    for (name, bytes) in [
        ("raw", KEY.to_vec()),
        ("hex", hex.clone().into_bytes()),
        ("line", format!("{}\n", hex.to_uppercase()).into_bytes()),
        ("dos", format!("{hex}\r\n").into_bytes()),
    ] {
        let path = directory.path(name);
        std::fs::write(&path, bytes).unwrap();
        owner_only(&path, true);
        let (mut anonymizer, warning) = Anonymizer::from_file(&path).unwrap();
        assert_eq!(warning, None, "{name}");
        assert_eq!(anonymizer.address(address("128.11.68.132")), address("135.242.180.132"), "{name}");
    }
    let exposed = directory.path("raw");
    owner_only(&exposed, false);
    let (_, warning) = Anonymizer::from_file(&exposed).unwrap();
    let warning = warning.unwrap();
    assert!(warning.contains("raw") && warning.contains("chmod 600") && !warning.contains('\n'), "{warning}");
}

fn owner_only(path: &std::path::Path, only: bool) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if only { 0o600 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_no_key_is_refused_in_one_line() {
    let directory = tool::Directory::new("no-keys");
    for (name, bytes) in [
        ("empty", vec![]),
        ("short", KEY[..31].to_vec()),
        ("long", [&KEY[..], &[1]].concat()),
        ("digits", b"12ab".to_vec()),
        ("odd", vec![b'g'; 64]),
        ("signs", b"+1".repeat(32)),
        ("utf8", "ü".repeat(32).into_bytes()),
        ("huge", vec![b'0'; 1 << 20]),
    ] {
        let path = directory.path(name);
        std::fs::write(&path, bytes).unwrap();
        let error = Anonymizer::from_file(&path).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("64 hexadecimal digits"), "{error}");
        assert!(!error.contains('\n'));
    }
    let error = Anonymizer::from_file(&directory.path("missing")).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    // Something without an end.
    assert!(Anonymizer::from_file(std::path::Path::new("/dev/zero")).is_err());
    assert!(Anonymizer::from_file(&directory.path("")).is_err(), "a directory");
}

#[test]
fn the_key_does_not_show() {
    let shown = format!("{:?}", Anonymizer::new(&KEY));
    assert!(!shown.contains("21") && !shown.contains("0x15"), "{shown}");
}

#[test]
fn rows_of_a_hierarchy_stay_networks() {
    let mut anonymizer = Anonymizer::new(&KEY);
    let columns = vec![
        Column::new("src_addr", ColumnKind::Prefix, ""),
        Column::new("host", ColumnKind::Address, ""),
        Column::new("total_count", ColumnKind::Estimate, "packets"),
    ];
    for (network, length) in [
        ("192.0.0.0", 8),
        ("192.0.2.0", 24),
        ("192.0.2.77", 32),
        ("0.0.0.0", 0),
        ("2001:db8::", 32),
        ("2001:db8:5:6::", 64),
        ("2001:db8::9", 128),
    ] {
        let before = address(network);
        let figure = Value::Estimate { value: 7.0, lower: 5.0, upper: 9.0 };
        let row = vec![Value::Prefix { address: before, length }, Value::Address(before), figure.clone()];
        let mut answer = Answer::new("heavy_hitters", None, columns.clone(), vec![row]);
        answer.map_addresses(&mut |address| anonymizer.address(address));
        let [of_prefix, of_host, after] = &answer.rows[0][..] else { panic!("{answer:?}") };
        assert_eq!(*of_host, Value::Address(anonymizer.address(before)), "{network} without a prefix");
        let (&Value::Prefix { address: of_prefix, length: kept }, &Value::Address(of_host)) =
            (of_prefix, of_host)
        else {
            panic!("{answer:?}")
        };
        assert_eq!((kept, after), (length, &figure), "{network}/{length}");
        let bits = |address| match address {
            IpAddr::V4(address) => format!("{:032b}", Ipv4Addr::to_bits(address)),
            IpAddr::V6(address) => format!("{:0128b}", Ipv6Addr::to_bits(address)),
        };
        let (of_prefix, of_host) = (bits(of_prefix), bits(of_host));
        let (kept, behind) = of_prefix.split_at(length.into());
        assert_eq!(kept, &of_host[..length.into()], "{network}/{length}");
        assert!(!behind.contains('1'), "{network}/{length}: {behind}");
    }
}
