//! Fields that records leave open, in each format: null, and no 0.

use crate::tool::Directory;
use flow::{FlowKey, FlowRecord, NULL, OpenFields, RowValue};
use packet::Key;
use record::Selection;
use record::read::{FlowFile, ReadProjection};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

const FIELDS: [&str; 12] = [
    "src_port",
    "dst_port",
    "protocol",
    "total_count",
    "total_byte",
    "ip_tos",
    "ip_ttl",
    "tcp_flags",
    "tcp_seq",
    "tcp_ack",
    "tcp_win",
    "stime",
];
const VALUES: [RowValue; 10] = [
    RowValue::Packets,
    RowValue::Bytes,
    RowValue::IpTos,
    RowValue::IpTtl,
    RowValue::TcpFlags,
    RowValue::TcpSeq,
    RowValue::TcpAck,
    RowValue::TcpWin,
    RowValue::First,
    RowValue::Last,
];
const END: u64 = 1_700_000_000_000_000_000;

fn source(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | number)
}

/// A record of TCP that leaves open the fields of this set of bits: it has 0 of them, and its end as its begin.
fn record(number: u32, bits: u32) -> FlowRecord {
    let open: Vec<&str> =
        FIELDS.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|(_, field)| *field).collect();
    let of = |field: &str, value: u64| if open.contains(&field) { 0 } else { value };
    let ends = [(source(number), "src_port", 1000), (source(9), "dst_port", 443)]
        .map(|(address, field, port)| (IpAddr::V4(address), of(field, port) as u16));
    FlowRecord {
        key: Some(FlowKey::five_tuple(ends[0], ends[1], of("protocol", 6) as u8)),
        total_count: of("total_count", 3),
        total_byte: of("total_byte", 300),
        ip_tos: of("ip_tos", 8) as u8,
        ip_ttl: of("ip_ttl", 64) as u8,
        tcp_flags: of("tcp_flags", 0x1b) as u8,
        tcp_seq: of("tcp_seq", 70_000) as u32,
        tcp_ack: of("tcp_ack", 80_000) as u32,
        tcp_win: of("tcp_win", 512) as u16,
        open: OpenFields::all(&open),
        ..FlowRecord::without_packets(if open.contains(&"stime") { END } else { END - 1_000 }, END)
    }
}

/// Of each source what is open, and the values.
fn read(path: &std::path::Path) -> HashMap<Ipv4Addr, (OpenFields, [u64; 10])> {
    let wanted = ReadProjection {
        members: vec!["src_addr", "dst_addr", "src_port", "dst_port", "protocol"],
        columns: VALUES.to_vec(),
        open_fields: true,
        ..ReadProjection::default()
    };
    let mut found = HashMap::new();
    let mut file = FlowFile::open(path).expect("a file of flows");
    for part in 0..file.contents().parts.len() {
        let mut take = |block: &mut record::read::RowBlock| {
            for at in 0..block.v4.len() {
                let key = block.v4.keys[at].flow_key(&packet::KeySpec::default());
                let Some(IpAddr::V4(source)) = key.src_addr else { panic!("{key:?}") };
                let values = VALUES.map(|column| block.v4.column(column)[at]);
                assert!(found.insert(source, (block.open_v4(at), values)).is_none());
            }
            true
        };
        file.read_part(part, &wanted, &mut take).expect("it is read");
    }
    found
}

#[test]
fn what_is_left_open_is_null_in_each_format() {
    let folder = Directory::new("open");
    // Each field alone, none, and sets of several.
    let sets = (0..FIELDS.len()).map(|at| 1 << at).chain([0, 0b1_0110_0000, 0b1111_1110_0000]);
    let records: Vec<FlowRecord> = (1..).zip(sets).map(|(number, bits)| record(number, bits)).collect();
    let selection = Selection::all().with_open_fields();
    for suffix in ["csv", "jsonl", "parquet", "ipfix"] {
        let path = folder.path(&format!("flows.{suffix}"));
        let mut writer = record::create(&path, "n", &selection).expect("a file");
        writer.write(&records).expect("it is written");
        writer.finish().expect("it ends");
        let found = read(&path);
        assert_eq!(found.len(), records.len(), "{suffix}");
        for record in &records {
            let Some(IpAddr::V4(source)) = record.key.and_then(|key| key.src_addr) else { panic!("no key") };
            let FlowRecord {
                total_count,
                total_byte,
                ip_tos,
                ip_ttl,
                tcp_flags,
                tcp_seq,
                tcp_ack,
                tcp_win,
                ..
            } = record;
            let null = |field: &str, value: u64| match record.open.has_any(OpenFields::from_field(field)) {
                true => NULL,
                false => value,
            };
            // Counters are 0 where they are not told.
            let values = [
                *total_count,
                *total_byte,
                null("ip_tos", (*ip_tos).into()),
                null("ip_ttl", (*ip_ttl).into()),
                null("tcp_flags", (*tcp_flags).into()),
                null("tcp_seq", (*tcp_seq).into()),
                null("tcp_ack", (*tcp_ack).into()),
                null("tcp_win", (*tcp_win).into()),
                record.stime,
                record.ltime,
            ];
            assert_eq!(found[&source], (record.open, values), "{suffix}: {record:?}");
        }
    }
}

/// Routers decide which fields are open: a hostile one makes no more templates than there are numbers for.
#[test]
fn any_sets_of_open_fields_are_written_as_ipfix() {
    let folder = Directory::new("open");
    let path = folder.path("flows.ipfix");
    let records: Vec<FlowRecord> = (1..=4096).map(|number| record(number, number & 0xfff)).collect();
    let mut writer = record::create(&path, "n", &Selection::all().with_open_fields()).expect("a file");
    writer.write(&records).expect("it is written");
    writer.finish().expect("it ends");
    let found = read(&path);
    assert_eq!(found.len(), records.len());
    let mut null = 0;
    for record in &records {
        let Some(IpAddr::V4(source)) = record.key.and_then(|key| key.src_addr) else { panic!("no key") };
        let (open, values) = found[&source];
        assert_eq!(values[1], record.total_byte);
        null += usize::from(open == record.open);
    }
    assert!((200..4096).contains(&null), "{null}");
}
