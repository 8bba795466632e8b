//! The hot part of a stream, and the path of the ordinary segment, which touches nothing else.

use super::counts::LossCounts;
use super::segment::{Segment, flag};
use super::serial::is_before;

/// What most segments read and write of one stream: the bytes that one direction sends. One cache line.
///
/// All zero is a stream of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct HotStream {
    /// Highest end of a segment seen: the sequence number expected next.
    pub(super) next: u32,
    /// Highest acknowledgement by the peer.
    pub(super) acked: u32,
    /// Sequence number of the SYN; where none was seen, the one before the first segment's.
    pub(super) isn: u32,
    /// TSval of the latest segment with payload. With [`BY_TIMESTAMP`] the one that the peer is to echo.
    pub(super) tsval: u32,
    /// Round trips that were measured and not booked yet: least and sum, nanoseconds.
    pub(super) rtt_min: u32,
    pub(super) rtt_sum: u32,
    /// Least round trip of the connection on this side of the tap, nanoseconds; 0 where none is known.
    pub(super) rtt_known: u32,
    /// Ends of the segments that are being timed, in the order of the sequence, and when they passed: nanoseconds,
    /// 40 bits. The time wraps after 18 minutes.
    pub(super) timed_end: [u32; TIMED],
    pub(super) timed_low: [u32; TIMED],
    pub(super) timed_high: [u8; TIMED],
    /// How many are being timed.
    pub(super) timed: u8,
    /// Greatest window that this direction advertised, unscaled, SYN aside.
    pub(super) window: u16,
    /// Largest payload of a segment, up to 65,535.
    pub(super) max_segment: u16,
    pub(super) rtt_count: u8,
    pub(super) state: u8,
    /// How the connection was set up: bits 0 to 3 hold the window scale option + 1, the others are flags.
    pub(super) setup: u8,
    /// The largest flight seen is below 2 to the power of this.
    pub(super) flight: u8,
}

const _: () = assert!(size_of::<HotStream>() == 64);

/// Segments of a stream that are timed at once.
pub(super) const TIMED: usize = 3;

/// Times of timed segments are kept modulo this.
const TIME_SPAN: u64 = 1 << 40;

/// A segment was seen: `next` is good.
pub(super) const KNOWN: u8 = 1 << 0;
/// `acked` is good.
pub(super) const ACKED: u8 = 1 << 1;
/// There are holes: see the cold part.
pub(super) const HOLES: u8 = 1 << 2;
/// There are holes that the peer acknowledged: they are decided when the reordering window is over.
pub(super) const PENDING: u8 = 1 << 3;
/// This direction's last window was zero.
pub(super) const ZERO_WINDOW: u8 = 1 << 4;
/// The one timed segment was sent again: only the echo of its timestamp tells which copy is acknowledged.
pub(super) const BY_TIMESTAMP: u8 = 1 << 5;

/// In `setup`: the window scale option + 1.
pub(super) const SCALE: u8 = 0x0f;
/// In `setup`: the SYN was seen.
pub(super) const SYN_SEEN: u8 = 1 << 4;
/// In `setup`: one byte was sent into a zero window; it may be acknowledged or not.
pub(super) const PROBED: u8 = 1 << 5;
/// In `setup`: the cold part belongs to this connection.
pub(super) const COLD: u8 = 1 << 6;

/// Whether a segment was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Tracked {
    /// All is done.
    Done,
    /// Nothing is done yet: [`track_rare`](super::track_rare) has to take the segment.
    Rare,
}

/// Takes a segment that `direction` (0 or 1) sent, if there is nothing special about it: it comes next in its
/// stream, acknowledges only what was seen, and nothing is open that it could decide.
#[inline(always)]
pub fn track(hot: &mut [HotStream; 2], direction: usize, segment: &Segment) -> Tracked {
    const NEEDED: u8 = KNOWN | ACKED;
    const SPECIAL: u8 = PENDING | ZERO_WINDOW;
    let [a, b] = hot;
    let (stream, peer) = if direction == 0 { (a, b) } else { (b, a) };

    // What is needed counts as a deviation where it is missing, so that one test answers for both streams.
    let deviation = (stream.state ^ NEEDED) | (peer.state ^ NEEDED);
    let is_plain = segment.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK) == flag::ACK;
    let newly_acked = segment.ack.wrapping_sub(peer.acked);
    let outstanding = peer.next.wrapping_sub(peer.acked);
    if !is_plain
        || deviation & (NEEDED | SPECIAL) != 0
        || segment.seq != stream.next
        || segment.window == 0
        || segment.payload > u32::from(u16::MAX)
        || newly_acked > outstanding
    {
        return Tracked::Rare;
    }
    if newly_acked != 0 {
        if peer.state & HOLES != 0 {
            return Tracked::Rare;
        }
        if peer.timed != 0 && !is_before(segment.ack, peer.timed_end[0]) && !peer.time(segment) {
            return Tracked::Rare;
        }
        peer.acked = segment.ack;
    }
    stream.window = stream.window.max(segment.window);
    if segment.payload != 0 {
        stream.next = segment.seq.wrapping_add(segment.payload);
        stream.max_segment = stream.max_segment.max(segment.payload as u16);
        stream.note_sent(segment);
    }
    Tracked::Done
}

