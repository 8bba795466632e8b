//! The path of every other segment: those that open, fill or decide holes, are repeated, set up or end a
//! connection, or are implausible.

use super::cold::ColdStream;
use super::holes::{Evidence, Hole};
use super::reach::{self, SMALL};
use super::segment::{Segment, flag};
use super::serial::{distance, first, is_before, last, overlap};
use super::stream::{
    BY_TIMESTAMP, COLD, HOLES, HotStream, PENDING, PROBED, SCALE, SENSELESS, SKIPPED, SYN_SEEN, Tracked,
    UNACKED, UNKNOWN, ZERO_WINDOW, track_open,
};
use flow::LossCounts;

/// The reordering window is at least this long, nanoseconds: tshark's limit if it knows no round trip.
const MIN_REORDERING_NS: u64 = 3_000_000;

/// Segment size if none was seen: the default of RFC 9293, section 3.7.1.
const DEFAULT_SEGMENT: u32 = 536;

/// No segment has more payload (jumbograms are smaller in practice).
const MAX_PAYLOAD: u32 = 1 << 24;

/// A stream with all its state.
struct Side<'a> {
    stream: &'a mut HotStream,
    cold: &'a mut ColdStream,
    booked: &'a mut LossCounts,
}

/// The decision whether a segment belongs to the connection.
#[derive(PartialEq, Eq)]
enum Verdict {
    Taken,
    /// The segment lies beyond any allowed window: nothing of it counts.
    Stray,
}

/// Takes a segment that `direction` (0 or 1) sent and that [`track`](super::track) returned. Its findings are
/// added to `booked`, by direction, including those on the peer's stream, which the segment acknowledges.
///
/// Round trips that wait in the hot part are booked too: they must belong to the same windows.
pub fn track_rare(
    hot: &mut [HotStream; 2],
    cold: &mut [ColdStream; 2],
    direction: usize,
    segment: &Segment,
    booked: &mut [LossCounts; 2],
) {
    if track_open(hot, direction, segment) == Tracked::Done {
        return;
    }
    hot.iter_mut().for_each(HotStream::forget_ack);
    let window_ns = reordering_window_ns(hot);
    let segment = &Segment { payload: segment.payload.min(MAX_PAYLOAD), ..*segment };
    let sides = hot.iter_mut().zip(cold).zip(booked);
    let mut sides = sides.map(|((stream, cold), booked)| Side { stream, cold, booked });
    let (Some(a), Some(b)) = (sides.next(), sides.next()) else { return };
    let (mut side, mut peer) = if direction == 0 { (a, b) } else { (b, a) };
    for side in [&mut side, &mut peer] {
        side.stream.book_rtt(side.booked);
        if side.stream.state & PENDING != 0 {
            side.decide(|hole| hole.is_acked() && hole.age(segment.time_ns) > window_ns);
        }
    }

    if segment.flags & (flag::SYN | flag::FIN | flag::RST) == 0 && segment.window == 0 {
        side.booked.zero_window_count += 1;
    }
    if segment.has(flag::RST) {
        reset(&mut side, &mut peer, segment);
    } else if side.sequence(peer.stream, segment, window_ns) == Verdict::Taken {
        if segment.has(flag::ACK) {
            peer.acknowledgement(side.stream, segment, window_ns);
        }
        side.window(peer.stream, segment);
    }
}

/// Decides all that is undecided of a stream, as at the end of its record: what was acknowledged is unseen,
/// the rest lost. Not to be called where the flow continues in another record. The cold part is used only
/// where [`HotStream::is_undecided`].
pub fn finish(stream: &mut HotStream, cold: &mut ColdStream, booked: &mut LossCounts) {
    let mut side = Side { stream, cold, booked };
    side.stream.book_rtt(side.booked);
    side.decide_all();
}

/// A segment that fills a hole within this time after it opened was reordered, not lost: a quarter of the
/// round trip, as far as both sides of the tap are known, at least 3 ms.
fn reordering_window_ns(hot: &[HotStream; 2]) -> u64 {
    let round_trip: u64 = hot.iter().filter_map(HotStream::known_rtt).map(u64::from).sum();
    (round_trip / 4).max(MIN_REORDERING_NS)
}

