//! The hot part of a stream, and the path of the ordinary segment, which touches nothing else.

use super::segment::{Segment, flag};
use super::serial::{distance, is_before};
use flow::LossCounts;

/// The part of one stream's state that most segments read and write: the bytes that one direction sends. One cache line. The default is a
/// stream of which nothing is known.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct HotStream {
    /// Highest end of a segment seen: the sequence number expected next.
    pub(super) next: u32,
    /// Highest acknowledgement by the peer.
    pub(super) acked: u32,
    /// Sequence number of the SYN; if none was seen, the one before the first segment's.
    pub(super) isn: u32,
    /// TSval of the latest segment with payload. With [`BY_TIMESTAMP`] the one that the peer is to echo.
    pub(super) tsval: u32,
    /// Round trips that were measured and not booked yet: least ([`NO_RTT`] if there is none) and sum,
    /// nanoseconds.
    pub(super) rtt_min: u32,
    pub(super) rtt_sum: u32,
    /// Smallest round trip of the connection on this side of the tap, nanoseconds; [`NO_RTT`] if none is known.
    pub(super) rtt_known: u32,
    /// Ends of the segments that are being timed, in the order of the sequence, and when they passed: nanoseconds,
    /// 40 bits. The time wraps after 18 minutes.
    pub(super) timed_end: [u32; TIMED],
    pub(super) timed_low: [u32; TIMED],
    pub(super) timed_high: [u8; TIMED],
    /// The number of segments that are being timed.
    pub(super) timed: u8,
    /// Greatest window that this direction advertised, unscaled, excluding SYN.
    pub(super) window: u16,
    /// Largest payload of a segment, up to 65,535.
    pub(super) max_segment: u16,
    pub(super) rtt_count: u8,
    pub(super) state: u8,
    /// The setup of the connection: bits 0 to 3 hold the window scale option + 1, the others are flags.
    pub(super) setup: u8,
    /// The largest flight seen is below 2 to the power of this.
    pub(super) flight: u8,
}

const _: () = assert!(size_of::<HotStream>() == 64 && align_of::<HotStream>() == 64);

/// The value that stands for no round trip: more than any stored one, so that it never is the minimum.
const NO_RTT: u32 = u32::MAX;

/// Segments of a stream that are timed at once.
pub(super) const TIMED: usize = 3;

/// Times of timed segments are kept modulo this.
const TIME_SPAN: u64 = 1 << 40;

/// No segment was seen: `next` is undefined.
pub(super) const UNKNOWN: u8 = 1 << 0;
/// No acknowledgement was seen: `acked` is undefined.
pub(super) const UNACKED: u8 = 1 << 1;
/// The stream has holes: see the cold part.
pub(super) const HOLES: u8 = 1 << 2;
/// The stream has holes that the peer acknowledged: they are decided when the reordering window is over.
pub(super) const PENDING: u8 = 1 << 3;
/// The direction's last window was zero.
pub(super) const ZERO_WINDOW: u8 = 1 << 4;
/// The one timed segment was sent again: only the echo of its timestamp identifies the acknowledged copy.
pub(super) const BY_TIMESTAMP: u8 = 1 << 5;
/// The peer's acknowledgement took `next` beyond what was seen: the next segment begins after a hole.
pub(super) const SKIPPED: u8 = 1 << 6;
/// The latest segment was an ordinary one: one that acknowledges the same has no news for the peer's stream,
/// and nothing special is open there.
const ACK_TAKEN: u8 = 1 << 7;

/// The bits of `setup` with the window scale option + 1.
pub(super) const SCALE: u8 = 0x0f;
/// The flag of `setup` that the SYN was seen.
pub(super) const SYN_SEEN: u8 = 1 << 4;
/// The flag of `setup` that one byte was sent into a zero window; it may be acknowledged or not.
pub(super) const PROBED: u8 = 1 << 5;
/// The flag of `setup` that the cold part belongs to this connection.
pub(super) const COLD: u8 = 1 << 6;
/// The flag of `setup` that the sequence numbers make no sense, so that nothing is made of where they lead.
pub(super) const SENSELESS: u8 = 1 << 7;

/// The result of tracking a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum SegmentOutcome {
    /// The segment was processed.
    Done,
    /// The segment was not processed yet: [`track_rare`](super::track_rare) must process it.
    Rare,
}

/// The flags that no ordinary segment meets, in either stream.
const SPECIAL: u8 = UNKNOWN | UNACKED | PENDING | ZERO_WINDOW | SKIPPED;

