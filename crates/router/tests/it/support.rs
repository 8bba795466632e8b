//! Datagrams written by hand, and a decoder that takes them.

use router::{Decoder, DecoderSettings, ExportedFlow};
use std::net::SocketAddr;

pub(crate) const EXPORT_S: u32 = 1_700_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const NOW_NS: u64 = EXPORT_S as u64 * SECOND;
pub(crate) const UPTIME_MS: u32 = 1_000_000;

pub(crate) fn exporter(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 2055))
}

pub(crate) fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A set with its header.
pub(crate) fn set(id: u16, content: &[u8]) -> Vec<u8> {
    [&numbers(&[id, content.len() as u16 + 4])[..], content].concat()
}

pub(crate) fn v9(sequence: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    v9_of(UPTIME_MS, sequence, domain, sets)
}

pub(crate) fn v9_of(uptime: u32, sequence: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let head = [uptime, EXPORT_S, sequence, domain].map(u32::to_be_bytes).concat();
    [numbers(&[9, sets.len() as u16]), head, sets.concat()].concat()
}

pub(crate) fn ipfix(sequence: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    ipfix_at(EXPORT_S, sequence, domain, sets)
}

/// The same, exported at another time.
pub(crate) fn ipfix_at(export_s: u32, sequence: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let sets = sets.concat();
    let head = [export_s, sequence, domain].map(u32::to_be_bytes).concat();
    [numbers(&[10, sets.len() as u16 + 16]), head, sets].concat()
}

/// A template: pairs of element and length.
pub(crate) fn template(id: u16, fields: &[u16]) -> Vec<u8> {
    [numbers(&[id, fields.len() as u16 / 2]), numbers(fields)].concat()
}

/// Both addresses, both ports, protocol, packets, bytes, first and last packet in uptime.
pub(crate) const FIELDS: [u16; 18] = [8, 4, 12, 4, 7, 2, 11, 2, 4, 1, 2, 4, 1, 4, 22, 4, 21, 4];

/// A record of it.
pub(crate) fn record(port: u16, packets: u32, bytes: u32) -> Vec<u8> {
    let mut octets = vec![10, 0, 0, 1, 10, 0, 0, 2];
    octets.extend(numbers(&[port, 80]));
    octets.push(6);
    for number in [packets, bytes, UPTIME_MS - 5_000, UPTIME_MS - 2_000] {
        octets.extend(number.to_be_bytes());
    }
    octets
}

/// A record of NetFlow v5.
pub(crate) fn v5_record(port: u16, packets: u32, bytes: u32) -> Vec<u8> {
    let mut octets = vec![10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 2];
    for number in [packets, bytes, UPTIME_MS - 5_000, UPTIME_MS - 2_000] {
        octets.extend(number.to_be_bytes());
    }
    octets.extend(numbers(&[port, 80]));
    octets.extend([0, 0x1b, 6, 8, 0, 0, 0, 0, 24, 24, 0, 0]);
    octets
}

pub(crate) fn v5(sequence: u32, sampling: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let head = [UPTIME_MS, EXPORT_S, 0, sequence].map(u32::to_be_bytes).concat();
    [numbers(&[5, records.len() as u16]), head, numbers(&[0x0102, sampling]), records.concat()].concat()
}

pub(crate) struct Test(pub(crate) Decoder);

impl Test {
    pub(crate) fn new() -> Self {
        Self(Decoder::new(DecoderSettings::default()))
    }

    pub(crate) fn take(&mut self, from: u8, octets: &[u8]) -> Vec<ExportedFlow> {
        self.take_of(exporter(from), octets, NOW_NS)
    }

    /// Takes a datagram of an address and port that comes then.
    pub(crate) fn take_of(&mut self, from: SocketAddr, octets: &[u8], now_ns: u64) -> Vec<ExportedFlow> {
        let mut flows = Vec::new();
        self.0.datagram(from, octets, now_ns, &mut |flow| flows.push(flow));
        assert!(self.0.counts().are_complete(), "{:?}", self.0.counts());
        flows
    }
}

/// Source port, packets and bytes of flows.
pub(crate) fn seen(flows: &[ExportedFlow]) -> Vec<(u16, u64, u64)> {
    let of = |flow: &ExportedFlow| {
        let key = flow.record.key.expect("a key");
        (key.src_port.expect("a port"), flow.record.total_count, flow.record.total_byte)
    };
    flows.iter().map(of).collect()
}
