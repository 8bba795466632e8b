//! The exact flow table: every flow of one address family, its window's counts and its totals.

use crate::arrivals::{Arrivals, Times};
use crate::cuckoo::{CuckooIndex, MAX_ENTRIES, NONE};
use crate::entry::{Cold, Hot, Slot};
use crate::loss_part::LossPart;
use crate::parts::Parts;
use crate::share::{FlowShare, Marks};
use crate::statistic_part::StatisticPart;
use crate::tally::Spills;
use crate::timeouts::{Stale, Timeouts};
use crate::touched::{TURNS_PER_PASS, Touched};
use arena::Limits;
use arena::ones;
use arena::{Arena, OutOfMemory};
use flow::{EndReason, FlowRecord, Loss, Metric, WindowRow};
use packet::{Key, KeyBurst, KeySpec, KeyedPacket, Numbers, OutOfOrder, PacketFields, Seed, TcpSegment};
use std::cell::Cell;
use std::ops::Range;
use tcp::LossCounts;
use tcp::flag::{ACK, SYN};

/// The receiver of the table's output.
pub trait FlowSink {
    /// The row of a key in a window that is over ([`FlowTable::turn`] counts windows, modulo 2^16): each key
    /// that had packets in it is reported once. `loss` has its losses, if tracked; a key may have losses
    /// without packets.
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, loss: Option<&LossCounts>);
    /// A finished record.
    fn flow_ended(&mut self, record: FlowRecord);
    /// False if records need not be made: [`FlowSink::flow_ended_unmade`] is called for each instead.
    #[inline]
    fn takes_records(&self) -> bool {
        true
    }
    /// A record has ended that was not made.
    fn flow_ended_unmade(&mut self) {}
    /// True if the totals of each record that ends are required as a row: [`FlowSink::record_row`].
    #[inline]
    fn takes_record_rows(&self) -> bool {
        false
    }
    /// The totals of a record that ends, of a pair those of each direction: the sum of its windows' rows.
    fn record_row<K: Key>(&mut self, _row: WindowRow<K>) {}
    /// A packet of a new flow for which there was no place: it is counted nowhere else.
    fn no_place<K: Key>(&mut self, key: &K, packet: &PacketFields);
}

/// IP protocol number.
const TCP: u8 = 6;
/// TCP flags of the answer to a SYN.
const SYN_ACK: u8 = SYN | ACK;

/// Packets that pass through the table's stages together. While one stage works on a batch, the memory that
/// the next one needs is being fetched: 32 to 64 outstanding lines cover a memory access of 140 ns.
const BATCH: usize = 64;

/// Listed flows whose lines are being fetched while one is sealed.
const AHEAD: usize = 16;

// One bit of a `u64` for each.
const _: () = assert!(BATCH <= 64);

/// The configuration of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableConfig {
    /// Seed of the keys' hash.
    pub seed: Seed,
    /// Parts of which keys consist.
    pub key: KeySpec,
    /// Timeouts by which records end.
    pub timeouts: Timeouts,
    /// Parts that records carry beyond the plain ones.
    pub parts: Parts,
}

impl TableConfig {
    /// Plain records of 5-tuples.
    pub fn plain(seed: Seed, timeouts: Timeouts) -> Self {
        Self { seed, key: KeySpec::FIVE_TUPLE, timeouts, parts: Parts::default() }
    }
}

/// A hash table of flows with exact counts, for keys of one kind.
///
/// Records do not depend on when [`FlowTable::sweep`] reaches a flow: a packet that finds its flow past a
/// timeout ends that record itself.
///
/// An entry holds one flow, or both directions of a pair where parts need them together. Each direction then
/// has its own slot, next to the other one's, so that a packet touches no more lines than without pairs.
#[derive(Debug)]
pub struct FlowTable<K: Key> {
    index: CuckooIndex,
    /// Hot lines, by slot.
    hot: Arena<Hot<K>>,
    /// Cold lines, by slot.
    cold: Arena<Cold>,
    spills: Spills,
    arrivals: Arrivals,
    statistics: Option<StatisticPart>,
    loss: Option<LossPart>,
    /// [`PLAIN`], [`NUMBERS`], [`OTHERS`] or [`LOSS`].
    part: u8,
    /// True if records keep the numbers of their packets.
    keeps_numbers: bool,
    /// Number of the latest packet.
    number: u64,
    config: TableConfig,
    limits: Limits,
    /// Slots of an entry, as a power of two: 0 or 1.
    slot_bits: u32,
    /// Entries that are or were in use.
    entries: usize,
    /// The entries that were in use and are not form a list from here on.
    free: u32,
    len: usize,
    /// Stream time.
    now: u64,
    /// The open window.
    window: u16,
    /// The next entry to sweep.
    swept: usize,
    /// True while a flow may not have entered the open window: from a turn until a sweep has completed a pass, and where flows are listed.
    is_sealing: bool,
    touched: Touched,
}

/// The kinds of change that a packet makes beyond the plain record: nothing, the whole of its number, anything but losses, or losses too.
/// Each has what those before it have. As numbers, because constant parameters are.
const PLAIN: u8 = 0;
const NUMBERS: u8 = 1;
const OTHERS: u8 = 2;
const LOSS: u8 = 3;

/// Packets that pass through the stages together.
#[derive(Clone, Copy)]
struct Batch<'a, K> {
    packets: &'a [KeyedPacket<K>],
    /// The segments of the packets: none, or at least as many.
    segments: &'a [TcpSegment],
    numbers: Numbers,
    /// The packets that did not arrive at their own times, with places from `first` on.
    out_of_order: &'a [OutOfOrder],
    first: usize,
}

