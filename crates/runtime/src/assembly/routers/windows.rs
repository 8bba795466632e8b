//! The windows in which records count: those of the clock, into which records come from elsewhere.

mod row;

use super::quality::{DatagramTally, Qualities, Quality, named};
use arena::Limits;
use engine::{ClosedWindow, Control, Outputs, PacketTotals, RecordSink, RunTotals, WindowId};
use flow::Untold;
use history::replay::{BufferedWindow, RowMemory};
use model::{Counters, FlowCounts, PacketCounts, Span, WindowCounts, WindowEnd};
use packet::{FamilyRow, Key, KeySpec};
use record::MeasurementTotals;
use router::ExportedFlow;
use row::row;
use std::collections::BTreeMap;
use task::rows::Unplaced;

/// The most that all records of a window, and of a run, may count together, so that no sum overflows: more is no measurement.
const MOST_OF_WINDOW: u64 = 1 << 56;
const MOST_OF_RUN: u64 = 1 << 63;

/// The settings of windows, and the limits of their memory.
pub(super) struct RouterWindowSetting {
    pub(super) window_ns: u64,
    /// The time that windows stay open after their end, nanoseconds.
    pub(super) wait_ns: u64,
    pub(super) key: KeySpec,
    pub(super) limits: Limits,
}

/// A window that is open.
#[derive(Debug, Default)]
struct RouterWindow {
    held: BufferedWindow,
    rows: u64,
    received: u64,
    /// The packets, bytes and bytes on the wire of the window's records.
    sums: [u64; 3],
    quality: Quality,
    untold: Untold,
}

/// The windows of a run.
pub(super) struct RouterWindows {
    setting: RouterWindowSetting,
    control: Control,
    outputs: Outputs,
    qualities: Qualities,
    memory: RowMemory,
    /// The open windows, by their begins. The last one is that of the clock.
    open: BTreeMap<u64, RouterWindow>,
    /// The begin of the last window that was closed.
    closed: Option<u64>,
    index: u64,
    began_ns: u64,
    counts: WindowCounts,
    /// The records that came when their window was closed (`late`), and those of the time to come (`early`).
    late: u64,
    early: u64,
    /// Records that would make a sum overflow; they are left out.
    implausible: u64,
    received: u64,
    sums: [u64; 3],
    /// The packets of windows that are closed.
    closed_packets: u64,
    totals: PacketTotals,
    records: u64,
    table_full: u64,
    /// The counts of datagrams that are told already.
    told: DatagramTally,
    /// The counts of what was not read that are told already.
    told_unread: [u64; 4],
    remarked: Counters,
    peak_bytes: u64,
}

impl RouterWindows {
    /// Opens the first window.
    pub(super) fn new(
        setting: RouterWindowSetting,
        control: Control,
        outputs: Outputs,
        qualities: Qualities,
        now_ns: u64,
    ) -> Self {
        let first = start_of(now_ns, setting.window_ns);
        let mut outputs = outputs;
        // All rows of a window are there at once, more than a queue has room for. Datagrams wait in a queue of their own meanwhile.
        outputs.may_wait();
        Self {
            memory: RowMemory::new(&setting.limits),
            setting,
            control,
            outputs,
            qualities,
            open: BTreeMap::from([(first, RouterWindow::default())]),
            closed: None,
            index: 0,
            began_ns: now_ns,
            counts: WindowCounts::default(),
            late: 0,
            early: 0,
            implausible: 0,
            received: 0,
            sums: [0; 3],
            closed_packets: 0,
            totals: PacketTotals::default(),
            records: 0,
            table_full: 0,
            told: DatagramTally { dropped: Some(0), ..DatagramTally::default() },
            told_unread: [0; 4],
            remarked: Counters::default(),
            peak_bytes: 0,
        }
    }

    /// Packets of records so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Rows of open windows.
    pub(super) fn open_rows(&self) -> u64 {
        self.open.values().map(|open| open.rows).sum()
    }

