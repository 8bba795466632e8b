//! The receiving side of measuring: frames in, parsed bursts and the turns of windows out. Reads no clock:
//! the caller passes the time.

mod sampled;

use crate::captures::Tap;
use crate::closed::unread;
use crate::config::{Config, Every};
use crate::control::Control;
use crate::ids::WindowId;
use crate::keeping::Sealed;
use crate::refused::{NOT_SAMPLED, RING_FULL, Refused, WORKER_FAILED};
use crate::steps::Stopwatch;
use crate::window::{OpenWindow, WindowHeader};
use crate::window_barrier::Seat;
use crate::work::Work;
use crate::worker_use::WorkerUse;
use model::{Counters, PacketCounts, Span, WindowEnd};
use packet::{BurstParser, Frame, NotMeasured, Packets, ParserConfig, Remark};
use port::{Burst, Filter, HeldFrame, TimeBase};
use sampled::Sampler;
use std::time::Duration;
use task::Generation;

/// The destination of parsed packets: tables on the same core, or the rings to other cores.
pub(crate) trait Downstream {
    /// Prefetches the memory of the frames after those that are parsed into the parser's burst now, this many.
    fn make_ready(&mut self, _: &BurstParser, _frames: usize) {}
    /// True if the parser's burst of this many packets, the first of which has waited for this long, had
    /// better be taken with more packets.
    fn waits_for_more(&self, _packets: usize, _held_ns: u64) -> bool {
        false
    }
    /// Prefetches the index lines of packets that were parsed just now and are counted with the rest of their burst.
    fn prefetch_index(&mut self, _: Packets<'_>) {}
    /// Takes the parser's burst, which is to be left empty. `now`: stream time before its first packet.
    fn count(&mut self, parser: &mut BurstParser, now: u64);
    /// Takes the parser's burst before an order. An order waits until it can be sent, and so do the packets before it.
    fn count_last(&mut self, parser: &mut BurstParser, now: u64) {
        self.count(parser, now);
    }
    /// Counts other tasks from this window on.
    fn enter(&mut self, window: WindowId);
    /// Ends the window at stream time `now`.
    fn turn(&mut self, window: WindowId, now: u64);
    /// Limits the workers that get packets to this many from here on. Stream time is `now`.
    fn use_workers(&mut self, _workers: usize, _now: u64) {}
    /// The share of the bursts since the last call at which the busiest worker had others waiting; `None` without workers on other cores.
    fn take_busy(&mut self) -> Option<f64> {
        None
    }
    /// A burst of `frames` of a replay is counted; stream time is `now`.
    fn sweep_replay(&mut self, frames: usize, now: u64);
    /// The clock of a live source is at `now`.
    fn sweep_live(&mut self, now: u64);
    /// Notes that there are no packets at the moment.
    fn idle(&mut self);
    /// Waits until all that was passed on is counted, and reported for the windows turned away from.
    fn settle(&mut self) {}
    /// The oldest window whose flows are all sealed here and that was not taken yet.
    fn take_sealed(&mut self) -> Option<Sealed> {
        None
    }
    /// Workers that were found to have failed since the last call, by lane.
    fn take_failed(&mut self) -> Vec<usize> {
        Vec::new()
    }
    /// Packets handed to each worker since the last call; empty with a single worker, which gets all of them.
    fn take_handed_over(&mut self) -> Vec<u64> {
        Vec::new()
    }
    /// Parsed packets that could not be passed on so far, by cause.
    fn refused(&self) -> Refused {
        Refused::default()
    }
}

/// Frames that are parsed between two calls of [`Downstream::prefetch_index`]: few of the usual burst of 256,
/// so that most of it is parsed while the index lines of the first are being fetched.
pub(crate) const EXPECTED: usize = 16;

/// A frame of a replay that is further ahead of stream time than this, an hour, moves it only if the next frame is too: one wrong
/// clock would end every record otherwise.
const AHEAD_NS: u64 = 3_600_000_000_000;

/// The ways of parsing frames: without pairs, segments and pins; with pins; otherwise. They are numbers, because constant parameters are.
const PLAIN: u8 = 0;
const PINNING: u8 = 1;
const OTHER: u8 = 2;

/// The decision on a frame whose time is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alert {
    /// The frame moves stream time.
    InOrder,
    /// The frame has no time.
    BadTime,
    Over,
    Ahead,
}

