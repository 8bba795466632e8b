//! Parsing the frames of a window, each in the cheapest way that measures what is asked for.

use super::clock::FrameTiming;
use super::{Downstream, EXPECTED, Receiver};
use packet::{Frame, NotMeasured};
use port::{Burst, Filter};

/// The ways of parsing frames: without pairs, segments and pins, as many as come in order at once, or one by one, for a filter; with pins;
/// otherwise. They are numbers, because constant parameters are.
const IN_BATCHES: u8 = 0;
const PLAIN: u8 = 1;
const PINNING: u8 = 2;
const OTHER: u8 = 3;

/// The number of frames whose first lines are on their way while one is parsed: not those of a whole burst, because a core waits for few lines at
/// a time, and a poll that asks for all of them waits too.
const AHEAD: usize = 64;

impl Receiver<'_> {
    /// Returns how frames are parsed.
    fn way(&self) -> u8 {
        match (self.parser.is_plain(), self.parser.is_pinning()) {
            (true, _) => PLAIN,
            (false, true) => PINNING,
            (false, false) => OTHER,
        }
    }

    /// Parses frames of the open window, or the one that opens it, and passes on what should not wait. Returns
    /// whether the next frame is ahead of stream time, and how many it took.
    pub(super) fn parse_part(
        &mut self,
        part: Burst<'_>,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> (bool, u64) {
        let (before, mut rest) = (self.frames.received, part);
        let is_ahead = loop {
            let (way, received) = (self.way(), self.frames.received);
            let is_ahead = match (filter, way) {
                _ if self.sampler.is_some() => self.parse_sample(rest, filter, down),
                _ if self.tap.is_active() => self.parse_tapped(rest, filter, down),
                (None, PLAIN) => self.parse::<IN_BATCHES, false>(rest, down, |_| None),
                (None, PINNING) => self.parse::<PINNING, false>(rest, down, |_| None),
                (None, _) => self.parse::<OTHER, false>(rest, down, |_| None),
                (Some(filter), PLAIN) => {
                    self.parse::<PLAIN, false>(rest, down, |frame| filter.refusal(frame))
                }
                (Some(filter), _) => self.parse::<OTHER, false>(rest, down, |frame| filter.refusal(frame)),
            };
            rest = rest.split(self.frames.received - received).1;
            // In the window that was opened, packets are parsed in another way.
            let is_other = std::mem::take(&mut self.tap_begins) || way != self.way();
            if is_ahead || rest.is_empty() || !is_other {
                break is_ahead;
            }
        };
        self.flush_unless_more(down);
        self.clock.reach_latest();
        let taken = self.frames.received - before;
        self.count_down(taken, down);
        (is_ahead, taken)
    }

    /// Parses frames, and looks at their packets for captures.
    #[cold]
    fn parse_tapped(&mut self, part: Burst<'_>, filter: Option<&Filter>, down: &mut impl Downstream) -> bool {
        self.parse::<OTHER, true>(part, down, |frame| filter.and_then(|filter| filter.refusal(frame)))
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
        self.parser.number_near(self.frames.received);
        if self.parsed() == 0 {
            self.clock.begin_burst();
        }
        // Kept in registers: otherwise each costs a load and a store per packet.
        let (mut latest, mut backwards, mut pending) = (self.clock.latest_ns, 0, 0);
        let mut rest = part;
        let mut is_ahead = false;
        part.prefetch_all(0..AHEAD);
        'parsing: while !rest.is_empty() {
            rest.prefetch_all(AHEAD..AHEAD + EXPECTED);
            let (frames, behind) = rest.split(EXPECTED as u64);
            rest = behind;
            down.make_ready(&self.parser, frames.len());
            let parsed = self.parser.bursts.lengths();
            let mut frames = frames.frames();
            loop {
                if WAY == IN_BATCHES {
                    let (number, alert_at) = (self.frames.received + pending, self.clock.alert_at);
                    let taken = self.parser.push_in_order(&mut frames, number, latest, alert_at);
                    pending += taken.0;
                    latest = taken.1;
                }
                let Some(frame) = frames.next() else { break };
                if frame.time_ns >= self.clock.alert_at {
                    self.frames.received += std::mem::take(&mut pending);
                    self.frames.backwards += std::mem::take(&mut backwards);
                    self.clock.latest_ns = latest;
                    match self.look::<WAY, IS_TAPPED>(frame.time_ns, down) {
                        FrameTiming::InOrder => {}
                        FrameTiming::BadTime => {
                            pending += 1;
                            continue;
                        }
                        FrameTiming::Over => break 'parsing,
                        FrameTiming::Ahead => {
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
                    self.parser.push_out_of_order(&frame, self.frames.received + pending, latest);
                } else if WAY == PINNING {
                    self.parser.push_pinning(&frame, self.frames.received + pending);
                } else if WAY <= PLAIN {
                    self.parser.push::<true>(&frame, self.frames.received + pending);
                } else {
                    self.parser.push::<false>(&frame, self.frames.received + pending);
                }
                if IS_TAPPED {
                    self.tap.look(&frame, self.parser.bursts.packets_since(untapped));
                }
                latest = latest.max(frame.time_ns);
            }
            // A turn may have emptied the burst.
            down.prefetch_index(self.parser.bursts.packets_since(parsed));
        }
        self.frames.received += pending;
        self.frames.backwards += backwards;
        self.clock.latest_ns = latest;
        is_ahead
    }

    /// Looks at a frame's time, as [`Receiver::alert`] does. Where frames are parsed in another way from this one on, the part is over.
    #[cold]
    fn look<const WAY: u8, const IS_TAPPED: bool>(
        &mut self,
        time_ns: u64,
        down: &mut impl Downstream,
    ) -> FrameTiming {
        match self.alert(time_ns, down) {
            // What is ordered at a gate is captured from the first frame of the window on.
            FrameTiming::InOrder if !IS_TAPPED && self.tap.is_active() => {
                self.tap_begins = true;
                FrameTiming::Over
            }
            // With pins, the way that looks for them is another only in what it costs.
            FrameTiming::InOrder if !IS_TAPPED && (WAY <= PLAIN) != self.parser.is_plain() => {
                FrameTiming::Over
            }
            FrameTiming::InOrder if WAY == PINNING && !self.parser.is_pinning() => FrameTiming::Over,
            FrameTiming::BadTime => {
                self.parser.skip(NotMeasured::BadTime);
                // It is in the window that stream time is in, once there is one.
                if self.windows.open.is_none() && self.clock.first_ns.is_some() {
                    self.open_window(down);
                }
                FrameTiming::BadTime
            }
            timing => timing,
        }
    }

    /// Looks at a frame's time: whether it turns the window, is ahead of stream time, or is none.
    #[cold]
    pub(super) fn alert(&mut self, time_ns: u64, down: &mut impl Downstream) -> FrameTiming {
        if let Some(alert) = self.clock.unordered(time_ns) {
            return alert;
        }
        if self.clock.turns_at(time_ns) && !self.turn_by_frame(time_ns, down) {
            return FrameTiming::Over;
        }
        self.clock.look_again_after(time_ns);
        FrameTiming::InOrder
    }
}
