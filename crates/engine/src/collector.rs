//! What the tables give out, sorted into windows and records.

use flow::{EndReason, FlowRecord, Loss};
use packet::{FlowKey, Key, KeySpec, PacketFields};
use record::report::{RankedFlow, RankedLoss, Totals};
use record::{Account, Ranking};
use summary::tcp::LossCounts;
use summary::{Counts, FlowShare, FlowSink, FlowTable};

/// Takes finished records, block by block; what it cannot take it counts.
pub trait RecordSink {
    /// One more finished record.
    fn record(&mut self, record: FlowRecord);
    /// Passes on what has been gathered so far, where records are gathered.
    fn hand_over(&mut self) {}
    /// Tells what is known of the measurement beside records, when a window is closed. Most have no use for it.
    fn account(&mut self, _account: Account) {}
    /// Lines for the user that came up since the last call.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Another way to the same place, for a worker on another core.
    fn sibling(&self) -> Self;
    /// Takes back what [`RecordSink::sibling`] gave, with what it still holds.
    fn absorb(&mut self, sibling: Self);
}

/// The answers of one window while it is open or closing.
#[derive(Debug)]
pub(crate) struct WindowPart {
    totals: Totals,
    /// Packets for which the table had no place.
    other: Totals,
    bytes: Ranking<Option<FlowKey>, Totals>,
    packets: Ranking<Option<FlowKey>, Totals>,
    loss: LossCounts,
    lossy: LossRanking,
}

/// Flows by what was lost of them.
pub(crate) type LossRanking = Ranking<Option<FlowKey>, (Totals, Loss)>;

/// By what a flow is ranked among the lossy ones: all its bytes that did not go straight through.
pub(crate) fn lossiness(loss: &Loss) -> u64 {
    loss.ploss_byte + loss.retrans_byte + loss.unseen_byte
}

/// A line of the report.
pub(crate) fn ranked_loss(key: Option<FlowKey>, (totals, loss): (Totals, Loss)) -> RankedLoss {
    RankedLoss { key, totals, loss }
}

fn ranked(key: Option<FlowKey>, totals: Totals) -> RankedFlow {
    RankedFlow { key, totals }
}

/// Adds to sums.
pub(crate) fn add_totals(sum: &mut Totals, more: &Totals) {
    sum.packets += more.packets;
    sum.total_byte += more.total_byte;
    sum.wire_byte += more.wire_byte;
    sum.flows += more.flows;
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
}

impl WindowPart {
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            totals: Totals::default(),
            other: Totals::default(),
            bytes: Ranking::new(lines),
            packets: Ranking::new(lines),
            loss: LossCounts::default(),
            lossy: Ranking::new(lines),
        }
    }

    fn add_loss(&mut self, totals: Totals, counts: &LossCounts, key: impl FnOnce() -> Option<FlowKey>) {
        self.loss.add(counts);
        let loss = Loss::from(counts);
        let value = lossiness(&loss);
        if value != 0 && self.lossy.wants(value) {
            self.lossy.offer(value, key(), (totals, loss));
        }
    }

    pub(crate) fn add(&mut self, totals: Totals, key: impl FnOnce() -> Option<FlowKey>) {
        add_totals(&mut self.totals, &totals);
        if self.bytes.wants(totals.total_byte) || self.packets.wants(totals.packets) {
            let key = key();
            self.bytes.offer(totals.total_byte, key, totals);
            self.packets.offer(totals.packets, key, totals);
        }
    }

    /// Adds the same window's part of another worker, whose flows are others.
    pub(crate) fn merge(&mut self, other: Self) {
        add_totals(&mut self.totals, &other.totals);
        add_totals(&mut self.other, &other.other);
        self.bytes.merge(other.bytes);
        self.packets.merge(other.packets);
        self.loss.add(&other.loss);
        self.lossy.merge(other.lossy);
    }

    /// The answers.
    pub(crate) fn answer(mut self) -> WindowAnswer {
        let other = self.other;
        if other.packets != 0 {
            self.add(other, || None);
        }
        WindowAnswer {
            totals: self.totals,
            other,
            top_bytes: self.bytes.take(ranked),
            top_packets: self.packets.take(ranked),
            loss: self.loss,
            top_loss: self.lossy.take(ranked_loss),
        }
    }
}

