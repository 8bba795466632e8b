//! Any bytes as a database of addresses: it is refused on one line, or addresses are looked up without a panic or a hang.
#![no_main]

use geo::{DatabaseError, Databases};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    v4: [u32; 2],
    v6: [u128; 2],
    /// Bytes that are taken as they are, or as the metadata's part behind the marker.
    has_marker: bool,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let Input { v4, v6, has_marker, bytes } = input;
    let (tree, metadata) = bytes.split_at(if has_marker { bytes.len() / 2 } else { bytes.len() });
    let marker: &[u8] = if has_marker { b"\xab\xcd\xefMaxMind.com" } else { b"" };
    let mut databases = Databases::default();
    match databases.add([tree, marker, metadata].concat()) {
        Ok(()) => {
            let v4 = v4.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
            let v6 = v6.map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)));
            let mut lookup = databases.lookup();
            for address in v4.into_iter().chain(v6) {
                let place = lookup.place(address);
                assert!(place.country.is_none_or(|letters| letters.iter().all(u8::is_ascii_uppercase)));
                assert_eq!(lookup.place(address), place);
            }
        }
        Err(flaw) => {
            let shown = DatabaseError { file: "fuzz".to_owned(), flaw }.to_string();
            assert!(!shown.contains('\n'), "{shown}");
        }
    }
});
