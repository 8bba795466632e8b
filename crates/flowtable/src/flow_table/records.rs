//! Records begin, and take packets that do more than add to the counts.

use super::{FlowSink, FlowTable};
use crate::arrivals::RecordTimes;
use crate::cuckoo::NONE;
use crate::entry::{Cold, Hot};
use packet::{Key, KeyedPacket, Numbers, PacketFields};

impl<K: Key> FlowTable<K> {
    /// Handles a packet that needs more than counting; its flow, if present, was found in this slot. Returns
    /// its slot, or [`NONE`].
    #[cold]
    #[inline(never)]
    pub(super) fn take_rare(
        &mut self,
        KeyedPacket { key, hash, fields }: &KeyedPacket<K>,
        arrived: Option<u64>,
        slot: u32,
        numbers: Numbers,
        sink: &mut impl FlowSink,
    ) -> u32 {
        let number = numbers.number_of(fields);
        // There may be need to remember when it arrived: for every packet behind one that is out of order too.
        if arrived.is_some() && !self.arrivals.make_room() {
            sink.table_full(key, fields);
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
            NONE => sink.table_full(key, packet),
            slot => self.begin(slot as usize, *key, packet, arrived, number),
        }
        slot
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
                    sink.table_full(&self.hot[slot].key, packet);
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

    /// Begins a record in a slot of an entry that is in the index, with a flow that was taken out of the limits.
    #[inline]
    fn begin(&mut self, slot: usize, key: K, packet: &PacketFields, arrived: Option<u64>, number: u64) {
        let is_second = self.begins_second(slot, packet);
        self.put(slot, Hot::first(key, packet, number, self.window), Cold::first(packet, number));
        self.began(slot, packet, arrived, is_second);
    }

    /// A record has begun in `slot` by this packet: so do its parts.
    #[inline]
    fn began(&mut self, slot: usize, packet: &PacketFields, arrived: Option<u64>, is_second: bool) {
        if let Some(arrived) = arrived {
            let time = packet.time_ns;
            self.slot(slot).set_times(&RecordTimes { stime: time, ltime: time, began: arrived, arrived });
        }
        if self.slot_bits != 0 {
            self.hot[slot].set_second(is_second);
            self.hot[slot ^ 1].set_second(!is_second);
        }
        self.began_parts(slot);
    }

    pub(super) fn began_parts(&mut self, slot: usize) {
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
}