/// Processes a segment that `direction` (0 or 1) sent, if it is ordinary: it is next in its stream, is no
/// larger than earlier ones, acknowledges only what was seen, and nothing is open in either stream. Reads no
/// option but TSval.
///
/// `repeats_ack`: it has the acknowledgement number of the one before it in its direction. Then it has no
/// news for the peer's stream, which is not read: this saves a cache line (15 of 100 ns at a million flows).
#[inline(always)]
pub fn track(
    hot: &mut [HotStream; 2],
    direction: usize,
    segment: &Segment,
    repeats_ack: bool,
) -> SegmentOutcome {
    let own = direction & 1;
    let stream = &hot[own];
    if !stream.is_next(segment) || stream.state & !ACK_TAKEN != 0 || stream.outgrows(segment) {
        return SegmentOutcome::Rare;
    }
    // This branch is unpredictable: no other one of this path is mispredicted as often.
    if !(repeats_ack && stream.state == ACK_TAKEN) {
        let peer = &mut hot[own ^ 1];
        let newly_acked = segment.ack.wrapping_sub(peer.acked);
        if peer.state & !ACK_TAKEN != 0 || newly_acked > peer.next.wrapping_sub(peer.acked) {
            return SegmentOutcome::Rare;
        }
        if newly_acked != 0 {
            if peer.timed != 0 && !peer.time_all(segment) {
                return SegmentOutcome::Rare;
            }
            peer.acked = segment.ack;
        }
        hot[own].state = ACK_TAKEN;
    }
    hot[own].advance(segment);
    SegmentOutcome::Done
}

/// Processes segments as [`track`] does, but all that need only the hot parts: also after holes, for retransmissions, and if the window or
/// the segments grow.
pub(super) fn track_open(hot: &mut [HotStream; 2], direction: usize, segment: &Segment) -> SegmentOutcome {
    let own = direction & 1;
    let (stream, peer) = (&hot[own], &hot[own ^ 1]);
    let newly_acked = segment.ack.wrapping_sub(peer.acked);
    if !stream.is_next(segment)
        || (stream.state | peer.state) & SPECIAL != 0
        || newly_acked > peer.next.wrapping_sub(peer.acked)
        || !hot[own].grow(segment)
    {
        return SegmentOutcome::Rare;
    }
    if newly_acked != 0 {
        let peer = &mut hot[own ^ 1];
        if peer.state & HOLES != 0 || peer.timed != 0 && !peer.time(segment) {
            return SegmentOutcome::Rare;
        }
        peer.acked = segment.ack;
    }
    hot[own].state |= ACK_TAKEN;
    hot[own].advance(segment);
    SegmentOutcome::Done
}

/// Processes an acknowledgement of the timed segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// The number of timed segments that the acknowledgement covers.
    covered: u8,
    /// Nanoseconds since the segment that it matches.
    pub(super) sample: Option<u64>,
}

impl Default for HotStream {
    fn default() -> Self {
        Self {
            next: 0,
            acked: 0,
            isn: 0,
            tsval: 0,
            rtt_min: NO_RTT,
            rtt_sum: 0,
            rtt_known: NO_RTT,
            timed_end: [0; TIMED],
            timed_low: [0; TIMED],
            timed_high: [0; TIMED],
            timed: 0,
            window: 0,
            max_segment: 0,
            rtt_count: 0,
            state: UNKNOWN | UNACKED,
            setup: 0,
            flight: 0,
        }
    }
}

impl HotStream {
    /// Forgets what [`track`] relies on where an acknowledgement is repeated: the segment is not ordinary, or is not tracked.
    #[inline(always)]
    pub fn forget_ack(&mut self) {
        self.state &= !ACK_TAKEN;
    }

    /// True while something is undecided: [`finish`](super::finish) needs the cold part only then.
    #[inline]
    pub fn is_undecided(&self) -> bool {
        self.state & HOLES != 0
    }

    /// Books the round trips that were measured and not booked yet. They belong to the open window: to be
    /// called before it turns, and before the record ends.
    #[inline]
    pub fn book_rtt(&mut self, booked: &mut LossCounts) {
        booked.add_rtt(self.rtt_count.into(), self.rtt_min.into(), self.rtt_sum.into());
        (self.rtt_count, self.rtt_min, self.rtt_sum) = (0, NO_RTT, 0);
    }

    /// Returns the smallest round trip of the connection on this side of the tap, nanoseconds.
    pub(super) fn known_rtt(&self) -> Option<u32> {
        (self.rtt_known != NO_RTT).then_some(self.rtt_known)
    }