/// The properties of a batch that are known at compile time.
struct Mode<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>;

impl<K: Key> FlowTable<K> {
    /// An empty table. It begins with 128 KiB and grows within `limits`.
    ///
    /// # Errors
    /// If address space for the maximum of `limits` cannot be reserved.
    pub fn new(config: TableConfig, limits: &Limits) -> Result<Self, OutOfMemory> {
        let parts = config.parts;
        let slot_bits = u32::from(parts.are_paired());
        let per_entry = (size_of::<Hot<K>>() + size_of::<Cold>()) << slot_bits;
        let most = limits.flow_limit().min(limits.bytes_allowed() / per_entry + 1).min(MAX_ENTRIES);
        Ok(Self {
            index: CuckooIndex::new(most, limits)?,
            hot: Arena::reserve(most << slot_bits, limits)?,
            cold: Arena::reserve(most << slot_bits, limits)?,
            spills: Spills::default(),
            arrivals: Arrivals::new(limits),
            statistics: StatisticPart::new(&parts, most << slot_bits, limits)?,
            loss: parts.loss.then(|| LossPart::new(most, limits)).transpose()?,
            part: match (parts.loss, parts.have_state(), parts.keep_numbers()) {
                (true, ..) => LOSS,
                (false, true, _) => OTHERS,
                (false, false, true) => NUMBERS,
                (false, false, false) => PLAIN,
            },
            keeps_numbers: parts.keep_numbers(),
            number: 0,
            config,
            limits: limits.clone(),
            slot_bits,
            entries: 0,
            free: NONE,
            len: 0,
            now: 0,
            window: 0,
            swept: 0,
            is_sealing: false,
            touched: Touched::default(),
        })
    }

