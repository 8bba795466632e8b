//! Collection of what the tables return: rows and records passed on, and their sums, which account for every packet.

use crate::closed::{ClosedWindow, PacketTotals};
use crate::ids::WindowId;
use flow::{FlowRecord, LossCounts, MAX_ROW_STATISTICS, WindowRow};
use flowtable::by_hash::{CountedPackets, FlowsByHash, Miscounts};
use flowtable::{Counts, FlowShare, FlowSink, FlowTable, RequestedMetrics, Zoom};
use packet::{Bursts, Key, PacketFields, Pins};
use record::MeasurementTotals;
use std::sync::Arc;
use task::rows::{Overflow, OverflowCounter};

/// Takes finished records and window rows, block by block; it counts what it cannot take.
pub trait RecordSink {
    /// Takes a finished record.
    fn record(&mut self, record: FlowRecord);
    /// False if records are not used, so that they need not be made.
    #[inline]
    fn takes_records(&self) -> bool {
        true
    }
    /// Takes one more row of the window that [`RecordSink::begin_rows`] named last. Rows that nothing requests may be ignored.
    fn row<K: Key>(&mut self, _row: WindowRow<K>, _loss: Option<&LossCounts>) {}
    /// Statistics of packets of the row that is given next, which has this key: those that the queries of its window read
    /// ([`task::TaskSet::reads_row_statistics`], [`task::TaskSet::statistics`]), NaN where there is no value.
    fn row_statistics<K: Key>(&mut self, _key: K, _statistics: &[f64]) {}
    /// Rows from here on are of this window.
    fn begin_rows(&mut self, _window: WindowId) {}
    /// True if the totals of ended records are required as rows.
    #[inline]
    fn takes_record_rows(&self) -> bool {
        false
    }
    /// The totals of a record that ended, of either direction.
    fn record_row<K: Key>(&mut self, _row: WindowRow<K>) {}
    /// Rows of records from here on are the last ones of their keys; each such row is passed on once, by this
    /// sink or by another one.
    fn begin_last_record_rows(&mut self) {}
    /// All rows of the window have been passed on. Returns the number of those that were not taken.
    fn end_rows(&mut self) -> u64 {
        0
    }
    /// All workers have completed a window, and all its rows have been passed on. Returns false if that could
    /// not be passed on.
    fn window(&mut self, _window: ClosedWindow) -> bool {
        true
    }
    /// Passes on the records that were gathered so far, if any are.
    fn hand_over(&mut self) {}
    /// A worker has failed, and its sink is lost, with its contents and with the records that had not ended.
    fn worker_failed(&mut self) {}
    /// Tells the sink that measuring has ended: from here on it may wait for room.
    fn may_wait(&mut self) {}
    /// Reports what is known of the measurement in addition to records, when a window is closed. Most have no
    /// use for it.
    fn account(&mut self, _account: MeasurementTotals) {}
    /// Warnings for the user since the last call.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Returns another sink with the same destination, for a worker on another core.
    fn sibling(&self) -> Self;
    /// Takes back a sink of [`RecordSink::sibling`], with what it still holds.
    fn absorb(&mut self, sibling: Self);
}

/// The sums of what one worker, or all of them, counted in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowSums {
    /// Totals of all rows.
    pub(crate) totals: PacketTotals,
    /// Sums of the packets for which the table had no place, without flows.
    pub(crate) other: PacketTotals,
    pub(crate) loss: LossCounts,
    /// Rows that were not taken.
    pub(crate) refused_rows: u64,
    /// Packets of pinned flows that there was no memory to follow.
    pub(crate) unfollowed: u64,
    /// Sum of the squares of the packets of each row.
    pub(crate) squares: u128,
}

impl WindowSums {
    /// Adds the sums of another worker.
    pub(crate) fn merge(&mut self, more: &Self) {
        self.totals.add(&more.totals);
        self.other.add(&more.other);
        self.loss.add(&more.loss);
        self.refused_rows += more.refused_rows;
        self.unfollowed += more.unfollowed;
        self.squares = self.squares.saturating_add(more.squares);
    }