    pub(super) fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }

    /// A flow came: it counts in the window of its last packet if that is open, else in the clock's.
    pub(super) fn take(&mut self, flow: ExportedFlow, now_ns: u64) {
        let own = start_of(flow.record.ltime, self.setting.window_ns);
        let clock = start_of(now_ns, self.setting.window_ns);
        // The clock's window may not be open yet: then it is the last one that is.
        let Some((&last, _)) = self.open.last_key_value() else { return };
        let start_ns = if self.open.contains_key(&own) { own } else { last };
        self.early += u64::from(own > clock);
        self.late += u64::from(own < start_ns);
        let Some(open) = self.open.get_mut(&start_ns) else { return };
        let wire_bytes = flow.record.wire_bytes().unwrap_or(0);
        let counts = [flow.record.total_count, flow.record.total_byte, wire_bytes];
        let added = |sums: [u64; 3], most| {
            let mut all = sums.iter().zip(counts).map(|(sum, more)| sum.saturating_add(more));
            let sums = [all.next()?, all.next()?, all.next()?];
            sums.iter().all(|sum| *sum <= most).then_some(sums)
        };
        let (Some(of_window), Some(of_run)) =
            (added(open.sums, MOST_OF_WINDOW), added(self.sums, MOST_OF_RUN))
        else {
            self.implausible += 1;
            return;
        };
        (open.sums, self.sums) = (of_window, of_run);
        open.quality.add(&flow);
        open.untold.add_record(flow.record.open);
        let ExportedFlow { mut record, .. } = flow;
        let packets = record.total_count;
        open.received = open.received.saturating_add(packets);
        self.received = self.received.saturating_add(packets);
        self.records += 1;
        let (bytes, wire_bytes) = (record.total_byte, record.wire_byte);
        let unplaced = |keyless| Unplaced { packets, bytes, wire_bytes, keyless };
        let Some(row) = row(&record, &self.setting.key) else {
            // A record without an address is of no flow: its packets are in no group.
            open.held.unplaced.add(&unplaced(packets));
            return self.outputs.record(record);
        };
        record.key = Some(match &row {
            FamilyRow::V4(row) => row.key.flow_key(&self.setting.key),
            FamilyRow::V6(row) => row.key.flow_key(&self.setting.key),
        });
        if self.outputs.takes_record_rows() {
            match row {
                FamilyRow::V4(row) => self.outputs.record_row(row),
                FamilyRow::V6(row) => self.outputs.record_row(row),
            }
        }
        if !open.held.push(row, None, true, &mut self.memory) {
            open.held.unplaced.add(&unplaced(0));
        }
        self.outputs.record(record);
    }

    /// Returns true if a window is to be closed or opened.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let RouterWindowSetting { window_ns, wait_ns, .. } = self.setting;
        let is_over = |start: &u64| start.saturating_add(window_ns).saturating_add(wait_ns) <= now_ns;
        let clock = start_of(now_ns, window_ns);
        self.open.first_key_value().is_some_and(|(start, _)| is_over(start))
            || self.open.last_key_value().is_some_and(|(start, _)| *start < clock)
    }

    /// Returns the counts of what was not read so far, with the records that no sum has room for.
    fn unread(&self, tally: &DatagramTally) -> [u64; 4] {
        let [without_template, damaged, damaged_sets, implausible] = tally.unread();
        [without_template, damaged, damaged_sets, implausible.saturating_add(self.implausible)]
    }

    /// Counts what was lost since the last call in the clock's window. Records of the others that are open may be among it.
    fn note(&mut self, tally: &DatagramTally) {
        let lost = tally.lost().zip(self.told.lost());
        let now = self.unread(tally);
        let before = std::mem::replace(&mut self.told_unread, now);
        let unread = std::array::from_fn(|at| now[at].saturating_sub(before[at]));
        // What was not read does not say its time: it may be of any window that is open, and counts in the clock's.
        if unread != [0; 4] {
            self.open.values_mut().for_each(|open| open.quality.may_lack_unread = true);
            if let Some(mut clock) = self.open.last_entry() {
                clock.get_mut().quality.miss(unread);
            }
        }
        self.told = *tally;
        let Some((now, before)) = lost else { return };
        let mut more = now.iter().zip(before).map(|(now, before)| now.saturating_sub(before));
        let more = [(); 3].map(|()| more.next().unwrap_or(0));
        if more == [0; 3] {
            return;
        }
        self.open.values_mut().for_each(|open| open.quality.may_lack = true);
        if let Some(mut clock) = self.open.last_entry() {
            let own = &mut clock.get_mut().quality.lost;
            own.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
    }

    /// Opens the window of the clock, and closes those that are over.
    pub(super) fn advance(&mut self, now_ns: u64, tally: &DatagramTally) {
        self.note(tally);
        let RouterWindowSetting { window_ns, wait_ns, .. } = self.setting;
        let clock = start_of(now_ns, window_ns);
        if self.open.last_key_value().is_none_or(|(start, _)| *start < clock) {
            self.open.insert(clock, RouterWindow::default());
        }
        while let Some((&start, _)) = self.open.first_key_value() {
            let is_over = start.saturating_add(window_ns).saturating_add(wait_ns) <= now_ns;
            if !is_over || start == clock {
                break;
            }
            let next = self.open.keys().nth(1).copied();
            let is_jump = next.is_some_and(|next| next > start.saturating_add(window_ns));
            let ended_by = if is_jump { WindowEnd::Jump } else { WindowEnd::Full };
            self.close(start, ended_by, start.saturating_add(window_ns), tally);
        }
    }

    /// Closes all windows. Returns what was received, and the outputs.
    pub(super) fn finish(mut self, now_ns: u64, tally: &DatagramTally) -> (RunTotals, Outputs) {
        self.note(tally);
        while let Some((&start, _)) = self.open.first_key_value() {
            let end_ns = start.saturating_add(self.setting.window_ns);
            let is_last = self.open.len() == 1;
            let ended_by = if is_last { WindowEnd::RunEnd } else { WindowEnd::Full };
            self.close(start, ended_by, end_ns.min(now_ns.max(start)), tally);
        }
        self.qualities.end(tally.lost().unwrap_or_default(), self.unread(tally));
        let mut remarks = tally.remarks();
        remarks.add(&self.own_remarks());
        let packets = PacketCounts {
            received: self.received,
            measured: self.totals.packets,
            remarks,
            ..PacketCounts::default()
        };
        let ended = RunTotals {
            windows: self.counts,
            packets,
            totals: PacketTotals { flows: self.records, ..self.totals },
            flows: FlowCounts { seen: self.records, table_full: self.table_full, ..FlowCounts::default() },
            span: Some(Span { start_ns: self.began_ns, end_ns: now_ns.max(self.began_ns) }),
            memory_bytes: self.peak_bytes,
            tcp_loss: None,
            sampled: None,
        };
        (ended, self.outputs)
    }

    fn own_remarks(&self) -> Counters {
        [("late", self.late), ("early", self.early), ("implausible", self.implausible)].into_iter().collect()
    }

    fn close(&mut self, start_ns: u64, ended_by: WindowEnd, watched_until_ns: u64, tally: &DatagramTally) {
        let Some(mut open) = self.open.remove(&start_ns) else { return };
        let RouterWindowSetting { window_ns, ref limits, .. } = self.setting;
        self.peak_bytes = self.peak_bytes.max(limits.bytes_used() as u64);
        let window = WindowId::new(start_ns / window_ns.max(1));
        let span = Span { start_ns, end_ns: start_ns.saturating_add(window_ns) };
        self.control.enter(window);
        self.outputs.begin_rows(window);
        let mut totals = PacketTotals::default();
        let mut add = |[packets, bytes, wire_bytes]: [u64; 3]| {
            let sums = [&mut totals.packets, &mut totals.bytes, &mut totals.wire_bytes, &mut totals.flows];
            let more = [packets, bytes, wire_bytes, 1];
            sums.into_iter().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        };
        let outputs = &mut self.outputs;
        let mut times = PacketTotals::default();
        open.held.give(&mut self.memory, |row, _| match row {
            FamilyRow::V4(row) => {
                add([row.packets, row.bytes, row.wire_bytes]);
                times.reach(row.first_ns, row.last_ns);
                outputs.row(row, None);
            }
            FamilyRow::V6(row) => {
                add([row.packets, row.bytes, row.wire_bytes]);
                times.reach(row.first_ns, row.last_ns);
                outputs.row(row, None);
            }
        });
        totals.times = times.times;
        let refused_rows = self.outputs.end_rows();
        let unplaced = open.held.unplaced;
        totals.packets = totals.packets.saturating_add(unplaced.packets);
        totals.bytes = totals.bytes.saturating_add(unplaced.bytes);
        totals.wire_bytes = totals.wire_bytes.saturating_add(unplaced.wire_bytes);
        // What came since the last window was closed, whichever window its records are of.
        let mut all = tally.remarks();
        all.add(&self.own_remarks());
        let remarks = all.since(&self.remarked);
        self.remarked = all;
        let loss = tally.lost().map(|_| named(open.quality.lost));
        let (lacks, estimates) = (open.quality.lacks(), open.quality.estimates());
        self.qualities.push(span, open.quality);
        let between = |last: u64| (start_ns - last) / window_ns.max(1) - 1;
        let closed = ClosedWindow {
            index: self.index,
            watched: Span { start_ns: start_ns.max(self.began_ns), end_ns: watched_until_ns },
            ended_by,
            empty_before: self.closed.filter(|last| *last < start_ns).map_or(0, between),
            packets: PacketCounts {
                received: open.received,
                measured: totals.packets,
                remarks,
                ..PacketCounts::default()
            },
            loss,
            totals,
            unplaced,
            refused_rows,
            lacks,
            untold: open.untold,
            estimates,
            ..ClosedWindow::without_packets(window, span)
        };
        self.closed = Some(start_ns);
        self.index += 1;
        self.counts.add(ended_by);
        self.totals.add(&totals);
        self.closed_packets = self.closed_packets.saturating_add(open.received);
        self.table_full = self.table_full.saturating_add(unplaced.packets);
        if !self.outputs.window(closed) {
            self.counts.unreported += 1;
        }
        self.outputs.hand_over();
        self.outputs.account(MeasurementTotals {
            time_ns: span.end_ns,
            received: self.closed_packets,
            measured: self.totals.packets,
            lost: tally.counters().map(|lost| lost.total()),
        });
    }
}

fn start_of(time_ns: u64, window_ns: u64) -> u64 {
    time_ns - time_ns % window_ns.max(1)
}

#[cfg(test)]
mod tests;
