//! A window row: what one flow key counted in one window.

use crate::null::NULL;
use crate::{HeaderValues, LossCounts, RowStatistics};

/// A flow key's values in one window: the window's own counts, and last values as they were when it was sealed.
///
/// Each key has one row for each window in which it had packets, also where a record ended and another one
/// began within the window. With loss tracking there are rows without packets, where losses were found of a
/// direction that sent nothing. The key is the table's, of either address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WindowRow<K> {
    /// The flow key.
    pub key: K,
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes, as the IP headers state them.
    pub bytes: u64,
    /// Bytes of the frames on the wire, without the frame check sequence; [`NULL`] where a router does not tell them.
    pub wire_bytes: u64,
    /// Time of the earliest packet in the window, nanoseconds since the epoch.
    pub first_ns: u64,
    /// Time of the latest packet up to the end of the window of the record that was open last. It is before
    /// the window's first packet only if every packet of the flow in the window was late.
    pub last_ns: u64,
    /// TCP sequence number of the last packet.
    pub tcp_seq: u32,
    /// TCP acknowledgement number of the last packet.
    pub tcp_ack: u32,
    /// TCP window of the last packet, unscaled.
    pub tcp_win: u16,
    /// Outermost VLAN id of the record's first packet; [`WindowRow::NO_VLAN`] where untagged.
    pub vlan: u16,
    /// TCP flags of the window's packets, or-ed.
    pub tcp_flags: u8,
    /// Time to live or hop limit of the last packet.
    pub ip_ttl: u8,
    /// Type of service or traffic class of the last packet.
    pub ip_tos: u8,
    /// MAC addresses of the record's first packet, destination first; zero where the link has none.
    pub macs: [u8; 12],
    /// Header fields of the window's packets; of no packet where they are not measured.
    pub headers: HeaderValues,
}

impl<K> WindowRow<K> {
    /// The value of `vlan` for untagged frames: VLAN ids have 12 bits.
    pub const NO_VLAN: u16 = u16::MAX;

    /// A row without packets and without a VLAN.
    #[inline(always)]
    pub fn without_packets(key: K, first_ns: u64, last_ns: u64) -> Self {
        Self {
            key,
            packets: 0,
            bytes: 0,
            wire_bytes: 0,
            first_ns,
            last_ns,
            tcp_seq: 0,
            tcp_ack: 0,
            tcp_win: 0,
            vlan: Self::NO_VLAN,
            tcp_flags: 0,
            ip_ttl: 0,
            ip_tos: 0,
            macs: [0; 12],
            headers: HeaderValues::NONE,
        }
    }

    /// Returns the row with another key.
    #[inline(always)]
    pub fn with_key<Q>(self, key: Q) -> WindowRow<Q> {
        let Self { packets, bytes, wire_bytes, first_ns, last_ns, tcp_seq, tcp_ack, tcp_win, .. } = self;
        let Self { vlan, tcp_flags, ip_ttl, ip_tos, macs, headers, .. } = self;
        WindowRow {
            key,
            packets,
            bytes,
            wire_bytes,
            first_ns,
            last_ns,
            tcp_seq,
            tcp_ack,
            tcp_win,
            vlan,
            tcp_flags,
            ip_ttl,
            ip_tos,
            macs,
            headers,
        }
    }
}

/// Rows of one window and one address family, as they leave a table.
#[derive(Clone, Debug, Default)]
pub struct Rows<K> {
    /// The rows.
    pub rows: Vec<WindowRow<K>>,
    /// The losses of each row up to the last one that has any: of the others they were not tracked, as of those among these that are
    /// [`LossCounts::UNTRACKED`].
    pub losses: Vec<LossCounts>,
    /// Statistics of the packets of few rows, whose flows are pinned.
    pub statistics: RowStatistics,
}

impl<K> Rows<K> {
    /// Room for `rows` rows, and for the losses of the first `losses` of them.
    pub fn with_capacity(rows: usize, losses: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            losses: Vec::with_capacity(losses),
            statistics: RowStatistics::default(),
        }
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row, with its losses where these are tracked.
    #[inline(always)]
    pub fn push(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        if let Some(loss) = loss {
            if self.losses.len() != self.rows.len() {
                self.pad_losses();
            }
            self.losses.push(*loss);
        }
        self.rows.push(row);
    }