    /// Returns the number that [`crate::ThreadLoad::even_flows`] explains.
    pub(crate) fn even_flows(&self) -> f64 {
        let packets = self.totals.packets as f64;
        if self.squares == 0 { 0.0 } else { packets * packets / self.squares as f64 }
    }

    /// Sums of all packets, including those without a place.
    pub(crate) fn whole(&self) -> PacketTotals {
        let mut totals = self.totals;
        totals.add(&self.other);
        totals
    }
}

/// Adds up the records `other` of several workers.
pub(crate) fn merge_other(sum: &mut Option<FlowRecord>, more: FlowRecord) {
    let Some(sum) = sum else {
        *sum = Some(more);
        return;
    };
    sum.stime = sum.stime.min(more.stime);
    sum.ltime = sum.ltime.max(more.ltime);
    sum.total_count += more.total_count;
    sum.total_byte += more.total_byte;
    sum.wire_byte += more.wire_byte;
    sum.tcp_flags |= more.tcp_flags;
}

/// The statistics of packets that the queries of a window read of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowStatistics {
    /// True if they read those that all rows have.
    pub(crate) of_all: bool,
    /// The number of those of pinned flows.
    pub(crate) of_pinned: usize,
}

/// The statistics of packets that the tables keep of all flows, on their way to rows.
#[derive(Debug)]
struct SealedStatistics {
    open: WindowStatistics,
    closing: WindowStatistics,
    /// Values of the next row: those of all flows, then those of pinned ones.
    values: [f64; MAX_ROW_STATISTICS],
    /// The number of those of all flows that the next row has.
    known: usize,
}

impl SealedStatistics {
    /// Takes the values of the next row, if the queries of its window read them.
    fn set(&mut self, values: &[f64]) {
        if self.closing.of_all {
            self.known = values.len().min(self.values.len());
            self.values[..self.known].copy_from_slice(&values[..self.known]);
        }
    }

    /// Returns all values of the row; `of_pinned` has those of a flow that is pinned.
    fn take(&mut self, of_pinned: &[f64]) -> &[f64] {
        let known = std::mem::take(&mut self.known);
        let all = (known + self.closing.of_pinned).min(self.values.len());
        self.values[known..all].fill(f64::NAN);
        self.values[known..all].iter_mut().zip(of_pinned).for_each(|(value, of_pinned)| *value = *of_pinned);
        &self.values[..all]
    }
}

/// The engine's [`FlowSink`].
#[derive(Debug)]
pub(crate) struct FlowAccumulator<R> {
    pub(crate) records: R,
    /// The sums of the open window: what has no place is known at once, rows are added when it is over.
    open: WindowSums,
    closing: WindowSums,
    /// The record of all packets that found no place.
    other: Option<FlowRecord>,
    /// The counter of the groups of these packets for the open window's queries, if they ask for any.
    overflow: Option<OverflowCounter>,
    /// The groups of the packets without a place in the closing window.
    closing_overflow: Option<Overflow>,
    /// The tables that follow the flows that are pinned, if any were.
    tracked_flows: Option<Box<Zoom>>,
    statistics: SealedStatistics,
    /// The number of records ended, without `other`.
    pub(crate) ended: u64,
}

impl<R: RecordSink> FlowAccumulator<R> {
    pub(crate) fn new(records: R) -> Self {
        Self {
            records,
            open: WindowSums::default(),
            closing: WindowSums::default(),
            other: None,
            overflow: None,
            closing_overflow: None,
            tracked_flows: None,
            statistics: SealedStatistics {
                open: WindowStatistics::default(),
                closing: WindowStatistics::default(),
                values: [f64::NAN; MAX_ROW_STATISTICS],
                known: 0,
            },
            ended: 0,
        }
    }

