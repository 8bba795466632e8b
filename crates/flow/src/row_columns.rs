//! Conversion of columns to rows as they leave a table.

use crate::{HEADER_FIELDS, HeaderValues, LossCounts, NULL, RowBatch, RowValue, TrackedParts, WindowRow};

/// The columns that rows of a table have, besides the losses.
const PLAIN: [RowValue; 14] = [
    RowValue::Packets,
    RowValue::Bytes,
    RowValue::WireBytes,
    RowValue::First,
    RowValue::Last,
    RowValue::TcpSeq,
    RowValue::TcpAck,
    RowValue::TcpWin,
    RowValue::Vlan,
    RowValue::TcpFlags,
    RowValue::IpTtl,
    RowValue::IpTos,
    RowValue::SourceMac,
    RowValue::DestinationMac,
];

/// The columns of losses. Files have the mean of round trips, not their sum.
const LOSSES: [RowValue; 10] = [
    RowValue::PlossByte,
    RowValue::PlossCount,
    RowValue::ReorderCount,
    RowValue::RetransCount,
    RowValue::RetransByte,
    RowValue::UnseenByte,
    RowValue::ZeroWindowCount,
    RowValue::HoleCount,
    RowValue::ResyncCount,
    RowValue::RttMin,
];

/// The columns of header fields.
fn headers() -> [RowValue; HEADER_FIELDS] {
    std::array::from_fn(|at| RowValue::Header(at as u8))
}

/// Returns the columns from which rows are made.
pub fn row_columns(tracked: TrackedParts) -> Vec<RowValue> {
    let losses = LOSSES.iter().filter(|_| tracked.loss).copied();
    let headers = headers().into_iter().filter(|_| tracked.headers);
    PLAIN.iter().copied().chain(losses).chain(headers).chain([RowValue::Time]).collect()
}

