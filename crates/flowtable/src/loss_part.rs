//! TCP losses of every pair of flows (`--loss`): the tracker's state in arenas parallel to the table's.

use crate::cuckoo::{MAX_ENTRIES, NONE};
use arena::Limits;
use arena::{Arena, OutOfMemory};
use flow::Loss;
use packet::{KeyedPacket, TcpSegment};
use std::cell::Cell;
use tcp::{ColdStream, HotStream, LossCounts, Segment, SegmentOutcome, finish, track, track_rare};

/// Loss counts that were booked for a pair, by direction.
#[derive(Clone, Copy, Debug, Default)]
struct Booked {
    /// Counts of the open window, which the tracker writes.
    window: [LossCounts; 2],
    /// Counts of the record without the open window.
    sealed: [LossCounts; 2],
    /// Counts of the open window by records that have ended, and while there was no record.
    left: [LossCounts; 2],
}

const _: () = assert!(MAX_ENTRIES <= NONE as usize >> 1);

/// The tracker's state of every pair, by entry. 880 bytes a pair, of which an ordinary segment touches one
/// cache line, or two if it acknowledges new data.
#[derive(Debug)]
pub(crate) struct LossPart {
    hot: Arena<[HotStream; 2]>,
    cold: Arena<[ColdStream; 2]>,
    booked: Arena<Booked>,
}

impl LossPart {
    pub(crate) fn new(entries: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        Ok(Self {
            hot: Arena::reserve(entries, limits)?,
            cold: Arena::reserve(entries, limits)?,
            booked: Arena::reserve(entries, limits)?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.hot.bytes() + self.cold.bytes() + self.booked.bytes()
    }

    /// Makes room for entry number `entry`.
    pub(crate) fn make_room(&mut self, entry: usize) -> bool {
        while self.hot.len() <= entry {
            if !(self.hot.make_room() && self.cold.make_room() && self.booked.make_room()) {
                return false;
            }
            self.hot.push(Default::default());
            self.cold.push(Default::default());
            self.booked.push(Default::default());
        }
        true
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize) {
        // A line a slot, pair after pair.
        self.hot.prefetch_line(0, slot);
    }

    /// A new pair begins; the hot part records that the cold part is not in use.
    pub(crate) fn clear(&mut self, entry: usize) {
        self.hot[entry] = Default::default();
        self.booked[entry] = Default::default();
    }

    /// A new record begins in `slot`; what is open in the connection continues. What was booked without a
    /// record counts in the window only.
    pub(crate) fn begin(&mut self, slot: usize) {
        self.leave(slot);
    }

    /// Ends the record's part: what was booked so far does not belong to the next record.
    fn leave(&mut self, slot: usize) -> LossCounts {
        let (entry, direction) = (slot >> 1, slot & 1);
        let Booked { window, sealed, left } = &mut self.booked[entry];
        self.hot[entry][direction].book_rtt(&mut window[direction]);
        let counts = std::mem::take(&mut window[direction]);
        left[direction].add(&counts);
        let mut record = std::mem::take(&mut sealed[direction]);
        record.add(&counts);
        record
    }

    /// True if something was booked in the open window.
    pub(crate) fn has_open(&mut self, slot: usize) -> bool {
        let (entry, direction) = (slot >> 1, slot & 1);
        let Booked { window, left, .. } = &mut self.booked[entry];
        self.hot[entry][direction].book_rtt(&mut window[direction]);
        !(window[direction].is_empty() && left[direction].is_empty())
    }

    /// Discards a connection. What was booked for it is still to be sealed.
    pub(crate) fn forget(&mut self, entry: usize) {
        for direction in 0..2 {
            self.leave(entry << 1 | direction);
        }
        self.hot[entry] = Default::default();
    }

    /// Tracks the TCP segments among packets whose slots are known. Both directions of their pairs must be in the open window.
    /// `repeat_acks`: whether a packet has the acknowledgement number of the one before it in its slot.
    pub(crate) fn update<K>(
        &mut self,
        packets: &[KeyedPacket<K>],
        segments: &[TcpSegment],
        slots: &[Cell<u32>],
        repeat_acks: &[bool],
    ) {
        for (((packet, segment), slot), &repeats_ack) in
            packets.iter().zip(segments).zip(slots).zip(repeat_acks)
        {
            let (entry, direction) = (slot.get() as usize >> 1, slot.get() as usize & 1);
            // If there was no place for the flow, its slot is `NONE`, which has no entry.
            let Some(hot) = self.hot.get_mut(entry) else { continue };
            if !segment.is_some() {
                // Its acknowledgement number, if any, is the last one of the slot now.
                hot[direction].forget_ack();
            } else if track(hot, direction, &without_options(packet, segment), repeats_ack)
                == SegmentOutcome::Rare
            {
                self.update_rare(entry, direction, packet, segment);
            }
        }
    }

    #[cold]
    fn update_rare<K>(
        &mut self,
        entry: usize,
        direction: usize,
        packet: &KeyedPacket<K>,
        segment: &TcpSegment,
    ) {
        let whole = whole_segment(packet, segment);
        let booked = &mut self.booked[entry].window;
        track_rare(&mut self.hot[entry], &mut self.cold[entry], direction, &whole, booked);
    }

    /// Decides what is open of the direction in `slot`, because its record ends, and returns the record's
    /// figures.
    pub(crate) fn end(&mut self, slot: usize) -> Loss {
        let (entry, direction) = (slot >> 1, slot & 1);
        let booked = &mut self.booked[entry].window[direction];
        finish(&mut self.hot[entry][direction], &mut self.cold[entry][direction], booked);
        Loss::from(&self.leave(slot))
    }

    /// Returns what was booked in the closing window; the open record's part is added to the record.
    pub(crate) fn seal(&mut self, slot: usize) -> LossCounts {
        let (entry, direction) = (slot >> 1, slot & 1);
        let Booked { window, sealed, left } = &mut self.booked[entry];
        self.hot[entry][direction].book_rtt(&mut window[direction]);
        let mut counts = std::mem::take(&mut window[direction]);
        sealed[direction].add(&counts);
        counts.add(&std::mem::take(&mut left[direction]));
        counts
    }

    pub(crate) fn forget_all(&mut self) {
        self.hot.clear();
        self.cold.clear();
        self.booked.clear();
    }
}

/// Returns the fields of a segment that [`track`] uses. Including the options costs every segment ten instructions.
#[inline(always)]
fn without_options<K>(packet: &KeyedPacket<K>, segment: &TcpSegment) -> Segment {
    let fields = &packet.fields;
    Segment {
        time_ns: fields.time_ns,
        seq: fields.tcp_seq,
        ack: fields.tcp_ack,
        payload: segment.payload,
        window: fields.tcp_win,
        flags: fields.tcp_flags,
        tsval: segment.tsval(),
        ..Segment::default()
    }
}

/// Returns the fields of a segment with its options.
pub(crate) fn whole_segment<K>(packet: &KeyedPacket<K>, segment: &TcpSegment) -> Segment {
    without_options(packet, segment)
        .with_window_scale(segment.window_scale())
        .with_timestamps(segment.timestamps())
}