    /// Changes the queries that ask for the groups of packets without a place. No window may be open.
    pub(crate) fn count_overflow(&mut self, overflow: Option<OverflowCounter>) {
        self.overflow = overflow;
    }

    /// The open window, which has this number, becomes the closing one. The previous one must have been
    /// taken.
    pub(crate) fn turn(&mut self, window: WindowId) {
        std::mem::swap(&mut self.open, &mut self.closing);
        self.closing_overflow = self.overflow.as_mut().and_then(OverflowCounter::take);
        self.records.begin_rows(window);
        self.tracked_flows.iter_mut().for_each(|zoom| zoom.turn());
        self.statistics.closing = self.statistics.open;
    }

    /// Sets the statistics of packets that are read of the rows of the open window and of later ones.
    pub(crate) fn read_statistics(&mut self, read: WindowStatistics) {
        self.statistics.open = read;
    }

    /// Sets which flows are tracked in the open window, and what is tracked of them. No packet of the window may have come yet. `new` makes
    /// the tables when there are pins for the first time, `none` makes empty pins.
    pub(crate) fn set_pins(
        &mut self,
        pins: Option<&Arc<Pins>>,
        followed: RequestedMetrics<'_>,
        new: impl FnOnce() -> Zoom,
        none: impl FnOnce() -> Pins,
    ) {
        match (&mut self.tracked_flows, pins) {
            (None, None) => {}
            (zoom, Some(pins)) => zoom.get_or_insert_with(|| Box::new(new())).set_pins(pins, followed),
            (Some(zoom), None) => zoom.set_pins(&Arc::new(none()), RequestedMetrics::default()),
        }
    }

    /// Follows the packets of pinned flows; the tables have counted them.
    #[inline]
    pub(crate) fn count_pinned(&mut self, bursts: &Bursts) {
        let packets = bursts.v4.pinned().len() + bursts.v6.pinned().len();
        if packets != 0 {
            self.open.unfollowed += match &mut self.tracked_flows {
                Some(zoom) => zoom.count(bursts),
                None => packets as u64,
            };
        }
    }

    /// Sweeps up to this many tracked connections, after the tables. Returns true at the end of a pass.
    pub(crate) fn sweep_pinned(&mut self, connections: usize, now: u64) -> bool {
        let Some(mut zoom) = self.tracked_flows.take() else { return true };
        let is_done = zoom.sweep(connections, now, self);
        self.tracked_flows = Some(zoom);
        is_done
    }

    /// The source has ended: what is open of followed connections is decided before the tables end their records.
    pub(crate) fn end_pinned(&mut self) {
        self.tracked_flows.iter_mut().for_each(|zoom| zoom.end());
    }

    /// Returns the groups of the closing window's packets without a place, as far as they are known.
    pub(crate) fn take_overflow(&mut self) -> Option<Overflow> {
        self.closing_overflow.take()
    }

    /// Adds `packets` to the window's packets: they were counted in a structure that has no rows.
    #[inline]
    pub(crate) fn tallied(&mut self, packets: usize) {
        self.open.totals.packets += packets as u64;
    }

