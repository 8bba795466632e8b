//! What the tables give out, sorted into windows and records.

use crate::ranking::Ranking;
use packet::{FlowKey, Key, KeySpec, PacketFields};
use record::report::{RankedFlow, RankedLoss, Totals};
use record::{Account, EndReason, FlowRecord, Loss};
use summary::tcp::LossCounts;
use summary::{Counts, FlowSink};

/// Takes finished records, block by block; what it cannot take it counts.
pub trait RecordSink {
    /// One more finished record.
    fn record(&mut self, record: FlowRecord);
    /// Passes on what has been gathered so far.
    fn hand_over(&mut self);
    /// Tells what is known of the measurement beside records, when a window is closed.
    fn account(&mut self, account: Account);
    /// Lines for the user that came up since the last call.
    fn warnings(&mut self) -> Vec<String>;
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

impl WindowPart {
    fn new(lines: usize) -> Self {
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

    fn add(&mut self, totals: Totals, key: impl FnOnce() -> Option<FlowKey>) {
        self.totals.packets += totals.packets;
        self.totals.total_byte += totals.total_byte;
        self.totals.wire_byte += totals.wire_byte;
        self.totals.flows += totals.flows;
        if self.bytes.wants(totals.total_byte) || self.packets.wants(totals.packets) {
            let key = key();
            self.bytes.offer(totals.total_byte, key, totals);
            self.packets.offer(totals.packets, key, totals);
        }
    }

    /// The answers; the part is empty then.
    pub(crate) fn take(&mut self) -> WindowAnswer {
        let other = std::mem::take(&mut self.other);
        if other.packets != 0 {
            self.add(other, || None);
        }
        WindowAnswer {
            totals: std::mem::take(&mut self.totals),
            other,
            top_bytes: self.bytes.take(ranked),
            top_packets: self.packets.take(ranked),
            loss: std::mem::take(&mut self.loss),
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
    pub(crate) closing: WindowPart,
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
            other: None,
            ended: 0,
        }
    }

    /// The open window becomes the closing one, which must have been taken.
    pub(crate) fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        std::mem::swap(&mut self.open, &mut self.closing);
    }

    /// Gives out the record `other`, if there is one.
    pub(crate) fn end_other(&mut self) {
        if let Some(other) = self.other.take() {
            self.records.record(other);
        }
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
        self.open.other.packets += 1;
        self.open.other.total_byte += u64::from(packet.total_byte);
        self.open.other.wire_byte += u64::from(packet.wire_byte);
        let other = self.other.get_or_insert(FlowRecord {
            key: None,
            stime: packet.time_ns,
            ltime: packet.time_ns,
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
        });
        other.stime = other.stime.min(packet.time_ns);
        other.ltime = other.ltime.max(packet.time_ns);
        other.total_count += 1;
        other.total_byte += u64::from(packet.total_byte);
        other.wire_byte += u64::from(packet.wire_byte);
    }
}
