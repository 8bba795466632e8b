//! The connections of pinned flows of one address family.

use crate::cuckoo::{CuckooIndex, MAX_ENTRIES, NONE};
use crate::flow_table::FlowSink;
use crate::loss_part::whole_segment;
use crate::timeouts::Timeouts;
use arena::Limits;
use arena::{Arena, OutOfMemory};
use flow::WindowRow;
use packet::{KeyBurst, KeyedPacket, MaskedKey, PacketFields, PinnedPacket, Pins, Seed, TcpSegment};
use std::sync::Arc;
use tcp::{LossCounts, TcpConnection};

/// A connection that is followed, in both directions.
#[derive(Clone, Copy, Debug)]
struct TrackedConnection<K> {
    /// The key of the first direction.
    key: K,
    connection: TcpConnection,
    /// The losses that were booked in the window that is being sealed.
    closed: [LossCounts; 2],
    /// The latest packets.
    last: [PacketFields; 2],
    /// Stream time when they arrived.
    arrived: [u64; 2],
    /// True for a direction that has sent since it was last silent for too long.
    are_live: [bool; 2],
    /// The window that open counts belong to: the open one or the one before it.
    window: u16,
    /// The window of its first packet.
    since: u16,
    is_in_use: bool,
    /// The next free entry, in a free one.
    next_free: u32,
}

impl<K: MaskedKey> TrackedConnection<K> {
    fn new(key: K, window: u16) -> Self {
        Self {
            key,
            connection: TcpConnection::default(),
            closed: [LossCounts::default(); 2],
            last: [PacketFields::default(); 2],
            arrived: [0; 2],
            are_live: [false; 2],
            window,
            since: window,
            is_in_use: true,
            next_free: NONE,
        }
    }

    /// Counts that are of an earlier window are closed.
    #[inline]
    fn enter(&mut self, window: u16) {
        if self.window != window {
            self.closed = self.connection.take();
            self.window = window;
        }
    }

    /// Ends the directions that were silent for too long at `now`: what is open of them is decided.
    fn end_idle(&mut self, now: u64, timeouts: &Timeouts) {
        let before = self.are_live;
        for direction in 0..2 {
            // Its age ends nothing: there are no records.
            if self.are_live[direction] && timeouts.due(now, now, self.arrived[direction]).is_some() {
                self.connection.finish_direction(direction);
                self.are_live[direction] = false;
            }
        }
        if self.are_live != before && self.are_live == [false; 2] {
            self.connection.forget_streams();
        }
    }

    /// A row without packets for what was found out of a direction in a window in which it sent nothing.
    fn row(&self, direction: usize) -> WindowRow<K> {
        let last = &self.last[direction];
        let time_ns = self.arrived[direction];
        let key = if direction == 0 { self.key } else { self.key.reversed() };
        WindowRow {
            tcp_seq: last.tcp_seq,
            tcp_ack: last.tcp_ack,
            tcp_win: last.tcp_win,
            vlan: last.vlan,
            ip_ttl: last.ip_ttl,
            ip_tos: last.ip_tos,
            macs: last.macs,
            ..WindowRow::without_packets(key, time_ns, time_ns)
        }
    }
}

/// The connections of pinned flows of one address family.
#[derive(Debug)]
pub(super) struct ZoomTable<K: MaskedKey> {
    index: CuckooIndex,
    entries: Arena<TrackedConnection<K>>,
    free: u32,
    seed: Seed,
    timeouts: Timeouts,
    /// The pins of the open window.
    pins: Arc<Pins>,
    /// The pins of the window that is being sealed.
    closing_pins: Arc<Pins>,
    window: u16,
    /// Stream time.
    now: u64,
    /// The next entry to sweep.
    swept: usize,
    /// True from a turn until a sweep has completed a pass.
    is_sealing: bool,
}

impl<K: MaskedKey + PartialEq> ZoomTable<K> {
    /// An empty table, which takes memory out of `limits`. The first window is open and has these pins.
    ///
    /// # Errors
    /// If address space for the maximum of `limits` cannot be reserved.
    pub(super) fn new(
        seed: Seed,
        timeouts: Timeouts,
        pins: Arc<Pins>,
        limits: &Limits,
    ) -> Result<Self, OutOfMemory> {
        let most = (limits.bytes_allowed() / size_of::<TrackedConnection<K>>() + 1).min(MAX_ENTRIES);
        Ok(Self {
            index: CuckooIndex::new(most, limits)?,
            entries: Arena::reserve(most, limits)?,
            free: NONE,
            seed,
            timeouts,
            closing_pins: Arc::clone(&pins),
            pins,
            window: 0,
            now: 0,
            swept: 0,
            is_sealing: false,
        })
    }

    /// The open window, no packet of which has come, has these pins. Connections that they do not have are followed no longer; what is
    /// open of them is not decided.
    pub(super) fn set_pins(&mut self, pins: Arc<Pins>) {
        self.pins = pins;
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes() + self.entries.bytes()
    }