/// The rows of a batch of columns ([`row_columns`]), one by one.
#[derive(Debug)]
pub struct BatchRows<'a, K> {
    keys: &'a [K],
    times: &'a [u64],
    plain: [&'a [u64]; PLAIN.len()],
    losses: Option<[&'a [u64]; LOSSES.len()]>,
    headers: Option<[&'a [u64]; HEADER_FIELDS]>,
}

impl<'a, K: Copy> BatchRows<'a, K> {
    /// Creates the rows of a batch, with these parts.
    pub fn new(batch: &'a RowBatch<K>, tracked: TrackedParts) -> Self {
        Self {
            keys: &batch.keys,
            times: batch.column(RowValue::Time),
            plain: PLAIN.map(|column| batch.column(column)),
            losses: tracked.loss.then(|| LOSSES.map(|column| batch.column(column))),
            headers: tracked.headers.then(|| headers().map(|column| batch.column(column))),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the time of a row; [`NULL`] where it does not tell.
    pub fn time(&self, at: usize) -> u64 {
        self.times.get(at).copied().unwrap_or(NULL)
    }

    /// Returns true if any figure of a row's losses is there.
    pub fn has_losses(&self, at: usize) -> bool {
        let is_there = |column: &&[u64]| column.get(at).is_some_and(|number| *number != NULL);
        self.losses.as_ref().is_some_and(|losses| losses.iter().any(is_there))
    }

    /// A row, and its losses where these are tracked. A column that the file does not have is zero: no query reads it.
    pub fn row(&self, at: usize) -> (WindowRow<K>, Option<LossCounts>) {
        let number = |column: &[u64]| number(column, at);
        let of = |column: usize| number(self.plain[column]).unwrap_or(0);
        // A reader holds what fits the field.
        let mut macs = [0; 12];
        macs[6..].copy_from_slice(&of(12).to_be_bytes()[2..]);
        macs[..6].copy_from_slice(&of(13).to_be_bytes()[2..]);
        let mut headers = HeaderValues::NONE;
        // A row without packets has none of them: no packets differ in it.
        for (number, column) in self.headers.iter().flatten().enumerate().filter(|_| of(0) != 0) {
            headers.set(number, self::number(column, at));
        }
        let row = WindowRow {
            key: self.keys[at],
            packets: of(0),
            bytes: of(1),
            wire_bytes: self.plain[2].get(at).copied().unwrap_or(0),
            first_ns: of(3),
            last_ns: of(4),
            tcp_seq: of(5) as u32,
            tcp_ack: of(6) as u32,
            tcp_win: of(7) as u16,
            vlan: number(self.plain[8]).map_or(WindowRow::<K>::NO_VLAN, |vlan| vlan as u16),
            tcp_flags: of(9) as u8,
            ip_ttl: of(10) as u8,
            ip_tos: of(11) as u8,
            macs,
            headers,
        };
        let loss = self.losses.as_ref().map(|losses| {
            let of = |column: usize| number(losses[column]).unwrap_or(0);
            let narrow = |column: usize| u32::try_from(of(column)).unwrap_or(u32::MAX);
            let rtt_min = number(losses[9]);
            LossCounts {
                ploss_byte: of(0),
                ploss_count: narrow(1),
                reorder_count: narrow(2),
                retrans_count: narrow(3),
                retrans_byte: of(4),
                unseen_byte: of(5),
                zero_window_count: narrow(6),
                hole_count: narrow(7),
                resync_count: narrow(8),
                rtt_min_ns: rtt_min.unwrap_or(0),
                // No query reads the sum: the least is there where any round trip was measured.
                rtt_sum_ns: rtt_min.unwrap_or(0),
                rtt_count: rtt_min.is_some().into(),
            }
        });
        (row, loss)
    }
}

/// Returns the number in a row of a column, if there is one.
fn number(column: &[u64], at: usize) -> Option<u64> {
    column.get(at).copied().filter(|number| *number != NULL)
}

impl<K: Copy> WindowRow<K> {
    /// Adds another row of the same key: each field by its aggregation in the field table.
    pub fn merge(&mut self, more: &Self) {
        let has_later = more.last_ns >= self.last_ns;
        let has_earlier = more.first_ns < self.first_ns;
        let (later, earlier) =
            (if has_later { *more } else { *self }, if has_earlier { *more } else { *self });
        let mut headers = self.headers;
        headers.merge(&more.headers);
        *self = Self {
            key: self.key,
            packets: self.packets.saturating_add(more.packets),
            bytes: self.bytes.saturating_add(more.bytes),
            wire_bytes: self.wire_bytes.saturating_add(more.wire_bytes),
            first_ns: earlier.first_ns,
            last_ns: later.last_ns,
            tcp_seq: later.tcp_seq,
            tcp_ack: later.tcp_ack,
            tcp_win: later.tcp_win,
            vlan: earlier.vlan,
            tcp_flags: self.tcp_flags | more.tcp_flags,
            ip_ttl: later.ip_ttl,
            ip_tos: later.ip_tos,
            macs: earlier.macs,
            headers,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIELDS, Field, FieldAccessor, Rows};

    fn rows() -> Rows<u64> {
        let row = WindowRow {
            key: 7,
            packets: 3,
            bytes: 100,
            wire_bytes: 142,
            first_ns: 5,
            last_ns: 9,
            tcp_seq: 1 << 31,
            tcp_ack: 17,
            tcp_win: 1 << 15,
            vlan: 12,
            tcp_flags: 0x12,
            ip_ttl: 64,
            ip_tos: 8,
            macs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            headers: HeaderValues::new([Some(5); HEADER_FIELDS]),
        };
        let loss = LossCounts {
            ploss_byte: 1,
            retrans_byte: 2,
            unseen_byte: 3,
            rtt_min_ns: 4,
            rtt_sum_ns: 4,
            rtt_count: 1,
            ploss_count: 5,
            reorder_count: 6,
            retrans_count: 7,
            zero_window_count: 8,
            hole_count: 9,
            resync_count: 10,
        };
        let mut rows = Rows::default();
        rows.push(row, Some(&loss));
        let plain = WindowRow {
            key: 8,
            vlan: WindowRow::<u64>::NO_VLAN,
            packets: 1,
            headers: HeaderValues::new([None; HEADER_FIELDS]),
            ..WindowRow::default()
        };
        let without_packets = WindowRow::without_packets(9, 1, 2);
        rows.push(plain, Some(&LossCounts::default()));
        rows.push(without_packets, Some(&LossCounts::default()));
        rows
    }

    #[test]
    fn a_row_is_what_its_columns_were_extracted_from() {
        let rows = rows();
        let mut batch = RowBatch::default();
        batch.fill(&rows, &row_columns(TrackedParts::ALL));
        let read = BatchRows::new(&batch, TrackedParts::ALL);
        assert_eq!((read.len(), read.time(0)), (3, NULL));
        for at in 0..3 {
            assert_eq!(read.row(at), (rows.rows[at], Some(rows.losses[at])));
            assert!(read.has_losses(at));
        }
        assert_eq!(BatchRows::new(&batch, TrackedParts::PLAIN).row(0).1, None);
        assert!(!BatchRows::new(&batch, TrackedParts::PLAIN).has_losses(0));
    }

    #[test]
    fn each_field_of_rows_has_a_column() {
        let is_read = |field: &&Field| {
            !matches!(field.row, RowValue::Key | RowValue::Absent | RowValue::RttAvg)
                && !matches!(field.value, FieldAccessor::Node)
        };
        let unread: Vec<_> = FIELDS
            .iter()
            .filter(is_read)
            .filter(|field| !row_columns(TrackedParts::ALL).contains(&field.row))
            .map(|field| field.name)
            .collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn rows_of_one_key_are_one_whichever_comes_first() {
        let one = rows().rows[0];
        let other =
            WindowRow { first_ns: 2, last_ns: 4, tcp_flags: 1, tcp_win: 3, ip_ttl: 1, vlan: 13, ..one };
        let expected = WindowRow {
            packets: 6,
            bytes: 200,
            wire_bytes: 284,
            first_ns: 2,
            last_ns: 9,
            tcp_flags: 0x13,
            vlan: 13,
            ..one
        };
        for (mut sum, more) in [(one, other), (other, one)] {
            sum.merge(&more);
            assert_eq!(sum, expected);
        }
    }
}
