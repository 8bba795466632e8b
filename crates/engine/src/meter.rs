//! One core's measuring: bursts in, windows and records out. Reads no clock: time is told to it.

use crate::collector::{Collector, RecordSink};
use crate::config::{Config, Every};
use crate::window::{ClosingWindow, OpenWindow};
use packet::{BurstParser, Frame, KeySpec, KeyV4, KeyV6, NotMeasured, ParserConfig, Remark};
use port::{Burst, Filter, TimeBase};
use record::report::{
    Counters, FlowCounts, LossAnswer, PacketCounts, Span, Totals, WindowCounts, WindowEnd, WindowReport,
};
use record::{Account, Loss};
use summary::tcp::LossCounts;
use summary::{FlowTable, Limits, OutOfMemory, TableConfig};

/// Frames of a replay per swept entry: a slice of 8 for a burst of 64 costs under a nanosecond a packet.
const FRAMES_PER_SWEPT: usize = 8;
/// How often a replay's sweep begins anew, as a part of the shorter timeout in stream time: nobody waits for the records,
/// they only take memory.
const SWEEPS_PER_TIMEOUT: u64 = 4;
/// How long a live source's sweep takes to go round: records are out within a second of being due, with time left for
/// writing them.
const LIVE_SWEEP_NS: u64 = 500_000_000;
/// The least number of entries worth a look at once.
const SWEEP_SLICE: usize = 64;

/// Parser, flow tables and windows of one core.
#[derive(Debug)]
pub struct Meter<R> {
    every: Every,
    duration_ns: u64,
    time_base: TimeBase,
    parser: BurstParser,
    v4: FlowTable<KeyV4>,
    v6: FlowTable<KeyV6>,
    collector: Collector<R>,
    /// Stream time: the latest time seen.
    now: u64,
    /// The latest time of a frame; a live source's frames are a little older than its clock.
    latest_ns: u64,
    first_ns: Option<u64>,
    received: u64,
    backwards: u64,
    open: Option<OpenWindow>,
    /// Stream time at which a replay's frame turns the window or ends the run; never for a live source, whose clock
    /// does that.
    turn_at: u64,
    /// A frame came that lies behind the run's duration.
    is_past_end: bool,
    closing: Option<ClosingWindow>,
    /// What was counted when the open window began.
    before: PacketCounts,
    loss_before: Option<Counters>,
    loss: Option<Counters>,
    sweep: Sweep,
    windows: WindowCounts,
    totals: Totals,
    table_full: u64,
    active_at_end: u64,
    reports: Vec<WindowReport>,
    /// Over all closed windows.
    tcp_loss: LossCounts,
    tracks_loss: bool,
    limits: Limits,
    key: KeySpec,
    /// Stream time between the sweeps of a replay.
    sweep_period_ns: u64,
}

/// Where the sweep over both tables is.
#[derive(Debug)]
struct Sweep {
    v4_done: bool,
    v6_done: bool,
    /// Stream time when it last began (replay) or went on (live).
    at: u64,
}

impl Sweep {
    fn is_done(&self) -> bool {
        self.v4_done && self.v6_done
    }
}

