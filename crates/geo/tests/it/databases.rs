//! Databases of a few networks: layouts of several providers, both families, both sizes of records, and damage.

use geo::{AddressLocation, Databases, Flaw};
use proptest::prelude::*;
use std::net::IpAddr;
use testbed::mmdb::{Database, MmdbValue};

fn asn(number: u32) -> MmdbValue {
    MmdbValue::Map(vec![
        ("autonomous_system_number", MmdbValue::Number(number)),
        ("autonomous_system_organization", MmdbValue::Text("A network with a name of more than 29 bytes")),
    ])
}

fn country(code: &'static str) -> MmdbValue {
    let names = MmdbValue::Map(vec![("en", MmdbValue::Text("A country"))]);
    let of = MmdbValue::Map(vec![("names", names), ("iso_code", MmdbValue::Text(code))]);
    let continent = MmdbValue::Map(vec![("code", MmdbValue::Text("EU"))]);
    MmdbValue::Map(vec![("continent", continent), ("country", of)])
}

fn flat(asn: &'static str, country: &'static str) -> MmdbValue {
    MmdbValue::Map(vec![("asn", MmdbValue::Text(asn)), ("country", MmdbValue::Text(country))])
}

fn databases(all: &[Vec<u8>]) -> Databases {
    let mut databases = Databases::default();
    all.iter().for_each(|bytes| databases.add(bytes.clone()).expect("a database"));
    databases
}

fn place(databases: &Databases, address: &str) -> (Option<u32>, Option<String>) {
    let address: IpAddr = address.parse().expect("an address");
    let AddressLocation { asn, country } = databases.lookup().place(address);
    (asn, country.map(|letters| String::from_utf8_lossy(&letters).into_owned()))
}

fn known(asn: u32, country: &str) -> (Option<u32>, Option<String>) {
    (Some(asn), Some(country.to_owned()))
}

#[test]
fn addresses_of_both_families_are_found_in_records_of_both_sizes() {
    for record_bits in [24, 28] {
        let networks = vec![
            ("10.0.0.0", 8, asn(64_500)),
            ("192.0.2.0", 25, asn(64_501)),
            ("2001:db8::", 32, asn(4_200_000_000)),
        ];
        let both = databases(&[Database { record_bits, ip_version: 6, networks }.encode()]);
        let networks = vec![("10.0.0.0", 8, asn(64_500)), ("192.0.2.0", 25, asn(64_501))];
        let v4 = databases(&[Database { record_bits, ip_version: 4, networks }.encode()]);
        for known in [&both, &v4] {
            assert_eq!(place(known, "10.255.0.1"), (Some(64_500), None));
            assert_eq!(place(known, "192.0.2.127"), (Some(64_501), None));
            assert_eq!(place(known, "192.0.2.128"), (None, None));
        }
        assert_eq!(place(&both, "2001:db8:ffff::1"), (Some(4_200_000_000), None));
        assert_eq!(place(&both, "2001:db9::1"), (None, None));
        assert_eq!(place(&v4, "2001:db8::1"), (None, None));
    }
}

#[test]
fn the_first_database_that_knows_tells() {
    let of = |networks| Database { record_bits: 24, ip_version: 6, networks }.encode();
    let all = databases(&[
        of(vec![("10.0.0.0", 8, asn(1)), ("11.0.0.0", 8, asn(2))]),
        of(vec![("10.0.0.0", 9, country("de")), ("2001:db8::", 32, country("FR"))]),
        of(vec![
            ("10.0.0.0", 8, flat("AS77", "GB")),
            ("2001:db8::", 32, flat("AS13335", "US")),
            (
                "12.0.0.0",
                8,
                MmdbValue::Map(vec![
                    ("country_code", MmdbValue::Text("IE")),
                    ("country", MmdbValue::Text("Ireland")),
                ]),
            ),
            ("13.0.0.0", 8, MmdbValue::Map(vec![("traits", asn(5))])),
        ]),
    ]);
    assert_eq!(place(&all, "10.1.1.1"), known(1, "DE"));
    assert_eq!(place(&all, "10.200.1.1"), known(1, "GB"));
    assert_eq!(place(&all, "2001:db8::1"), known(13_335, "FR"));
    assert_eq!(place(&all, "11.0.0.1"), (Some(2), None));
    assert_eq!(place(&all, "12.0.0.1"), (None, Some("IE".to_owned())));
    assert_eq!(place(&all, "13.0.0.1"), (Some(5), None));
    // From the cache, the same.
    assert_eq!(place(&all, "10.1.1.1"), known(1, "DE"));
}

#[test]
fn what_is_no_database_of_places_is_refused() {
    let mut databases = Databases::default();
    assert!(matches!(databases.add(Vec::new()), Err(Flaw::NoDatabase)));
    assert!(matches!(databases.add(b"src_addr,country\n".to_vec()), Err(Flaw::NoDatabase)));
    let other = MmdbValue::Map(vec![("is_anonymous_proxy", MmdbValue::Number(1))]);
    let networks = vec![("10.0.0.0", 8, other), ("2001:db8::", 32, MmdbValue::Text("DE"))];
    let mixed = Database { record_bits: 24, ip_version: 6, networks };
    assert!(matches!(databases.add(mixed.encode()), Err(Flaw::Damaged)));
    let others = Database { networks: mixed.networks[..1].to_vec(), ..mixed };
    assert!(matches!(databases.add(others.encode()), Err(Flaw::NothingUsed)));
    let whole = Database { networks: vec![("10.0.0.0", 8, asn(1))], ..others }.encode();
    assert!(matches!(databases.add(whole[300..].to_vec()), Err(Flaw::Damaged)));
    assert!(databases.add(whole).is_ok());
}

#[test]
fn files_are_named_in_errors_of_one_line() {
    let missing = Databases::open(&["no\nsuch file"]).expect_err("it is not there").to_string();
    assert!(missing.starts_with("no\\nsuch file: ") && !missing.contains('\n'), "{missing}");
    let directory = Databases::open(&[env!("CARGO_MANIFEST_DIR")]).expect_err("a directory").to_string();
    assert!(directory.contains("not a regular file") && directory.contains("MMDB"), "{directory}");
    let source = Databases::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(source.expect_err("a text").to_string().contains("not in MMDB format"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    /// Bytes of a good database are overwritten: it is refused, or addresses are looked up in it without a panic.
    #[test]
    fn damage_is_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        is_small in any::<bool>(),
        addresses in prop::collection::vec(any::<IpAddr>(), 1..20),
    ) {
        let networks = vec![
            ("10.0.0.0", 8, country("DE")),
            ("11.0.0.0", 8, flat("AS7", "FR")),
            ("2001:db8::", 32, asn(1)),
        ];
        let record_bits = if is_small { 24 } else { 28 };
        let mut bytes = Database { record_bits, ip_version: 6, networks }.encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut databases = Databases::default();
        if databases.add(bytes).is_ok() {
            let mut lookup = databases.lookup();
            let inside = ["10.1.2.3", "11.0.0.1", "2001:db8::1"].map(|address| address.parse().expect("an address"));
            for address in addresses.into_iter().chain(inside) {
                let place = lookup.place(address);
                prop_assert!(place.country.is_none_or(|letters| letters.iter().all(u8::is_ascii_uppercase)));
            }
        }
    }
}
