//! Stream time of a receiver: it follows the times of a replay's frames, or the clock of a live source.

use crate::config::MeasurementConfig;
use model::{Span, WindowEnd};
use packet::Frame;
use port::TimeBase;

/// A frame of a replay that is further ahead of stream time than this, an hour, moves it only if the next frame is too: one wrong
/// clock would end every record otherwise.
const AHEAD_NS: u64 = 3_600_000_000_000;

/// The decision on a frame whose time is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameTiming {
    /// The frame moves stream time.
    InOrder,
    /// The frame has no time.
    BadTime,
    /// The frame lies past the end of the run, or of a window at which the receiver stops, or of a part that is parsed in one way.
    Over,
    /// The frame is far ahead of stream time.
    Ahead,
}

/// Stream time of one receiver, and the times of frames that are looked at.
#[derive(Debug)]
pub(super) struct StreamClock {
    /// Stream time: the latest time seen.
    pub(super) now: u64,
    /// Stream time before the first packet of the parser's burst.
    pub(super) burst_now: u64,
    /// The latest time of a frame; a live source's frames are a little older than its clock.
    pub(super) latest_ns: u64,
    /// A frame with this time or a later one is looked at: it may turn the window, be ahead, or have no time.
    pub(super) alert_at: u64,
    /// Stream time at which a replay's frame turns the window or ends the run; never for a live source, where
    /// the clock does that.
    turn_at: u64,
    pub(super) first_ns: Option<u64>,
    duration_ns: u64,
    pub(super) time_base: TimeBase,
    /// The frame at hand is ahead, and stream time follows it.
    pub(super) follows: bool,
    /// A frame arrived that lies past the run's duration.
    pub(super) is_past_end: bool,
}

impl StreamClock {
    /// The clock before the first frame.
    pub(super) fn new(config: &MeasurementConfig, time_base: TimeBase) -> Self {
        let (turn_at, alert_at) = match time_base {
            TimeBase::Packets => (0, 0),
            TimeBase::Clock => (u64::MAX, Frame::LATEST_NS + 1),
        };
        Self {
            now: 0,
            burst_now: 0,
            latest_ns: 0,
            alert_at,
            turn_at,
            first_ns: None,
            duration_ns: config
                .duration
                .map_or(u64::MAX, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
            time_base,
            follows: false,
            is_past_end: false,
        }
    }

    /// True when the configured duration is over.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        match self.time_base {
            TimeBase::Packets => self.is_past_end,
            TimeBase::Clock => self.now >= self.end_ns(),
        }
    }

    /// Stream time at which the configured duration is over; `u64::MAX` is never.
    #[inline]
    fn end_ns(&self) -> u64 {
        self.first_ns.map_or(u64::MAX, |first| first.saturating_add(self.duration_ns))
    }

    /// Moves stream time to this time, unless it is later already.
    #[inline(always)]
    pub(super) fn reach(&mut self, time_ns: u64) {
        self.now = self.now.max(time_ns);
    }

    /// Moves stream time to the latest time of a frame.
    #[inline(always)]
    pub(super) fn reach_latest(&mut self) {
        self.reach(self.latest_ns);
    }

    /// Notes that the parser's burst begins now.
    #[inline(always)]
    pub(super) fn begin_burst(&mut self) {
        self.burst_now = self.now;
    }

    /// The time for which the first packet of the parser's burst has waited, nanoseconds.
    #[inline(always)]
    pub(super) fn held_ns(&self) -> u64 {
        self.now.saturating_sub(self.burst_now)
    }

    /// Returns true if a frame of this time is far ahead of all frames so far.
    #[inline(always)]
    pub(super) fn is_ahead(&self, time_ns: u64) -> bool {
        time_ns > self.latest_ns.saturating_add(AHEAD_NS)
    }

    /// Returns the decision on a frame that does not move stream time: it has no time, or is far ahead; `None` for any other.
    #[inline(always)]
    pub(super) fn unordered(&self, time_ns: u64) -> Option<FrameTiming> {
        if time_ns > Frame::LATEST_NS {
            return Some(FrameTiming::BadTime);
        }
        (self.first_ns.is_some() && !self.follows && self.is_ahead(time_ns)).then_some(FrameTiming::Ahead)
    }

    /// Returns true if a frame of this time turns the window or ends the run.
    #[inline(always)]
    pub(super) fn turns_at(&self, time_ns: u64) -> bool {
        time_ns >= self.turn_at
    }

    /// Sets the time from which frames are looked at, behind a frame of this time.
    #[inline(always)]
    pub(super) fn look_again_after(&mut self, time_ns: u64) {
        let ahead = self.latest_ns.max(time_ns).saturating_add(AHEAD_NS + 1);
        self.alert_at = self.turn_at.min(ahead).min(Frame::LATEST_NS + 1);
    }

    /// Returns true if a replay's frame of this time lies past the end of the run, which is noted.
    pub(super) fn ends_run(&mut self, time_ns: u64) -> bool {
        let end_ns = self.end_ns();
        let ends = end_ns != u64::MAX && time_ns >= end_ns;
        self.is_past_end |= ends;
        ends
    }

    /// Enters a window that is over at this stream time. A replay's frame turns it.
    pub(super) fn enter(&mut self, end_ns: u64) {
        self.first_ns.get_or_insert(self.now);
        if self.time_base == TimeBase::Packets {
            self.turn_at = end_ns.min(self.end_ns());
        }
    }

    /// Resets the times at which frames are looked at: the next frame of a replay opens a window.
    pub(super) fn look_at_next(&mut self) {
        (self.turn_at, self.alert_at) = (0, 0);
    }

    /// The observed part of a window: the first one from the first frame on, the last one up to the latest.
    pub(super) fn watched(&self, span: Span, ended_by: WindowEnd) -> Span {
        let Span { mut start_ns, mut end_ns } = span;
        if let Some(first_ns) = self.first_ns.filter(|first_ns| *first_ns > start_ns) {
            start_ns = first_ns.min(end_ns);
        }
        if ended_by == WindowEnd::RunEnd {
            end_ns = end_ns.min(self.now.saturating_add(1)).max(start_ns);
        }
        Span { start_ns, end_ns }
    }

    /// The span of stream time from the first frame on; `None` before it.
    pub(super) fn span(&self) -> Option<Span> {
        self.first_ns.map(|start_ns| Span { start_ns, end_ns: self.now })
    }
}
