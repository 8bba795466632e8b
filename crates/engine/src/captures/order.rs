//! Orders of captures: what is to be captured, and how far that is.

use super::{AROUND_FILE, MOST_HEADERS};
use model::{Counters, Span};
use packet::{Frame, KeyV4, KeyV6, MaskedKey, Packets, Tunnel, header_bytes};
use port::PcapngWriter;
use std::fs::File;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use task::rows::KeyFilter;

/// The part of each packet that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snap {
    /// The bytes up to the end of the transport header ([`packet::header_bytes`]).
    Headers,
    /// The first bytes of the packet, at most this many.
    Bytes(u32),
}

impl Snap {
    /// Bytes of a packet, at most.
    pub(super) fn most_bytes(self) -> u64 {
        match self {
            Self::Headers => MOST_HEADERS,
            Self::Bytes(bytes) => bytes.into(),
        }
    }
}

/// An order of a capture: what is to be captured.
#[derive(Clone, Debug)]
pub struct CaptureOrder {
    /// The name of the capture, which becomes that of the file.
    pub id: String,
    /// A line in the file that says what it is.
    pub comment: String,
    /// The filter of the packets that are captured.
    pub filter: KeyFilter,
    /// The greatest number of packets.
    pub packets: u64,
    /// The stream time in which packets count; `None` from now on.
    pub time: Option<Span>,
}

/// The reason why an order has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EndedBy {
    Packets = 1,
    Bytes,
    Time,
    Cancelled,
    RunEnd,
}

impl EndedBy {
    pub(super) const ALL: [Self; 5] = [Self::Packets, Self::Bytes, Self::Time, Self::Cancelled, Self::RunEnd];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Time => "time",
            Self::Cancelled => "cancelled",
            Self::RunEnd => "run_end",
        }
    }
}

/// An open order. All receivers count in it.
#[derive(Debug)]
pub(super) struct OpenCapture {
    pub(super) order: CaptureOrder,
    /// The number by which entries of rings name the order.
    pub(super) number: u64,
    pub(super) bytes: u64,
    snap: Snap,
    rate: u64,
    /// The number of packets that receivers have taken on.
    granted: AtomicU64,
    /// The number of granted packets that are handed over, or are not and counted.
    settled: AtomicU64,
    /// The bytes that granted packets take in the file.
    taken_bytes: AtomicU64,
    /// The second of stream time, and the packets in it: upper and lower 32 bits.
    second: AtomicU64,
    /// The end of the order: 0 while it is open, else [`EndedBy`].
    ended: AtomicU8,
    over_rate: AtomicU64,
    no_room: AtomicU64,
}

/// Numbers of orders.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl OpenCapture {
    pub(super) fn new(order: CaptureOrder, snap: Snap, rate: u32, bytes: u64) -> Self {
        Self {
            order,
            number: NUMBERS.fetch_add(1, Relaxed),
            bytes,
            snap,
            rate: rate.into(),
            granted: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            taken_bytes: AtomicU64::new(AROUND_FILE),
            second: AtomicU64::new(0),
            ended: AtomicU8::new(0),
            over_rate: AtomicU64::new(0),
            no_room: AtomicU64::new(0),
        }
    }

    /// Returns true if the order wants the packet of this time, the only one that the bursts have. `now_ns`: the begin of the receiver's
    /// window: a packet that is late does not come after the end.
    pub(super) fn wants(&self, time_ns: u64, now_ns: u64, packets: Packets<'_>) -> bool {
        let of = |v4: Option<&KeyV4>, v6: Option<&KeyV6>| match (v4, v6) {
            (Some(key), _) => self.holds(key),
            (None, Some(key)) => self.holds(key),
            (None, None) => false,
        };
        let is_in = |time: &Span| time.start_ns <= time_ns && time_ns.max(now_ns) < time.end_ns;
        self.ended.load(Relaxed) == 0
            && self.order.time.as_ref().is_none_or(is_in)
            && of(packets.v4.first().map(|packet| &packet.key), packets.v6.first().map(|packet| &packet.key))
    }

    fn holds<K: MaskedKey>(&self, key: &K) -> bool {
        self.order.filter.holds(key)
    }

    /// Bytes of a frame that are kept.
    pub(super) fn captured(&self, frame: &Frame<'_>, tunnel: Tunnel) -> usize {
        match self.snap {
            Snap::Headers => header_bytes(frame, tunnel).min(MOST_HEADERS as usize),
            Snap::Bytes(bytes) => frame.data.len().min(bytes as usize),
        }
    }

    /// Returns true if one more packet is within the rate; otherwise it is counted.
    pub(super) fn is_within_rate(&self, time_ns: u64) -> bool {
        let second = time_ns / 1_000_000_000;
        let next = |state: u64| match state >> 32 == second & 0xffff_ffff {
            // Packets of a second before, which come late, begin it anew: the rate is that of the file.
            false => Some((second & 0xffff_ffff) << 32 | 1),
            true => (state & 0xffff_ffff < self.rate).then_some(state + 1),
        };
        let is_within = self.second.fetch_update(Relaxed, Relaxed, next).is_ok();
        self.over_rate.fetch_add(u64::from(!is_within), Relaxed);
        is_within
    }

    /// Counts one more packet that had no room on its way.
    pub(super) fn has_no_room(&self) {
        self.no_room.fetch_add(1, Relaxed);
    }

    /// Takes one more packet on, if the order still does; once that is handed over, [`OpenCapture::settle`] must be called.
    pub(super) fn grant(&self, captured: usize) -> bool {
        let ticket = self.granted.fetch_add(1, SeqCst);
        if ticket >= self.order.packets {
            self.settled.fetch_add(1, SeqCst);
            return false;
        }
        let bytes = PcapngWriter::<File>::packet_bytes(captured);
        if self.taken_bytes.fetch_add(bytes, SeqCst) + bytes > self.bytes {
            self.end(EndedBy::Bytes);
            self.settled.fetch_add(1, SeqCst);
            return false;
        }
        if ticket + 1 == self.order.packets {
            self.end(EndedBy::Packets);
        }
        true
    }

    /// Counts a granted packet as handed over.
    pub(super) fn settle(&self) {
        self.settled.fetch_add(1, SeqCst);
    }

    /// Ends the order, unless it has ended.
    pub(super) fn end(&self, by: EndedBy) {
        let _ = self.ended.compare_exchange(0, by as u8, SeqCst, SeqCst);
    }

    pub(super) fn cancel(&self) {
        self.end(EndedBy::Cancelled);
    }

    /// Returns the reason why the order has ended, once all that it took on is handed over.
    pub(super) fn ended(&self) -> Option<EndedBy> {
        let ended = self.ended.load(SeqCst);
        let by = EndedBy::ALL.into_iter().find(|by| *by as u8 == ended)?;
        // In this order: what is granted meanwhile is not settled.
        let settled = self.settled.load(SeqCst);
        (self.granted.load(SeqCst) == settled).then_some(by)
    }

    /// Returns the numbers of packets that the order did not get, by cause.
    pub(super) fn dropped(&self) -> Counters {
        let counters = [("capture_rate", &self.over_rate), ("capture_room", &self.no_room)];
        Counters(counters.map(|(name, count)| (name.to_owned(), count.load(SeqCst))).to_vec())
    }
}