/// Parser and windows of one receiver.
#[derive(Debug)]
pub(crate) struct Receiver<'a> {
    every: Every,
    control: Option<Control>,
    /// The number of workers that get packets, if not all of them do.
    worker_use: Option<WorkerUse>,
    /// Looks at packets while some are captured.
    tap: Tap,
    /// Captures began with the window that was entered just now: its frames are to be looked at.
    tap_begins: bool,
    /// The set by which tasks are counted.
    counting: Option<Generation>,
    duration_ns: u64,
    time_base: TimeBase,
    parser: BurstParser,
    /// Chooses the frames that are parsed; `None`: all are.
    sampler: Option<Sampler>,
    /// Stream time: the latest time seen.
    now: u64,
    /// Stream time before the first packet of the parser's burst.
    burst_now: u64,
    /// The latest time of a frame; a live source's frames are a little older than its clock.
    latest_ns: u64,
    first_ns: Option<u64>,
    received: u64,
    backwards: u64,
    /// Frames so far ahead that stream time did not follow.
    ahead: u64,
    /// A frame that is ahead and was the last one of its burst: the next frame decides.
    held: Option<HeldFrame>,
    open: Option<OpenWindow>,
    /// Stream time at which a replay's frame turns the window or ends the run; never for a live source, where
    /// the clock does that.
    turn_at: u64,
    /// A frame with this time or a later one is looked at: it may turn the window, be ahead, or have no time.
    alert_at: u64,
    /// The frame at hand is ahead, and stream time follows it.
    follows: bool,
    /// Packets for which a burst has room.
    room: usize,
    /// A frame arrived that lies past the run's duration.
    is_past_end: bool,
    /// True if the receiver stops at the end of each window.
    stops: bool,
    /// True if the receiver has stopped.
    has_stopped: bool,
    /// The counts when the open window began.
    before: PacketCounts,
    loss_before: Option<Counters>,
    loss: Option<Counters>,
    /// A remark on missing data of the open window; `None` if nothing is known to be missing.
    lacks: Option<String>,
    /// The load in the open window, as far as the caller has told it.
    work: Work,
    /// Windows turned away from.
    turned: u64,
    headers: Vec<WindowHeader>,
    refused: Refused,
    stopwatch: Stopwatch,
    /// Time that passing on took.
    count_time: Duration,
    /// The part of the time of passing on, and of noting it, that lay between bursts.
    between: Duration,
    /// The place of the receiver at the barrier between windows, if receivers wait for one another.
    seat: Option<Seat<'a>>,
}

impl<'a> Receiver<'a> {
    /// A receiver that has received nothing.
    pub(crate) fn new(config: &Config, time_base: TimeBase, seat: Option<Seat<'a>>) -> Self {
        let Config { seed, key, parts, tunnel, .. } = *config;
        let parsed = ParserConfig { tunnel, key, paired: parts.are_paired(), segments: parts.loss };
        Self {
            every: config.every,
            tap: config.control.as_ref().map_or_else(Tap::default, |control| {
                control.captures().tap(&config.limits, tunnel, time_base == TimeBase::Packets)
            }),
            tap_begins: false,
            control: config.control.clone(),
            worker_use: config.worker_use.clone(),
            counting: None,
            duration_ns: config
                .duration
                .map_or(u64::MAX, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
            time_base,
            parser: BurstParser::new(seed, parsed, config.burst),
            sampler: None,
            now: 0,
            burst_now: 0,
            latest_ns: 0,
            first_ns: None,
            received: 0,
            backwards: 0,
            ahead: 0,
            held: None,
            open: None,
            turn_at: if time_base == TimeBase::Packets { 0 } else { u64::MAX },
            alert_at: if time_base == TimeBase::Packets { 0 } else { Frame::LATEST_NS + 1 },
            follows: false,
            room: config.burst,
            is_past_end: false,
            stops: time_base == TimeBase::Packets && config.control.as_ref().is_some_and(Control::stops),
            has_stopped: false,
            before: PacketCounts::default(),
            loss_before: None,
            loss: None,
            lacks: None,
            work: Work::default(),
            turned: 0,
            headers: Vec::new(),
            refused: Refused::default(),
            stopwatch: Stopwatch::new(config.timed),
            count_time: Duration::ZERO,
            between: Duration::ZERO,
            seat,
        }
    }

    /// The time spent on passing on, and the part of [`Receiver::burst`] spent on it and on measuring it;
    /// zero if it is not measured.
    pub(crate) fn count_time(&self) -> (Duration, Duration) {
        (self.count_time, self.passing_on() - self.between)
    }

    /// Time that passing on took, and noting it.
    fn passing_on(&self) -> Duration {
        self.count_time + self.stopwatch.spent()
    }

    /// Returns how frames are parsed.
    fn way(&self) -> u8 {
        match (self.parser.is_plain(), self.parser.is_pinning()) {
            (true, _) => PLAIN,
            (false, true) => PINNING,
            (false, false) => OTHER,
        }
    }

    /// Frames received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received + u64::from(self.held.is_some())
    }