    /// The row that is added next has these statistics: as many as those of all other rows that have any, in the same order.
    pub fn push_statistics(&mut self, values: &[f64]) {
        self.statistics.push(self.rows.len(), values);
    }

    /// The losses of the rows before were not tracked.
    #[cold]
    fn pad_losses(&mut self) {
        self.losses.resize(self.rows.len(), LossCounts::UNTRACKED);
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.losses.clear();
        self.statistics.clear();
    }

    /// The losses of row number `at`, where they are tracked.
    pub fn loss(&self, at: usize) -> Option<&LossCounts> {
        self.losses.get(at).filter(|loss| loss.are_tracked())
    }
}

/// The place in a row that has the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowValue {
    /// The value is in the row's key.
    Key,
    /// The value is in no row: it is of a record, or of the observation point.
    Absent,
    /// [`WindowRow::packets`].
    Packets,
    /// [`WindowRow::bytes`].
    Bytes,
    /// [`WindowRow::wire_bytes`].
    WireBytes,
    /// [`WindowRow::first_ns`].
    First,
    /// [`WindowRow::last_ns`].
    Last,
    /// [`WindowRow::tcp_seq`].
    TcpSeq,
    /// [`WindowRow::tcp_ack`].
    TcpAck,
    /// [`WindowRow::tcp_win`].
    TcpWin,
    /// [`WindowRow::tcp_flags`].
    TcpFlags,
    /// [`WindowRow::ip_ttl`].
    IpTtl,
    /// [`WindowRow::ip_tos`].
    IpTos,
    /// [`WindowRow::vlan`].
    Vlan,
    /// The source address in [`WindowRow::macs`], as a number; null where it is zero.
    SourceMac,
    /// The destination address there.
    DestinationMac,
    /// A header field in [`WindowRow::headers`], by its number.
    Header(u8),
    /// [`LossCounts::ploss_byte`].
    PlossByte,
    /// [`LossCounts::ploss_count`].
    PlossCount,
    /// [`LossCounts::reorder_count`].
    ReorderCount,
    /// [`LossCounts::retrans_count`].
    RetransCount,
    /// [`LossCounts::retrans_byte`].
    RetransByte,
    /// [`LossCounts::unseen_byte`].
    UnseenByte,
    /// [`LossCounts::zero_window_count`].
    ZeroWindowCount,
    /// [`LossCounts::hole_count`].
    HoleCount,
    /// [`LossCounts::resync_count`].
    ResyncCount,
    /// [`LossCounts::rtt_min_ns`]; null where no round trip was measured.
    RttMin,
    /// [`LossCounts::rtt_avg_ns`]; null where no round trip was measured.
    RttAvg,
    /// [`LossCounts::rtt_sum_ns`].
    RttSum,
    /// [`LossCounts::rtt_count`].
    RttCount,
    /// The time from which the row counts, nanoseconds since the epoch: its window's start, or of a flow record its `ltime`. Only rows that
    /// are read from files have it.
    Time,
    /// A statistic of a flow's packets, by its number among those of the site: bits of a floating point number. Flow records have
    /// them, and window rows of pinned flows.
    Statistic(u8),
}

