//! Merges the reports of receivers and workers about each window, and about the run.

use crate::closed::{ClosedWindow, PacketTotals};
use crate::collector::{WindowSums, merge_other};
use crate::config::Every;
use crate::ids::{ReceiverId, WindowId, WorkerId};
use crate::receiver::ReceiverEnd;
use crate::refused::{RING_FULL, WORKER_FAILED};
use crate::window::WindowHeader;
use crate::work::ThreadLoad;
use flow::{FlowRecord, LossCounts, Sampled, Untold};
use model::{Counters, FlowCounts, PacketCounts, Span, WindowCounts, WindowEnd};
use record::MeasurementTotals;
use std::collections::BTreeMap;
use task::Watermarks;
use task::rows::{Overflow, Unplaced};

/// A window that not all have reported yet.
#[derive(Debug, Default)]
struct PendingWindow {
    header: Option<WindowHeader>,
    sums: WindowSums,
    overflow: Option<Overflow>,
    /// Packets handed to workers, by worker.
    handed_over: Vec<(WorkerId, u64)>,
}

/// Merges windows of any number of receivers and workers. A window is reported when all of them have
/// completed it.
#[derive(Debug)]
pub(crate) struct Merger {
    /// True if windows are of time: their numbers show how many were left out.
    is_by_time: bool,
    tracks_loss: bool,
    receivers: Watermarks,
    /// The watermarks of workers. If shares of flows are merged, merging counts as one more, the last.
    workers: Watermarks,
    /// True if flows are in shared tables, not in those of a worker.
    is_shared: bool,
    pending: BTreeMap<WindowId, PendingWindow>,
    windows: WindowCounts,
    /// The last window that was reported.
    last: Option<WindowId>,
    totals: PacketTotals,
    table_full: u64,
    tcp_loss: LossCounts,
    /// Frames of the windows reported so far.
    received: u64,
    lost: Option<u64>,
    /// Packets handed to workers that failed before they had sealed them.
    failed: u64,
    /// Packets in shares, of receivers that failed before they could count them as received.
    surplus: u64,
    sampled: Option<Sampled>,
}

impl Merger {
    pub(crate) fn new(receivers: usize, workers: usize, every: Every, tracks_loss: bool) -> Self {
        Self {
            is_by_time: matches!(every, Every::Time(_)),
            tracks_loss,
            last: None,
            receivers: Watermarks::new(receivers),
            is_shared: false,
            workers: Watermarks::new(workers),
            pending: BTreeMap::new(),
            windows: WindowCounts::default(),
            totals: PacketTotals::default(),
            table_full: 0,
            tcp_loss: LossCounts::default(),
            received: 0,
            lost: Some(0),
            failed: 0,
            surplus: 0,
            sampled: None,
        }
    }

    /// Flows are shares: each window has one more part, that of merging. `is_shared`: the shares belong to no
    /// worker.
    pub(crate) fn merging(mut self, is_shared: bool) -> Self {
        self.workers.add();
        self.is_shared = is_shared;
        self
    }

    /// The number of merging among the workers.
    pub(crate) fn merged(&self) -> WorkerId {
        WorkerId::new(self.workers.len() - 1)
    }

    fn pending(&mut self, window: WindowId) -> &mut PendingWindow {
        self.pending.entry(window).or_default()
    }

    /// A receiver has turned away from a window. `first_worker`: the first one of those that it hands packets to.
    pub(crate) fn header(&mut self, receiver: ReceiverId, first_worker: WorkerId, mut header: WindowHeader) {
        self.receivers[receiver.index()].complete(header.number);
        let pending = self.pending(header.number);
        pending.handed_over.extend((0..).map(|at| first_worker.plus(at)).zip(header.handed_over.drain(..)));
        match &mut pending.header {
            Some(sum) => merge_headers(sum, header),
            none => *none = Some(header),
        }
    }