    /// True when the configured duration is over: for a replay, when a frame arrived that is no longer part
    /// of it.
    pub(crate) fn is_over(&self) -> bool {
        match self.time_base {
            TimeBase::Packets => self.is_past_end,
            TimeBase::Clock => self.now >= self.end_ns(),
        }
    }

    /// Stream time at which the configured duration is over; `u64::MAX` is never.
    fn end_ns(&self) -> u64 {
        self.first_ns.map_or(u64::MAX, |first| first.saturating_add(self.duration_ns))
    }

    /// Windows turned away from so far.
    pub(crate) fn turned(&self) -> u64 {
        self.turned
    }

    /// True if [`Receiver::tick`] with this time would turn the window.
    pub(crate) fn turns_at(&self, clock_ns: u64) -> bool {
        self.open.is_some_and(|open| clock_ns >= open.end_ns)
    }

    /// Stream time at which the open window is over; `None` where time does not end it.
    pub(crate) fn open_until_ns(&self) -> Option<u64> {
        self.open.map(|open| open.end_ns).filter(|end_ns| *end_ns != u64::MAX)
    }

    /// Returns the losses of the source that [`Receiver::set_loss`] was given last.
    pub(crate) fn loss(&self) -> Option<&Counters> {
        self.loss.as_ref()
    }

    /// Sets what the source lost so far.
    pub(crate) fn set_loss(&mut self, loss: Option<Counters>) {
        self.loss = loss;
    }

    /// A source was not read to its end: the window that is open may lack some of it.
    pub(crate) fn lack(&mut self, why: &str) {
        self.lack_as(&unread(why));
    }

    /// The window that is open may lack something, for what this remark says.
    pub(crate) fn lack_as(&mut self, remark: &str) {
        self.lacks.get_or_insert_with(|| remark.to_owned());
    }

    /// Sets how busy the receiver was in the window that is turned away from next.
    pub(crate) fn set_work(&mut self, work: Work) {
        self.work = work;
    }

    /// Sets the time of a live source's clock, in nanoseconds since the epoch: windows turn by it, records
    /// time out by it. A clock that steps back is treated as stopped.
    pub(crate) fn tick(&mut self, clock_ns: u64, down: &mut impl Downstream) {
        self.now = self.now.max(clock_ns);
        let before = self.passing_on();
        match self.open {
            Some(open) if self.now >= open.end_ns => self.turn(open.ended_by(self.now), None, down),
            Some(_) => self.flush_unless_more(down),
            None => self.open_window(down),
        }
        self.between += self.passing_on() - before;
        // The new time must not overtake the packets that are held.
        down.sweep_live(if self.parsed() == 0 { self.now } else { self.burst_now });
    }