impl RowValue {
    /// Appends the value of each row; nothing for what is not in rows as a number.
    pub fn extract<K>(self, rows: &Rows<K>, values: &mut Vec<u64>) {
        macro_rules! of_rows {
            (|$row:ident| $value:expr) => {
                values.extend(rows.rows.iter().map(|$row| $value))
            };
        }
        macro_rules! of_losses {
            (|$loss:ident| $value:expr) => {{
                values
                    .extend(rows.losses.iter().map(|$loss| if $loss.are_tracked() { $value } else { NULL }));
                // The losses of the rows behind them were not tracked.
                values.resize(values.len() + rows.rows.len() - rows.losses.len(), NULL);
            }};
        }
        let mac = |mac: &[u8]| match mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) {
            0 => NULL,
            number => number,
        };
        match self {
            Self::Key | Self::Absent => {}
            Self::Time => of_rows!(|_row| NULL),
            Self::Statistic(at) => {
                let first = values.len();
                of_rows!(|_row| NULL);
                rows.statistics.column(at.into(), &mut values[first..]);
            }
            Self::Packets => of_rows!(|row| row.packets),
            Self::Bytes => of_rows!(|row| row.bytes),
            Self::WireBytes => of_rows!(|row| row.wire_bytes),
            Self::First => of_rows!(|row| row.first_ns),
            Self::Last => of_rows!(|row| row.last_ns),
            Self::TcpSeq => of_rows!(|row| u64::from(row.tcp_seq)),
            Self::TcpAck => of_rows!(|row| u64::from(row.tcp_ack)),
            Self::TcpWin => of_rows!(|row| u64::from(row.tcp_win)),
            Self::TcpFlags => of_rows!(|row| u64::from(row.tcp_flags)),
            Self::IpTtl => of_rows!(|row| u64::from(row.ip_ttl)),
            Self::IpTos => of_rows!(|row| u64::from(row.ip_tos)),
            Self::Vlan => {
                of_rows!(|row| if row.vlan == WindowRow::<K>::NO_VLAN { NULL } else { row.vlan.into() });
            }
            Self::SourceMac => of_rows!(|row| mac(&row.macs[6..])),
            Self::DestinationMac => of_rows!(|row| mac(&row.macs[..6])),
            Self::Header(at) => of_rows!(|row| row.headers.get(at.into()).unwrap_or(NULL)),
            Self::PlossByte => of_losses!(|loss| loss.ploss_byte),
            Self::PlossCount => of_losses!(|loss| u64::from(loss.ploss_count)),
            Self::ReorderCount => of_losses!(|loss| u64::from(loss.reorder_count)),
            Self::RetransCount => of_losses!(|loss| u64::from(loss.retrans_count)),
            Self::RetransByte => of_losses!(|loss| loss.retrans_byte),
            Self::UnseenByte => of_losses!(|loss| loss.unseen_byte),
            Self::ZeroWindowCount => of_losses!(|loss| u64::from(loss.zero_window_count)),
            Self::HoleCount => of_losses!(|loss| u64::from(loss.hole_count)),
            Self::ResyncCount => of_losses!(|loss| u64::from(loss.resync_count)),
            Self::RttMin => of_losses!(|loss| if loss.rtt_count == 0 { NULL } else { loss.rtt_min_ns }),
            Self::RttAvg => of_losses!(|loss| loss.rtt_avg_ns().unwrap_or(NULL)),
            Self::RttSum => of_losses!(|loss| loss.rtt_sum_ns),
            Self::RttCount => of_losses!(|loss| u64::from(loss.rtt_count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_were_not_tracked_are_null() {
        let of = |ploss_byte, rtt_count| LossCounts { ploss_byte, rtt_count, ..LossCounts::default() };
        let tracked = [None, Some(of(7, 1)), None, Some(LossCounts::default()), None];
        let mut rows = Rows::<u32>::default();
        tracked.iter().for_each(|loss| rows.push(WindowRow::default(), loss.as_ref()));
        for (at, loss) in tracked.iter().enumerate() {
            assert_eq!(rows.loss(at), loss.as_ref());
        }
        let column = |value: RowValue| {
            let mut values = Vec::new();
            value.extract(&rows, &mut values);
            values
        };
        assert_eq!(column(RowValue::PlossByte), [NULL, 7, NULL, 0, NULL]);
        assert_eq!(column(RowValue::ResyncCount), [NULL, 0, NULL, 0, NULL]);
        assert_eq!(column(RowValue::RttCount), [NULL, 1, NULL, 0, NULL]);
        assert_eq!(column(RowValue::Packets), [0; 5]);
        rows.clear();
        rows.push(WindowRow::default(), None);
        assert_eq!((rows.len(), rows.loss(0)), (1, None));
    }
}
