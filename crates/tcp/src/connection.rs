//! Hot and cold parts of one connection together, for callers without arenas for them.

use super::{ColdStream, HotStream, LossCounts, Segment, SegmentOutcome, finish, track, track_rare};

/// A TCP connection: both directions, with what was booked for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnection {
    hot: [HotStream; 2],
    cold: [ColdStream; 2],
    booked: [LossCounts; 2],
    /// Acknowledgement number of each direction's latest segment.
    acks: [u32; 2],
}

impl TcpConnection {
    /// Takes a segment that `direction` (0 or 1) sent.
    pub fn segment(&mut self, direction: usize, segment: &Segment) {
        let repeats_ack = std::mem::replace(&mut self.acks[direction], segment.ack) == segment.ack;
        if track(&mut self.hot, direction, segment, repeats_ack) == SegmentOutcome::Rare {
            track_rare(&mut self.hot, &mut self.cold, direction, segment, &mut self.booked);
        }
    }

    /// Takes a segment that cannot be parsed.
    pub fn unparsed(&mut self, direction: usize) {
        self.hot[direction & 1].forget_ack();
    }

    /// Decides what is open of a direction.
    pub fn finish_direction(&mut self, direction: usize) {
        let at = direction & 1;
        finish(&mut self.hot[at], &mut self.cold[at], &mut self.booked[at]);
    }

    /// Forgets all that is known of its streams. What was booked stays.
    pub fn forget_streams(&mut self) {
        for (stream, booked) in self.hot.iter_mut().zip(&mut self.booked) {
            stream.book_rtt(booked);
        }
        (self.hot, self.acks) = Default::default();
    }

    /// True if nothing was booked since [`TcpConnection::take`].
    pub fn has_booked_nothing(&mut self) -> bool {
        for (stream, booked) in self.hot.iter_mut().zip(&mut self.booked) {
            stream.book_rtt(booked);
        }
        self.booked.iter().all(LossCounts::is_empty)
    }

    /// Returns what was booked since the last call, by direction: a window's counts at its end. Undecided
    /// holes remain.
    pub fn take(&mut self) -> [LossCounts; 2] {
        for (stream, booked) in self.hot.iter_mut().zip(&mut self.booked) {
            stream.book_rtt(booked);
        }
        std::mem::take(&mut self.booked)
    }

    /// Returns what was booked since the last call, by direction, with everything decided.
    pub fn finish(&mut self) -> [LossCounts; 2] {
        for ((stream, cold), booked) in self.hot.iter_mut().zip(&mut self.cold).zip(&mut self.booked) {
            finish(stream, cold, booked);
        }
        self.take()
    }
}