    /// Connections that are or were followed at one time.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.entries.len()
    }

    /// Follows a packet that a burst names. False if there is no memory for its connection.
    pub(super) fn count(&mut self, burst: &KeyBurst<K>, pinned: &PinnedPacket) -> bool {
        let PinnedPacket { at, segment } = pinned;
        let Some(packet) = burst.packets().get(*at) else { return true };
        if !segment.is_some() && !segment.is_unparsed() {
            return true;
        }
        let out_of_order = burst.out_of_order();
        let late = out_of_order.binary_search_by_key(at, |late| late.at);
        let arrived = late.map_or(packet.fields.time_ns, |late| out_of_order[late].arrived_ns);
        self.take(packet, segment, arrived)
    }

    /// False if there is no memory for the connection.
    fn take(&mut self, packet: &KeyedPacket<K>, segment: &TcpSegment, arrived: u64) -> bool {
        self.now = self.now.max(arrived);
        let (key, direction) = packet.key.pair();
        let hash = key.hash(&self.seed);
        let Some(at) = self.find(&key, hash).or_else(|| self.place(key, hash)) else { return false };
        let followed = &mut self.entries[at];
        followed.enter(self.window);
        followed.end_idle(self.now, &self.timeouts);
        followed.are_live[direction] = true;
        followed.arrived[direction] = arrived;
        followed.last[direction] = packet.fields;
        if segment.is_some() {
            followed.connection.segment(direction, &whole_segment(packet, segment));
        } else {
            followed.connection.unparsed(direction);
        }
        true
    }

    fn find(&self, key: &K, hash: u64) -> Option<usize> {
        let found = self.index.find(hash, |entry| self.entries[entry as usize].key == *key);
        found.map(|entry| entry as usize)
    }

    /// Begins to follow a connection; `None` if there is no memory.
    #[cold]
    fn place(&mut self, key: K, hash: u64) -> Option<usize> {
        let reused = (self.free != NONE).then_some(self.free as usize);
        let at = reused.unwrap_or(self.entries.len());
        if at >= MAX_ENTRIES || reused.is_none() && !self.entries.make_room() {
            return None;
        }
        if !self.index.insert(hash, at as u32) {
            return None;
        }
        let followed = TrackedConnection::new(key, self.window);
        match reused {
            Some(at) => {
                self.free = self.entries[at].next_free;
                self.entries[at] = followed;
            }
            None => self.entries.push(followed),
        }
        Some(at)
    }

    fn remove(&mut self, at: usize) {
        let hash = self.entries[at].key.hash(&self.seed);
        self.index.remove(hash, at as u32);
        let entry = &mut self.entries[at];
        entry.is_in_use = false;
        entry.next_free = self.free;
        self.free = at as u32;
    }

    /// The losses of a key's row of the window that is being sealed, to be asked once; `None` if they were not tracked: it was not
    /// pinned, or there was no memory.
    pub(super) fn loss(&mut self, key: &K) -> Option<LossCounts> {
        if !self.closing_pins.have(key) {
            return None;
        }
        let (first, direction) = key.pair();
        let at = self.find(&first, first.hash(&self.seed))?;
        let followed = &mut self.entries[at];
        if followed.since == self.window {
            return None;
        }
        followed.enter(self.window);
        Some(std::mem::take(&mut followed.closed[direction]))
    }

    /// Opens the next window. The sweep must have completed a pass since the last turn.
    pub(super) fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        self.closing_pins = Arc::clone(&self.pins);
        self.swept = 0;
        self.is_sealing = true;
    }

    /// Looks at up to `entries` entries at stream time `now`: ends what has been silent for too long. After a turn, when all rows of the
    /// flow table are sealed, what no row has been asked for is given as rows without packets, and what is not followed any longer is
    /// removed. True when it has reached the end; the next call starts again.
    pub(super) fn sweep(&mut self, entries: usize, now: u64, sink: &mut impl FlowSink) -> bool {
        self.now = self.now.max(now);
        let until = self.entries.len().min(self.swept.saturating_add(entries));
        for at in self.swept..until {
            let followed = &mut self.entries[at];
            if !followed.is_in_use {
                continue;
            }
            followed.enter(self.window);
            followed.end_idle(self.now, &self.timeouts);
            if !self.is_sealing {
                continue;
            }
            for direction in 0..2 {
                let closed = std::mem::take(&mut followed.closed[direction]);
                if !closed.is_empty() {
                    let window = self.window.wrapping_sub(1);
                    sink.window_sealed(window, followed.row(direction), Some(&closed));
                }
            }
            let is_over = followed.are_live == [false; 2] && followed.connection.has_booked_nothing();
            if is_over || !self.pins.have(&followed.key) {
                self.remove(at);
            }
        }
        let is_done = until == self.entries.len();
        self.swept = if is_done { 0 } else { until };
        self.is_sealing &= !is_done;
        is_done
    }

    /// The source has ended, and the last window is turned away from: what is open of all connections is decided in it. Rows are to be
    /// sealed and swept afterwards.
    pub(super) fn end(&mut self) {
        for followed in self.entries.iter_mut().filter(|followed| followed.is_in_use) {
            followed.enter(self.window);
            let decided = followed.connection.finish();
            followed.closed.iter_mut().zip(&decided).for_each(|(closed, decided)| closed.add(decided));
        }
        (self.swept, self.is_sealing) = (0, true);
    }
}