    /// Measures the frames of a burst, at most `limit`, none behind the run's duration, and where windows are waited for none behind
    /// the open one: then it gives those that are left to be measured.
    pub(crate) fn burst<'b>(
        &mut self,
        burst: Burst<'b>,
        limit: u64,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> Option<Burst<'b>> {
        let (mut rest, _) = burst.split(limit);
        let (before, frames) = (self.received, rest.len());
        self.has_stopped = false;
        // Of a sample, how many are parsed is not known before.
        if self.sampler.is_none() && self.parsed() + rest.len() > self.room {
            self.flush(down);
        }
        // Without a next frame it stays held.
        if let Some(next) = rest.frames().next()
            && let Some(held) = self.held.take()
            && !self.measure_ahead(held.burst(), next.time_ns, filter, down)
            && !self.is_past_end
        {
            self.held = Some(held);
        }
        while !rest.is_empty() && !self.is_past_end && !self.has_stopped {
            // Before the first frame there is no window: that frame opens one.
            let (part, _) = rest.split(self.open.map_or(1, |open| open.frames_left));
            let (is_ahead, taken) = self.parse_part(part, filter, down);
            rest = rest.split(taken).1;
            if is_ahead && !self.has_stopped {
                let (ahead, others) = rest.split(1);
                rest = match others.frames().next() {
                    None => {
                        self.held = HeldFrame::first_of(ahead);
                        others
                    }
                    Some(next) if self.measure_ahead(ahead, next.time_ns, filter, down) => others,
                    Some(_) => rest,
                };
            }
        }
        if self.time_base == TimeBase::Packets {
            down.sweep_replay((self.received - before) as usize, self.now);
        }
        self.has_stopped.then(|| burst.split((frames - rest.len()) as u64).1)
    }

    /// Parses frames of the open window, or the one that opens it, and passes on what should not wait. Returns
    /// whether the next frame is ahead of stream time, and how many it took.
    fn parse_part(
        &mut self,
        part: Burst<'_>,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> (bool, u64) {
        let (before, mut rest) = (self.received, part);
        let is_ahead = loop {
            let (way, received) = (self.way(), self.received);
            let is_ahead = match (filter, way) {
                _ if self.sampler.is_some() => self.parse_sample(rest, filter, down),
                _ if self.tap.is_active() => self.parse_tapped(rest, filter, down),
                (None, PLAIN) => self.parse::<PLAIN, false>(rest, down, |_| None),
                (None, PINNING) => self.parse::<PINNING, false>(rest, down, |_| None),
                (None, _) => self.parse::<OTHER, false>(rest, down, |_| None),
                (Some(filter), PLAIN) => {
                    self.parse::<PLAIN, false>(rest, down, |frame| filter.refusal(frame))
                }
                (Some(filter), _) => self.parse::<OTHER, false>(rest, down, |frame| filter.refusal(frame)),
            };
            rest = rest.split(self.received - received).1;
            // In the window that was opened, packets are parsed in another way.
            let is_other = std::mem::take(&mut self.tap_begins) || way != self.way();
            if is_ahead || rest.is_empty() || !is_other {
                break is_ahead;
            }
        };
        self.flush_unless_more(down);
        self.now = self.now.max(self.latest_ns);
        let taken = self.received - before;
        self.count_down(taken, down);
        (is_ahead, taken)
    }

    /// Parses frames, and looks at their packets for captures.
    #[cold]
    fn parse_tapped(&mut self, part: Burst<'_>, filter: Option<&Filter>, down: &mut impl Downstream) -> bool {
        self.parse::<OTHER, true>(part, down, |frame| filter.and_then(|filter| filter.refusal(frame)))
    }

    /// Measures a frame that is ahead of stream time, which follows it if the `next` one is ahead too; otherwise it counts in the open
    /// window. False where it is not to be measured now.
    #[cold]
    fn measure_ahead(
        &mut self,
        frame: Burst<'_>,
        next: u64,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> bool {
        if next > self.latest_ns.saturating_add(AHEAD_NS) && next <= Frame::LATEST_NS {
            self.follows = true;
            let (_, taken) = self.parse_part(frame, filter, down);
            self.follows = false;
            return taken != 0;
        }
        self.count_ahead(frame, filter, down);
        self.flush_unless_more(down);
        self.count_down(1, down);
        true
    }

    /// Counts a frame in the open window that stream time does not follow.
    fn count_ahead(&mut self, frame: Burst<'_>, filter: Option<&Filter>, down: &mut impl Downstream) {
        if self.open.is_none() {
            self.open_window(down);
        }
        if self.parsed() == self.room {
            self.flush(down);
        }
        if self.parsed() == 0 {
            self.burst_now = self.now;
        }
        self.parser.number_near(self.received);
        let parsed = self.parser.bursts.lengths();
        let is_tapped = self.tap.is_active();
        self.sampler.iter_mut().for_each(|sampler| sampler.measure(frame));
        for frame in frame.frames() {
            self.received += 1;
            if self.sampler.as_mut().is_some_and(|sampler| !sampler.takes_next()) {
                continue;
            }
            self.ahead += 1;
            let untapped = self.parser.bursts.lengths();
            match filter.and_then(|filter| filter.refusal(&frame)) {
                None => self.parser.push_out_of_order(&frame, self.received, self.latest_ns),
                Some(reason) => self.parser.skip(reason),
            }
            if is_tapped {
                self.tap.look(&frame, self.parser.bursts.packets_since(untapped));
            }
        }
        down.prefetch_index(self.parser.bursts.packets_since(parsed));
    }

    /// Parses frames that are not refused, and turns the window if one of them lies past its end. `IS_TAPPED`: packets are looked at for
    /// captures.
    #[inline(always)]
    fn parse<const WAY: u8, const IS_TAPPED: bool>(
        &mut self,
        part: Burst<'_>,
        down: &mut impl Downstream,
        refusal: impl Fn(&Frame<'_>) -> Option<NotMeasured>,
    ) -> bool {
        self.parser.number_near(self.received);
        if self.parsed() == 0 {
            self.burst_now = self.now;
        }
        // Kept in registers: otherwise each costs a load and a store per packet.
        let (mut latest, mut backwards, mut pending) = (self.latest_ns, 0, 0);
        let mut rest = part;
        let mut is_ahead = false;
        'parsing: while !rest.is_empty() {
            let (frames, behind) = rest.split(EXPECTED as u64);
            rest = behind;
            down.make_ready(&self.parser, frames.len());
            let parsed = self.parser.bursts.lengths();
            for frame in frames.frames() {
                if frame.time_ns >= self.alert_at {
                    self.received += std::mem::take(&mut pending);
                    self.backwards += std::mem::take(&mut backwards);
                    self.latest_ns = latest;
                    match self.alert(frame.time_ns, down) {
                        // What is ordered at a gate is captured from the first frame of the window on.
                        Alert::InOrder if !IS_TAPPED && self.tap.is_active() => {
                            self.tap_begins = true;
                            break 'parsing;
                        }
                        // With pins, the way that looks for them is another only in what it costs.
                        Alert::InOrder if !IS_TAPPED && (WAY == PLAIN) != self.parser.is_plain() => {
                            break 'parsing;
                        }
                        Alert::InOrder if WAY == PINNING && !self.parser.is_pinning() => break 'parsing,
                        Alert::InOrder => {}
                        Alert::BadTime => {
                            pending += 1;
                            self.parser.skip(NotMeasured::BadTime);
                            // It is in the window that stream time is in, once there is one.
                            if self.open.is_none() && self.first_ns.is_some() {
                                self.open_window(down);
                            }
                            continue;
                        }
                        Alert::Over => break 'parsing,
                        Alert::Ahead => {
                            is_ahead = true;
                            break 'parsing;
                        }
                    }
                }
                pending += 1;
                let is_late = frame.time_ns < latest;
                backwards += u64::from(is_late);
                let untapped = if IS_TAPPED { self.parser.bursts.lengths() } else { (0, 0) };
                if let Some(reason) = refusal(&frame) {
                    self.parser.skip(reason);
                } else if is_late {
                    self.parser.push_out_of_order(&frame, self.received + pending, latest);
                } else if WAY == PINNING {
                    self.parser.push_pinning(&frame, self.received + pending);
                } else if WAY == PLAIN {
                    self.parser.push::<true>(&frame, self.received + pending);
                } else {
                    self.parser.push::<false>(&frame, self.received + pending);
                }
                if IS_TAPPED {
                    self.tap.look(&frame, self.parser.bursts.packets_since(untapped));
                }
                latest = latest.max(frame.time_ns);
            }
            // A turn may have emptied the burst.
            down.prefetch_index(self.parser.bursts.packets_since(parsed));
        }
        self.received += pending;
        self.backwards += backwards;
        self.latest_ns = latest;
        is_ahead
    }

    /// Looks at a frame's time: whether it turns the window, is ahead of stream time, or is none.
    #[cold]
    fn alert(&mut self, time_ns: u64, down: &mut impl Downstream) -> Alert {
        if time_ns > Frame::LATEST_NS {
            return Alert::BadTime;
        }
        if self.first_ns.is_some() && !self.follows && time_ns > self.latest_ns.saturating_add(AHEAD_NS) {
            return Alert::Ahead;
        }
        if time_ns >= self.turn_at && !self.turn_by_frame(time_ns, down) {
            return Alert::Over;
        }
        let ahead = self.latest_ns.max(time_ns).saturating_add(AHEAD_NS + 1);
        self.alert_at = self.turn_at.min(ahead).min(Frame::LATEST_NS + 1);
        Alert::InOrder
    }

    /// Packets in the parser's burst.
    #[inline(always)]
    fn parsed(&self) -> usize {
        self.parser.bursts.len()
    }

    /// Passes on what is parsed, if anything is.
    #[inline]
    fn flush(&mut self, down: &mut impl Downstream) {
        self.pass_on(|parser, now| down.count(parser, now));
    }

    #[inline]
    fn pass_on(&mut self, count: impl FnOnce(&mut BurstParser, u64)) {
        if self.parsed() != 0 {
            let Self { parser, stopwatch, count_time, burst_now, .. } = self;
            stopwatch.time(count_time, || count(parser, *burst_now));
        }
    }

    /// Passes on what is parsed, unless it had better be passed on with more.
    #[inline]
    fn flush_unless_more(&mut self, down: &mut impl Downstream) {
        let packets = self.parsed();
        if packets != 0 && !down.waits_for_more(packets, self.now.saturating_sub(self.burst_now)) {
            self.flush(down);
        }
    }

    /// Handles a frame of a replay that is the first one, or lies past the open window or the run's end.
    /// Returns false if it is not to be measured.
    #[cold]
    fn turn_by_frame(&mut self, time_ns: u64, down: &mut impl Downstream) -> bool {
        if self.end_ns() != u64::MAX && time_ns >= self.end_ns() {
            self.is_past_end = true;
            return false;
        }
        if let Some(open) = self.open {
            let next = OpenWindow::at(self.turned + 1, time_ns, self.every);
            self.turn(open.ended_by(time_ns), Some(next.start_ns), down);
            if self.stops {
                self.has_stopped = true;
                return false;
            }
        }
        self.now = self.now.max(time_ns);
        self.burst_now = self.now;
        self.open_window(down);
        true
    }

    fn count_down(&mut self, frames: u64, down: &mut impl Downstream) {
        let Some(open) = &mut self.open else { return };
        if open.frames_left != u64::MAX {
            open.frames_left -= frames;
            if open.frames_left == 0 {
                self.turn(WindowEnd::Full, None, down);
                self.has_stopped = self.stops;
            }
        }
    }

    fn open_window(&mut self, down: &mut impl Downstream) {
        let open = OpenWindow::at(self.turned, self.now, self.every);
        if let Some(seat) = &self.seat {
            seat.enter(open.number);
        }
        self.tap.enter(open.start_ns);
        if let Some(control) = &self.control {
            let counting = control.enter(open.number);
            if counting != self.counting {
                self.counting = counting;
                self.parser.set_pins(control.set(open.number).pins().cloned());
                down.enter(open.number);
            }
        }
        if let Some(workers) = &self.worker_use {
            down.use_workers(workers.enter(open.number), self.now);
        }
        // Behind a gate, which may have set another share.
        self.sampler.iter_mut().for_each(|sampler| sampler.enter(open.number));
        self.first_ns.get_or_insert(self.now);
        if self.time_base == TimeBase::Packets {
            self.turn_at = open.end_ns.min(self.end_ns());
        }
        self.open = Some(open);
    }

    /// Turns away from the open window. A live source's next window opens at once. `next_ns`: the begin of the next one of a replay.
    fn turn(&mut self, ended_by: WindowEnd, next_ns: Option<u64>, down: &mut impl Downstream) {
        self.pass_on(|parser, now| down.count_last(parser, now));
        self.now = self.now.max(self.latest_ns);
        let Some(open) = self.open.take() else { return };
        self.refused = down.refused();
        let counts = self.frame_counts();
        let loss = self.losses();
        down.turn(open.number, self.now);
        if let Some(seat) = &self.seat {
            down.settle();
            seat.leave(open.number);
        }
        let packets = counts.since(&self.before);
        let mut handed_over = down.take_handed_over();
        if handed_over.is_empty() {
            // All parsed packets were passed to the tables on the same core.
            handed_over.push(packets.received - packets.not_measured.total());
        }
        let span = open.span(self.now);
        self.headers.push(WindowHeader {
            handed_over,
            number: open.number,
            span,
            watched: self.watched(span, ended_by),
            ended_by,
            next_ns,
            work: Work { workers_busy: down.take_busy(), ..std::mem::take(&mut self.work) },
            share: self.sampler.as_ref().map(Sampler::share),
            longest_byte: self.sampler.as_ref().map_or(0, Sampler::longest_byte),
            packets,
            lacks: self.lacks.take(),
            loss: loss.as_ref().map(|loss| match &self.loss_before {
                Some(before) => loss.since(before),
                None => loss.clone(),
            }),
        });
        self.before = counts;
        // What is told after it was unknown for some windows is more than what was known before them.
        self.loss_before = loss.or_else(|| self.loss_before.take());
        self.turned += 1;
        match self.time_base {
            TimeBase::Packets => (self.turn_at, self.alert_at) = (0, 0),
            // Nothing comes behind the end, and others may be past this window.
            TimeBase::Clock if ended_by == WindowEnd::RunEnd => {}
            TimeBase::Clock => self.open_window(down),
        }
    }

    /// The observed part of a window: the first one from the first frame on, the last one up to the latest.
    fn watched(&self, span: Span, ended_by: WindowEnd) -> Span {
        let Span { mut start_ns, mut end_ns } = span;
        if let Some(first_ns) = self.first_ns.filter(|first_ns| *first_ns > start_ns) {
            start_ns = first_ns.min(end_ns);
        }
        if ended_by == WindowEnd::RunEnd {
            end_ns = end_ns.min(self.now.saturating_add(1)).max(start_ns);
        }
        Span { start_ns, end_ns }
    }

    /// Returns what was lost so far before it could be measured.
    fn losses(&self) -> Option<Counters> {
        let mut loss = self.loss.clone()?;
        if self.refused.ring_full != 0 {
            loss.0.push((RING_FULL.to_owned(), self.refused.ring_full));
        }
        Some(loss)
    }

    /// Returns the counts of what was received so far and not measured; the tables provide `measured`.
    fn frame_counts(&self) -> PacketCounts {
        let reasons = NotMeasured::ALL.iter().map(|&r| (r.name(), self.parser.not_measured[r as usize]));
        // Packets refused by a ring count as lost, as if the port had missed them; if the port's losses are
        // unknown, they are a named counter among the frames that were not measured.
        let (lost, not_measured) = match self.loss {
            Some(_) => (self.refused.ring_full, 0),
            None => (0, self.refused.ring_full),
        };
        let not_sampled = self.sampler.as_ref().map_or(0, Sampler::skipped);
        let refused = [
            (RING_FULL, not_measured),
            (WORKER_FAILED, self.refused.worker_failed),
            (NOT_SAMPLED, not_sampled),
        ];
        let remarks = Remark::ALL.iter().map(|&r| (r.name(), self.parser.remarks[r as usize]));
        PacketCounts {
            received: self.received - lost,
            measured: 0,
            not_measured: reasons.chain(refused).collect(),
            remarks: remarks
                .chain([("time_backwards", self.backwards), ("time_ahead", self.ahead)])
                .collect(),
        }
    }

    /// Windows turned away from since the last call.
    pub(crate) fn take_headers(&mut self) -> impl Iterator<Item = WindowHeader> + '_ {
        self.headers.drain(..)
    }

    /// Turns away from the last window, because the run ends. What the receiver counted; its last header waits to be taken.
    pub(crate) fn end(&mut self, filter: Option<&Filter>, down: &mut impl Downstream) -> ReceiverEnd {
        if let Some(held) = self.held.take() {
            self.count_ahead(held.burst(), filter, down);
        }
        self.turn(WindowEnd::RunEnd, None, down);
        self.seat = None;
        self.refused = down.refused();
        ReceiverEnd {
            packets: self.frame_counts(),
            loss: self.losses(),
            span: self.first_ns.map(|start_ns| Span { start_ns, end_ns: self.now }),
            now: self.now,
        }
    }
}

impl ReceiverEnd {
    /// The contribution of one window.
    pub(crate) fn of(window: &WindowHeader) -> Self {
        let WindowHeader { packets, loss, span, .. } = window.clone();
        Self { packets, loss, span: Some(span), now: span.end_ns }
    }
}

/// The final result of a receiver.
#[derive(Debug)]
pub(crate) struct ReceiverEnd {
    /// The counts of frames; `measured` is not filled in.
    pub(crate) packets: PacketCounts,
    /// The losses of the sources and rings; `None` if a source cannot know.
    pub(crate) loss: Option<Counters>,
    /// The span of stream time.
    pub(crate) span: Option<Span>,
    /// Stream time at the end.
    pub(crate) now: u64,
}
