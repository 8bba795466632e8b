//! The places of keys: entries are found, made and removed.

use super::FlowTable;
use crate::cuckoo::{MAX_ENTRIES, NONE};
use crate::entry::{Cold, EntrySlot, Hot};
use packet::Key;

impl<K: Key> FlowTable<K> {
    /// The key's slot, or [`NONE`].
    pub(super) fn find(&self, key: &K, hash: u64) -> u32 {
        let direction = self.direction(key);
        let slot = |entry: u32| entry << self.slot_bits | direction;
        self.index.find(hash, |entry| self.hot[slot(entry) as usize].key == *key).map_or(NONE, slot)
    }

    /// Returns which of its entry's slots is the key's.
    fn direction(&self, key: &K) -> u32 {
        if self.slot_bits == 0 { 0 } else { key.direction() as u32 }
    }

    /// Puts a new key into the table, without a record. [`NONE`] if there is no place.
    pub(super) fn place(&mut self, key: &K, hash: u64) -> u32 {
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
            && self.headers.as_mut().is_none_or(|headers| headers.make_room(slots))
    }

    /// Writes both lines of a slot, which may be the first one behind all others.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, hot: Hot<K>, cold: Cold) {
        self.touched.note(slot);
        if slot == self.hot.len() {
            self.hot.push(hot);
            self.cold.push(cold);
        } else {
            (self.hot[slot], self.cold[slot]) = (hot, cold);
        }
    }

    /// Returns both lines of a slot.
    #[inline]
    pub(super) fn slot(&mut self, number: usize) -> EntrySlot<'_, K> {
        let Self { hot, cold, spills, arrivals, .. } = self;
        EntrySlot { number, hot: &mut hot[number], cold: &mut cold[number], spills, arrivals }
    }

    /// Removes the entry of `slot` from the index if no direction of it has a record, or counts that are to
    /// be sealed, or has to be remembered.
    pub(super) fn remove_if_vacant(&mut self, slot: usize) {
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

    /// Leaves the table without entries.
    pub(super) fn forget_all(&mut self) {
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
        if let Some(headers) = &mut self.headers {
            headers.forget_all();
        }
    }
}