/// What one window answers.
#[derive(Debug)]
pub(crate) struct WindowAnswer {
    /// Sums, `other` included.
    pub(crate) totals: Totals,
    pub(crate) other: Totals,
    pub(crate) top_bytes: Vec<RankedFlow>,
    pub(crate) top_packets: Vec<RankedFlow>,
    pub(crate) loss: LossCounts,
    pub(crate) top_loss: Vec<RankedLoss>,
}

/// The engine's [`FlowSink`].
#[derive(Debug)]
pub(crate) struct Collector<R> {
    pub(crate) records: R,
    key: KeySpec,
    /// Number of the open window, as the tables count.
    window: u16,
    open: WindowPart,
    closing: WindowPart,
    /// Lines in a ranking.
    lines: usize,
    /// The record of all packets that found no place.
    other: Option<FlowRecord>,
    /// Records ended, without `other`.
    pub(crate) ended: u64,
}

impl<R: RecordSink> Collector<R> {
    pub(crate) fn new(records: R, key: KeySpec, lines: usize) -> Self {
        Self {
            records,
            key,
            window: 0,
            open: WindowPart::new(lines),
            closing: WindowPart::new(lines),
            lines,
            other: None,
            ended: 0,
        }
    }

    /// The open window becomes the closing one, which must have been taken.
    pub(crate) fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        std::mem::swap(&mut self.open, &mut self.closing);
    }

    /// So many packets were counted in something that gives out no counts of flows.
    #[inline]
    pub(crate) fn tallied(&mut self, packets: usize) {
        self.open.totals.packets += packets as u64;
    }

    /// The answers of the closing window.
    pub(crate) fn take_closing(&mut self) -> WindowPart {
        std::mem::replace(&mut self.closing, WindowPart::new(self.lines))
    }

    /// Adds a share of a flow to the table where shares are merged, or to `other` where that has no place for it.
    pub(crate) fn merge<K: Key>(&mut self, table: &mut FlowTable<K>, share: &FlowShare<K>) {
        if !table.add_share(share, self) {
            self.add_to_other(share.counts, share.span());
        }
    }

    fn add_to_other(&mut self, counts: Counts, (stime, ltime): (u64, u64)) {
        let Counts { packets, bytes, wire } = counts;
        add_totals(&mut self.open.other, &Totals { packets, total_byte: bytes, wire_byte: wire, flows: 0 });
        let other =
            FlowRecord { total_count: packets, total_byte: bytes, wire_byte: wire, ..no_flow(stime, ltime) };
        merge_other(&mut self.other, other);
    }

    /// The record `other`, if there is one.
    pub(crate) fn take_other(&mut self) -> Option<FlowRecord> {
        self.other.take()
    }
}

impl<R: RecordSink> FlowSink for Collector<R> {
    #[inline]
    fn window_counts<K: Key>(&mut self, window: u16, key: &K, counts: Counts, loss: Option<&LossCounts>) {
        let part = if window == self.window { &mut self.open } else { &mut self.closing };
        let flows = u64::from(counts.packets != 0);
        let totals =
            Totals { packets: counts.packets, total_byte: counts.bytes, wire_byte: counts.wire, flows };
        if let Some(loss) = loss {
            part.add_loss(totals, loss, || Some(key.flow_key(&self.key)));
        }
        if flows != 0 {
            part.add(totals, || Some(key.flow_key(&self.key)));
        }
    }

    #[inline]
    fn flow_ended(&mut self, record: FlowRecord) {
        self.ended += 1;
        self.records.record(record);
    }

    fn table_full(&mut self, packet: &PacketFields) {
        let (bytes, wire) = (packet.total_byte.into(), packet.wire_byte.into());
        self.add_to_other(Counts { packets: 1, bytes, wire }, (packet.time_ns, packet.time_ns));
    }
}

/// A record without a key and without packets.
fn no_flow(stime: u64, ltime: u64) -> FlowRecord {
    FlowRecord {
        key: None,
        stime,
        ltime,
        total_count: 0,
        total_byte: 0,
        wire_byte: 0,
        tcp_seq: 0,
        tcp_ack: 0,
        tcp_win: 0,
        vlan: None,
        smac: [0; 6],
        dmac: [0; 6],
        tcp_flags: 0,
        ip_ttl: 0,
        ip_tos: 0,
        end_reason: EndReason::End,
        more: None,
    }
}
