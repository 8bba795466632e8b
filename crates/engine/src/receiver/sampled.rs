//! Receiving a sample: the frames that it does not hold are counted, and not looked at. Of a replay's, the times turn windows.

use super::clock::FrameTiming;
use super::{Downstream, EXPECTED, Receiver};
use crate::config::MeasurementConfig;
use crate::ids::{ReceiverId, WindowId};
use crate::sampling::SamplingControl;
use crate::skips::Skips;
use flow::Share;
use packet::{Frame, NotMeasured};
use port::{Burst, Filter, TimeBase};

/// Chooses the frames of one receiver, each with the same probability and independently of all others.
#[derive(Debug)]
pub(super) struct Sampler {
    sampling: SamplingControl,
    skips: Skips,
    /// The share of the open window.
    share: Share,
    /// Frames before the next one that is taken.
    left: u64,
    /// Frames that were not taken so far.
    skipped: u64,
    /// The length on the wire that no frame of the open window exceeds, and none of the part at hand.
    longest: u32,
    longest_of_part: u32,
}

impl Sampler {
    /// The share of the open window.
    pub(super) fn share(&self) -> Share {
        self.share
    }

    /// Frames that were not taken so far.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// No frame of the open window is longer than this on the wire.
    pub(super) fn longest_byte(&self) -> u32 {
        self.longest
    }

    /// Notes the length of the frames that come next, in the open window or in later ones.
    pub(super) fn measure(&mut self, part: Burst<'_>) {
        self.longest_of_part = part.longest();
        self.longest = self.longest.max(self.longest_of_part);
    }

    /// The receiver enters this window. With another share, how many are skipped is drawn anew: the distribution has no memory.
    pub(super) fn enter(&mut self, window: WindowId) {
        self.longest = self.longest_of_part;
        let share = self.sampling.enter(window);
        if share != self.share {
            self.share = share;
            self.skips.set(share);
            self.left = self.skips.draw();
        }
    }

    /// Returns true if the next frame is taken.
    pub(super) fn takes_next(&mut self) -> bool {
        if self.left == 0 {
            self.left = self.skips.draw();
            true
        } else {
            self.skip(1);
            false
        }
    }

    /// The next frames are not taken; no more than are left.
    #[inline(always)]
    fn skip(&mut self, frames: u64) {
        self.left -= frames;
        self.skipped += frames;
    }
}

/// Sampled frames that are parsed together.
struct SampledFrames {
    /// The place of each in the burst, and stream time before it.
    frames: [(usize, u64); EXPECTED],
    len: usize,
}

/// The reason why a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkEnd {
    /// The walk has taken as many frames as are parsed together.
    Full,
    /// No frame is left.
    Empty,
    /// The next frame is to be looked at: it may turn the window, be ahead, or have no time.
    Alert,
}

