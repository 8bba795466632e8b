//! The exact flow table: every flow of one address family, its window's counts and its totals.

use crate::arena::{Arena, OutOfMemory};
use crate::cuckoo::{CuckooIndex, MAX_ENTRIES, NONE};
use crate::entry::{CARRY, Cold, Counts, Hot, coarse};
use crate::limits::Limits;
use packet::{Key, KeyBurst, KeyedPacket, PacketFields, Seed};
use record::{EndReason, FlowRecord};

/// Who takes what the table gives out.
pub trait FlowSink {
    /// What a record counted in one window: the open one ([`FlowTable::turn`] counts them), or the one before it. A
    /// record that had packets in a window comes once for it.
    fn window_counts<K: Key>(&mut self, window: u16, key: &K, counts: Counts);
    /// A finished record.
    fn flow_ended(&mut self, record: FlowRecord);
    /// A packet of a new flow for which there was no place: it is counted nowhere else.
    fn table_full(&mut self, packet: &PacketFields);
}

/// When a flow record ends; `u64::MAX` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Without a packet for longer than this, in nanoseconds (RFC 5470, section 5.1.1).
    pub idle_ns: u64,
    /// This old or older, in nanoseconds.
    pub active_ns: u64,
}

impl Timeouts {
    /// The reason to end a flow at `now`, if there is one. Where both are, the one that was due first: it does not
    /// depend on when anybody looks.
    #[inline]
    fn due(&self, now: u64, stime: u64, ltime: u64) -> Option<EndReason> {
        let is_idle = now.saturating_sub(ltime) > self.idle_ns;
        let is_aged = self.active_ns != u64::MAX && now.saturating_sub(stime) >= self.active_ns;
        match (is_idle, is_aged) {
            (false, false) => None,
            (true, true) if stime.saturating_add(self.active_ns) > ltime.saturating_add(self.idle_ns) => {
                Some(EndReason::Idle)
            }
            (_, true) => Some(EndReason::Active),
            (true, false) => Some(EndReason::Idle),
        }
    }
}

/// Packets that go through the table's stages together. While one stage works on a batch, the memory that the next one
/// needs is on its way: 32 to 64 outstanding lines cover a memory access of 140 ns.
const BATCH: usize = 64;

/// A hash table of flows with exact counts, for keys of one kind.
///
/// Records do not depend on when [`FlowTable::sweep`] comes by: a packet that finds its flow past a timeout ends
/// that record itself.
#[derive(Debug)]
pub struct FlowTable<K: Key> {
    index: CuckooIndex,
    hot: Arena<Hot<K>>,
    cold: Arena<Cold>,
    seed: Seed,
    limits: Limits,
    timeouts: Timeouts,
    /// `timeouts.active_ns` in the unit of `Hot::start_coarse`.
    active_coarse: u32,
    /// The entries that were in use and are not form a list from here on.
    free: u32,
    len: usize,
    /// Stream time.
    now: u64,
    /// The open window.
    window: u16,
    /// Next entry to sweep.
    swept: usize,
    /// True from a turn until a sweep has come round.
    is_sealing: bool,
}

impl<K: Key> FlowTable<K> {
    /// An empty table. It takes 128 KiB to begin with and grows within `limits`.
    ///
    /// # Errors
    /// Where address space for the most that `limits` allow cannot be reserved.
    pub fn new(seed: Seed, timeouts: Timeouts, limits: &Limits) -> Result<Self, OutOfMemory> {
        let per_flow = size_of::<Hot<K>>() + size_of::<Cold>();
        let most = limits.flow_limit().min(limits.byte_limit() / per_flow + 1).min(MAX_ENTRIES);
        Ok(Self {
            index: CuckooIndex::new(most, limits)?,
            hot: Arena::reserve(most, limits)?,
            cold: Arena::reserve(most, limits)?,
            seed,
            limits: limits.clone(),
            timeouts,
            active_coarse: u32::try_from(timeouts.active_ns >> 30).unwrap_or(u32::MAX),
            free: NONE,
            len: 0,
            now: 0,
            window: 0,
            swept: 0,
            is_sealing: false,
        })
    }

    /// Flows in the table.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without flows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory taken.
    pub fn bytes(&self) -> usize {
        self.index.bytes() + self.hot.bytes() + self.cold.bytes()
    }