    /// False if this worker's reports are ignored: its packets are counted as those of a failed one already.
    pub(crate) fn is_heard(&self, worker: WorkerId) -> bool {
        !self.workers[worker.index()].has_failed()
    }

    /// Takes the sums of a worker that has sealed its flows of a window.
    pub(crate) fn part(&mut self, worker: WorkerId, window: WindowId, sums: &WindowSums) {
        if !self.is_heard(worker) {
            return;
        }
        self.workers[worker.index()].complete(window);
        self.pending(window).sums.merge(sums);
    }

    /// Takes what a worker knows of a window's packets without a place: comes before its part.
    pub(crate) fn overflow(&mut self, worker: WorkerId, window: WindowId, overflow: Option<Overflow>) {
        if self.is_heard(worker) {
            Overflow::merge_into(&mut self.pending(window).overflow, overflow);
        }
    }

    /// Notes that this receiver has turned away from its last window.
    pub(crate) fn receiver_drained(&mut self, receiver: ReceiverId) {
        self.receivers[receiver.index()].complete(WindowId::MAX);
    }

    /// Notes that this worker has sealed its last window.
    pub(crate) fn worker_drained(&mut self, worker: WorkerId) {
        self.workers[worker.index()].complete(WindowId::MAX);
    }

    /// Notes that this receiver reports nothing more.
    pub(crate) fn receiver_ended(&mut self, receiver: ReceiverId) {
        self.receivers[receiver.index()].end();
    }

    /// Notes that this receiver is gone, with what it had not counted.
    pub(crate) fn receiver_failed(&mut self, receiver: ReceiverId) {
        self.receivers[receiver.index()].fail();
    }

    /// Notes that this worker reports nothing more.
    pub(crate) fn worker_ended(&mut self, worker: WorkerId) {
        self.workers[worker.index()].end();
    }

    /// Notes that this worker is gone, with what it had not sealed. Returns false if that was known, or the worker had ended normally.
    pub(crate) fn worker_failed(&mut self, worker: WorkerId) -> bool {
        self.workers[worker.index()].fail()
    }

    /// The next window that all receivers and workers have reported, and its account for exporters.
    pub(crate) fn take_window(&mut self) -> Option<(ClosedWindow, MeasurementTotals)> {
        let (window, header, sums, overflow, handed_over) = loop {
            let &window = self.pending.first_key_value()?.0;
            if !self.receivers.are_past(window) || !self.workers.are_past(window) {
                return None;
            }
            let (_, PendingWindow { header, sums, overflow, handed_over }) = self.pending.pop_first()?;
            // Without a header its receiver failed before it could count it: it is in no count.
            if let Some(header) = header {
                break (window, header, sums, overflow, handed_over);
            }
        };
        let ended_by = self.ended_by(window, header.ended_by);
        let missing = handed_over.iter().filter(|(worker, _)| self.workers[worker.index()].lacks(window));
        let mut failed: u64 = missing.map(|(_, packets)| packets).sum();
        let totals = sums.whole();
        let handed_over: u64 = handed_over.iter().map(|(_, packets)| packets).sum();
        let mut surplus = 0;
        if self.receivers.has_failure() || self.workers.has_failure() {
            if self.is_shared {
                // What a worker had counted before it failed is included.
                failed = handed_over.saturating_sub(totals.packets);
            }
            surplus = (totals.packets + failed).saturating_sub(handed_over);
        }
        self.failed += failed;
        self.surplus += surplus;
        let index = self.windows.count;
        self.windows.add(ended_by);
        self.totals.add(&totals);
        self.table_full += sums.other.packets;
        self.tcp_loss.add(&sums.loss);
        let mut packets = header.packets;
        packets.measured = totals.packets;
        packets.received += surplus;
        packets.not_measured.add(&Counters(vec![(WORKER_FAILED.to_owned(), failed)]));
        self.received += packets.received;
        self.lost = header.loss.as_ref().and_then(|loss| Some(self.lost? + loss.total()));
        let account = MeasurementTotals {
            time_ns: header.span.end_ns,
            received: self.received,
            measured: self.totals.packets,
            lost: self.lost,
        };
        let sampled = header.share.map(|share| {
            let ring_full = header.loss.as_ref().map_or(0, |loss| loss.get(RING_FULL));
            let not_measured = &packets.not_measured;
            let lost = ring_full + not_measured.get(RING_FULL) + not_measured.get(WORKER_FAILED);
            Sampled::new(share, totals.packets, lost, header.longest_byte)
        });
        Sampled::merge_into(&mut self.sampled, sampled.as_ref());
        let last = self.last.replace(window).filter(|_| self.is_by_time);
        let PacketTotals { packets: unplaced, bytes, wire_bytes, .. } = sums.other;
        let closed = ClosedWindow {
            window,
            index,
            span: header.span,
            watched: watched(&header.span, &header.watched, index == 0, ended_by),
            ended_by,
            empty_before: last.map_or(0, |last| window.windows_between(last)),
            // Another receiver may have frames before that.
            next_ns: header.next_ns.filter(|_| self.receivers.len() == 1),
            packets,
            loss: header.loss,
            sampled,
            totals,
            unplaced: Unplaced { packets: unplaced, bytes, wire_bytes, keyless: 0 },
            overflow,
            refused_rows: sums.refused_rows,
            lacks: header.lacks,
            untold: Untold::default(),
            estimates: None,
            unfollowed: sums.unfollowed,
            tcp_loss: self.tracks_loss.then_some(sums.loss),
            work: ThreadLoad { even_flows: sums.even_flows(), ..header.work },
            answers: Vec::new(),
            split: None,
        };
        Some((closed, account))
    }

