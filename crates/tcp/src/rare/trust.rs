//! Positions that are believed: jumps, strays, and sequence numbers that make no sense.

use super::{FullStream, SegmentVerdict};
use crate::reach::{self, SMALL};
use crate::segment::Segment;
use crate::serial::{distance, last};
use crate::stream::{HOLES, HotStream, PENDING, PROBED, SENSELESS, SKIPPED, UNACKED, UNKNOWN};

impl FullStream<'_> {
    /// True if the stream may have reached `position`, which lies ahead.
    pub(super) fn is_plausible(&mut self, peer: &HotStream, position: u32) -> bool {
        let seen = self.stream.next;
        let jump = position.wrapping_sub(seen);
        let reach = reach::ahead(self.stream, peer);
        let cold = self.cold();
        let progress = u64::from(seen.wrapping_sub(cold.trusted_to));
        cold.trust =
            (u64::from(cold.trust) + progress * reach::TRUST_PER_BYTE).min(reach::TRUST.into()) as u32;
        cold.trusted_to = seen;
        if jump <= SMALL {
            return true;
        }
        let is_plausible = jump <= reach.min(cold.trust);
        if is_plausible {
            cold.trust -= jump;
        }
        is_plausible
    }

    /// The position of an earlier stray segment that is near `[start, end)`; otherwise this one is stored.
    pub(super) fn confirmation(&mut self, start: u32, end: u32) -> Option<u32> {
        let cold = self.cold();
        let before = cold.stray.filter(|before| distance(start, *before).unsigned_abs() <= reach::UNINFORMED);
        cold.stray = if before.is_some() { None } else { Some(end) };
        before
    }

    /// A segment beyond any allowed window is not trusted until a second one, or an acknowledgement, confirms
    /// the position.
    pub(super) fn stray(&mut self, segment: &Segment, end: u32) -> SegmentVerdict {
        let Some(before) = self.confirmation(segment.seq, end) else { return SegmentVerdict::Stray };
        self.resynchronise(segment.seq, last(before, end));
        self.stream.isn = segment.seq.wrapping_sub(1);
        self.stream.setup &= !PROBED;
        self.grow(segment);
        SegmentVerdict::Taken
    }

    /// Restarts the stream from `acked` to `next`; what was undecided is discarded.
    pub(super) fn resynchronise(&mut self, acked: u32, next: u32) {
        self.booked.resync_count += 1;
        let cold = self.cold();
        cold.holes.clear();
        cold.trusted_to = next;
        let stream = &mut *self.stream;
        (stream.acked, stream.next) = (acked, next);
        stream.state &= !(HOLES | PENDING | SKIPPED | UNKNOWN | UNACKED);
        stream.forget_timed();
    }

    /// True where the undecided holes, and one of `more` bytes, are more than any connection has: [`reach::SENSELESS_HOLES`] of them and
    /// [`reach::SENSELESS_SHARE`] times what was seen since the oldest opened, with no sign of the peer having any of it.
    pub(super) fn makes_no_sense(&mut self, more: u32) -> bool {
        let next = self.stream.next;
        let cold = self.cold();
        let holes = cold.holes.as_slice();
        if holes.len() < reach::SENSELESS_HOLES || cold.holes.has_acked() {
            return false;
        }
        let skipped: u64 = holes.iter().map(|hole| u64::from(hole.len())).sum::<u64>() + u64::from(more);
        let seen = u64::from(cold.recent) + u64::from(next.wrapping_sub(cold.trusted_to));
        skipped > seen.max(1) * reach::SENSELESS_SHARE
    }

    /// A segment of a stream whose sequence numbers make no sense: it is followed, without a word about where it leads.
    pub(super) fn leap(&mut self, segment: &Segment, end: u32) -> SegmentVerdict {
        self.resynchronise(segment.seq, end);
        self.stream.setup |= SENSELESS;
        SegmentVerdict::Stray
    }

    /// True where the stream's numbers make no sense; it is believed again once it went on for long.
    pub(super) fn is_senseless(&mut self) -> bool {
        if self.stream.setup & SENSELESS == 0 {
            return false;
        }
        if self.stream.next.wrapping_sub(self.cold().trusted_to) > SMALL {
            self.stream.setup &= !SENSELESS;
            return false;
        }
        true
    }
}