    /// Sets stream time; it never goes back.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Counts a burst. A packet older than stream time counts as of now.
    pub fn update_burst(&mut self, burst: &KeyBurst<K>, sink: &mut impl FlowSink) {
        for batch in burst.packets().chunks(BATCH) {
            // Whether buckets are being split or windows closed is asked once per batch, not per packet.
            if self.index.is_splitting() || self.is_sealing {
                self.update_batch::<true>(batch, sink);
            } else {
                self.update_batch::<false>(batch, sink);
            }
        }
    }

    #[inline(always)]
    fn update_batch<const IS_CHANGING: bool>(&mut self, batch: &[KeyedPacket<K>], sink: &mut impl FlowSink) {
        // What the stages know of each packet: its bucket, and then its entry.
        let mut found = [NONE; BATCH];
        for (packet, found) in batch.iter().zip(&mut found) {
            let bucket = self.index.first_bucket_of::<IS_CHANGING>(packet.hash);
            self.index.prefetch(bucket);
            *found = bucket;
        }
        // While windows are being closed, the first packet of a flow needs its cold line too.
        let mut missed = [0u8; BATCH];
        let mut misses = 0;
        for (i, (packet, found)) in batch.iter().zip(&mut found).enumerate() {
            *found = self.index.candidate(*found, packet.hash);
            // Noted without a branch: whether a key lies in its first bucket cannot be guessed.
            missed[misses % BATCH] = i as u8;
            misses += usize::from(*found == NONE);
            let entry = if *found == NONE { 0 } else { *found as usize };
            self.hot.prefetch(entry);
            if IS_CHANGING {
                self.cold.prefetch(entry);
            }
        }
        let missed = &missed[..misses];
        for &i in missed {
            self.index.prefetch(self.index.second_bucket(batch[usize::from(i)].hash));
        }
        for &i in missed {
            let (hash, found) = (batch[usize::from(i)].hash, &mut found[usize::from(i)]);
            *found = self.index.candidate(self.index.second_bucket(hash), hash);
            self.hot.prefetch(*found as usize);
        }
        let mut now = self.now;
        for (packet, &entry) in batch.iter().zip(&found) {
            let KeyedPacket { key, hash, fields } = packet;
            now = now.max(fields.time_ns);
            match self.hot.get_mut(entry as usize) {
                Some(hot) if hot.key == *key => {
                    // One branch for all that is rare, late packets included.
                    let idle = now.wrapping_sub(hot.ltime) > self.timeouts.idle_ns;
                    let aged = coarse(now).wrapping_sub(hot.start_coarse) >= self.active_coarse;
                    let late = fields.time_ns < hot.ltime;
                    let turned = hot.window != self.window;
                    let carries = hot.packets >= CARRY;
                    if !(idle | aged | late | turned | carries) {
                        hot.add(fields);
                    } else {
                        self.now = now;
                        self.add_rare(entry as usize, fields, sink);
                    }
                }
                // Not there when the batch was looked up, or another key with the same tag.
                _ => {
                    self.now = now;
                    self.find_or_insert(key, *hash, fields, sink);
                }
            }
        }
        self.now = now;
    }

    fn find_or_insert(&mut self, key: &K, hash: u64, packet: &PacketFields, sink: &mut impl FlowSink) {
        match self.index.find(hash, |entry| self.hot[entry as usize].key == *key) {
            Some(entry) => self.add_rare(entry as usize, packet, sink),
            None => {
                if !self.insert(key, hash, packet) {
                    sink.table_full(packet);
                }
            }
        }
    }

    /// Counts a packet of a known flow, whatever else is to be done with the flow first.
    #[cold]
    fn add_rare(&mut self, entry: usize, packet: &PacketFields, sink: &mut impl FlowSink) {
        let (hot, cold) = (&mut self.hot[entry], &mut self.cold[entry]);
        if let Some(reason) = self.timeouts.due(self.now, cold.stime, hot.ltime) {
            end(hot, cold, reason, sink);
            (*hot, *cold) = (Hot::first(hot.key, packet, self.window), Cold::first(packet));
            return;
        }
        if hot.window != self.window {
            seal(hot, cold, sink);
            hot.window = self.window;
        }
        if hot.packets >= CARRY {
            hot.packets -= CARRY;
            cold.carried += 1;
        }
        if packet.time_ns < cold.stime {
            (cold.stime, hot.start_coarse) = (packet.time_ns, coarse(packet.time_ns));
        }
        let ltime = hot.ltime.max(packet.time_ns);
        hot.add(packet);
        hot.ltime = ltime;
    }