impl Receiver<'_> {
    /// Measures a sample of the packets, if the configuration says so. `number`: the receiver's.
    pub(crate) fn sample(&mut self, config: &MeasurementConfig, number: ReceiverId) {
        self.sampler = config.sampling.clone().map(|sampling| {
            let share = sampling.share(WindowId::default());
            let mut skips = Skips::new(&config.seed, number.index(), share);
            let left = skips.draw();
            Sampler { sampling, share, left, skips, skipped: 0, longest: 0, longest_of_part: 0 }
        });
    }

    /// Parses the sampled ones of these frames. As [`Receiver::parse`].
    pub(super) fn parse_sample(
        &mut self,
        part: Burst<'_>,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> bool {
        match (filter, self.parser.is_plain()) {
            _ if self.tap.is_active() => self.parse_taken::<false, true>(part, down, |frame| {
                filter.and_then(|filter| filter.refusal(frame))
            }),
            (None, true) => self.parse_taken::<true, false>(part, down, |_| None),
            (None, false) => self.parse_taken::<false, false>(part, down, |_| None),
            (Some(filter), _) => self.parse_taken::<false, false>(part, down, |frame| filter.refusal(frame)),
        }
    }

    #[inline(always)]
    fn parse_taken<const IS_PLAIN: bool, const IS_TAPPED: bool>(
        &mut self,
        part: Burst<'_>,
        down: &mut impl Downstream,
        refusal: impl Fn(&Frame<'_>) -> Option<NotMeasured>,
    ) -> bool {
        // The number of the frame before this part.
        let first = self.frames.received;
        self.parser.number_near(first);
        self.sampler.iter_mut().for_each(|sampler| sampler.measure(part));
        let mut taken = SampledFrames { frames: [(0, 0); EXPECTED], len: 0 };
        loop {
            if self.parsed() == self.room {
                self.clock.reach_latest();
                self.flush(down);
            }
            if self.parsed() == 0 {
                self.clock.begin_burst();
            }
            let most = EXPECTED.min(self.room - self.parsed());
            down.make_ready(&self.parser, most);
            let stop = self.take(part, first, most, &mut taken);
            let parsed = self.parser.bursts.lengths();
            for &(at, before_ns) in &taken.frames[..taken.len] {
                let Some(frame) = part.frame(at) else { break };
                let number = first + at as u64 + 1;
                let untapped = if IS_TAPPED { self.parser.bursts.lengths() } else { (0, 0) };
                if let Some(reason) = refusal(&frame) {
                    self.parser.skip(reason);
                } else if frame.time_ns < before_ns {
                    self.parser.push_out_of_order(&frame, number, before_ns);
                } else if IS_PLAIN {
                    self.parser.push::<true>(&frame, number);
                } else {
                    self.parser.push::<false>(&frame, number);
                }
                if IS_TAPPED {
                    self.tap.look(&frame, self.parser.bursts.packets_since(untapped));
                }
            }
            down.prefetch_index(self.parser.bursts.packets_since(parsed));
            match stop {
                WalkEnd::Full => {}
                WalkEnd::Empty => return false,
                WalkEnd::Alert => {
                    let at = (self.frames.received - first) as usize;
                    let Some(frame) = part.frame(at) else { return false };
                    match self.alert(frame.time_ns, down) {
                        FrameTiming::InOrder if !IS_TAPPED && self.tap.is_active() => {
                            self.tap_begins = true;
                            return false;
                        }
                        FrameTiming::InOrder if !IS_TAPPED && IS_PLAIN && !self.parser.is_plain() => {
                            return false;
                        }
                        FrameTiming::InOrder => {}
                        FrameTiming::BadTime => self.count_without_time(down),
                        FrameTiming::Over => return false,
                        FrameTiming::Ahead => return true,
                    }
                }
            }
        }
    }

    /// Walks on from the frame that is received next, and takes up to `most` frames. `first`: frames received before `part`.
    #[inline(always)]
    fn take(&mut self, part: Burst<'_>, first: u64, most: usize, taken: &mut SampledFrames) -> WalkEnd {
        taken.len = 0;
        let Some(sampler) = &mut self.sampler else { return WalkEnd::Empty };
        let mut at = self.frames.received - first;
        let stop = loop {
            let left = sampler.left.min(part.len() as u64 - at);
            if self.clock.time_base == TimeBase::Packets {
                let mut passed = 0;
                for time_ns in part.split(at).1.split(left).0.times() {
                    if time_ns >= self.clock.alert_at {
                        break;
                    }
                    self.clock.latest_ns = self.clock.latest_ns.max(time_ns);
                    passed += 1;
                }
                sampler.skip(passed);
                at += passed;
                if passed < left {
                    break WalkEnd::Alert;
                }
            } else {
                sampler.skip(left);
                at += left;
            }
            let Some(time_ns) = part.time(at as usize) else { break WalkEnd::Empty };
            if time_ns >= self.clock.alert_at {
                break WalkEnd::Alert;
            }
            if taken.len == most {
                break WalkEnd::Full;
            }
            part.prefetch(at as usize);
            taken.frames[taken.len] = (at as usize, self.clock.latest_ns);
            taken.len += 1;
            self.frames.backwards += u64::from(time_ns < self.clock.latest_ns);
            self.clock.latest_ns = self.clock.latest_ns.max(time_ns);
            sampler.left = sampler.skips.draw();
            at += 1;
        };
        self.frames.received = first + at;
        stop
    }

    /// Counts a frame without a time. It is in the window that stream time is in, once there is one.
    #[cold]
    fn count_without_time(&mut self, down: &mut impl Downstream) {
        self.frames.received += 1;
        if self.sampler.as_mut().is_none_or(Sampler::takes_next) {
            self.parser.skip(NotMeasured::BadTime);
        }
        if self.windows.open.is_none() && self.clock.first_ns.is_some() {
            self.open_window(down);
        }
    }
}