/// What an acknowledgement says of the timed segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Timed segments that it covers.
    covered: u8,
    /// Nanoseconds since the segment that it matches.
    pub(super) sample: Option<u64>,
}

impl HotStream {
    /// True while something is undecided: [`finish`](super::finish) needs the cold part only then.
    #[inline]
    pub fn is_undecided(&self) -> bool {
        self.state & HOLES != 0
    }

    /// Books the round trips that were measured and not booked yet. They belong to the window that is open: to be called
    /// before it turns, and before the record ends.
    #[inline]
    pub fn book_rtt(&mut self, booked: &mut LossCounts) {
        booked.add_rtt(self.rtt_count.into(), self.rtt_min.into(), self.rtt_sum.into());
        (self.rtt_count, self.rtt_sum) = (0, 0);
    }

    /// Begins to time a segment whose payload or flags end at `next`. Where all places are taken, the latest is given
    /// up: the oldest ones are acknowledged next, and the last one of a burst is acknowledged by itself.
    #[inline(always)]
    pub(super) fn note_sent(&mut self, segment: &Segment) {
        if self.state & BY_TIMESTAMP != 0 {
            return;
        }
        self.tsval = segment.tsval;
        // Behind a hole acknowledgements wait for its repair.
        if self.state & HOLES == 0 {
            let place = usize::from(self.timed).min(TIMED - 1);
            self.timed_end[place] = self.next;
            self.timed_low[place] = segment.time_ns as u32;
            self.timed_high[place] = (segment.time_ns >> 32) as u8;
            self.timed = place as u8 + 1;
        }
    }

    /// Times by an acknowledgement that covers a timed segment. False where the sample needs more room than there is
    /// here; nothing is changed then.
    #[inline(never)]
    fn time(&mut self, ack: &Segment) -> bool {
        let timing = self.timing(ack);
        if let Some(sample) = timing.sample {
            let sum = u64::from(self.rtt_sum) + sample;
            if sum > u32::MAX.into() || self.rtt_count == u8::MAX {
                return false;
            }
            let sample = sample as u32;
            self.rtt_min = if self.rtt_count == 0 { sample } else { self.rtt_min.min(sample) };
            self.rtt_sum = sum as u32;
            self.rtt_count += 1;
        }
        self.settle(ack.ack, timing);
        true
    }

    /// Looks the acknowledgement up among the timed segments. As in tshark, a sample is taken only where it ends
    /// exactly where a timed segment does: what acknowledges more waited for more.
    pub(super) fn timing(&self, ack: &Segment) -> Timing {
        let timed = usize::from(self.timed);
        let covered = self.timed_end[..timed].iter().take_while(|end| !is_before(ack.ack, **end)).count();
        let is_match = covered != 0
            && if self.state & BY_TIMESTAMP != 0 {
                ack.timestamps().is_some_and(|(_, echo)| echo == self.tsval)
            } else {
                self.timed_end[covered - 1] == ack.ack
            };
        let sample = is_match.then(|| {
            let passed =
                u64::from(self.timed_high[covered - 1]) << 32 | u64::from(self.timed_low[covered - 1]);
            ack.time_ns.wrapping_sub(passed) & (TIME_SPAN - 1)
        });
        // Beyond half of the span time went backwards.
        Timing { covered: covered as u8, sample: sample.filter(|sample| *sample < TIME_SPAN / 2) }
    }

    /// Forgets the timed segments that were acknowledged and learns from what remains.
    pub(super) fn settle(&mut self, ack: u32, timing: Timing) {
        if let Some(sample) = timing.sample {
            // 0 means unknown.
            let sample = u32::try_from(sample).unwrap_or(u32::MAX).max(1);
            self.rtt_known = if self.rtt_known == 0 { sample } else { self.rtt_known.min(sample) };
        }
        if timing.covered == 0 {
            return;
        }
        let covered = usize::from(timing.covered);
        self.timed_end.copy_within(covered.., 0);
        self.timed_low.copy_within(covered.., 0);
        self.timed_high.copy_within(covered.., 0);
        self.timed -= timing.covered;
        if self.state & BY_TIMESTAMP != 0 {
            self.state &= !BY_TIMESTAMP;
            // Which TSval was sent last is not known before the next segment: no other counts as newer until then.
            self.tsval = self.tsval.wrapping_add(1 << 30);
        }
        if self.state & HOLES == 0 {
            let flight = self.next.wrapping_sub(ack);
            self.flight = self.flight.max((u32::BITS - flight.leading_zeros()) as u8);
        }
    }
}
