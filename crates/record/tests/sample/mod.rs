//! Seeded records with the extremes among them, and what each column must hold, written by hand.
#![allow(dead_code, unreachable_pub)]

use packet::FlowKey;
use record::{EndReason, FlowRecord};
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

pub const COLUMNS: [&str; 21] = [
    "src_addr",
    "dst_addr",
    "protocol",
    "src_port",
    "dst_port",
    "node_id",
    "stime",
    "ltime",
    "smac",
    "dmac",
    "ip_ttl",
    "ip_tos",
    "tcp_seq",
    "tcp_ack",
    "tcp_win",
    "total_count",
    "total_byte",
    "wire_byte",
    "tcp_flags",
    "vlan",
    "end_reason",
];

#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Null,
    Integer(u64),
    Time(u64),
    Text(String),
}

/// The columns of a record, by std's own formatting.
pub fn expected(r: &FlowRecord, node: &str) -> Vec<(&'static str, Expected)> {
    use Expected::{Integer, Null, Text, Time};
    let key = |of: fn(FlowKey) -> Expected| r.key.map_or(Null, of);
    let mac = |m: [u8; 6]| match m {
        [0, 0, 0, 0, 0, 0] => Null,
        _ => Text(m.map(|b| format!("{b:02x}")).join(":")),
    };
    let values = [
        key(|k| Text(k.src_addr.to_string())),
        key(|k| Text(k.dst_addr.to_string())),
        key(|k| Integer(k.protocol.into())),
        key(|k| Integer(k.src_port.into())),
        key(|k| Integer(k.dst_port.into())),
        Text(node.to_owned()),
        Time(r.stime),
        Time(r.ltime),
        mac(r.smac),
        mac(r.dmac),
        Integer(r.ip_ttl.into()),
        Integer(r.ip_tos.into()),
        Integer(r.tcp_seq.into()),
        Integer(r.tcp_ack.into()),
        Integer(r.tcp_win.into()),
        Integer(r.total_count),
        Integer(r.total_byte),
        Integer(r.wire_byte),
        Integer(r.tcp_flags.into()),
        r.vlan.map_or(Null, |v| Integer(v.into())),
        Text(r.end_reason.name().to_owned()),
    ];
    COLUMNS.into_iter().zip(values).collect()
}

/// `n` records; the first is all zero, the second all ones, some are `other`, some hold extremes.
pub fn records(n: usize) -> Vec<FlowRecord> {
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    (0..n)
        .map(|i| match i {
            0 => record(&mut || 0),
            1 => record(&mut || u64::MAX),
            _ => record(&mut || {
                let x = random();
                // All magnitudes, the edge of exact doubles and the ends.
                match x >> 60 {
                    0 => 0,
                    1 => u64::MAX,
                    2 => (1 << 53) + (x & 3) - 1,
                    _ => random() >> (x & 63),
                }
            }),
        })
        .collect()
}

fn record(random: &mut dyn FnMut() -> u64) -> FlowRecord {
    let mut address = || match random() & 1 {
        0 => IpAddr::from((random() as u32).to_be_bytes()),
        _ => IpAddr::from(std::array::from_fn::<u16, 8, _>(|_| random() as u16)),
    };
    let (src_addr, dst_addr) = (address(), address());
    let key = FlowKey {
        src_addr,
        dst_addr,
        src_port: random() as u16,
        dst_port: random() as u16,
        protocol: random() as u8,
    };
    let mut mac = || std::array::from_fn(|_| random() as u8);
    let (smac, dmac) = (mac(), mac());
    FlowRecord {
        key: (random() % 10 != 3).then_some(key),
        stime: random(),
        ltime: random(),
        total_count: random(),
        total_byte: random(),
        wire_byte: random(),
        tcp_seq: random() as u32,
        tcp_ack: random() as u32,
        tcp_win: random() as u16,
        vlan: (random() & 1 == 1).then(|| random() as u16 & 0xfff),
        smac: if random() & 3 == 0 { [0; 6] } else { smac },
        dmac,
        tcp_flags: random() as u8,
        ip_ttl: random() as u8,
        ip_tos: random() as u8,
        end_reason: [EndReason::Idle, EndReason::Active, EndReason::End][(random() % 3) as usize],
    }
}

/// A sink whose bytes can be taken back.
#[derive(Clone, Default)]
pub struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
