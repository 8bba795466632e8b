//! The stages of a burst: look-up, counting, and the update of the parts.

use super::{FlowSink, FlowTable};
use crate::cuckoo::NONE;
use crate::entry::Hot;
use crate::parts::MeasuredParts;
use crate::timeouts::Stale;
use arena::ones;
use flow::HeaderValues;
use packet::{Key, KeyBurst, KeyedPacket, Numbers, OutOfOrder, TcpSegment};
use std::cell::Cell;
use std::ops::Range;

/// Packets that pass through the table's stages together. While one stage works on a batch, the memory that
/// the next one needs is being fetched: 32 to 64 outstanding lines cover a memory access of 140 ns.
const BATCH: usize = 64;

// One bit of a `u64` for each.
const _: () = assert!(BATCH <= 64);

/// The kinds of change that a packet makes beyond the plain record: nothing, the whole of its number, anything but losses, or losses too.
/// Each has what those before it have. As numbers, because constant parameters are.
const PLAIN: u8 = 0;
const NUMBERS: u8 = 1;
const OTHERS: u8 = 2;
const LOSS: u8 = 3;

/// Returns the kind of change that a packet makes to records with these parts.
pub(super) fn kind_of(parts: &MeasuredParts) -> u8 {
    match (parts.loss, parts.have_state(), parts.keep_numbers()) {
        (true, ..) => LOSS,
        (false, true, _) => OTHERS,
        (false, false, true) => NUMBERS,
        (false, false, false) => PLAIN,
    }
}

/// Packets that pass through the stages together.
#[derive(Clone, Copy)]
struct KeyedBatch<'a, K> {
    packets: &'a [KeyedPacket<K>],
    /// The packets' TCP segments: none, or at least as many as packets.
    segments: &'a [TcpSegment],
    /// The packets' header fields: none, or at least as many as packets.
    headers: &'a [HeaderValues],
    numbers: Numbers,
    /// The packets that did not arrive at their own times, with places from `first` on.
    out_of_order: &'a [OutOfOrder],
    first: usize,
}

/// The properties of a batch that are known at compile time.
struct BatchMode<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>;

impl<K: Key> FlowTable<K> {
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
            self.number = self.number.max(numbers.number_of(&last.fields));
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
            let (segments, headers) = (tail(burst.segments(), first), tail(burst.headers(), first));
            let (out_of_order_here, later) = out_of_order.split_at(of_batch);
            let batch =
                KeyedBatch { packets, segments, headers, numbers, out_of_order: out_of_order_here, first };
            out_of_order = later;
            first += packets.len();
            match (is_changing, self.slot_bits != 0, part) {
                (false, false, PLAIN) => self.update_batch(BatchMode::<false, false, PLAIN>, batch, sink),
                (true, false, PLAIN) => self.update_batch(BatchMode::<true, false, PLAIN>, batch, sink),
                (false, false, NUMBERS) => self.update_batch(BatchMode::<false, false, NUMBERS>, batch, sink),
                (true, false, NUMBERS) => self.update_batch(BatchMode::<true, false, NUMBERS>, batch, sink),
                (false, false, _) => self.update_batch(BatchMode::<false, false, OTHERS>, batch, sink),
                (true, false, _) => self.update_batch(BatchMode::<true, false, OTHERS>, batch, sink),
                (false, true, PLAIN) => self.update_batch(BatchMode::<false, true, PLAIN>, batch, sink),
                (true, true, PLAIN) => self.update_batch(BatchMode::<true, true, PLAIN>, batch, sink),
                (false, true, LOSS) => self.update_batch(BatchMode::<false, true, LOSS>, batch, sink),
                (true, true, LOSS) => self.update_batch(BatchMode::<true, true, LOSS>, batch, sink),
                (false, true, _) => self.update_batch(BatchMode::<false, true, OTHERS>, batch, sink),
                (true, true, _) => self.update_batch(BatchMode::<true, true, OTHERS>, batch, sink),
            }
        }
    }

    /// Counts a batch, stage by stage.
    #[inline(always)]
    fn update_batch<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>(
        &mut self,
        _: BatchMode<IS_CHANGING, IS_PAIRED, PARTS>,
        batch: KeyedBatch<'_, K>,
        sink: &mut impl FlowSink,
    ) {
        let KeyedBatch { packets, segments, headers, numbers, out_of_order, first } = batch;
        // The slot of each packet, as far as it is known.
        let found = [const { Cell::new(NONE) }; BATCH];
        let latest = self.look_up(BatchMode::<IS_CHANGING, IS_PAIRED, PARTS>, packets, &found);
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
            let mode = BatchMode::<IS_CHANGING, IS_PAIRED, PARTS>;
            // A packet out of order is one of the rare ones, whatever its flow.
            let until = out_of_order.peek().map_or(packets.len(), |&(at, _)| at);
            let known = KeyedBatch { packets: &packets[..until], ..batch };
            let rare = self.count_known(mode, known, &found[..until], stale, &mut repeat_acks, done);
            if PARTS > NUMBERS {
                let part = KeyedBatch {
                    packets: &packets[in_parts..rare],
                    segments: tail(segments, in_parts),
                    headers: tail(headers, in_parts),
                    ..batch
                };
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

    /// Prefetches the lines of a batch, and writes the slot of each packet into `found` as far as it is known. Returns the latest of stream
    /// time and the packets' times.
    #[inline(always)]
    fn look_up<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>(
        &mut self,
        _: BatchMode<IS_CHANGING, IS_PAIRED, PARTS>,
        packets: &[KeyedPacket<K>],
        found: &[Cell<u32>; BATCH],
    ) -> u64 {
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
        for (packet, found) in packets.iter().zip(found) {
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
        latest
    }

    /// Counts packets from number `at` on that only add to a flow in the slot where it was `found`. Returns
    /// the number of the first that needs more.
    #[inline(always)]
    fn count_known<const IS_CHANGING: bool, const IS_PAIRED: bool, const PARTS: u8>(
        &mut self,
        _: BatchMode<IS_CHANGING, IS_PAIRED, PARTS>,
        KeyedBatch { packets, numbers, .. }: KeyedBatch<'_, K>,
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
            // Not with losses, where the test costs a packet 8 of 850 instructions (callgrind).
            if PARTS == OTHERS
                && let Some(headers) = &self.headers
            {
                headers.prefetch(slot);
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
                hot.set_number(numbers.number_of(fields));
            }
        }
        packets.len()
    }

    #[inline(never)]
    fn update_parts(&mut self, batch: KeyedBatch<'_, K>, slots: &[Cell<u32>], repeat_acks: &[bool]) {
        let KeyedBatch { packets, segments, headers, numbers, .. } = batch;
        if let Some(statistics) = &mut self.statistics {
            statistics.update::<K, BATCH>(packets, numbers, slots);
        }
        if let Some(loss) = &mut self.loss {
            loss.update(packets, segments, slots, repeat_acks);
        }
        if let Some(part) = &mut self.headers {
            part.update(&headers[..packets.len().min(headers.len())], slots);
        }
    }
}

/// Returns all elements from `at` on; empty if there are none.
fn tail<T>(all: &[T], at: usize) -> &[T] {
    all.get(at..).unwrap_or_default()
}