impl<R: RecordSink> Meter<R> {
    /// A meter that has seen nothing.
    ///
    /// # Errors
    /// Where the tables' address space cannot be reserved.
    pub fn new(config: &Config, time_base: TimeBase, records: R) -> Result<Self, OutOfMemory> {
        let Config { seed, key, parts, timeouts, tunnel, .. } = *config;
        let table = TableConfig { seed, key, timeouts, parts };
        let parsed = ParserConfig {
            tunnel,
            key,
            paired: parts.are_paired(),
            details: parts.need_details(),
            segments: parts.loss,
        };
        Ok(Self {
            every: config.every,
            duration_ns: config
                .duration
                .map_or(u64::MAX, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
            time_base,
            parser: BurstParser::new(seed, parsed, config.burst),
            v4: FlowTable::new(table, &config.limits)?,
            v6: FlowTable::new(table, &config.limits)?,
            collector: Collector::new(records, key, config.top),
            now: 0,
            latest_ns: 0,
            first_ns: None,
            received: 0,
            backwards: 0,
            open: None,
            turn_at: if time_base == TimeBase::Packets { 0 } else { u64::MAX },
            is_past_end: false,
            closing: None,
            before: PacketCounts::default(),
            loss_before: None,
            loss: None,
            sweep: Sweep { v4_done: true, v6_done: true, at: 0 },
            windows: WindowCounts::default(),
            totals: Totals::default(),
            table_full: 0,
            active_at_end: 0,
            reports: Vec::new(),
            tcp_loss: LossCounts::default(),
            tracks_loss: parts.loss,
            limits: config.limits.clone(),
            key,
            sweep_period_ns: config.timeouts.idle_ns.min(config.timeouts.active_ns) / SWEEPS_PER_TIMEOUT,
        })
    }

    /// Frames received so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// True when the configured duration is over: for a replay, when a frame came that is no longer part of it.
    pub fn is_over(&self) -> bool {
        match self.time_base {
            TimeBase::Packets => self.is_past_end,
            TimeBase::Clock => self.now >= self.end_ns(),
        }
    }

    /// Stream time at which the configured duration is over; `u64::MAX` is never.
    fn end_ns(&self) -> u64 {
        self.first_ns.map_or(u64::MAX, |first| first.saturating_add(self.duration_ns))
    }

    /// Flows in the tables now.
    pub fn flows(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Windows closed so far.
    pub fn windows(&self) -> u64 {
        self.windows.count
    }

    /// True where [`Meter::tick`] with this time would close a window.
    pub fn turns_at(&self, clock_ns: u64) -> bool {
        self.open.is_some_and(|open| clock_ns >= open.end_ns)
    }

    /// Tells what the source lost so far.
    pub fn set_loss(&mut self, loss: Option<Counters>) {
        self.loss = loss;
    }

    /// Tells a live meter what the clock says, in nanoseconds since the epoch: windows turn by it, records time out
    /// by it. A clock that goes back stands still here.
    pub fn tick(&mut self, clock_ns: u64) {
        self.now = self.now.max(clock_ns);
        match self.open {
            Some(open) if self.now >= open.end_ns => self.turn(open.ended_by(self.now)),
            Some(_) => {}
            None => self.open_window(),
        }
        self.sweep_live();
    }

    /// Measures the frames of a burst, at most `limit`, and none behind the run's duration.
    pub fn burst(&mut self, burst: Burst<'_>, limit: u64, filter: Option<&Filter>) {
        let (mut rest, _) = burst.split(limit);
        let before = self.received;
        while !rest.is_empty() && !self.is_past_end {
            // Before the first frame there is no window: that frame opens one.
            let (part, behind) = rest.split(self.open.map_or(1, |open| open.frames_left));
            let part_before = self.received;
            match (filter, self.parser.is_plain()) {
                (None, true) => self.parse::<true>(part, |_| true),
                (None, false) => self.parse::<false>(part, |_| true),
                (Some(filter), _) => self.parse::<false>(part, |frame| filter.matches(frame)),
            }
            self.flush();
            self.count_down(self.received - part_before);
            rest = behind;
        }
        if self.time_base == TimeBase::Packets {
            self.sweep_replay((self.received - before) as usize);
        }
    }

    /// Parses frames that `wanted` wants, and turns the window where one of them lies behind it.
    #[inline(always)]
    fn parse<const IS_PLAIN: bool>(&mut self, part: Burst<'_>, wanted: impl Fn(&Frame<'_>) -> bool) {
        // Kept in registers: each costs a load and a store a packet otherwise.
        let (mut latest, mut backwards, mut pending) = (self.latest_ns, 0, 0);
        for frame in part.frames() {
            if frame.time_ns >= self.turn_at {
                self.received += std::mem::take(&mut pending);
                self.backwards += std::mem::take(&mut backwards);
                self.latest_ns = latest;
                if !self.turn_by_frame(frame.time_ns) {
                    break;
                }
            }
            pending += 1;
            backwards += u64::from(frame.time_ns < latest);
            latest = latest.max(frame.time_ns);
            if wanted(&frame) {
                self.parser.push::<IS_PLAIN>(&frame, self.received + pending);
            } else {
                self.parser.skip(NotMeasured::Filter);
            }
        }
        self.received += pending;
        self.backwards += backwards;
        self.latest_ns = latest;
    }

    /// Tells that nothing comes just now: what a replay would finish by and by goes out.
    pub fn idle(&mut self) {
        if self.time_base == TimeBase::Packets {
            self.finish_closing();
            self.collector.records.hand_over();
        }
    }

    /// Counts what is parsed.
    #[inline]
    fn flush(&mut self) {
        self.v4.advance(self.now);
        self.v6.advance(self.now);
        self.v4.update_burst(&self.parser.v4, &mut self.collector);
        self.v6.update_burst(&self.parser.v6, &mut self.collector);
        self.parser.clear();
        self.now = self.now.max(self.latest_ns);
    }

    /// A frame of a replay is the first one, or lies behind the open window or the run's end. False where it is not to
    /// be measured.
    #[cold]
    fn turn_by_frame(&mut self, time_ns: u64) -> bool {
        if self.end_ns() != u64::MAX && time_ns >= self.end_ns() {
            self.is_past_end = true;
            return false;
        }
        self.flush();
        if let Some(open) = self.open {
            self.turn(open.ended_by(time_ns));
        }
        self.now = self.now.max(time_ns);
        self.open_window();
        true
    }

    fn count_down(&mut self, frames: u64) {
        let Some(open) = &mut self.open else { return };
        if open.frames_left != u64::MAX {
            open.frames_left -= frames;
            if open.frames_left == 0 {
                self.turn(WindowEnd::Full);
            }
        }
    }

    fn open_window(&mut self) {
        let open = OpenWindow::at(self.windows.count, self.now, self.every);
        self.first_ns.get_or_insert(self.now);
        if self.time_base == TimeBase::Packets {
            self.turn_at = open.end_ns.min(self.end_ns());
        }
        self.open = Some(open);
    }

    /// Closes the open window: its flows are sealed from now on. A live source's next window opens at once.
    fn turn(&mut self, ended_by: WindowEnd) {
        let Some(open) = self.open.take() else { return };
        self.finish_closing();
        let counts = self.frame_counts();
        self.closing = Some(ClosingWindow {
            index: open.index,
            span: open.span(self.now),
            ended_by,
            packets: counts.since(&self.before),
            loss: self.loss.as_ref().map(|loss| match &self.loss_before {
                Some(before) => loss.since(before),
                None => loss.clone(),
            }),
        });
        self.before = counts;
        self.loss_before = self.loss.clone();
        self.windows.add(ended_by);
        self.v4.turn();
        self.v6.turn();
        self.collector.turn();
        self.begin_sweep();
        match self.time_base {
            TimeBase::Packets => self.turn_at = 0,
            TimeBase::Clock => self.open_window(),
        }
    }

    /// What was received so far and not measured; `measured` is for the tables to say.
    fn frame_counts(&self) -> PacketCounts {
        let reasons = NotMeasured::ALL.iter().map(|&r| (r.name(), self.parser.not_measured[r as usize]));
        let remarks = Remark::ALL.iter().map(|&r| (r.name(), self.parser.remarks[r as usize]));
        PacketCounts {
            received: self.received,
            measured: 0,
            not_measured: Counters(reasons.collect()),
            remarks: Counters(remarks.chain([("time_backwards", self.backwards)]).collect()),
        }
    }

    fn begin_sweep(&mut self) {
        self.sweep = Sweep { v4_done: false, v6_done: false, at: self.now };
    }

    /// Sweeps some entries; at the end of a round, the closing window is closed.
    fn sweep(&mut self, entries: usize) {
        self.v4.advance(self.now);
        self.v6.advance(self.now);
        if !self.sweep.v4_done {
            self.sweep.v4_done = self.v4.sweep(entries, &mut self.collector);
        } else if !self.sweep.v6_done {
            self.sweep.v6_done = self.v6.sweep(entries, &mut self.collector);
        }
        if self.sweep.is_done() {
            self.close();
        }
    }

    /// A replay has no hurry: a few entries per burst, from the start again when stream time has moved on.
    fn sweep_replay(&mut self, frames: usize) {
        if self.sweep.is_done() {
            if self.now < self.sweep.at.saturating_add(self.sweep_period_ns) {
                return;
            }
            self.begin_sweep();
        }
        self.sweep(frames / FRAMES_PER_SWEPT + 1);
    }

    /// A live source's sweep goes round by the clock, whatever the number of flows.
    fn sweep_live(&mut self) {
        let passed = self.now - self.sweep.at;
        let entries = self.v4.sweep_len() + self.v6.sweep_len();
        let due = (entries as u128 * u128::from(passed) / u128::from(LIVE_SWEEP_NS)) as usize;
        if due < SWEEP_SLICE && passed < LIVE_SWEEP_NS / 64 {
            return;
        }
        if self.sweep.is_done() {
            self.begin_sweep();
        }
        self.sweep.at = self.now;
        self.sweep(due.max(SWEEP_SLICE));
        self.collector.records.hand_over();
    }

    /// Seals what the last window left open.
    fn finish_closing(&mut self) {
        if self.closing.is_some() {
            while !self.sweep.is_done() {
                self.sweep(usize::MAX);
            }
        }
    }

    /// All flows of the closing window are sealed: its report is ready.
    fn close(&mut self) {
        let Some(mut closing) = self.closing.take() else { return };
        let answer = self.collector.closing.take();
        closing.packets.measured = answer.totals.packets;
        self.totals.packets += answer.totals.packets;
        self.totals.total_byte += answer.totals.total_byte;
        self.totals.wire_byte += answer.totals.wire_byte;
        self.table_full += answer.other.packets;
        self.tcp_loss.add(&answer.loss);
        self.collector.records.account(Account {
            time_ns: closing.span.end_ns,
            received: self.received,
            measured: self.totals.packets,
            lost: self.loss.as_ref().map(Counters::total),
        });
        let tcp_loss =
            self.tracks_loss.then(|| LossAnswer { sum: Loss::from(&answer.loss), flows: answer.top_loss });
        self.reports.push(WindowReport {
            index: closing.index,
            span: closing.span,
            ended_by: closing.ended_by,
            packets: closing.packets,
            loss: closing.loss,
            totals: answer.totals,
            table_full: answer.other.packets,
            key: self.key,
            top_bytes: answer.top_bytes,
            top_packets: answer.top_packets,
            tcp_loss,
        });
    }

    /// Reports of windows closed since the last call.
    pub fn take_reports(&mut self) -> Vec<WindowReport> {
        std::mem::take(&mut self.reports)
    }

    /// Lines for the user that came up since the last call.
    pub fn warnings(&mut self) -> Vec<String> {
        self.collector.records.warnings()
    }

    /// True where reports wait.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Ends the last window and every flow. [`Meter::take_reports`] has the last reports then.
    pub fn end(mut self) -> Ended<R> {
        self.turn(WindowEnd::RunEnd);
        self.finish_closing_by_ending();
        self.collector.end_other();
        let mut packets = self.frame_counts();
        packets.measured = self.totals.packets;
        let memory_bytes = self.limits.bytes_used() as u64;
        let totals = Totals { flows: self.collector.ended, ..self.totals };
        Ended {
            reports: std::mem::take(&mut self.reports),
            windows: self.windows,
            packets,
            totals,
            flows: FlowCounts {
                seen: self.collector.ended,
                active: self.active_at_end,
                table_full: self.table_full,
                ..FlowCounts::default()
            },
            span: self.first_ns.map(|start_ns| Span { start_ns, end_ns: self.now }),
            memory_bytes,
            tcp_loss: self.tracks_loss.then(|| Loss::from(&self.tcp_loss)),
            records: self.collector.records,
        }
    }

    fn finish_closing_by_ending(&mut self) {
        self.active_at_end = self.flows() as u64;
        self.v4.advance(self.now);
        self.v6.advance(self.now);
        self.v4.end_all(&mut self.collector);
        self.v6.end_all(&mut self.collector);
        (self.sweep.v4_done, self.sweep.v6_done) = (true, true);
        self.close();
    }
}

/// What a meter leaves behind.
#[derive(Debug)]
pub struct Ended<R> {
    /// Reports of the last windows.
    pub reports: Vec<WindowReport>,
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
    /// The record sink, to be finished.
    pub records: R,
}
