//! Puts together what receivers and workers say of each window, and of the run.

use crate::collector::{WindowPart, add_totals, merge_other};
use crate::receiver::{ReceiverEnd, WORKER_FAILED};
use crate::window::WindowHeader;
use packet::KeySpec;
use record::report::{
    Counters, FlowCounts, LossAnswer, PacketCounts, Span, Totals, WindowCounts, WindowEnd, WindowReport,
};
use record::{Account, FlowRecord, Loss};
use std::collections::BTreeMap;
use summary::tcp::LossCounts;

/// A window that not all have spoken of yet.
#[derive(Debug)]
struct Pending {
    header: Option<WindowHeader>,
    part: WindowPart,
    /// Packets handed to workers, by worker.
    handed_over: Vec<(usize, u64)>,
}

/// How far somebody has come: windows are spoken of in the order of their numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    /// The last window spoken of.
    window: Option<u64>,
    /// Nothing comes any more.
    ended: bool,
    /// It ended before it was through.
    failed: bool,
}

impl Reached {
    fn is_behind(&self, window: u64) -> bool {
        self.ended || self.window.is_some_and(|reached| reached >= window)
    }
}

/// Merges windows of any number of receivers and workers. A window is reported when everybody is past it.
#[derive(Debug)]
pub(crate) struct Merger {
    key: KeySpec,
    /// Lines in a ranking.
    lines: usize,
    tracks_loss: bool,
    receivers: Vec<Reached>,
    workers: Vec<Reached>,
    pending: BTreeMap<u64, Pending>,
    windows: WindowCounts,
    totals: Totals,
    table_full: u64,
    tcp_loss: LossCounts,
    /// Frames of the windows reported so far.
    received: u64,
    lost: Option<u64>,
    /// Packets handed to workers that failed before they had sealed them.
    failed: u64,
}

impl Merger {
    pub(crate) fn new(
        receivers: usize,
        workers: usize,
        key: KeySpec,
        lines: usize,
        tracks_loss: bool,
    ) -> Self {
        Self {
            key,
            lines,
            tracks_loss,
            receivers: vec![Reached::default(); receivers],
            workers: vec![Reached::default(); workers],
            pending: BTreeMap::new(),
            windows: WindowCounts::default(),
            totals: Totals::default(),
            table_full: 0,
            tcp_loss: LossCounts::default(),
            received: 0,
            lost: Some(0),
            failed: 0,
        }
    }

    fn pending(&mut self, window: u64) -> &mut Pending {
        let lines = self.lines;
        self.pending.entry(window).or_insert_with(|| Pending {
            header: None,
            part: WindowPart::new(lines),
            handed_over: Vec::new(),
        })
    }

    /// A receiver has turned away from a window. `first_worker`: the first one of those that it hands packets to.
    pub(crate) fn header(&mut self, receiver: usize, first_worker: usize, mut header: WindowHeader) {
        self.receivers[receiver].window = Some(header.number);
        let pending = self.pending(header.number);
        pending.handed_over.extend((first_worker..).zip(header.handed_over.drain(..)));
        match &mut pending.header {
            Some(sum) => merge_headers(sum, header),
            none => *none = Some(header),
        }
    }

    /// A worker has sealed its flows of a window.
    pub(crate) fn part(&mut self, worker: usize, window: u64, part: WindowPart) {
        // Its packets are counted as those of a failed worker already.
        if self.workers[worker].failed {
            return;
        }
        self.workers[worker].window = Some(window);
        self.pending(window).part.merge(part);
    }

    /// Nothing comes from this receiver any more.
    pub(crate) fn receiver_ended(&mut self, receiver: usize) {
        self.receivers[receiver].ended = true;
    }

    /// Nothing comes from this worker any more.
    pub(crate) fn worker_ended(&mut self, worker: usize) {
        self.workers[worker].ended = true;
    }

    /// This worker is gone, with what it had not sealed. False where that was known, or it had ended well.
    pub(crate) fn worker_failed(&mut self, worker: usize) -> bool {
        let reached = &mut self.workers[worker];
        let is_news = !reached.ended;
        if is_news {
            (reached.ended, reached.failed) = (true, true);
        }
        is_news
    }

