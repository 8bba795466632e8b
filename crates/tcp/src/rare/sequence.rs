//! A segment in its own stream: it begins a connection, goes on, leaves a hole or lies behind.

use super::{FullStream, SegmentVerdict};
use crate::holes::{Evidence, Hole};
use crate::reach;
use crate::segment::{Segment, flag};
use crate::serial::{distance, first, is_before, last, overlap};
use crate::stream::{COLD, HOLES, HotStream, PROBED, SKIPPED, SYN_SEEN, UNACKED, UNKNOWN, ZERO_WINDOW};

impl FullStream<'_> {
    /// Processes the segment in its own stream.
    pub(super) fn sequence(&mut self, peer: &HotStream, segment: &Segment, window_ns: u64) -> SegmentVerdict {
        let end = segment.seq.wrapping_add(segment.len());
        if segment.has(flag::SYN) && (self.stream.state & UNKNOWN != 0 || segment.seq != self.stream.isn) {
            self.decide_all();
            self.start(segment, end);
            return SegmentVerdict::Taken;
        }
        if self.stream.state & UNKNOWN != 0 {
            self.pick_up(segment, end);
            return SegmentVerdict::Taken;
        }
        if segment.has(flag::SYN) {
            self.stream.note_syn(segment);
        }
        let position = distance(segment.seq, self.stream.next);
        if position >= 0 && self.stream.state & SKIPPED != 0 {
            self.stream.state &= !SKIPPED;
            // A segment further ahead opens a separate hole, and counts there.
            self.booked.hole_count += u32::from(position == 0);
        }
        match position {
            0 => self.in_order(peer, segment, end),
            1.. => return self.ahead(peer, segment, end),
            _ => return self.behind(peer, segment, end, window_ns),
        }
        SegmentVerdict::Taken
    }

    /// A connection begins in this direction.
    fn start(&mut self, segment: &Segment, end: u32) {
        let before = *self.stream;
        // The peer's answer may have been captured first.
        let was_answered = before.state & (UNKNOWN | UNACKED) == UNKNOWN
            && before.acked.wrapping_sub(segment.seq) <= segment.len();
        *self.stream = HotStream {
            next: end,
            acked: if was_answered { before.acked } else { segment.seq },
            isn: segment.seq,
            state: 0,
            rtt_known: before.rtt_known,
            max_segment: segment.payload.min(u16::MAX.into()) as u16,
            setup: before.setup & COLD,
            ..Default::default()
        };
        if before.setup & COLD != 0 {
            // Trust is not renewed: a sender of SYN after SYN would get it each time.
            (self.cold.stray, self.cold.trusted_to) = (None, end);
        }
        self.stream.note_syn(segment);
        if !was_answered {
            self.stream.note_in_order(segment);
        }
    }

    /// The first segment seen of a connection that began before.
    fn pick_up(&mut self, segment: &Segment, end: u32) {
        let stream = &mut *self.stream;
        let is_acked = stream.state & UNACKED == 0;
        let ahead = distance(stream.acked, end);
        stream.next = end;
        if is_acked && (0..reach::UNINFORMED as i32).contains(&ahead) {
            // It had been acknowledged before: what lies between is old.
            stream.next = stream.acked;
        } else if is_acked && !(-(1 << 30)..0).contains(&ahead) {
            stream.state |= UNACKED;
        }
        stream.isn = segment.seq.wrapping_sub(1);
        stream.state &= !UNKNOWN;
        if segment.payload <= 1 && segment.len() == segment.payload {
            // It may be a keep-alive, one byte back.
            stream.setup |= PROBED;
        }
        self.cold().picked_up_ns = segment.time_ns;
        self.grow(segment);
        if segment.len() != 0 && self.stream.next == end {
            self.stream.note_in_order(segment);
        }
    }

    fn in_order(&mut self, peer: &HotStream, segment: &Segment, end: u32) {
        let is_data = segment.flags & (flag::SYN | flag::FIN) == 0;
        if segment.payload == 1 && is_data && peer.state & ZERO_WINDOW != 0 {
            // RFC 9293, section 3.8.6.1: a zero-window probe; the receiver may accept the byte or not.
            self.stream.setup |= PROBED;
            return;
        }
        self.stream.next = end;
        self.grow(segment);
        if segment.len() != 0 {
            self.stream.note_in_order(segment);
        }
    }

    fn ahead(&mut self, peer: &HotStream, segment: &Segment, end: u32) -> SegmentVerdict {
        if self.is_senseless() {
            return self.leap(segment, end);
        }
        let (start, trusted_to) = (self.stream.next, self.cold().trusted_to);
        if !self.is_plausible(peer, segment.seq) {
            return self.stray(segment, end);
        }
        self.drop_stale();
        let cold = self.cold();
        cold.recent = (cold.recent - cold.recent / 8).saturating_add(start.wrapping_sub(trusted_to));
        if cold.holes.is_full() && self.makes_no_sense(segment.seq.wrapping_sub(start)) {
            return self.leap(segment, end);
        }
        self.stream.next = end;
        self.stream.setup &= !PROBED;
        self.cold().trusted_to = segment.seq;
        self.grow(segment);
        self.booked.hole_count += 1;
        self.open(Hole::new(start, segment.seq, Evidence::Open, segment.time_ns));
        SegmentVerdict::Taken
    }

    fn behind(&mut self, peer: &HotStream, segment: &Segment, end: u32, window_ns: u64) -> SegmentVerdict {
        if segment.len() != 0 && self.is_senseless() {
            return self.leap(segment, end);
        }
        if self.stream.next.wrapping_sub(segment.seq) > reach::behind(self.stream, peer) {
            return self.stray(segment, end);
        }
        if segment.len() == 0 {
            return SegmentVerdict::Taken;
        }
        self.drop_stale();
        let now = segment.time_ns;
        let next = self.stream.next;
        let seen = (segment.seq, first(end, next));
        let payload_start = segment.payload_start();
        let payload = (payload_start, payload_start.wrapping_add(segment.payload));

        // The part of the segment that is new here although it arrives late, in sequence numbers and in
        // bytes.
        let (mut new, mut new_byte) = (0, 0);
        let (mut is_reordered, mut is_late, mut late_byte) = (false, false, 0);
        let mut skips = false;
        if self.stream.state & HOLES != 0 {
            let mut holes = self.cold().holes;
            let pushed_out = holes.fill(seen.0, seen.1, |hole| {
                let extent = (hole.start, hole.end);
                let filled = (last(extent.0, seen.0), first(extent.1, seen.1));
                let bytes = overlap(filled, payload);
                new += filled.1.wrapping_sub(filled.0);
                new_byte += bytes;
                match hole.evidence() {
                    Evidence::Open if hole.age(now) > window_ns => {
                        (is_late, late_byte) = (true, late_byte + bytes)
                    }
                    Evidence::AckedOld => (is_late, late_byte) = (true, late_byte + bytes),
                    Evidence::Open | Evidence::AckedYoung => is_reordered = true,
                    // Only the capture was out of order: the acknowledgement was seen before what it
                    // acknowledges.
                    Evidence::AckedUnseen => skips |= is_before(hole.start, segment.seq),
                }
            });
            self.cold().holes = holes;
            if let Some(hole) = pushed_out {
                self.book(&hole);
            }
            self.note_holes();
        }
        let is_data = segment.flags & (flag::SYN | flag::FIN) == 0;
        if new == 0 && segment.payload <= 1 && is_data && segment.seq == next.wrapping_sub(1) {
            // A keep-alive (RFC 9293, section 3.8.4).
            return SegmentVerdict::Taken;
        }
        let before = self.before_pick_up(seen, now, window_ns);
        if before != (0, 0) {
            let bytes = overlap(before, payload);
            new += before.1.wrapping_sub(before.0);
            new_byte += bytes;
            is_reordered = true;
        }
        let is_repeated = seen.1.wrapping_sub(seen.0) > new;
        if is_repeated {
            self.booked.retrans_count += 1;
            self.booked.retrans_byte += u64::from(overlap(seen, payload).saturating_sub(new_byte));
        }
        self.booked.hole_count += u32::from(skips);
        self.booked.reorder_count += u32::from(is_reordered);
        self.booked.ploss_count += u32::from(is_late);
        self.booked.ploss_byte += u64::from(late_byte);
        self.stream.note_sent_again(segment, end, is_repeated || is_late);
        if !is_before(end, next) {
            self.stream.state &= !SKIPPED;
        }
        if is_before(next, end) {
            self.stream.next = end;
        }
        self.grow(segment);
        SegmentVerdict::Taken
    }

    /// Handles the part of a segment that lies before the first one seen and arrives within the reordering
    /// window after it.
    fn before_pick_up(&mut self, seen: (u32, u32), now: u64, window_ns: u64) -> (u32, u32) {
        let base = self.stream.isn.wrapping_add(1);
        let is_near = self.stream.setup & SYN_SEEN == 0
            && is_before(seen.0, base)
            && self.stream.next.wrapping_sub(base) <= reach::UNINFORMED;
        if is_near && now.saturating_sub(self.cold().picked_up_ns) <= window_ns {
            (seen.0, first(seen.1, base))
        } else {
            (0, 0)
        }
    }

    pub(super) fn grow(&mut self, segment: &Segment) {
        let payload = segment.payload.min(u16::MAX.into()) as u16;
        self.stream.max_segment = self.stream.max_segment.max(payload);
    }
}