    /// Flows in the table; both directions of a pair count.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without flows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let statistics = self.statistics.as_ref().map_or(0, StatisticPart::bytes);
        let loss = self.loss.as_ref().map_or(0, LossPart::bytes);
        self.index.bytes() + self.hot.bytes() + self.cold.bytes() + self.arrivals.bytes() + statistics + loss
    }

    /// Sets stream time; it never goes back.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Prefetches the index lines of these packets, ideally while the rest of their burst is parsed: that
    /// saves 5 % of a packet of a replay (1M flows, Zipf(1), 20 rounds in turn with a program without it;
    /// EPYC with 1 MiB of L2).
    #[inline]
    pub fn prefetch_index(&self, packets: &[KeyedPacket<K>]) {
        match self.index.is_splitting() {
            false => self.prefetch_index_in::<false>(packets),
            true => self.prefetch_index_in::<true>(packets),
        }
    }

    #[inline(always)]
    fn prefetch_index_in<const MAY_BE_SPLITTING: bool>(&self, packets: &[KeyedPacket<K>]) {
        for packet in packets {
            self.index.prefetch(self.index.first_bucket_of::<MAY_BE_SPLITTING>(packet.hash));
        }
    }

    /// Counts a burst. Stream time follows the packets, except those that the burst names as [out of order](KeyBurst::out_of_order); a
    /// packet that is late and not named leaves the times at which its flow's packets arrived as they are. The index lines are to
    /// be asked for before, by [`FlowTable::prefetch_index`]: else each packet waits for its own.
    pub fn update_burst(&mut self, burst: &KeyBurst<K>, sink: &mut impl FlowSink) {
        self.update_part(burst, 0..burst.packets().len(), sink);
    }

    /// Counts a part of a burst: the packets in these places.
    pub fn update_part(&mut self, burst: &KeyBurst<K>, part: Range<usize>, sink: &mut impl FlowSink) {
        let (packets, numbers) = (&burst.packets()[part.clone()], burst.numbers());
        if let Some(last) = packets.last() {
            self.number = self.number.max(numbers.of(&last.fields));
        }
        // Without timeouts nothing depends on when packets arrived.
        let mut out_of_order = if self.config.timeouts.are_off() { &[] } else { burst.out_of_order() };
        out_of_order = &out_of_order[out_of_order.partition_point(|packet| packet.at < part.start)..];
        let mut first = part.start;
        let part = self.part;
        for packets in packets.chunks(BATCH) {
            // What does not change within a batch is asked once per batch, not per packet.
            let is_changing = self.index.is_splitting() || self.is_sealing;
            let of_batch = out_of_order.iter().take_while(|packet| packet.at < first + packets.len()).count();
            let segments = tail(burst.segments(), first);
            let (out_of_order_here, later) = out_of_order.split_at(of_batch);
            let batch = Batch { packets, segments, numbers, out_of_order: out_of_order_here, first };
            out_of_order = later;
            first += packets.len();
            match (is_changing, self.slot_bits != 0, part) {
                (false, false, PLAIN) => self.update_batch(Mode::<false, false, PLAIN>, batch, sink),
                (true, false, PLAIN) => self.update_batch(Mode::<true, false, PLAIN>, batch, sink),
                (false, false, NUMBERS) => self.update_batch(Mode::<false, false, NUMBERS>, batch, sink),
                (true, false, NUMBERS) => self.update_batch(Mode::<true, false, NUMBERS>, batch, sink),
                (false, false, _) => self.update_batch(Mode::<false, false, OTHERS>, batch, sink),
                (true, false, _) => self.update_batch(Mode::<true, false, OTHERS>, batch, sink),
                (false, true, PLAIN) => self.update_batch(Mode::<false, true, PLAIN>, batch, sink),
                (true, true, PLAIN) => self.update_batch(Mode::<true, true, PLAIN>, batch, sink),
                (false, true, LOSS) => self.update_batch(Mode::<false, true, LOSS>, batch, sink),
                (true, true, LOSS) => self.update_batch(Mode::<true, true, LOSS>, batch, sink),
                (false, true, _) => self.update_batch(Mode::<false, true, OTHERS>, batch, sink),
                (true, true, _) => self.update_batch(Mode::<true, true, OTHERS>, batch, sink),
            }
        }
    }

    #[inline(always)]
    fn update_batch<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>(
        &mut self,
        _: Mode<IS_CHANGING, IS_PAIRED, PARTS>,
        batch: Batch<'_, K>,
        sink: &mut impl FlowSink,
    ) {
        let Batch { packets, segments, numbers, out_of_order, first } = batch;
        // The slot of each packet, as far as it is known.
        let found = [const { Cell::new(NONE) }; BATCH];
        let slot_of = |entry: u32, packet: &KeyedPacket<K>| match (IS_PAIRED, entry) {
            (false, entry) => entry,
            (true, NONE) => NONE,
            (true, entry) => {
                debug_assert_eq!(usize::from(packet.fields.direction), packet.key.direction());
                entry << 1 | u32::from(packet.fields.direction)
            }
        };
        // A bit for each packet, the last one's is the lowest.
        let mut missed = 0u64;
        let mut latest = self.now;
        for (packet, found) in packets.iter().zip(&found) {
            let bucket = self.index.first_bucket_of::<IS_CHANGING>(packet.hash);
            let (entry, is_there) = self.index.guess(bucket, packet.hash);
            let slot = slot_of(entry, packet);
            found.set(slot);
            latest = latest.max(packet.fields.time_ns);
            // Stored without a branch: whether a key lies in its first bucket is unpredictable.
            missed = missed << 1 | u64::from(!is_there);
            self.hot.prefetch(slot as usize);
            if PARTS == LOSS {
                self.hot.prefetch(slot as usize ^ 1);
            }
            // While windows are being closed, the first packet of a flow needs its cold line too; not while the index grows, where it
            // cost a tenth of the time at 800k flows.
            if IS_CHANGING && self.is_sealing {
                self.cold.prefetch(slot as usize);
            }
        }
        let missed = || ones(missed).map(|bit| packets.len() - 1 - bit);
        for i in missed() {
            self.index.prefetch(self.index.second_bucket(packets[i].hash));
        }
        for i in missed() {
            let slot = slot_of(self.index.second_candidate(packets[i].hash), &packets[i]);
            found[i].set(slot);
            self.hot.prefetch(slot as usize);
        }
        let found = &found[..packets.len()];
        // Some of it may be ahead of stream time: then some flows are looked at that are not due as yet.
        let stale = self.config.timeouts.stale_at(latest);
        // Packets before this one are in their parts. Parts are updated after the table, for a whole batch at
        // once, except where a record is closed: it must have all earlier packets.
        let mut in_parts = 0;
        // True for packets with the acknowledgement number of the one before them in their slot.
        let mut repeat_acks = [false; BATCH];
        let mut done = 0;
        let mut out_of_order =
            out_of_order.iter().map(|packet| (packet.at - first, packet.arrived_ns)).peekable();
        loop {
            let mode = Mode::<IS_CHANGING, IS_PAIRED, PARTS>;
            // A packet out of order is one of the rare ones, whatever its flow.
            let until = out_of_order.peek().map_or(packets.len(), |&(at, _)| at);
            let known = Batch { packets: &packets[..until], ..batch };
            let rare = self.count_known(mode, known, &found[..until], stale, &mut repeat_acks, done);
            if PARTS > NUMBERS {
                let part =
                    Batch { packets: &packets[in_parts..rare], segments: tail(segments, in_parts), ..batch };
                self.update_parts(part, &found[in_parts..rare], tail(&repeat_acks, in_parts));
                in_parts = rare;
            }
            let Some(packet) = packets.get(rare) else { break };
            let arrived = out_of_order.next_if(|&(at, _)| at == rare).map(|(_, arrived)| arrived);
            self.advance(arrived.unwrap_or(packet.fields.time_ns));
            found[rare].set(self.take_rare(packet, arrived, found[rare].get(), numbers, sink));
            done = rare + 1;
        }
        self.advance(match batch.out_of_order.last() {
            None => latest,
            Some(last) if last.at + 1 == first + packets.len() => last.arrived_ns,
            // What is latest may be ahead of stream time.
            Some(_) => packets.last().map_or(latest, |last| last.fields.time_ns),
        });
    }

    /// Counts packets from number `at` on that only add to a flow in the slot where it was `found`. Returns
    /// the number of the first that needs more.
    #[inline(always)]
    fn count_known<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>(
        &mut self,
        _: Mode<IS_CHANGING, IS_PAIRED, PARTS>,
        Batch { packets, numbers, .. }: Batch<'_, K>,
        found: &[Cell<u32>],
        stale: Stale,
        repeat_acks: &mut [bool; BATCH],
        at: usize,
    ) -> usize {
        let keeps_numbers = PARTS == NUMBERS || PARTS > NUMBERS && self.keeps_numbers;
        let window = self.window;
        // Borrowed once; otherwise their addresses are read again for each packet.
        let hot: &mut [Hot<K>] = &mut self.hot;
        let found = &found[..packets.len()];
        for i in at..packets.len() {
            let KeyedPacket { key, fields, .. } = &packets[i];
            let slot = found[i].get() as usize;
            // What a segment tells of the other direction is in that one's record only as long as it is not due. The line lies next
            // to this packet's own, and was prefetched with it.
            let peer_is_stale = PARTS == LOSS && hot.get(slot ^ 1).is_some_and(|peer| stale.may_be_due(peer));
            let Some(hot) = hot.get_mut(slot).filter(|hot| hot.key == *key) else { return i };
            let tally = hot.tally_with(fields);
            // One branch for all that is rare: late packets and those behind one that is out of order, the first of a window, and those
            // of flows without a record, whose latest packet is stale. Between the end of a sweep and the next turn all flows are in
            // the open window.
            let late = fields.time_ns < hot.arrived;
            let turned = IS_CHANGING && !hot.is_in(window);
            let vacant = IS_PAIRED && !hot.is_live();
            if late
                | stale.has(hot.arrived, hot.start_coarse)
                | turned
                | vacant
                | tally.spills()
                | peer_is_stale
            {
                return i;
            }
            // Not together with the hot lines, with which these would wait for line fill buffers.
            if PARTS > NUMBERS
                && let Some(statistics) = &self.statistics
            {
                statistics.prefetch(slot);
            }
            if PARTS == LOSS
                && let Some(loss) = &self.loss
            {
                let is_repeated = hot.tcp_ack == fields.tcp_ack;
                repeat_acks[i % BATCH] = is_repeated;
                loss.prefetch(slot);
                // The peer's if it acknowledges new data, else once more its own: the branch would be
                // unpredictable.
                loss.prefetch(slot ^ usize::from(!is_repeated));
            }
            hot.add(fields, tally);
            if keeps_numbers {
                hot.set_number(numbers.of(fields));
            }
        }
        packets.len()
    }

    /// Handles a packet that needs more than counting; its flow, if present, was found in this slot. Returns
    /// its slot, or [`NONE`].
    #[cold]
    #[inline(never)]
    fn take_rare(
        &mut self,
        KeyedPacket { key, hash, fields }: &KeyedPacket<K>,
        arrived: Option<u64>,
        slot: u32,
        numbers: Numbers,
        sink: &mut impl FlowSink,
    ) -> u32 {
        let number = numbers.of(fields);
        // There may be need to remember when it arrived: for every packet behind one that is out of order too.
        if arrived.is_some() && !self.arrivals.make_room() {
            sink.no_place(key, fields);
            return NONE;
        }
        // Perhaps not there when the batch was looked up, or another key with the same tag was.
        let is_its = self.hot.get(slot as usize).is_some_and(|hot| hot.key == *key);
        let slot = if is_its { slot } else { self.find(key, *hash) };
        match slot {
            NONE => self.insert(key, *hash, fields, arrived, number, sink),
            slot => self.add_rare(slot as usize, fields, arrived, number, sink),
        }
    }

    #[inline(never)]
    fn update_parts(&mut self, batch: Batch<'_, K>, slots: &[Cell<u32>], repeat_acks: &[bool]) {
        let Batch { packets, segments, numbers, .. } = batch;
        if let Some(statistics) = &mut self.statistics {
            statistics.update::<K, BATCH>(packets, numbers, slots);
        }
        if let Some(loss) = &mut self.loss {
            loss.update(packets, segments, slots, repeat_acks);
        }
    }

    /// The key's slot, or [`NONE`].
    fn find(&self, key: &K, hash: u64) -> u32 {
        let direction = self.direction(key);
        let slot = |entry: u32| entry << self.slot_bits | direction;
        self.index.find(hash, |entry| self.hot[slot(entry) as usize].key == *key).map_or(NONE, slot)
    }

    /// Returns which of its entry's slots is the key's.
    fn direction(&self, key: &K) -> u32 {
        if self.slot_bits == 0 { 0 } else { key.direction() as u32 }
    }

    /// Counts a packet of a known entry, after any other work on the flow. Returns its slot, or [`NONE`] if
    /// there was no place for one more flow.
    #[cold]
    fn add_rare(
        &mut self,
        slot: usize,
        packet: &PacketFields,
        arrived: Option<u64>,
        number: u64,
        sink: &mut impl FlowSink,
    ) -> u32 {
        let ended = self.end_due(slot, packet.time_ns, sink);
        if !self.hot[slot].is_live() {
            // If a record has ended, the new one takes its place in the limits.
            match ended {
                0 if !self.limits.take_flow() => {
                    sink.no_place(&self.hot[slot].key, packet);
                    return NONE;
                }
                0 => {}
                _ => self.limits.give_back_flows(ended - 1),
            }
            self.enter_window(slot, sink);
            if self.hot[slot].has_left() {
                let is_second = self.begins_second(slot, packet);
                self.slot(slot).begin_again(packet, number);
                self.began(slot, packet, arrived, is_second);
            } else {
                self.begin(slot, self.hot[slot].key, packet, arrived, number);
            }
            if self.slot_bits != 0 {
                self.enter_window(slot ^ 1, sink);
            }
            return slot as u32;
        }
        self.limits.give_back_flows(ended);
        self.enter_window(slot, sink);
        if self.slot_bits != 0 {
            // What this packet reveals of the other direction belongs to the open window too.
            self.enter_window(slot ^ 1, sink);
        }
        let mut times = self.times(slot);
        times.stime = times.stime.min(packet.time_ns);
        times.ltime = times.ltime.max(packet.time_ns);
        match arrived {
            Some(arrived) => times.arrived = arrived,
            // In order, or late and not named so.
            None => times.arrived = times.arrived.max(packet.time_ns),
        }
        let is_late = arrived.is_none() && packet.time_ns < self.now;
        if self.config.timeouts.are_off() || is_late && packet.time_ns == times.stime {
            times.began = times.stime;
        }
        let mut lines = self.slot(slot);
        lines.add_any(packet);
        lines.hot.set_number(number);
        lines.set_times(&times);
        self.age_pair(slot);
        slot as u32
    }

    /// Returns when the packets of the record in `slot` were, and when they arrived.
    #[inline]
    fn times(&self, slot: usize) -> Times {
        self.arrivals.times(slot, self.cold[slot].stime, self.hot[slot].arrived)
    }

    /// Makes both directions of a pair as old as the older of both, with `--biflow`.
    #[inline]
    fn age_pair(&mut self, slot: usize) {
        if self.config.parts.biflow && self.hot[slot ^ 1].is_live() {
            let earlier = self.hot[slot].start_coarse.min(self.hot[slot ^ 1].start_coarse);
            (self.hot[slot].start_coarse, self.hot[slot ^ 1].start_coarse) = (earlier, earlier);
        }
    }

    /// Returns both lines of a slot.
    #[inline]
    fn slot(&mut self, number: usize) -> Slot<'_, K> {
        let Self { hot, cold, spills, arrivals, .. } = self;
        Slot { number, hot: &mut hot[number], cold: &mut cold[number], spills, arrivals }
    }

    /// Ends the record in `slot` if it is due, by stream time or by its next packet, which has this time. That of the other direction
    /// ends too if it is due by stream time, where there is none in `slot` then, as a pair's state does not outlive both, and where
    /// losses are tracked, as the packet may tell of some that are no longer the record's. Gives the number of flows that ended.
    fn end_due(&mut self, slot: usize, time_ns: u64, sink: &mut impl FlowSink) -> usize {
        let mut ended = 0;
        if self.hot[slot].is_live()
            && let Some(reason) = self.due(slot).or_else(|| self.due_before(slot, time_ns))
        {
            ended += self.end(slot, reason, sink);
        }
        if self.slot_bits != 0 && (self.loss.is_some() || !self.hot[slot].is_live()) {
            if self.hot[slot ^ 1].is_live()
                && let Some(reason) = self.due(slot ^ 1)
            {
                ended += self.end(slot ^ 1, reason, sink);
            }
            self.forget_connection_if_vacant(slot >> 1);
        }
        ended
    }

    /// Discards the TCP connection of an entry if both its records have ended. What was booked for it in the
    /// open window is still to be sealed.
    fn forget_connection_if_vacant(&mut self, entry: usize) {
        let Some(loss) = &mut self.loss else { return };
        let slots = [entry << 1, entry << 1 | 1];
        if slots.iter().any(|&slot| self.hot[slot].is_live()) {
            return;
        }
        loss.forget(entry);
        for slot in slots {
            if loss.has_open(slot) {
                self.hot[slot].set_left();
            }
        }
    }

    /// Begins a record in a slot of an entry that is in the index, with a flow that was taken out of the limits.
    #[inline]
    fn begin(&mut self, slot: usize, key: K, packet: &PacketFields, arrived: Option<u64>, number: u64) {
        let is_second = self.begins_second(slot, packet);
        self.put(slot, Hot::first(key, packet, number, self.window), Cold::first(packet, number));
        self.began(slot, packet, arrived, is_second);
    }

    /// Returns true if the direction whose record begins in `slot` by this packet is the one that answers (RFC 5103, section 6.3): by a
    /// SYN; else by the other direction's record, or by that of both that ended by the active timeout before; else it is the first.
    fn begins_second(&self, slot: usize, packet: &PacketFields) -> bool {
        if self.slot_bits == 0 {
            return false;
        }
        let other = slot ^ 1;
        let first_is_other = self.hot[other].is_live() && !self.hot[other].is_second();
        match packet.tcp_flags & (SYN | ACK) {
            // Both may open at the same time.
            SYN => first_is_other && (self.hot[other].tcp_flags | self.cold[other].sealed_flags()) & SYN != 0,
            SYN_ACK => true,
            _ if self.hot[other].is_live() => first_is_other,
            _ => {
                let now = self.now.max(packet.time_ns);
                self.remembers(slot >> 1, now) && self.hot[slot].is_second()
            }
        }
    }

    /// True if an entry without a record is kept because it has the direction of the one that ended, which goes on.
    fn remembers(&self, entry: usize, now: u64) -> bool {
        let (slot, other) = (entry << self.slot_bits, entry << self.slot_bits | 1);
        let Timeouts { idle_ns, active_ns } = self.config.timeouts;
        self.config.parts.biflow
            && self.hot[slot].is_second() != self.hot[other].is_second()
            && now.saturating_sub(self.cold[slot].last_of_both()) <= idle_ns.min(active_ns)
    }

    /// The record of a pair has ended, whose last packet had this time. What goes on after the active timeout keeps its direction; after
    /// silence it is told anew.
    fn remember_direction(&mut self, slot: usize, reason: EndReason, ltime: u64) {
        if reason == EndReason::Active {
            self.cold[slot & !1].set_last_of_both(ltime);
        } else {
            self.forget_direction(slot);
        }
    }

    fn forget_direction(&mut self, slot: usize) {
        self.hot[slot].set_second(false);
        self.hot[slot ^ 1].set_second(false);
    }

    /// Writes both lines of a slot, which may be the first one behind all others.
    #[inline]
    fn put(&mut self, slot: usize, hot: Hot<K>, cold: Cold) {
        self.touched.note(slot);
        if slot == self.hot.len() {
            self.hot.push(hot);
            self.cold.push(cold);
        } else {
            (self.hot[slot], self.cold[slot]) = (hot, cold);
        }
    }

    /// A record has begun in `slot` by this packet: so do its parts.
    #[inline]
    fn began(&mut self, slot: usize, packet: &PacketFields, arrived: Option<u64>, is_second: bool) {
        if let Some(arrived) = arrived {
            let time = packet.time_ns;
            self.slot(slot).set_times(&Times { stime: time, ltime: time, began: arrived, arrived });
        }
        if self.slot_bits != 0 {
            self.hot[slot].set_second(is_second);
            self.hot[slot ^ 1].set_second(!is_second);
        }
        self.began_parts(slot);
    }

    fn began_parts(&mut self, slot: usize) {
        if let Some(statistics) = &mut self.statistics {
            statistics.clear(slot);
        }
        if let Some(loss) = &mut self.loss {
            loss.begin(slot);
        }
        if self.slot_bits != 0 {
            self.age_pair(slot);
        }
        self.len += 1;
    }

    /// Puts a new key into the table and begins its record. [`NONE`] if there is no place.
    fn insert(
        &mut self,
        key: &K,
        hash: u64,
        packet: &PacketFields,
        arrived: Option<u64>,
        number: u64,
        sink: &mut impl FlowSink,
    ) -> u32 {
        let slot = self.place(key, hash);
        match slot {
            NONE => sink.no_place(key, packet),
            slot => self.begin(slot as usize, *key, packet, arrived, number),
        }
        slot
    }

    /// Puts a new key into the table, without a record. [`NONE`] if there is no place.
    fn place(&mut self, key: &K, hash: u64) -> u32 {
        let reused = (self.free != NONE).then_some(self.free as usize);
        let entry = reused.unwrap_or(self.entries);
        let has_room = reused.is_some() || self.make_room(entry);
        let is_taken = has_room && self.limits.take_flow();
        if !is_taken || !self.index.insert(hash, entry as u32) {
            self.limits.give_back_flows(is_taken.into());
            return NONE;
        }
        let slot = entry << self.slot_bits | self.direction(key) as usize;
        match reused {
            Some(_) => self.free = self.hot[entry << self.slot_bits].start_coarse,
            None => self.entries += 1,
        }
        if self.slot_bits != 0 {
            while self.hot.len() <= slot | 1 {
                self.hot.push(Hot::vacant(*key, self.window));
                self.cold.push(Cold::EMPTY);
            }
            self.hot[slot ^ 1] = Hot::vacant(key.reversed(), self.window);
        }
        if let Some(loss) = &mut self.loss {
            loss.clear(entry);
        }
        slot as u32
    }

    /// Makes room for entry number `entry`. Room for one slot is room for the pair: memory is committed in
    /// steps of even numbers.
    fn make_room(&mut self, entry: usize) -> bool {
        let slots = (entry + 1) << self.slot_bits;
        entry < MAX_ENTRIES
            && self.hot.make_room()
            && self.cold.make_room()
            && self.statistics.as_mut().is_none_or(|statistics| statistics.make_room(slots))
            && self.loss.as_mut().is_none_or(|loss| loss.make_room(entry))
    }

    /// The reason to end the record in `slot` by stream time, if there is one; with `--biflow`, that of its pair.
    fn due(&self, slot: usize) -> Option<EndReason> {
        let Times { began, arrived, .. } = self.times_of_record(slot);
        self.config.timeouts.due(self.now, began, arrived)
    }

    /// The reason to end it before a packet that has this time.
    fn due_before(&self, slot: usize, time_ns: u64) -> Option<EndReason> {
        let Times { stime, ltime, .. } = self.times_of_record(slot);
        self.config.timeouts.due(time_ns, stime, ltime)
    }

    /// The times of both directions where they are one record.
    fn times_of_record(&self, slot: usize) -> Times {
        let mut times = self.times(slot);
        if self.config.parts.biflow && self.hot[slot ^ 1].is_live() {
            let other = self.times(slot ^ 1);
            times.stime = times.stime.min(other.stime);
            times.ltime = times.ltime.max(other.ltime);
            times.began = times.began.min(other.began);
            times.arrived = times.arrived.max(other.arrived);
        }
        times
    }

    /// Ends the record in `slot`; with `--biflow` that of its pair. The entry stays in the index. Returns the
    /// number of flows that ended, which are still to be credited to the limits.
    fn end(&mut self, slot: usize, reason: EndReason, sink: &mut impl FlowSink) -> usize {
        let other = slot ^ 1;
        let is_biflow = self.config.parts.biflow;
        let is_pair = is_biflow && self.hot[other].is_live();
        let ltime = if is_biflow { self.times_of_record(slot).ltime } else { 0 };
        if !sink.takes_records() {
            for slot in [Some(slot), is_pair.then_some(other)].into_iter().flatten() {
                self.enter_window(slot, sink);
                self.give_row(slot, sink);
                self.leave(slot);
            }
            if is_biflow {
                self.remember_direction(slot, reason, ltime);
            }
            sink.flow_ended_unmade();
            return 1 + usize::from(is_pair);
        }
        let record = if is_pair {
            let (first, second) = if self.hot[slot].is_second() { (other, slot) } else { (slot, other) };
            let reverse = self.end_slot(second, reason, sink);
            let mut record = self.end_slot(first, reason, sink);
            record.more.get_or_insert_default().reverse = Some(reverse);
            record
        } else {
            self.end_slot(slot, reason, sink)
        };
        if is_biflow {
            self.remember_direction(slot, reason, ltime);
        }
        sink.flow_ended(record);
        1 + usize::from(is_pair)
    }

    fn end_slot(&mut self, slot: usize, reason: EndReason, sink: &mut impl FlowSink) -> FlowRecord {
        // Losses booked from here on belong to the open window.
        self.enter_window(slot, sink);
        self.give_row(slot, sink);
        let spec = self.config.key;
        let mut record = self.slot(slot).record(&spec, reason);
        if let Some(statistics) = &self.statistics {
            let mean = |metric| self.mean_by_record(metric, slot, &record);
            record.more.get_or_insert_default().statistics = statistics.values(slot, mean);
        }
        let loss = self.leave(slot);
        if loss.is_some() && record.key.is_some_and(|key| key.protocol == Some(TCP)) {
            record.more.get_or_insert_default().loss = loss;
        }
        record
    }

    /// Emits the totals of the record in `slot` if they are requested.
    #[inline]
    fn give_row(&mut self, slot: usize, sink: &mut impl FlowSink) {
        if sink.takes_record_rows() {
            sink.record_row(self.slot(slot).record_row());
        }
    }

    /// Ends the record in `slot`, and returns its losses. What it counted in the open window remains to be
    /// sealed.
    fn leave(&mut self, slot: usize) -> Option<Loss> {
        let loss = self.loss.as_mut().map(|loss| {
            let of_record = loss.end(slot);
            if loss.has_open(slot) {
                self.hot[slot].set_left();
            }
            of_record
        });
        self.slot(slot).end();
        self.len -= 1;
        loss
    }

    /// The mean of a metric, if the record in `slot` contains it
    /// ([`is_of_record`](crate::parts::is_of_record)); NaN if there is nothing to take it of.
    fn mean_by_record(&self, metric: Metric, slot: usize, record: &FlowRecord) -> f64 {
        let (sum, count) = match metric {
            Metric::Size => (record.total_byte, record.total_count),
            Metric::InterArrival => return f64::NAN,
            Metric::Gap => {
                // Between the first packet and the last are the flow's own packets, and the gaps.
                let first = self.cold[slot].first_number;
                let gaps = record.total_count - 1;
                (self.hot[slot].number(self.number).saturating_sub(first + gaps), gaps)
            }
        };
        if count == 0 { f64::NAN } else { sum as f64 / count as f64 }
    }

    /// Closes the counts in `slot` if they are of an earlier window. For a pair's slot without a record these
    /// are what was booked for the direction since its record ended.
    #[inline]
    fn enter_window(&mut self, slot: usize, sink: &mut impl FlowSink) {
        if !self.hot[slot].is_in(self.window) {
            self.seal(slot, sink);
            self.hot[slot].enter(self.window);
            self.touched.note(slot);
        }
    }

    /// Emits the flow's row of the window that its counts are of, if any.
    #[inline]
    fn seal(&mut self, slot: usize, sink: &mut impl FlowSink) {
        let loss = self.loss.as_mut().map(|loss| loss.seal(slot));
        let open = self.window;
        let mut slot = self.slot(slot);
        if !slot.is_sealed() || loss.is_some_and(|loss| !loss.is_empty()) {
            let window = if slot.hot.is_in(open) { open } else { open.wrapping_sub(1) };
            sink.window_sealed(window, slot.seal(), loss.as_ref());
            self.touched.rows += 1;
        }
    }

    /// Number of the open window, from 0 on, modulo 2^16.
    pub fn window(&self) -> u16 {
        self.window
    }

    /// Opens the next window: the counts of each flow are sealed by its first packet in it, or by the sweep.
    /// The sweep must have completed a pass since the last turn ([`FlowTable::sweep`] returned true).
    pub fn turn(&mut self) {
        self.window = self.window.wrapping_add(1);
        self.is_sealing = true;
        let Timeouts { idle_ns, active_ns } = self.config.timeouts;
        let is_due =
            self.now >= self.touched.whole_at.saturating_add(idle_ns.min(active_ns) / TURNS_PER_PASS);
        // What a pair's packet tells of the other direction is not listed.
        let may_list = self.slot_bits == 0;
        if !self.touched.turn(self.entries, may_list, is_due) {
            self.swept = 0;
            self.touched.whole_at = self.now;
        }
    }

    /// Examines up to `entries` entries: ends flows that are past a timeout and seals the counts of closed
    /// windows. Returns true when it has reached the end of the table; the next call starts again. After a turn from a window
    /// with few of the table's flows, it examines these alone.
    ///
    /// Linear, so that the processor reads ahead: a million flows take some 64 MB, that is about 6 ms.
    pub fn sweep(&mut self, entries: usize, sink: &mut impl FlowSink) -> bool {
        let stale = self.config.timeouts.stale_at(self.now);
        if let Some(closing) = self.touched.take_closing() {
            for (at, &slot) in closing.iter().enumerate() {
                if let Some(&ahead) = closing.get(at + AHEAD) {
                    self.hot.prefetch(ahead as usize);
                    self.cold.prefetch(ahead as usize);
                }
                self.examine(slot as usize, stale, sink);
            }
            self.touched.give_back(closing);
            return true;
        }
        let end_at = self.entries.min(self.swept.saturating_add(entries));
        for slot in self.swept << self.slot_bits..end_at << self.slot_bits {
            self.examine(slot, stale, sink);
        }
        let done = end_at == self.entries;
        self.swept = if done { 0 } else { end_at };
        self.is_sealing &= !done || self.touched.is_listing;
        done
    }

    /// Ends the flow in `slot` if it is past a timeout, and seals its counts of the closed window.
    #[inline]
    fn examine(&mut self, slot: usize, stale: Stale, sink: &mut impl FlowSink) {
        let hot = &self.hot[slot];
        if !hot.is_live() {
            if hot.has_left() {
                if !hot.is_in(self.window) {
                    self.enter_window(slot, sink);
                    self.remove_if_vacant(slot);
                }
            } else if self.slot_bits != 0 && self.hot[slot ^ 1].is_live() {
                if self.loss.is_some() {
                    self.enter_window(slot, sink);
                }
            } else if self.slot_bits != 0 && hot.is_second() {
                // Not one that is free: those have no direction.
                self.remove_if_vacant(slot);
            }
        } else if stale.may_be_due(hot)
            && let Some(reason) = self.due(slot)
        {
            let ended = self.end(slot, reason, sink);
            self.limits.give_back_flows(ended);
            self.forget_connection_if_vacant(slot >> self.slot_bits);
            self.remove_if_vacant(slot);
        } else if !self.touched.is_listing {
            self.enter_window(slot, sink);
        } else if !self.hot[slot].is_in(self.window) {
            // It enters the open window by its first packet there, and is listed then.
            self.seal(slot, sink);
            self.hot[slot].enter(self.window.wrapping_sub(1));
        }
    }

    /// Sets the idle timeout after which records end from here on. It is finite, as it was before: where no record ends by time, the table
    /// does not know when packets came.
    pub fn set_idle_timeout(&mut self, idle_ns: u64) {
        debug_assert!(idle_ns != u64::MAX && self.config.timeouts.idle_ns != u64::MAX);
        self.config.timeouts.idle_ns = idle_ns;
    }

    /// Entries that a whole sweep examines.
    pub fn sweep_len(&self) -> usize {
        self.entries
    }

    /// Ends every flow, because the source has ended, and leaves the table empty. A flow that was due by a timeout ends by
    /// that. Gives the number of records that were still open.
    pub fn end_all(&mut self, sink: &mut impl FlowSink) -> u64 {
        let mut open = 0;
        for entry in 0..self.entries {
            let slots = entry << self.slot_bits..(entry + 1) << self.slot_bits;
            for slot in slots.clone() {
                if self.hot[slot].is_live() {
                    let reason = self.due(slot).unwrap_or(EndReason::End);
                    open += u64::from(reason == EndReason::End);
                    let ended = self.end(slot, reason, sink);
                    self.limits.give_back_flows(ended);
                    self.forget_connection_if_vacant(entry);
                }
            }
            for slot in slots {
                if self.hot[slot].has_left() {
                    self.seal(slot, sink);
                }
            }
        }
        self.forget_all();
        open
    }

    /// Leaves the table without entries.
    fn forget_all(&mut self) {
        (self.free, self.swept, self.entries) = (NONE, 0, 0);
        self.touched.forget();
        self.index.clear();
        self.hot.clear();
        self.cold.clear();
        self.spills.clear();
        self.arrivals.clear();
        if let Some(statistics) = &mut self.statistics {
            statistics.forget_all();
        }
        if let Some(loss) = &mut self.loss {
            loss.forget_all();
        }
    }

    /// Emits all flows as shares and leaves the table empty. It must have been made for them
    /// ([`Parts::shares`]), and no window may have turned since it was empty.
    pub fn take_shares(&mut self, mut take: impl FnMut(&FlowShare<K>)) {
        let Self { hot, cold, spills, arrivals, .. } = self;
        for (number, (hot, cold)) in hot.iter_mut().zip(cold.iter_mut()).enumerate() {
            if hot.is_live() {
                let slot = Slot { number, hot, cold, spills, arrivals };
                let marks = Marks::read(&slot, self.number);
                take(&FlowShare { key: slot.hot.key, counts: slot.counts(), marks });
            }
        }
        self.limits.give_back_flows(self.len);
        self.len = 0;
        self.forget_all();
    }

    /// Counts a share of a flow in the open window, as if its packets had been counted here. False if there
    /// was no place for one more flow: it is counted nowhere. Timeouts do not apply, and the table must be
    /// made for shares ([`Parts::shares`]).
    #[must_use]
    pub fn add_share(&mut self, share: &FlowShare<K>, sink: &mut impl FlowSink) -> bool {
        let hash = share.key.hash(&self.config.seed);
        let mut marks = share.marks;
        let latest = self.number.max(marks.numbers[1]);
        self.number = latest;
        let mut slot = self.find(&share.key, hash);
        if slot == NONE {
            slot = self.place(&share.key, hash);
            if slot == NONE {
                return false;
            }
            self.put(slot as usize, Hot::empty(share.key, self.window), Cold::EMPTY);
            self.began_parts(slot as usize);
        } else {
            self.enter_window(slot as usize, sink);
            marks = Marks::read(&self.slot(slot as usize), latest);
            marks.merge(&share.marks);
        }
        let mut slot = self.slot(slot as usize);
        marks.write(&mut slot);
        slot.hot.tcp_flags |= share.marks.tcp_flags;
        slot.add_counts(&share.counts, share.marks.stime);
        true
    }

    /// Removes the entry of `slot` from the index if no direction of it has a record, or counts that are to
    /// be sealed, or has to be remembered.
    fn remove_if_vacant(&mut self, slot: usize) {
        let entry = slot >> self.slot_bits;
        let first = entry << self.slot_bits;
        let is_in_use = |slot: usize| self.hot[slot].is_live() || self.hot[slot].has_left();
        if (first..first + (1 << self.slot_bits)).any(is_in_use)
            || self.slot_bits != 0 && self.remembers(entry, self.now)
        {
            return;
        }
        if self.slot_bits != 0 {
            self.forget_direction(first);
        }
        let hot = &mut self.hot[first];
        let hash = match self.slot_bits {
            0 => hot.key.hash(&self.config.seed),
            _ => hot.key.pair_hash(&self.config.seed),
        };
        hot.start_coarse = self.free;
        self.free = entry as u32;
        self.index.remove(hash, entry as u32);
    }
}

impl<K: Key> Drop for FlowTable<K> {
    fn drop(&mut self) {
        self.limits.give_back_flows(self.len);
    }
}

/// Returns all elements from `at` on; empty if there are none.
fn tail<T>(all: &[T], at: usize) -> &[T] {
    all.get(at..).unwrap_or_default()
}