    /// The next window of which everybody has spoken, with what exporters are told of it.
    pub(crate) fn take_report(&mut self) -> Option<(WindowReport, Account)> {
        let (window, header, part, handed_over) = loop {
            let &window = self.pending.first_key_value()?.0;
            if !self.receivers.iter().chain(&self.workers).all(|reached| reached.is_behind(window)) {
                return None;
            }
            let (_, Pending { header, part, handed_over }) = self.pending.pop_first()?;
            // Without a header its receiver failed before it could count it: it is in no count.
            if let Some(header) = header {
                break (window, header, part, handed_over);
            }
        };
        let ended_by = self.ended_by(window, header.ended_by);
        let is_missing = |worker: usize| {
            let reached = self.workers[worker];
            reached.failed && reached.window.is_none_or(|last| last < window)
        };
        let missing = handed_over.iter().filter(|(worker, _)| is_missing(*worker));
        let failed: u64 = missing.map(|(_, packets)| packets).sum();
        self.failed += failed;
        let answer = part.answer();
        let index = self.windows.count;
        self.windows.add(ended_by);
        add_totals(&mut self.totals, &answer.totals);
        self.table_full += answer.other.packets;
        self.tcp_loss.add(&answer.loss);
        let mut packets = header.packets;
        packets.measured = answer.totals.packets;
        add_counters(&mut packets.not_measured, Counters(vec![(WORKER_FAILED, failed)]));
        self.received += packets.received;
        self.lost = header.loss.as_ref().and_then(|loss| Some(self.lost? + loss.total()));
        let account = Account {
            time_ns: header.span.end_ns,
            received: self.received,
            measured: self.totals.packets,
            lost: self.lost,
        };
        let report = WindowReport {
            index,
            span: header.span,
            ended_by,
            packets,
            loss: header.loss,
            totals: answer.totals,
            table_full: answer.other.packets,
            key: self.key,
            top_bytes: answer.top_bytes,
            top_packets: answer.top_packets,
            tcp_loss: self
                .tracks_loss
                .then(|| LossAnswer { sum: Loss::from(&answer.loss), flows: answer.top_loss }),
        };
        Some((report, account))
    }

    /// Why a window ended that all are behind, and that ended so for those who were in it: for the others, time may have
    /// gone on elsewhere.
    fn ended_by(&self, window: u64, ended_by: WindowEnd) -> WindowEnd {
        match self.pending.first_key_value() {
            Some((&next, _)) if next == window + 1 => WindowEnd::Full,
            Some(_) if ended_by == WindowEnd::RunEnd => WindowEnd::Jump,
            _ => ended_by,
        }
    }

    /// What the whole run counted; all reports must have been taken.
    pub(crate) fn end(self, run: RunEnd) -> Ended {
        let mut packets = run.packets;
        packets.measured = self.totals.packets;
        add_counters(&mut packets.not_measured, Counters(vec![(WORKER_FAILED, self.failed)]));
        Ended {
            windows: self.windows,
            packets,
            totals: Totals { flows: run.records_ended, ..self.totals },
            flows: FlowCounts {
                seen: run.records_ended,
                active: run.active,
                table_full: self.table_full,
                ..FlowCounts::default()
            },
            span: run.span,
            memory_bytes: run.memory_bytes,
            tcp_loss: self.tracks_loss.then(|| Loss::from(&self.tcp_loss)),
        }
    }
}

impl ReceiverEnd {
    /// Both together.
    pub(crate) fn plus(mut self, more: Self) -> Self {
        add_packets(&mut self.packets, more.packets);
        self.loss = add_losses(self.loss, more.loss);
        self.span = join(self.span, more.span);
        self.now = self.now.max(more.now);
        self
    }
}

/// What the ends of receivers and workers add up to.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    pub(crate) packets: PacketCounts,
    /// Outside: no receiver yet. Inside: one cannot know.
    pub(crate) loss: Option<Option<Counters>>,
    pub(crate) span: Option<Span>,
    pub(crate) records_ended: u64,
    pub(crate) active: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) other: Option<FlowRecord>,
}

impl RunEnd {
    pub(crate) fn receiver(&mut self, end: ReceiverEnd) {
        add_packets(&mut self.packets, end.packets);
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

/// What a run measured.
#[derive(Debug)]
pub struct Ended {
    /// How many windows there were.
    pub windows: WindowCounts,
    /// The frames; `measured` is what the tables counted, independently of the parser.
    pub packets: PacketCounts,
    /// Sums of the tables.
    pub totals: Totals,
    /// The records; what outputs did with them is for them to say.
    pub flows: FlowCounts,
    /// Stream time.
    pub span: Option<Span>,
    /// Memory taken, bytes.
    pub memory_bytes: u64,
    /// TCP losses over all flows; `None` where they were not tracked.
    pub tcp_loss: Option<Loss>,
}

fn merge_headers(sum: &mut WindowHeader, more: WindowHeader) {
    sum.span = around(sum.span, more.span);
    // Time went on where it went on for one of them.
    sum.ended_by = match (sum.ended_by, more.ended_by) {
        (WindowEnd::Full, _) | (_, WindowEnd::Full) => WindowEnd::Full,
        (WindowEnd::Jump, _) | (_, WindowEnd::Jump) => WindowEnd::Jump,
        (WindowEnd::RunEnd, WindowEnd::RunEnd) => WindowEnd::RunEnd,
    };
    add_packets(&mut sum.packets, more.packets);
    sum.loss = add_losses(sum.loss.take(), more.loss);
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

fn add_packets(sum: &mut PacketCounts, more: PacketCounts) {
    sum.received += more.received;
    sum.measured += more.measured;
    add_counters(&mut sum.not_measured, more.not_measured);
    add_counters(&mut sum.remarks, more.remarks);
}

/// Adds by name.
pub(crate) fn add_counters(sum: &mut Counters, more: Counters) {
    for (name, count) in more.0 {
        match sum.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += count,
            None => sum.0.push((name, count)),
        }
    }
}

/// Nothing is known where one of them does not know.
fn add_losses(sum: Option<Counters>, more: Option<Counters>) -> Option<Counters> {
    let (mut sum, more) = (sum?, more?);
    add_counters(&mut sum, more);
    Some(sum)
}
