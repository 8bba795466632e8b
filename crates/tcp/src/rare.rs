//! The path of every other segment: those that open, fill or decide holes, are repeated, set up or end a
//! connection, or are implausible.

mod acknowledgement;
mod decision;
mod sequence;
mod timing;
mod trust;

use super::cold::ColdStream;
use super::reach::{self, SMALL};
use super::segment::{Segment, flag};
use super::serial::is_before;
use super::stream::{HotStream, PENDING, SegmentOutcome, UNACKED, UNKNOWN, track_open};
use flow::LossCounts;

/// The reordering window is at least this long, nanoseconds: tshark's limit if it knows no round trip.
const MIN_REORDERING_NS: u64 = 3_000_000;

/// No segment has more payload (jumbograms are smaller in practice).
const MAX_PAYLOAD: u32 = 1 << 24;

/// A stream with all its state.
struct FullStream<'a> {
    stream: &'a mut HotStream,
    cold: &'a mut ColdStream,
    booked: &'a mut LossCounts,
}

/// The decision whether a segment belongs to the connection.
#[derive(PartialEq, Eq)]
enum SegmentVerdict {
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
    if track_open(hot, direction, segment) == SegmentOutcome::Done {
        return;
    }
    hot.iter_mut().for_each(HotStream::forget_ack);
    let window_ns = reordering_window_ns(hot);
    let segment = &Segment { payload: segment.payload.min(MAX_PAYLOAD), ..*segment };
    let sides = hot.iter_mut().zip(cold).zip(booked);
    let mut sides = sides.map(|((stream, cold), booked)| FullStream { stream, cold, booked });
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
    } else if side.sequence(peer.stream, segment, window_ns) == SegmentVerdict::Taken {
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
    let mut side = FullStream { stream, cold, booked };
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
fn reset(side: &mut FullStream<'_>, peer: &mut FullStream<'_>, segment: &Segment) {
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