    fn insert(&mut self, key: &K, hash: u64, packet: &PacketFields) -> bool {
        if !self.limits.take_flow() {
            return false;
        }
        let reused = (self.free != NONE).then_some(self.free as usize);
        let has_room =
            reused.is_some() || self.hot.len() < MAX_ENTRIES && self.hot.make_room() && self.cold.make_room();
        let entry = reused.unwrap_or(self.hot.len());
        if !has_room || !self.index.insert(hash, entry as u32) {
            self.limits.give_back_flows(1);
            return false;
        }
        let (hot, cold) = (Hot::first(*key, packet, self.window), Cold::first(packet));
        if reused.is_some() {
            self.free = self.hot[entry].start_coarse;
            (self.hot[entry], self.cold[entry]) = (hot, cold);
        } else {
            self.hot.push(hot);
            self.cold.push(cold);
        }
        self.len += 1;
        true
    }

    fn put_on_free_list(&mut self, entry: usize) {
        let hot = &mut self.hot[entry];
        hot.live = 0;
        hot.start_coarse = self.free;
        self.free = entry as u32;
    }

    /// Number of the open window, from 0 on, modulo 2^16.
    pub fn window(&self) -> u16 {
        self.window
    }

    /// Opens the next window: the counts of each flow are sealed by its first packet in it, or by the sweep. The sweep
    /// must have gone all the way round since the last turn ([`FlowTable::sweep`] gave true).
    pub fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        self.swept = 0;
        self.is_sealing = true;
    }

    /// Looks at up to `entries` entries: ends flows that are past a timeout and seals the counts of closed windows. True
    /// when it has come to the end of the table; the next call begins anew.
    ///
    /// Linear, so that the processor reads ahead: a million flows take some 64 MB, that is about 6 ms.
    pub fn sweep(&mut self, entries: usize, sink: &mut impl FlowSink) -> bool {
        let end_at = self.hot.len().min(self.swept.saturating_add(entries));
        for entry in self.swept..end_at {
            let hot = &mut self.hot[entry];
            if hot.live == 0 {
                continue;
            }
            let idle = self.now.saturating_sub(hot.ltime) > self.timeouts.idle_ns;
            let aged = coarse(self.now).wrapping_sub(hot.start_coarse) >= self.active_coarse;
            if idle | aged {
                let cold = &mut self.cold[entry];
                if let Some(reason) = self.timeouts.due(self.now, cold.stime, hot.ltime) {
                    end(hot, cold, reason, sink);
                    self.remove(entry);
                    continue;
                }
            }
            if hot.window != self.window {
                seal(hot, &mut self.cold[entry], sink);
                hot.window = self.window;
            }
        }
        let done = end_at == self.hot.len();
        self.swept = if done { 0 } else { end_at };
        self.is_sealing &= !done;
        done
    }

    /// Entries that a whole sweep looks at.
    pub fn sweep_len(&self) -> usize {
        self.hot.len()
    }

    /// Ends every flow, because the source has ended, and leaves the table empty. A flow that was due by a timeout ends by
    /// that.
    pub fn end_all(&mut self, sink: &mut impl FlowSink) {
        for (hot, cold) in self.hot.iter_mut().zip(self.cold.iter_mut()).filter(|(hot, _)| hot.live != 0) {
            let reason = self.timeouts.due(self.now, cold.stime, hot.ltime).unwrap_or(EndReason::End);
            end(hot, cold, reason, sink);
        }
        self.limits.give_back_flows(self.len);
        (self.len, self.free, self.swept) = (0, NONE, 0);
        self.index.clear();
        self.hot.clear();
        self.cold.clear();
    }

    fn remove(&mut self, entry: usize) {
        let hash = self.hot[entry].key.hash(&self.seed);
        self.index.remove(hash, entry as u32);
        self.put_on_free_list(entry);
        self.len -= 1;
        self.limits.give_back_flows(1);
    }
}

impl<K: Key> Drop for FlowTable<K> {
    fn drop(&mut self) {
        self.limits.give_back_flows(self.len);
    }
}

/// Gives out the counts of the flow's window, if it has any.
fn seal<K: Key>(hot: &mut Hot<K>, cold: &mut Cold, sink: &mut impl FlowSink) {
    if hot.packets != 0 || cold.carried != 0 {
        let counts = hot.seal(cold);
        sink.window_counts(hot.window, &hot.key, counts);
    }
}

fn end<K: Key>(hot: &mut Hot<K>, cold: &mut Cold, reason: EndReason, sink: &mut impl FlowSink) {
    seal(hot, cold, sink);
    sink.flow_ended(hot.record(cold, reason));
}