    /// Returns the reason why a window ended that all have left, and that ended so for those who were in it: for the others, time may have
    /// advanced elsewhere.
    fn ended_by(&self, window: WindowId, ended_by: WindowEnd) -> WindowEnd {
        match self.pending.first_key_value() {
            Some((&next, _)) if next == window.next() => WindowEnd::Full,
            Some(_) if ended_by == WindowEnd::RunEnd => WindowEnd::Jump,
            _ => ended_by,
        }
    }

    /// Returns what the whole run counted; all reports must have been taken.
    pub(crate) fn end(self, run: RunEnd) -> RunTotals {
        let mut packets = run.packets;
        packets.measured = self.totals.packets;
        packets.received += self.surplus;
        packets.not_measured.add(&Counters(vec![(WORKER_FAILED.to_owned(), self.failed)]));
        RunTotals {
            windows: self.windows,
            packets,
            totals: PacketTotals { flows: run.records_ended, ..self.totals },
            flows: FlowCounts {
                seen: run.records_ended,
                active: run.active,
                table_full: self.table_full,
                ..FlowCounts::default()
            },
            span: run.span,
            memory_bytes: run.memory_bytes,
            tcp_loss: self.tracks_loss.then_some(self.tcp_loss),
            sampled: self.sampled,
        }
    }
}

impl ReceiverEnd {
    /// Returns the sum of two ends.
    pub(crate) fn plus(mut self, more: Self) -> Self {
        self.packets.add(&more.packets);
        self.loss = add_losses(self.loss, more.loss);
        self.span = join(self.span, more.span);
        self.now = self.now.max(more.now);
        self
    }
}

/// The sums of the final results of receivers and workers.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    pub(crate) packets: PacketCounts,
    /// The loss of all receivers. Outer `None`: no receiver yet. Inner `None`: one of them cannot know.
    pub(crate) loss: Option<Option<Counters>>,
    pub(crate) span: Option<Span>,
    pub(crate) records_ended: u64,
    pub(crate) active: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) other: Option<FlowRecord>,
}

