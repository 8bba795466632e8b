//! The decision of holes, and what is booked for them.

use super::FullStream;
use crate::cold::ColdStream;
use crate::holes::Hole;
use crate::reach;
use crate::segment::Segment;
use crate::stream::{COLD, HOLES, PENDING};

/// Segment size if none was seen: the default of RFC 9293, section 3.7.1.
const DEFAULT_SEGMENT: u32 = 536;

impl FullStream<'_> {
    pub(super) fn cold(&mut self) -> &mut ColdStream {
        if self.stream.setup & COLD == 0 {
            self.stream.setup |= COLD;
            *self.cold =
                ColdStream { trust: reach::TRUST, trusted_to: self.stream.next, ..Default::default() };
        }
        self.cold
    }

    pub(super) fn open(&mut self, hole: Hole) {
        if let Some(pushed_out) = self.cold().holes.open(hole) {
            self.book(&pushed_out);
        }
        self.note_holes();
    }

    /// Books a hole finally.
    pub(super) fn book(&mut self, hole: &Hole) {
        if hole.is_acked() {
            self.booked.unseen_byte += u64::from(hole.len());
        } else {
            let segment = match self.stream.max_segment {
                0 => DEFAULT_SEGMENT,
                largest => largest.into(),
            };
            self.booked.ploss_byte += u64::from(hole.len());
            self.booked.ploss_count += hole.len().div_ceil(segment);
        }
    }

    /// Decides the holes whose time has passed.
    pub(super) fn decide(&mut self, is_due: impl FnMut(&Hole) -> bool) {
        if self.stream.state & HOLES != 0 {
            let mut holes = self.cold().holes;
            holes.take(is_due, |hole| self.book(hole));
            self.cold().holes = holes;
            self.note_holes();
        }
    }

    /// Decides all holes, unless they show that the sequence numbers make no sense.
    pub(super) fn decide_all(&mut self) {
        if self.stream.state & HOLES != 0 && self.makes_no_sense(0) {
            self.booked.resync_count += 1;
            self.cold().holes.clear();
            self.note_holes();
        }
        self.decide(|_| true);
    }

    pub(super) fn drop_stale(&mut self) {
        let next = self.stream.next;
        self.decide(|hole| hole.is_stale(next));
    }

    pub(super) fn acknowledge_holes(&mut self, segment: &Segment, window_ns: u64) {
        if self.stream.state & HOLES != 0 {
            self.drop_stale();
            if let Some(hole) = self.cold().holes.acknowledge(segment.ack, segment.time_ns, window_ns) {
                self.book(&hole);
            }
            self.note_holes();
        }
    }

    pub(super) fn note_holes(&mut self) {
        let holes = &self.cold().holes;
        let is_set = |condition, bit| if condition { bit } else { 0 };
        let bits = is_set(!holes.is_empty(), HOLES) | is_set(holes.has_acked(), PENDING);
        self.stream.state = self.stream.state & !(HOLES | PENDING) | bits;
    }
}