/// RFC 5961, section 3: the sender of a reset knows the sequence numbers. A reset only ends what is
/// undecided: a reset that the receiver rejects does no harm.
fn reset(side: &mut Side<'_>, peer: &mut Side<'_>, segment: &Segment) {
    let (stream, other) = (&mut *side.stream, &mut *peer.stream);
    let acks_next = segment.has(flag::ACK) && other.state & UNKNOWN == 0 && segment.ack == other.next;
    let is_valid = if stream.state & UNKNOWN != 0 {
        acks_next
    } else if stream.state & UNACKED == 0 && is_before(segment.seq, stream.acked) {
        false
    } else if is_before(segment.seq, stream.next) {
        stream.next.wrapping_sub(segment.seq) <= reach::behind(stream, other)
    } else {
        segment.seq.wrapping_sub(stream.next) <= SMALL
    };
    if !is_valid {
        return;
    }
    // A refused connection has its round trip too.
    if acks_next {
        peer.time(segment);
    }
    side.decide_all();
    peer.decide_all();
    // Whoever resets acknowledges no more; what the peer still sends may.
    peer.stream.forget_timed();
}

impl Side<'_> {
    fn cold(&mut self) -> &mut ColdStream {
        if self.stream.setup & COLD == 0 {
            self.stream.setup |= COLD;
            *self.cold =
                ColdStream { trust: reach::TRUST, trusted_to: self.stream.next, ..Default::default() };
        }
        self.cold
    }

    /// Books a hole finally.
    fn book(&mut self, hole: &Hole) {
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
    fn decide(&mut self, is_due: impl FnMut(&Hole) -> bool) {
        if self.stream.state & HOLES != 0 {
            let mut holes = self.cold().holes;
            holes.take(is_due, |hole| self.book(hole));
            self.cold().holes = holes;
            self.note_holes();
        }
    }

    /// Decides all holes, unless they show that the sequence numbers make no sense.
    fn decide_all(&mut self) {
        if self.stream.state & HOLES != 0 && self.makes_no_sense(0) {
            self.booked.resync_count += 1;
            self.cold().holes.clear();
            self.note_holes();
        }
        self.decide(|_| true);
    }

    /// True where the undecided holes, and one of `more` bytes, are more than any connection has: [`reach::SENSELESS_HOLES`] of them and
    /// [`reach::SENSELESS_SHARE`] times what was seen since the oldest opened, with no sign of the peer having any of it.
    fn makes_no_sense(&mut self, more: u32) -> bool {
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
    fn leap(&mut self, segment: &Segment, end: u32) -> Verdict {
        self.resynchronise(segment.seq, end);
        self.stream.setup |= SENSELESS;
        Verdict::Stray
    }

    /// True where the stream's numbers make no sense; it is believed again once it went on for long.
    fn is_senseless(&mut self) -> bool {
        if self.stream.setup & SENSELESS == 0 {
            return false;
        }
        if self.stream.next.wrapping_sub(self.cold().trusted_to) > SMALL {
            self.stream.setup &= !SENSELESS;
            return false;
        }
        true
    }

    fn note_holes(&mut self) {
        let holes = &self.cold().holes;
        let is_set = |condition, bit| if condition { bit } else { 0 };
        let bits = is_set(!holes.is_empty(), HOLES) | is_set(holes.has_acked(), PENDING);
        self.stream.state = self.stream.state & !(HOLES | PENDING) | bits;
    }

    fn open(&mut self, hole: Hole) {
        if let Some(pushed_out) = self.cold().holes.open(hole) {
            self.book(&pushed_out);
        }
        self.note_holes();
    }

    /// Processes the segment in its own stream.
    fn sequence(&mut self, peer: &HotStream, segment: &Segment, window_ns: u64) -> Verdict {
        let end = segment.seq.wrapping_add(segment.len());
        if segment.has(flag::SYN) && (self.stream.state & UNKNOWN != 0 || segment.seq != self.stream.isn) {
            self.decide_all();
            self.start(segment, end);
            return Verdict::Taken;
        }
        if self.stream.state & UNKNOWN != 0 {
            self.pick_up(segment, end);
            return Verdict::Taken;
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
        Verdict::Taken
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

    fn grow(&mut self, segment: &Segment) {
        let payload = segment.payload.min(u16::MAX.into()) as u16;
        self.stream.max_segment = self.stream.max_segment.max(payload);
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

    fn ahead(&mut self, peer: &HotStream, segment: &Segment, end: u32) -> Verdict {
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
        Verdict::Taken
    }

    fn behind(&mut self, peer: &HotStream, segment: &Segment, end: u32, window_ns: u64) -> Verdict {
        if segment.len() != 0 && self.is_senseless() {
            return self.leap(segment, end);
        }
        if self.stream.next.wrapping_sub(segment.seq) > reach::behind(self.stream, peer) {
            return self.stray(segment, end);
        }
        if segment.len() == 0 {
            return Verdict::Taken;
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
            return Verdict::Taken;
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
        Verdict::Taken
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

    fn drop_stale(&mut self) {
        let next = self.stream.next;
        self.decide(|hole| hole.is_stale(next));
    }

    /// True if the stream may have reached `position`, which lies ahead.
    fn is_plausible(&mut self, peer: &HotStream, position: u32) -> bool {
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
    fn confirmation(&mut self, start: u32, end: u32) -> Option<u32> {
        let cold = self.cold();
        let before = cold.stray.filter(|before| distance(start, *before).unsigned_abs() <= reach::UNINFORMED);
        cold.stray = if before.is_some() { None } else { Some(end) };
        before
    }

    /// A segment beyond any allowed window is not trusted until a second one, or an acknowledgement, confirms
    /// the position.
    fn stray(&mut self, segment: &Segment, end: u32) -> Verdict {
        let Some(before) = self.confirmation(segment.seq, end) else { return Verdict::Stray };
        self.resynchronise(segment.seq, last(before, end));
        self.stream.isn = segment.seq.wrapping_sub(1);
        self.stream.setup &= !PROBED;
        self.grow(segment);
        Verdict::Taken
    }

    /// Restarts the stream from `acked` to `next`; what was undecided is discarded.
    fn resynchronise(&mut self, acked: u32, next: u32) {
        self.booked.resync_count += 1;
        let cold = self.cold();
        cold.holes.clear();
        cold.trusted_to = next;
        let stream = &mut *self.stream;
        (stream.acked, stream.next) = (acked, next);
        stream.state &= !(HOLES | PENDING | SKIPPED | UNKNOWN | UNACKED);
        stream.forget_timed();
    }

    /// Processes the other side's acknowledgement of this stream.
    fn acknowledgement(&mut self, peer: &HotStream, segment: &Segment, window_ns: u64) {
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

    fn acknowledge_holes(&mut self, segment: &Segment, window_ns: u64) {
        if self.stream.state & HOLES != 0 {
            self.drop_stale();
            if let Some(hole) = self.cold().holes.acknowledge(segment.ack, segment.time_ns, window_ns) {
                self.book(&hole);
            }
            self.note_holes();
        }
    }

    fn time(&mut self, ack: &Segment) {
        let timing = self.stream.timing(ack);
        if let Some(sample) = timing.sample {
            self.booked.add_rtt(1, sample, sample);
        }
        self.stream.settle(ack.ack, timing);
    }

    /// Stores the window that this side advertises.
    fn window(&mut self, peer: &mut HotStream, segment: &Segment) {
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

impl HotStream {
    fn note_in_order(&mut self, segment: &Segment) {
        if self.state & (HOLES | BY_TIMESTAMP) != 0 {
            self.note_sent_behind(segment);
        } else {
            self.note_sent(segment);
        }
    }

    fn note_syn(&mut self, segment: &Segment) {
        self.setup = self.setup & !SCALE | SYN_SEEN | segment.window_scale().map_or(0, |shift| shift + 1);
    }

    /// Karn's rule: what was retransmitted cannot be timed, and neither can what waits after it, except by
    /// the timestamp of the new copy, if it is newer than all earlier ones (RFC 7323, section 4.1).
    fn note_sent_again(&mut self, segment: &Segment, end: u32, is_new_copy: bool) {
        let newer =
            segment.timestamps().map(|(tsval, _)| tsval).filter(|tsval| is_before(self.tsval, *tsval));
        if self.state & BY_TIMESTAMP == 0 {
            let timed = &self.timed_end[..usize::from(self.timed)];
            self.timed = timed.iter().take_while(|end| !is_before(segment.seq, **end)).count() as u8;
            if is_new_copy && let Some(tsval) = newer {
                self.state |= BY_TIMESTAMP;
                self.begin_again(segment, end, tsval);
            }
        } else if !is_before(segment.seq, self.timed_end[0]) {
            // It lies after the copy that is timed.
        } else if self.timed_end[0] != end {
            self.forget_timed();
        } else if let Some(tsval) = newer {
            self.begin_again(segment, end, tsval);
        } else if segment.timestamps().is_none_or(|(tsval, _)| tsval != self.tsval) {
            self.forget_timed();
        }
    }

    fn begin_again(&mut self, segment: &Segment, end: u32, tsval: u32) {
        self.tsval = tsval;
        self.timed = 1;
        self.begin(0, end, segment.time_ns);
    }
}
