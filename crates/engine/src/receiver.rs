//! The receiving side of measuring: frames in, parsed bursts and the turns of windows out. Reads no clock:
//! the caller passes the time.

mod ahead;
mod clock;
mod coordination;
mod downstream;
mod end;
mod frame_account;
mod parsing;
mod passing_time;
mod sampled;
mod turning;
mod window_state;

use crate::captures::Tap;
use crate::closed::unread;
use crate::config::MeasurementConfig;
use crate::window::WindowHeader;
use crate::window_barrier::Seat;
use crate::work::ThreadLoad;
use clock::StreamClock;
use coordination::Coordination;
pub(crate) use downstream::{Downstream, EXPECTED};
pub(crate) use end::ReceiverEnd;
use frame_account::FrameAccount;
use model::{Counters, PacketCounts, WindowEnd};
use packet::{BurstParser, ParserConfig};
use passing_time::PassingTime;
use port::{Burst, Filter, HeldFrame, TimeBase};
use sampled::Sampler;
use std::time::Duration;
use window_state::WindowState;

/// Parser and windows of one receiver.
#[derive(Debug)]
pub(crate) struct Receiver<'a> {
    parser: BurstParser,
    /// Packets for which a burst has room.
    room: usize,
    clock: StreamClock,
    frames: FrameAccount,
    windows: WindowState,
    /// Chooses the frames that are parsed; `None`: all are.
    sampler: Option<Sampler>,
    /// Looks at packets while some are captured.
    tap: Tap,
    /// Captures began with the window that was entered just now: its frames are to be looked at.
    tap_begins: bool,
    /// A frame that is ahead and was the last one of its burst: the next frame decides.
    held: Option<HeldFrame>,
    passing_time: PassingTime,
    coordination: Coordination<'a>,
}

impl<'a> Receiver<'a> {
    /// A receiver that has received nothing.
    pub(crate) fn new(config: &MeasurementConfig, time_base: TimeBase, seat: Option<Seat<'a>>) -> Self {
        let MeasurementConfig { seed, key, parts, tunnel, .. } = *config;
        let parsed = ParserConfig {
            tunnel,
            key,
            paired: parts.are_paired(),
            segments: parts.loss,
            headers: parts.headers,
        };
        Self {
            parser: BurstParser::new(seed, parsed, config.burst),
            room: config.burst,
            clock: StreamClock::new(config, time_base),
            frames: FrameAccount::default(),
            windows: WindowState::new(config, time_base),
            sampler: None,
            tap: config.control.as_ref().map_or_else(Tap::default, |control| {
                control.captures().tap(&config.limits, tunnel, time_base == TimeBase::Packets)
            }),
            tap_begins: false,
            held: None,
            passing_time: PassingTime::new(config.timed),
            coordination: Coordination::new(config, seat),
        }
    }

    /// The time spent on passing on, and the part of [`Receiver::burst`] spent on it and on measuring it;
    /// zero if it is not measured.
    pub(crate) fn count_time(&self) -> (Duration, Duration) {
        self.passing_time.count_and_within()
    }

    /// Times what is passed on from here on, or does not.
    pub(crate) fn time_passing(&mut self, is_timed: bool) {
        self.passing_time.follow(is_timed);
    }

    /// The time of the clock readings that timed what was passed on.
    pub(crate) fn readings(&self) -> Duration {
        self.passing_time.readings()
    }

    /// Frames received so far.
    pub(crate) fn received(&self) -> u64 {
        self.frames.received + u64::from(self.held.is_some())
    }

    /// True when the configured duration is over: for a replay, when a frame arrived that is no longer part
    /// of it.
    pub(crate) fn is_over(&self) -> bool {
        self.clock.is_over()
    }

    /// Windows turned away from so far.
    pub(crate) fn turned(&self) -> u64 {
        self.windows.turned()
    }

    /// True if [`Receiver::tick`] with this time would turn the window.
    pub(crate) fn turns_at(&self, clock_ns: u64) -> bool {
        self.windows.open.is_some_and(|open| clock_ns >= open.end_ns)
    }

    /// Stream time at which the open window is over; `None` where time does not end it.
    pub(crate) fn open_until_ns(&self) -> Option<u64> {
        self.windows.open.map(|open| open.end_ns).filter(|end_ns| *end_ns != u64::MAX)
    }

