//! Datagrams of strangers: nothing panics, each is accounted for, and what waits is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use router::{Decoder, DecoderSettings};
use std::net::SocketAddr;

/// The longest datagram of an input, each behind its length in two octets.
const LENGTH: usize = 2;

fuzz_target!(|data: &[u8]| {
    let mut decoder = Decoder::new(DecoderSettings::default());
    let mut rest = data;
    let mut now_ns = 1_700_000_000_000_000_000;
    let mut flows = 0;
    while let Some((head, more)) = rest.split_at_checked(LENGTH) {
        let length = usize::from(u16::from_be_bytes([head[0] & 0x0f, head[1]])).min(more.len());
        let from = SocketAddr::from(([192, 0, 2, head[0] >> 6], u16::from(head[0] >> 4 & 3)));
        let (datagram, others) = more.split_at(length);
        decoder.datagram(from, datagram, now_ns, &mut |_| flows += 1);
        now_ns += 1_000_000_000;
        rest = others;
    }
    assert!(decoder.counts().are_complete() && decoder.counts().records.given == flows);
    assert!(decoder.waiting_bytes() <= 8 << 20 && decoder.exporters().len() <= 16 * 4 * data.len());
    decoder.finish();
    assert_eq!(decoder.waiting_bytes(), 0);
});