impl RunEnd {
    pub(crate) fn receiver(&mut self, end: ReceiverEnd) {
        self.packets.add(&end.packets);
        self.loss = Some(match self.loss.take() {
            None => end.loss,
            Some(sum) => add_losses(sum, end.loss),
        });
        self.span = join(self.span, end.span);
    }

    pub(crate) fn worker(&mut self, records_ended: u64, active: u64, memory: u64, other: Option<FlowRecord>) {
        self.records_ended += records_ended;
        self.active += active;
        self.memory_bytes = self.memory_bytes.max(memory);
        if let Some(other) = other {
            merge_other(&mut self.other, other);
        }
    }
}

/// The totals of a run.
#[derive(Debug)]
pub struct RunTotals {
    /// The numbers of windows.
    pub windows: WindowCounts,
    /// The frames; `measured` is what the tables counted, independently of the parser.
    pub packets: PacketCounts,
    /// Sums of the tables.
    pub totals: PacketTotals,
    /// The records; outputs report what they did with them.
    pub flows: FlowCounts,
    /// Stream time.
    pub span: Option<Span>,
    /// Memory taken, bytes.
    pub memory_bytes: u64,
    /// TCP losses over all flows; `None` if they were not tracked.
    pub tcp_loss: Option<LossCounts>,
    /// The way in which the packets were sampled; `None`: all were measured.
    pub sampled: Option<Sampled>,
}

/// The observed part of a window: of the run's first one from the first frame on, of its last one up to the
/// latest. Individual receivers begin and end at any time.
fn watched(span: &Span, seen: &Span, is_first: bool, ended_by: WindowEnd) -> Span {
    Span {
        start_ns: if is_first { seen.start_ns } else { span.start_ns },
        end_ns: if ended_by == WindowEnd::RunEnd { seen.end_ns } else { span.end_ns },
    }
}

fn merge_headers(sum: &mut WindowHeader, more: WindowHeader) {
    sum.span = around(sum.span, more.span);
    sum.watched = around(sum.watched, more.watched);
    // Time has advanced if it has for any of them.
    sum.ended_by = match (sum.ended_by, more.ended_by) {
        (WindowEnd::Full, _) | (_, WindowEnd::Full) => WindowEnd::Full,
        (WindowEnd::Jump, _) | (_, WindowEnd::Jump) => WindowEnd::Jump,
        (WindowEnd::RunEnd, WindowEnd::RunEnd) => WindowEnd::RunEnd,
    };
    sum.longest_byte = sum.longest_byte.max(more.longest_byte);
    sum.packets.add(&more.packets);
    sum.loss = add_losses(sum.loss.take(), more.loss);
    sum.lacks = sum.lacks.take().or(more.lacks);
    sum.work.add(&more.work);
}

fn join(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    match (a, b) {
        (Some(a), Some(b)) => Some(around(a, b)),
        (a, b) => a.or(b),
    }
}

fn around(a: Span, b: Span) -> Span {
    Span { start_ns: a.start_ns.min(b.start_ns), end_ns: a.end_ns.max(b.end_ns) }
}

