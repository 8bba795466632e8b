//! The conversion of flow records to window rows.

use flow::{FlowRecord, WindowRow};
use history::replay::Row;
use packet::{KeyParts, KeySpec, KeyV4, KeyV6, MaskedKey};
use std::net::IpAddr;

/// The row that a record is in its window.
pub(super) fn row(record: &FlowRecord, spec: &KeySpec) -> Option<Row> {
    let key = record.key?;
    let parts = KeyParts {
        ports: [key.src_port?, key.dst_port?],
        protocol: key.protocol?,
        ip_tos: record.ip_tos,
        vlan: spec.columns().any(|column| column == "vlan").then_some(record.vlan),
    };
    let mut macs = [0; 12];
    macs[..6].copy_from_slice(&record.dmac);
    macs[6..].copy_from_slice(&record.smac);
    let row = WindowRow {
        key: (),
        packets: record.total_count,
        bytes: record.total_byte,
        wire_bytes: record.wire_byte,
        first_ns: record.stime,
        last_ns: record.ltime,
        tcp_seq: record.tcp_seq,
        tcp_ack: record.tcp_ack,
        tcp_win: record.tcp_win,
        vlan: record.vlan.unwrap_or(WindowRow::<()>::NO_VLAN),
        tcp_flags: record.tcp_flags,
        ip_ttl: record.ip_ttl,
        ip_tos: record.ip_tos,
        macs,
    };
    let v6 = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let has_addresses = spec.columns().any(|column| matches!(column, "src_addr" | "dst_addr"));
    Some(match [key.src_addr?, key.dst_addr?] {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let key = KeyV4::of_parts([source.octets(), destination.octets()], parts);
            Row::V4(row.with_key(key.masked(spec)))
        }
        // Without addresses both families are one.
        _ if !has_addresses => Row::V4(row.with_key(KeyV4::of_parts([[0; 4]; 2], parts).masked(spec))),
        addresses => Row::V6(row.with_key(KeyV6::of_parts(addresses.map(v6), parts).masked(spec))),
    })
}
