//! The stream that a segment acknowledges, and the window that the segment advertises.

use super::FullStream;
use crate::holes::{Evidence, Hole};
use crate::reach;
use crate::segment::{Segment, flag};
use crate::serial::{distance, is_before, last};
use crate::stream::{HotStream, PROBED, SENSELESS, SKIPPED, UNACKED, UNKNOWN, ZERO_WINDOW};

impl FullStream<'_> {
    /// Processes the other side's acknowledgement of this stream.
    pub(super) fn acknowledgement(&mut self, peer: &HotStream, segment: &Segment, window_ns: u64) {
        let ack = segment.ack;
        if self.stream.state & UNKNOWN != 0 {
            if self.stream.state & UNACKED != 0 || is_before(self.stream.acked, ack) {
                self.stream.acked = ack;
                self.stream.state &= !UNACKED;
            }
            return;
        }
        let beyond = distance(ack, self.stream.next);
        if self.stream.setup & SENSELESS != 0 && distance(ack, self.stream.acked) > 0 {
            // The peer has bytes of it: the numbers make sense to it, and bytes were missed.
            if beyond > 0 && beyond.unsigned_abs() > reach::ahead(self.stream, peer) {
                return;
            }
            self.stream.setup &= !SENSELESS;
        }
        if beyond == 1 && self.stream.setup & PROBED != 0 {
            // The receiver has the probe's byte.
            self.stream.next = ack;
            self.stream.setup &= !PROBED;
        } else if beyond > 0 {
            if !self.is_plausible(peer, ack) {
                if let Some(before) = self.confirmation(ack, ack) {
                    self.resynchronise(ack, last(before, ack));
                }
                return;
            }
            self.time(segment);
            let start = self.stream.next;
            self.acknowledge_holes(segment, window_ns);
            self.stream.next = ack;
            self.cold().trusted_to = ack;
            self.open(Hole::new(start, ack, Evidence::AckedUnseen, segment.time_ns));
            self.stream.acked = ack;
            self.stream.state = self.stream.state & !UNACKED | SKIPPED;
            return;
        }
        let is_new = if self.stream.state & UNACKED == 0 {
            is_before(self.stream.acked, ack)
        } else {
            beyond >= -(1 << 30)
        };
        if is_new {
            self.time(segment);
            self.stream.acked = ack;
            self.stream.state &= !UNACKED;
            self.acknowledge_holes(segment, window_ns);
        }
    }

    pub(super) fn time(&mut self, ack: &Segment) {
        let timing = self.stream.timing(ack);
        if let Some(sample) = timing.sample {
            self.booked.add_rtt(1, sample, sample);
        }
        self.stream.settle(ack.ack, timing);
    }

    /// Stores the window that this side advertises.
    pub(super) fn window(&mut self, peer: &mut HotStream, segment: &Segment) {
        if segment.has(flag::SYN) {
            return;
        }
        self.stream.window = self.stream.window.max(segment.window);
        if segment.window == 0 {
            self.stream.state |= ZERO_WINDOW;
        } else {
            self.stream.state &= !ZERO_WINDOW;
            peer.setup &= !PROBED;
        }
    }
}
