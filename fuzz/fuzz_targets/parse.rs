//! A frame of any link type: no panic, and what must hold of any frame.
#![no_main]

use edison_fuzz::check_frame;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use packet::{Frame, LinkType};

/// In the order of the bytes, which `scripts/fuzz` writes too.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// The number that a pcap file carries; those of the supported types are below 512.
    link: u16,
    /// Bytes on the wire beyond the captured ones.
    cut_off: u16,
    stripped_vlan: Option<u16>,
    data: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let Input { link, cut_off, stripped_vlan, data } = input;
    check_frame(&Frame {
        data,
        wire_len: data.len() as u32 + u32::from(cut_off),
        time_ns: 1,
        link: LinkType::from(u32::from(link % 512)),
        stripped_vlan,
    });
});
