//! The conversion of flow records to window rows.

use flow::FlowRecord;
use packet::{FamilyRow, KeyParts, KeySpec, KeyV4, KeyV6, MaskedKey};
use std::net::IpAddr;

/// The row that a record is in its window.
pub(super) fn row(record: &FlowRecord, spec: &KeySpec) -> Option<FamilyRow> {
    let key = record.key?;
    let parts = KeyParts {
        ports: [key.src_port?, key.dst_port?],
        protocol: key.protocol?,
        ip_tos: record.ip_tos,
        vlan: spec.columns().any(|column| column == "vlan").then_some(record.vlan),
    };
    let row = record.row();
    let v6 = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let has_addresses = spec.columns().any(|column| matches!(column, "src_addr" | "dst_addr"));
    Some(match [key.src_addr?, key.dst_addr?] {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let key = KeyV4::from_parts([source.octets(), destination.octets()], parts);
            FamilyRow::V4(row.with_key(key.masked(spec)))
        }
        // Without addresses both families are one.
        _ if !has_addresses => {
            FamilyRow::V4(row.with_key(KeyV4::from_parts([[0; 4]; 2], parts).masked(spec)))
        }
        addresses => FamilyRow::V6(row.with_key(KeyV6::from_parts(addresses.map(v6), parts).masked(spec))),
    })
}