    /// Counts packets in a table that has no rows of windows. Apart from the loop of the exact table, which stays as it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_by_hash(&mut self, flows: &mut FlowsByHash, bursts: &Bursts) {
        let CountedPackets { counts, times } = flows.count(bursts, self);
        let Counts { packets, bytes, wire } = counts;
        let times = times.map(|(first, last)| [first, last]);
        self.open.totals.add(&PacketTotals { packets, bytes, wire_bytes: wire, flows: 0, times });
    }

    /// Ends the records of such a table. `is_only`: no other one has flows of this run.
    pub(crate) fn end_by_hash(&mut self, flows: FlowsByHash, is_only: bool) -> Miscounts {
        if is_only {
            self.records.begin_last_record_rows();
        }
        flows.end(self)
    }

    /// The sums of the closing window, all rows of which have arrived.
    pub(crate) fn take_closing(&mut self) -> WindowSums {
        self.closing.refused_rows = self.records.end_rows();
        std::mem::take(&mut self.closing)
    }

    /// Adds a share of a flow to the table where shares are merged, or to `other` if the table has no place
    /// for it.
    pub(crate) fn merge<K: Key>(&mut self, table: &mut FlowTable<K>, share: &FlowShare<K>) {
        if !table.add_share(share, self) {
            self.add_to_other(&share.key, share.counts, share.span(), share.marks.tcp_flags());
        }
    }

    fn add_to_other<K: Key>(&mut self, key: &K, counts: Counts, (stime, ltime): (u64, u64), tcp_flags: u8) {
        let Counts { packets, bytes, wire } = counts;
        if let Some(overflow) = &mut self.overflow {
            overflow.count(*key, packets, bytes, wire);
        }
        self.open.other.add(&PacketTotals {
            packets,
            bytes,
            wire_bytes: wire,
            flows: 0,
            times: Some([stime, ltime]),
        });
        let other = FlowRecord {
            total_count: packets,
            total_byte: bytes,
            wire_byte: wire,
            tcp_flags,
            ..FlowRecord::without_packets(stime, ltime)
        };
        merge_other(&mut self.other, other);
    }

    /// The record `other`, if any.
    pub(crate) fn take_other(&mut self) -> Option<FlowRecord> {
        self.other.take()
    }
}

impl<R: RecordSink> FlowSink for FlowAccumulator<R> {
    #[inline]
    fn window_sealed<K: Key>(&mut self, _: u16, row: WindowRow<K>, loss: Option<&LossCounts>) {
        // Rows are emitted when their window is over: it is the closing one.
        let sums = &mut self.closing;
        sums.totals.packets += row.packets;
        sums.squares = sums.squares.saturating_add(u128::from(row.packets) * u128::from(row.packets));
        sums.totals.bytes += row.bytes;
        sums.totals.wire_bytes += row.wire_bytes;
        sums.totals.flows += u64::from(row.packets != 0);
        if row.packets != 0 {
            sums.totals.reach(row.first_ns, row.last_ns);
        }
        let found = self.tracked_flows.as_mut().and_then(|zoom| zoom.found(row.key));
        let loss = loss.or(found.as_ref().and_then(|found| found.loss.as_ref()));
        if let Some(loss) = loss {
            sums.loss.add(loss);
        }
        let of_pinned = found.as_ref().map_or(&[][..], |found| found.statistics);
        if self.statistics.known != 0 {
            self.records.row_statistics(row.key, self.statistics.take(of_pinned));
        } else if !of_pinned.is_empty() {
            self.records.row_statistics(row.key, of_pinned);
        }
        self.records.row(row, loss);
    }

    fn row_statistics<K: Key>(&mut self, _: K, values: &[f64]) {
        self.statistics.set(values);
    }

    #[inline]
    fn flow_ended(&mut self, record: FlowRecord) {
        self.ended += 1;
        self.records.record(record);
    }

    #[inline]
    fn takes_records(&self) -> bool {
        self.records.takes_records()
    }

    fn flow_ended_unmade(&mut self) {
        self.ended += 1;
    }

    #[inline]
    fn takes_record_rows(&self) -> bool {
        self.records.takes_record_rows()
    }

    #[inline]
    fn record_row<K: Key>(&mut self, row: WindowRow<K>) {
        self.records.record_row(row);
    }

    fn table_full<K: Key>(&mut self, key: &K, packet: &PacketFields) {
        let (bytes, wire) = (packet.total_byte.into(), packet.wire_byte.into());
        self.add_to_other(
            key,
            Counts { packets: 1, bytes, wire },
            (packet.time_ns, packet.time_ns),
            packet.tcp_flags,
        );
    }
}