    /// True for plain data or a plain acknowledgement that is next in the stream.
    #[inline(always)]
    fn is_next(&self, segment: &Segment) -> bool {
        segment.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK) == flag::ACK
            && segment.seq == self.next
    }

    /// Processes the segment's payload, which is next in the stream.
    #[inline(always)]
    fn advance(&mut self, segment: &Segment) {
        if segment.payload != 0 {
            self.next = segment.seq.wrapping_add(segment.payload);
            if self.state & (HOLES | BY_TIMESTAMP) != 0 {
                self.note_sent_behind(segment);
            } else {
                self.note_sent(segment);
            }
        }
    }

    /// True if the segment has the greatest window, none at all, or the most payload.
    #[inline(always)]
    fn outgrows(&self, segment: &Segment) -> bool {
        // One less, so that a window of zero is a new maximum too.
        segment.window.wrapping_sub(1) >= self.window || segment.payload > u32::from(self.max_segment)
    }

    /// Stores the greatest window and the largest segment. False if the rare path must handle them.
    fn grow(&mut self, segment: &Segment) -> bool {
        if segment.window == 0 || segment.payload > u16::MAX.into() {
            return false;
        }
        self.window = self.window.max(segment.window);
        self.max_segment = self.max_segment.max(segment.payload as u16);
        true
    }

    /// Begins to time a segment whose payload or flags end at `next`. If all places are taken, the latest is
    /// replaced by the end of a burst: the oldest ones are acknowledged next, and the end of a burst by
    /// itself.
    #[inline(always)]
    pub(super) fn note_sent(&mut self, segment: &Segment) {
        self.tsval = segment.tsval;
        let timed = usize::from(self.timed);
        if timed < TIMED {
            self.timed += 1;
            self.begin(timed, self.next, segment.time_ns);
        } else if segment.flags & (flag::PSH | flag::FIN) != 0 {
            self.begin(TIMED - 1, self.next, segment.time_ns);
        }
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, place: usize, end: u32, now: u64) {
        self.timed_end[place] = end;
        self.timed_low[place] = now as u32;
        self.timed_high[place] = (now >> 32) as u8;
    }

    /// Records a segment that is not to be timed: after a hole acknowledgements wait for its repair, and a
    /// retransmission keeps the only place.
    #[cold]
    pub(super) fn note_sent_behind(&mut self, segment: &Segment) {
        if self.state & BY_TIMESTAMP == 0 {
            self.tsval = segment.tsval;
        }
    }

    /// Takes the time from an acknowledgement of everything that is being timed, which is the most frequent
    /// case and the simplest. False for any other, or if the sample needs more room than there is here;
    /// nothing is changed then.
    #[inline(always)]
    fn time_all(&mut self, ack: &Segment) -> bool {
        let latest = (usize::from(self.timed) - 1).min(TIMED - 1);
        if is_before(ack.ack, self.timed_end[latest]) || self.state & BY_TIMESTAMP != 0 {
            return false;
        }
        let timing = self.timing_of(latest, latest + 1, ack);
        if !self.note(&timing) {
            return false;
        }
        self.timed = 0;
        self.note_flight(ack.ack);
        true
    }

    /// Takes the time from any acknowledgement. False if the sample needs more room than there is here.
    fn time(&mut self, ack: &Segment) -> bool {
        let timing = self.timing(ack);
        if !self.note(&timing) {
            return false;
        }
        self.forget_covered(ack.ack, &timing);
        true
    }

    /// Adds a sample to the sums. False if they have no room for it.
    #[inline(always)]
    fn note(&mut self, timing: &Timing) -> bool {
        let Some(sample) = timing.sample else { return true };
        let sum = u64::from(self.rtt_sum) + sample;
        if sum >= NO_RTT.into() || self.rtt_count == u8::MAX {
            return false;
        }
        let least = sample as u32;
        self.rtt_min = self.rtt_min.min(least);
        self.rtt_sum = sum as u32;
        self.rtt_count += 1;
        self.rtt_known = self.rtt_known.min(least);
        true
    }

    /// Looks the acknowledgement up among the timed segments. As in tshark, a sample is taken if it ends
    /// exactly where a timed segment does. If a receiver acknowledges many at once this may never happen:
    /// then the latest of those that it covers is used, if all places were taken; this sample is too long by
    /// the time between it and the last one acknowledged.
    pub(super) fn timing(&self, ack: &Segment) -> Timing {
        let is_covered = |place: usize| !is_before(ack.ack, self.timed_end[place]);
        let covered = (0..usize::from(self.timed)).take_while(|place| is_covered(*place)).count();
        match covered.checked_sub(1) {
            Some(latest) => self.timing_of(latest, covered, ack),
            None => Timing { covered: 0, sample: None },
        }
    }

    /// Returns the timing of an acknowledgement, if the number of timed segments that it covers, and the latest of them, are known.
    #[inline(always)]
    fn timing_of(&self, latest: usize, covered: usize, ack: &Segment) -> Timing {
        let is_match = if self.state & BY_TIMESTAMP != 0 {
            ack.timestamps().is_some_and(|(_, echo)| echo == self.tsval)
        } else {
            self.timed_end[latest] == ack.ack || covered == TIMED
        };
        let passed = u64::from(self.timed_high[latest]) << 32 | u64::from(self.timed_low[latest]);
        let sample = ack.time_ns.wrapping_sub(passed) & (TIME_SPAN - 1);
        // Beyond half of the span time went backwards.
        let is_taken = is_match && sample < TIME_SPAN / 2;
        Timing { covered: covered as u8, sample: is_taken.then_some(sample) }
    }

    /// Takes the round-trip sample, if any, and forgets the timed segments that were acknowledged.
    pub(super) fn settle(&mut self, ack: u32, timing: Timing) {
        if let Some(sample) = timing.sample {
            let sample = u32::try_from(sample).unwrap_or(NO_RTT).min(NO_RTT - 1);
            self.rtt_known = self.rtt_known.min(sample);
        }
        self.forget_covered(ack, &timing);
    }

    /// Forgets the timed segments that an acknowledgement covers, if any.
    fn forget_covered(&mut self, ack: u32, timing: &Timing) {
        let covered = usize::from(timing.covered);
        if covered == 0 {
            return;
        }
        for place in covered..TIMED {
            self.timed_end[place - covered] = self.timed_end[place];
            self.timed_low[place - covered] = self.timed_low[place];
            self.timed_high[place - covered] = self.timed_high[place];
        }
        self.timed -= timing.covered;
        if self.state & BY_TIMESTAMP != 0 {
            self.forget_timed();
        }
        self.note_flight(ack);
    }

    /// Stores what is in flight after an acknowledgement that covered a timed segment.
    #[inline(always)]
    fn note_flight(&mut self, ack: u32) {
        if self.state & HOLES == 0 && self.next.wrapping_sub(ack).wrapping_shr(self.flight.into()) != 0 {
            self.grow_flight(ack);
        }
    }

    #[cold]
    fn grow_flight(&mut self, ack: u32) {
        if let Ok(flight) = u32::try_from(distance(self.next, ack)) {
            self.flight = (u32::BITS - flight.leading_zeros()) as u8;
        }
    }

    /// Discards all that is being timed.
    pub(super) fn forget_timed(&mut self) {
        self.timed = 0;
        if self.state & BY_TIMESTAMP != 0 {
            self.state &= !BY_TIMESTAMP;
            // Which TSval was sent last is not known before the next segment: no other counts as newer until then.
            self.tsval = self.tsval.wrapping_add(1 << 30);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flight_is_below_the_least_power_of_two() {
        let mut stream = HotStream { state: 0, next: 5, ..HotStream::default() };
        // The acknowledgement of what was never sent gives no information on a flight; nor does a smaller
        // one.
        for (flight, kept) in
            [(0, 0), (-7, 0), (1, 1), (2, 2), (3, 2), (1000, 10), (4, 10), (i32::MAX, 31), (-1, 31)]
        {
            stream.note_flight(stream.next.wrapping_sub(flight as u32));
            assert_eq!(stream.flight, kept, "{flight}");
        }
    }

    #[test]
    fn an_acknowledgement_of_all_that_is_timed_is_timed_as_any_other() {
        let counted = |s: &HotStream| {
            (s.timed, s.rtt_min, s.rtt_sum, s.rtt_known, s.rtt_count, s.flight, s.acked, s.state)
        };
        let mut samples = 0;
        for timed in 1..=TIMED as u32 {
            // Also where sequence numbers and the time's 40 bits wrap, and where time runs backwards.
            for (start, began) in [(1_000, 5_000), (u32::MAX - 150, TIME_SPAN - 300), (7, 1 << 39)] {
                for (beyond, later) in [(0, 700), (1, 700), (900, 1), (0, 1 << 33), (0, u64::MAX)] {
                    let mut stream = HotStream { state: 0, rtt_known: 600, ..HotStream::default() };
                    for place in 0..timed {
                        let passed = began + u64::from(place) * 100;
                        stream.begin(place as usize, start.wrapping_add(place * 100), passed);
                    }
                    (stream.timed, stream.next) = (timed as u8, start.wrapping_add(5_000));
                    let ack = start.wrapping_add((timed - 1) * 100 + beyond);
                    let ack = Segment { ack, time_ns: began.wrapping_add(later), ..Segment::default() };
                    let (mut quick, mut general) = (stream, stream);
                    assert_eq!(quick.time_all(&ack), general.time(&ack));
                    assert_eq!(counted(&quick), counted(&general), "{timed} timed, {beyond} beyond, {later}");
                    samples += u32::from(quick.rtt_count);
                }
            }
        }
        // Of each three: the end itself, and with all places taken what lies beyond it too; a sum of 2^33 has no room.
        assert!(samples > 10, "{samples}");
    }
}
