//! The values that a flow record and a window row share.

use crate::{EndReason, FlowKey, FlowRecord, OpenFields, WindowRow};

impl FlowRecord {
    /// Returns a row as a record of this key, which ended with the source.
    #[inline(always)]
    pub fn of_row<K>(key: FlowKey, row: &WindowRow<K>) -> Self {
        Self {
            key: Some(key),
            stime: row.first_ns,
            ltime: row.last_ns,
            total_count: row.packets,
            total_byte: row.bytes,
            wire_byte: row.wire_bytes,
            tcp_seq: row.tcp_seq,
            tcp_ack: row.tcp_ack,
            tcp_win: row.tcp_win,
            vlan: (row.vlan != WindowRow::<K>::NO_VLAN).then_some(row.vlan),
            smac: std::array::from_fn(|octet| row.macs[6 + octet]),
            dmac: std::array::from_fn(|octet| row.macs[octet]),
            tcp_flags: row.tcp_flags,
            ip_ttl: row.ip_ttl,
            ip_tos: row.ip_tos,
            end_reason: EndReason::End,
            headers: row.headers,
            sampling_rate: 1,
            open: OpenFields::default(),
            more: None,
        }
    }

    /// Returns the record as a row, whose key is to be added ([`WindowRow::with_key`]).
    pub fn row(&self) -> WindowRow<()> {
        WindowRow {
            key: (),
            packets: self.total_count,
            bytes: self.total_byte,
            wire_bytes: self.wire_byte,
            first_ns: self.stime,
            last_ns: self.ltime,
            tcp_seq: self.tcp_seq,
            tcp_ack: self.tcp_ack,
            tcp_win: self.tcp_win,
            vlan: self.vlan.unwrap_or(WindowRow::<()>::NO_VLAN),
            tcp_flags: self.tcp_flags,
            ip_ttl: self.ip_ttl,
            ip_tos: self.ip_tos,
            macs: std::array::from_fn(
                |octet| {
                    if octet < 6 { self.dmac[octet] } else { self.smac[octet - 6] }
                },
            ),
            headers: self.headers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HEADER_FIELDS, HeaderValues};

    #[test]
    fn a_row_is_a_record_and_back() {
        let row = WindowRow {
            packets: 3,
            bytes: 100,
            wire_bytes: 142,
            tcp_seq: 1 << 31,
            tcp_ack: 17,
            tcp_win: 1 << 15,
            tcp_flags: 0x12,
            ip_ttl: 64,
            ip_tos: 8,
            macs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            headers: HeaderValues::new([Some(3); HEADER_FIELDS]),
            ..WindowRow::without_packets((), 5, 9)
        };
        for vlan in [WindowRow::<()>::NO_VLAN, 0, 12] {
            let row = WindowRow { vlan, ..row };
            let record = FlowRecord::of_row(FlowKey::default(), &row);
            assert_eq!((record.dmac, record.smac), ([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]));
            assert_eq!(record.vlan, Some(vlan).filter(|vlan| *vlan <= 12));
            assert_eq!(record.row(), row);
        }
    }
}