/// Adds losses; the sum is unknown if one of them is unknown.
fn add_losses(sum: Option<Counters>, more: Option<Counters>) -> Option<Counters> {
    let (mut sum, more) = (sum?, more?);
    sum.add(&more);
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn r(number: usize) -> ReceiverId {
        ReceiverId::new(number)
    }

    fn w(number: usize) -> WorkerId {
        WorkerId::new(number)
    }

    fn at(number: u64) -> WindowId {
        WindowId::new(number)
    }

    fn merger(receivers: usize, workers: usize) -> Merger {
        Merger::new(receivers, workers, Every::Time(MS), false)
    }

    fn header(number: u64, ended_by: WindowEnd, received: u64, handed_over: &[u64]) -> WindowHeader {
        WindowHeader {
            number: at(number),
            span: Span { start_ns: number * MS, end_ns: (number + 1) * MS },
            ended_by,
            next_ns: None,
            packets: PacketCounts { received, ..PacketCounts::default() },
            watched: Span { start_ns: number * MS, end_ns: (number + 1) * MS },
            loss: Some(Counters(vec![("imissed".to_owned(), 1)])),
            lacks: None,
            work: ThreadLoad::default(),
            share: None,
            longest_byte: 0,
            handed_over: handed_over.to_vec(),
        }
    }

    /// Index, first millisecond, end, received and measured of each window that is ready.
    fn ready(merger: &mut Merger) -> Vec<(u64, u64, WindowEnd, u64, u64)> {
        std::iter::from_fn(|| merger.take_window())
            .map(|(closed, account)| {
                assert_eq!(account.time_ns, closed.span.end_ns);
                let ClosedWindow { index, span, ended_by, packets, .. } = closed;
                (index, span.start_ns / MS, ended_by, packets.received, packets.measured)
            })
            .collect()
    }

    #[test]
    fn a_window_waits_for_all_in_whichever_order() {
        use WindowEnd::{Full, RunEnd};
        // What is reported: (true: header, number of the receiver or worker).
        let said = [(true, 0), (true, 1), (false, 0), (false, 1), (false, 2)];
        for rotation in 0..said.len() {
            let mut merger = merger(2, 3);
            let mut order = said;
            order.rotate_left(rotation);
            for (said, (is_header, who)) in order.into_iter().enumerate() {
                match is_header {
                    true => merger.header(r(who), w(who), header(7, Full, 10, &[10])),
                    false => merger.part(w(who), at(7), &WindowSums::default()),
                }
                let expected = if said == 4 { vec![(0, 7, Full, 20, 0)] } else { Vec::new() };
                assert_eq!(ready(&mut merger), expected, "rotation {rotation}, word {said}");
            }
            // The second window is reported only with the ends.
            merger.header(r(0), w(0), header(8, RunEnd, 1, &[1]));
            merger.receiver_ended(r(0));
            merger.receiver_ended(r(1));
            (0..2).for_each(|worker| merger.worker_ended(w(worker)));
            assert_eq!(ready(&mut merger), []);
            merger.worker_ended(w(2));
            assert_eq!(ready(&mut merger), [(1, 8, RunEnd, 1, 0)]);
        }
    }

    #[test]
    fn how_windows_end_that_not_all_were_in() {
        use WindowEnd::{Full, Jump, RunEnd};
        let mut merger = merger(2, 1);
        for (receiver, number, ended_by) in [
            (0, 1, Jump),
            (0, 5, Full),
            (0, 6, RunEnd),
            (1, 1, Jump),
            // The second one's time continues to where the first one's jumped over, and then past the first
            // one's end.
            (1, 2, Jump),
            (1, 9, Jump),
            (1, 12, RunEnd),
        ] {
            merger.header(r(receiver), w(0), header(number, ended_by, 1, &[]));
        }
        (0..2).for_each(|receiver| merger.receiver_ended(r(receiver)));
        merger.worker_ended(w(0));
        let ends: Vec<_> = ready(&mut merger).into_iter().map(|(_, at, end, ..)| (at, end)).collect();
        assert_eq!(ends, [(1, Full), (2, Jump), (5, Full), (6, Jump), (9, Jump), (12, RunEnd)]);
        let windows = merger.end(super::RunEnd::default()).windows;
        assert_eq!((windows.count, windows.full, windows.jump, windows.run_end), (6, 2, 3, 1));
    }

    #[test]
    fn what_a_failed_worker_had_not_sealed_is_not_measured() {
        use WindowEnd::Full;
        let mut merger = merger(1, 2);
        for number in 1..=3 {
            merger.header(r(0), w(0), header(number, Full, 30, &[10, 20]));
            merger.part(w(0), at(number), &WindowSums::default());
        }
        merger.part(w(1), at(1), &WindowSums::default());
        assert!(merger.worker_failed(w(1)));
        assert!(!merger.worker_failed(w(1)), "it was known");
        // Too late: it counts as failed already.
        merger.part(w(1), at(2), &WindowSums::default());
        let failed: Vec<_> = std::iter::from_fn(|| merger.take_window())
            .map(|(report, _)| report.packets.not_measured.total())
            .collect();
        assert_eq!(failed, [0, 20, 20]);
        merger.worker_ended(w(0));
        assert!(!merger.worker_failed(w(0)), "it had ended well");
        assert_eq!(merger.end(super::RunEnd::default()).packets.not_measured.total(), 40);
    }

    /// A part in which this many packets are measured.
    fn measured(packets: u64) -> WindowSums {
        WindowSums { totals: PacketTotals { packets, ..PacketTotals::default() }, ..WindowSums::default() }
    }

    #[test]
    fn what_failed_ones_left_in_shared_tables_is_measured() {
        use WindowEnd::Full;
        let mut merger = merger(2, 2).merging(true);
        for (receiver, worker) in [(0, 0), (1, 1)] {
            merger.header(r(receiver), w(worker), header(1, Full, 10, &[10]));
            merger.part(w(worker), at(1), &WindowSums::default());
        }
        assert_eq!(ready(&mut merger), [], "the shared tables are not read yet");
        merger.part(merger.merged(), at(1), &measured(20));
        assert_eq!(ready(&mut merger), [(0, 1, Full, 20, 20)]);
        // Seven packets of the failed worker are missing, three of them were counted.
        merger.header(r(0), w(0), header(2, Full, 10, &[10]));
        merger.header(r(1), w(1), header(2, Full, 10, &[10]));
        merger.part(w(0), at(2), &WindowSums::default());
        assert!(merger.worker_failed(w(1)));
        merger.part(merger.merged(), at(2), &measured(13));
        let (report, _) = merger.take_window().expect("all have spoken");
        assert_eq!((report.packets.measured, report.packets.not_measured.total()), (13, 7));
        // Five packets of the failed receiver are counted that it had not reported.
        merger.header(r(0), w(0), header(3, Full, 10, &[10]));
        merger.part(w(0), at(3), &WindowSums::default());
        merger.receiver_failed(r(1));
        merger.part(merger.merged(), at(3), &measured(15));
        let (report, account) = merger.take_window().expect("all have spoken");
        assert_eq!((report.packets.received, report.packets.measured), (15, 15));
        assert_eq!((account.received, account.measured), (55, 48));
        let run =
            RunEnd { packets: PacketCounts { received: 50, ..PacketCounts::default() }, ..RunEnd::default() };
        let packets = merger.end(run).packets;
        assert_eq!((packets.received, packets.measured, packets.not_measured.total()), (55, 48, 7));
    }

    #[test]
    fn a_window_without_a_head_keeps_no_other_one() {
        let mut merger = merger(2, 2);
        merger.part(w(0), at(1), &WindowSums::default());
        merger.header(r(1), w(1), header(2, WindowEnd::RunEnd, 5, &[5]));
        merger.receiver_ended(r(1));
        merger.worker_ended(w(1));
        assert_eq!(ready(&mut merger), []);
        // The receiver had ordered its worker to turn, and failed before it reported the window.
        merger.receiver_ended(r(0));
        assert!(merger.worker_failed(w(0)));
        assert_eq!(ready(&mut merger), [(0, 2, WindowEnd::RunEnd, 5, 0)]);
    }

    #[test]
    fn nothing_is_known_of_losses_where_one_does_not_know() {
        let mut merger = merger(2, 1);
        merger.header(r(0), w(0), header(1, WindowEnd::Full, 1, &[]));
        merger.header(r(1), w(0), WindowHeader { loss: None, ..header(1, WindowEnd::Full, 1, &[]) });
        merger.part(w(0), at(1), &WindowSums::default());
        let (report, account) = merger.take_window().expect("all have spoken");
        assert_eq!((report.loss, account.lost), (None, None));
    }
}
