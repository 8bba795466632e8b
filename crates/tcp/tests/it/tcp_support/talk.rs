//! Segments written by hand: A (direction 0) sends data, B (direction 1) acknowledges.

use tcp::{LossCounts, Segment, TcpConnection, flag};

pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;

pub(crate) const MS: u64 = 1_000_000;

/// A connection and what is written down for it. Sequence numbers are offsets: 0 is the first byte after the SYN.
pub(crate) struct Talk {
    pub(crate) connection: TcpConnection,
    isn: [u32; 2],
    /// Offset that each side has sent to, and that it acknowledges.
    sent: [u32; 2],
    acks: [u32; 2],
    pub(crate) window: [u16; 2],
    pub(crate) now: u64,
    pub(crate) timestamps: [Option<(u32, u32)>; 2],
}

impl Talk {
    /// Nothing was seen yet.
    pub(crate) fn new(isn: [u32; 2]) -> Self {
        let connection = TcpConnection::default();
        let (sent, acks) = ([0; 2], [0; 2]);
        Self { connection, isn, sent, acks, window: [2048; 2], now: 1_000 * MS, timestamps: [None; 2] }
    }

    /// After a handshake of three segments at one time, with windows of 2048 × 2^5 (64 KiB) from then on. What it
    /// booked is taken away.
    pub(crate) fn open(isn: [u32; 2]) -> Self {
        let mut talk = Self::new(isn);
        talk.handshake(Some(5), 0);
        let _ = talk.connection.take();
        talk
    }

    /// A SYN, its answer and the acknowledgement, each `delay` ns after the one before.
    pub(crate) fn handshake(&mut self, scale: Option<u8>, delay: u64) {
        self.syn(A, flag::SYN, scale);
        self.now += delay;
        self.syn(B, flag::SYN | flag::ACK, scale);
        self.now += delay;
        self.ack(A, 0);
    }

    pub(crate) fn syn(&mut self, side: usize, flags: u8, scale: Option<u8>) {
        let segment = self.segment(side, u32::MAX, 0, flags).with_window_scale(scale);
        self.connection.segment(side, &segment);
    }

    /// The segment that `side` would send: `payload` bytes from `offset` on.
    pub(crate) fn segment(&self, side: usize, offset: u32, payload: u32, flags: u8) -> Segment {
        let base = |side: usize| self.isn[side].wrapping_add(1);
        Segment {
            time_ns: self.now,
            seq: base(side).wrapping_add(offset),
            ack: if flags & flag::ACK == 0 { 0 } else { base(1 - side).wrapping_add(self.acks[side]) },
            payload,
            window: self.window[side],
            flags,
            ..Segment::default()
        }
        .with_timestamps(self.timestamps[side])
    }

    /// `side` sends `payload` bytes from `offset` on.
    pub(crate) fn data(&mut self, side: usize, offset: u32, payload: u32) {
        self.flags(side, offset, payload, flag::ACK);
    }

    pub(crate) fn flags(&mut self, side: usize, offset: u32, payload: u32, flags: u8) {
        let segment = self.segment(side, offset, payload, flags);
        self.sent[side] = self.sent[side].max(offset + payload + u32::from(flags & flag::FIN != 0));
        self.connection.segment(side, &segment);
    }

    /// `side` acknowledges the other's bytes before `offset`, from where it is itself.
    pub(crate) fn ack(&mut self, side: usize, offset: u32) {
        self.acks[side] = offset;
        self.data(side, self.sent[side], 0);
    }

    pub(crate) fn wait(&mut self, ns: u64) {
        self.now += ns;
    }

    /// What was booked since the last time.
    pub(crate) fn take(&mut self) -> [LossCounts; 2] {
        self.connection.take()
    }

    /// The same for A, without round trips; B must have none.
    pub(crate) fn booked(&mut self) -> LossCounts {
        let [a, b] = self.take();
        assert_eq!(without_rtt(b), LossCounts::default(), "B's counts");
        without_rtt(a)
    }

    /// The same at the end of the record.
    pub(crate) fn finished(&mut self) -> LossCounts {
        let [a, b] = self.connection.finish();
        assert_eq!(without_rtt(b), LossCounts::default(), "B's counts");
        without_rtt(a)
    }
}

pub(crate) fn without_rtt(counts: LossCounts) -> LossCounts {
    LossCounts { rtt_count: 0, rtt_min_ns: 0, rtt_sum_ns: 0, ..counts }
}