    /// Returns the losses of the source that [`Receiver::set_loss`] was given last.
    pub(crate) fn loss(&self) -> Option<&Counters> {
        self.frames.loss.as_ref()
    }

    /// Sets what the source lost so far.
    pub(crate) fn set_loss(&mut self, loss: Option<Counters>) {
        self.frames.loss = loss;
    }

    /// A source was not read to its end: the window that is open may lack some of it.
    pub(crate) fn lack(&mut self, why: &str) {
        self.lack_as(&unread(why));
    }

    /// The window that is open may lack something, for what this remark says.
    pub(crate) fn lack_as(&mut self, remark: &str) {
        self.frames.lacks.get_or_insert_with(|| remark.to_owned());
    }

    /// Sets how busy the receiver was in the window that is turned away from next.
    pub(crate) fn set_work(&mut self, work: ThreadLoad) {
        self.windows.work = work;
    }

    /// Sets the time of a live source's clock, in nanoseconds since the epoch: windows turn by it, records
    /// time out by it. A clock that steps back is treated as stopped.
    pub(crate) fn tick(&mut self, clock_ns: u64, down: &mut impl Downstream) {
        self.clock.reach(clock_ns);
        let before = self.passing_time.total();
        match self.windows.open {
            Some(open) if self.clock.now >= open.end_ns => {
                self.turn(open.ended_by(self.clock.now), None, down)
            }
            Some(_) => self.flush_unless_more(down),
            None => self.open_window(down),
        }
        self.passing_time.note_between(before);
        // The new time must not overtake the packets that are held.
        down.sweep_live(if self.parsed() == 0 { self.clock.now } else { self.clock.burst_now });
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
        let (before, frames) = (self.frames.received, rest.len());
        self.windows.has_stopped = false;
        // Of a sample, how many are parsed is not known before.
        if self.sampler.is_none() && self.parsed() + rest.len() > self.room {
            self.flush(down);
        }
        // Without a next frame it stays held.
        if let Some(next) = rest.frames().next()
            && let Some(held) = self.held.take()
            && !self.measure_ahead(held.burst(), next.time_ns, filter, down)
            && !self.clock.is_past_end
        {
            self.held = Some(held);
        }
        while !rest.is_empty() && !self.clock.is_past_end && !self.windows.has_stopped {
            // Before the first frame there is no window: that frame opens one.
            let (part, _) = rest.split(self.windows.open.map_or(1, |open| open.frames_left));
            let (is_ahead, taken) = self.parse_part(part, filter, down);
            rest = rest.split(taken).1;
            if is_ahead && !self.windows.has_stopped {
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
        if self.clock.time_base == TimeBase::Packets {
            down.sweep_replay((self.frames.received - before) as usize, self.clock.now);
        }
        self.windows.has_stopped.then(|| burst.split((frames - rest.len()) as u64).1)
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
        let packets = self.parsed();
        if packets != 0 {
            let Self { parser, passing_time, clock, .. } = self;
            passing_time.note(packets, || count(parser, clock.burst_now));
        }
    }

    /// Passes on what is parsed, unless it had better be passed on with more.
    #[inline]
    fn flush_unless_more(&mut self, down: &mut impl Downstream) {
        let packets = self.parsed();
        if packets != 0 && !down.waits_for_more(packets, self.clock.held_ns()) {
            self.flush(down);
        }
    }

    /// Returns the counts of what was received so far and not measured.
    fn frame_counts(&self) -> PacketCounts {
        let not_sampled = self.sampler.as_ref().map_or(0, Sampler::skipped);
        self.frames.counts(&self.parser, not_sampled)
    }

    /// Windows turned away from since the last call.
    pub(crate) fn take_headers(&mut self) -> impl Iterator<Item = WindowHeader> + '_ {
        self.windows.take_headers()
    }

    /// Turns away from the last window, because the run ends. What the receiver counted; its last header waits to be taken.
    pub(crate) fn end(&mut self, filter: Option<&Filter>, down: &mut impl Downstream) -> ReceiverEnd {
        if let Some(held) = self.held.take() {
            self.count_ahead(held.burst(), filter, down);
        }
        self.turn(WindowEnd::RunEnd, None, down);
        self.coordination.end();
        self.frames.refused = down.refused();
        ReceiverEnd {
            packets: self.frame_counts(),
            loss: self.frames.losses(),
            span: self.clock.span(),
            now: self.clock.now,
        }
    }
}
