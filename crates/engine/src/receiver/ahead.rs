//! Frames of a replay that are far ahead of stream time: the frame after one decides whether stream time follows it.

use super::{Downstream, Receiver};
use packet::Frame;
use port::{Burst, Filter};

impl Receiver<'_> {
    /// Measures a frame that is ahead of stream time, which follows it if the `next` one is ahead too; otherwise it counts in the open
    /// window. False where it is not to be measured now.
    #[cold]
    pub(super) fn measure_ahead(
        &mut self,
        frame: Burst<'_>,
        next: u64,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) -> bool {
        if self.clock.is_ahead(next) && next <= Frame::LATEST_NS {
            self.clock.follows = true;
            let (_, taken) = self.parse_part(frame, filter, down);
            self.clock.follows = false;
            return taken != 0;
        }
        self.count_ahead(frame, filter, down);
        self.flush_unless_more(down);
        self.count_down(1, down);
        true
    }

    /// Counts a frame in the open window that stream time does not follow.
    pub(super) fn count_ahead(
        &mut self,
        frame: Burst<'_>,
        filter: Option<&Filter>,
        down: &mut impl Downstream,
    ) {
        if self.windows.open.is_none() {
            self.open_window(down);
        }
        if self.parsed() == self.room {
            self.flush(down);
        }
        if self.parsed() == 0 {
            self.clock.begin_burst();
        }
        self.parser.number_near(self.frames.received);
        let parsed = self.parser.bursts.lengths();
        let is_tapped = self.tap.is_active();
        self.sampler.iter_mut().for_each(|sampler| sampler.measure(frame));
        for frame in frame.frames() {
            self.frames.received += 1;
            if self.sampler.as_mut().is_some_and(|sampler| !sampler.takes_next()) {
                continue;
            }
            self.frames.ahead += 1;
            let untapped = self.parser.bursts.lengths();
            match filter.and_then(|filter| filter.refusal(&frame)) {
                None => self.parser.push_out_of_order(&frame, self.frames.received, self.clock.latest_ns),
                Some(reason) => self.parser.skip(reason),
            }
            if is_tapped {
                self.tap.look(&frame, self.parser.bursts.packets_since(untapped));
            }
        }
        down.prefetch_index(self.parser.bursts.packets_since(parsed));
    }
}
