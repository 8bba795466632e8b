//! The table of a worker: the packets of one window, by flow key and by values in which a flow's packets may differ.

use crate::changing_fields::{ChangingFields, FieldWords, row, words};
use crate::rows::Unplaced;
use arena::{Lease, Limits};
use flow::WindowRow;
use packet::{Bursts, Key, KeyV4, KeyV6, KeyedPacket, Packets, Seed};

/// The rows by packets of both address families.
#[derive(Debug)]
pub(crate) struct SplitTable {
    pub(crate) v4: SplitPart<KeyV4>,
    pub(crate) v6: SplitPart<KeyV6>,
    /// The memory for merging.
    limits: Limits,
}

/// The rows by packets of one address family. It takes no more rows than it was made for, so that it never allocates while packets are
/// counted: merging alone makes room.
#[derive(Debug)]
pub(crate) struct SplitPart<K> {
    pub(crate) rows: Vec<WindowRow<K>>,
    hashes: Vec<u64>,
    /// A power of two of slots: the number of a row, from 1 on; 0 is free.
    slots: Vec<u32>,
    capacity: usize,
    /// The capacity that it was made with.
    own_capacity: usize,
    /// The memory of what merging has added to that.
    more: Option<Lease>,
    mask: FieldWords,
    seed: Seed,
    /// Packets for which there was no row.
    pub(crate) unplaced: Unplaced,
}

impl SplitTable {
    /// A table of this memory for keys and these fields. Merging may take more of what the limits allow.
    pub(crate) fn with_bytes(fields: ChangingFields, bytes: usize, seed: Seed, limits: &Limits) -> Self {
        let half = bytes / 2;
        Self {
            v4: SplitPart::new(fields, half / SplitPart::<KeyV4>::BYTES, seed),
            v6: SplitPart::new(fields, half / SplitPart::<KeyV6>::BYTES, seed),
            limits: limits.clone(),
        }
    }

    /// Returns a table with room for these numbers of rows of IPv4 and of IPv6.
    pub(crate) fn with_rows(fields: ChangingFields, rows: [usize; 2], seed: Seed) -> Self {
        let limits = Limits::new(0, 0);
        Self { v4: SplitPart::new(fields, rows[0], seed), v6: SplitPart::new(fields, rows[1], seed), limits }
    }

    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts) {
        let Packets { v4, v6 } = bursts.packets();
        self.v4.count(v4);
        self.v6.count(v6);
    }

    /// Adds what another worker counted, with room for the rows of both as far as there is memory.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.v4.merge(&other.v4, &self.limits);
        self.v6.merge(&other.v6, &self.limits);
    }

    pub(crate) fn reset(&mut self) {
        self.v4.reset();
        self.v6.reset();
    }

    /// Packets for which there was no row.
    pub(crate) fn unplaced(&self) -> Unplaced {
        let mut sum = self.v4.unplaced;
        sum.add(&self.v6.unplaced);
        sum
    }
}

/// Numbers of rows have 32 bits, and there are up to four slots for each.
const MOST_ROWS: usize = 1 << 30;

/// Returns the number of slots of a table that has room for `capacity` rows.
fn slots(capacity: usize) -> usize {
    (2 * capacity).next_power_of_two()
}

impl<K: Key> SplitPart<K> {
    /// The bytes that a row takes: itself, its hash, and up to four slots.
    pub(crate) const BYTES: usize = size_of::<WindowRow<K>>() + size_of::<u64>() + 4 * size_of::<u32>();

    fn new(fields: ChangingFields, capacity: usize, seed: Seed) -> Self {
        let capacity = capacity.min(MOST_ROWS);
        Self {
            rows: Vec::with_capacity(capacity),
            hashes: Vec::with_capacity(capacity),
            slots: vec![0; slots(capacity)],
            capacity,
            own_capacity: capacity,
            more: None,
            mask: fields.mask(),
            seed,
            unplaced: Unplaced::default(),
        }
    }

    #[inline]
    fn count(&mut self, packets: &[KeyedPacket<K>]) {
        for packet in packets {
            self.add(packet.hash, &row(packet.key, &packet.fields));
        }
    }

    /// Adds a row, which hashes as its key does.
    #[inline]
    pub(crate) fn add(&mut self, key_hash: u64, row: &WindowRow<K>) {
        let own = self.values(row);
        let hash = self.seed.hash_words(&[key_hash, own[0], own[1], own[2], own[3]]);
        self.add_hashed(hash, &own, row);
    }

    /// The values by which rows are apart.
    #[inline(always)]
    fn values(&self, row: &WindowRow<K>) -> FieldWords {
        let all = words(row);
        std::array::from_fn(|at| all[at] & self.mask[at])
    }

    #[inline]
    fn add_hashed(&mut self, hash: u64, own: &FieldWords, row: &WindowRow<K>) {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let number = self.slots[at] as usize;
            if number == 0 {
                break;
            }
            let known = &self.rows[number - 1];
            if self.hashes[number - 1] == hash && known.key == row.key && self.values(known) == *own {
                self.rows[number - 1].merge(row);
                return;
            }
            at = (at + 1) & last;
        }
        if self.rows.len() == self.capacity {
            let WindowRow { packets, bytes, wire_bytes, .. } = *row;
            self.unplaced.add(&Unplaced { packets, bytes, wire_bytes, keyless: 0 });
            return;
        }
        self.rows.push(*row);
        self.hashes.push(hash);
        self.slots[at] = self.rows.len() as u32;
    }

    fn merge(&mut self, other: &Self, limits: &Limits) {
        self.make_room(other.rows.len(), limits);
        for (row, hash) in other.rows.iter().zip(&other.hashes) {
            let own = self.values(row);
            self.add_hashed(*hash, &own, row);
        }
        self.unplaced.add(&other.unplaced);
    }

    /// Makes room for more rows until it is reset. Without memory it stays as it is, and counts what finds no room.
    fn make_room(&mut self, rows: usize, limits: &Limits) {
        let capacity = self.rows.len().saturating_add(rows).min(MOST_ROWS);
        let Some(more) = capacity.checked_sub(self.capacity).filter(|more| *more != 0) else { return };
        if !self.more.get_or_insert_with(|| limits.empty_lease()).grow(more * Self::BYTES) {
            return;
        }
        self.capacity = capacity;
        self.rows.reserve_exact(capacity - self.rows.len());
        self.hashes.reserve_exact(capacity - self.hashes.len());
        if self.slots.len() < slots(capacity) {
            self.slots = vec![0; slots(capacity)];
            let last = self.slots.len() - 1;
            for (hash, number) in self.hashes.iter().zip(1..) {
                let mut at = *hash as usize & last;
                while self.slots[at] != 0 {
                    at = (at + 1) & last;
                }
                self.slots[at] = number;
            }
        }
    }

    fn reset(&mut self) {
        self.unplaced = Unplaced::default();
        if self.capacity != self.own_capacity {
            self.capacity = self.own_capacity;
            self.rows = Vec::with_capacity(self.capacity);
            self.hashes = Vec::with_capacity(self.capacity);
            self.slots = vec![0; slots(self.capacity)];
            self.more = None;
            return;
        }
        // A window of few rows does not touch all slots.
        if self.rows.len() < self.slots.len() / 64 {
            let last = self.slots.len() - 1;
            for (hash, number) in self.hashes.iter().zip(1..) {
                let mut at = *hash as usize & last;
                while self.slots[at] != number {
                    at = (at + 1) & last;
                }
                self.slots[at] = 0;
            }
        } else {
            self.slots.fill(0);
        }
        self.rows.clear();
        self.hashes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::PacketFields;
    use std::collections::HashMap;

    /// The oracle: packets by flow and by value.
    type Counts = HashMap<(u64, u16, u8), u64>;

    fn part(rows: usize) -> SplitPart<KeyV4> {
        let fields = ["vlan", "ip_ttl"].map(|name| ChangingFields::one(name).expect("it changes"));
        SplitPart::new(fields[0].with(fields[1]), rows, Seed::new(3))
    }

    fn packets(seed: u64) -> impl Iterator<Item = KeyedPacket<KeyV4>> {
        let mut state = seed;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        (0..3000).map(move |at| {
            let key = KeyV4::of_words_of(next(40));
            let (vlan, ip_ttl) = ([5, 6, PacketFields::NO_VLAN][next(3) as usize], next(4) as u8);
            // What is not asked for differs, too, and leaves no trace.
            let fields = PacketFields {
                time_ns: at,
                vlan,
                ip_ttl,
                ip_tos: next(5) as u8,
                tcp_flags: next(9) as u8,
                ..PacketFields::default()
            };
            KeyedPacket::new(key, fields, false, &Seed::new(3))
        })
    }

    trait OfNumber {
        fn of_words_of(number: u64) -> Self;
    }

    impl OfNumber for KeyV4 {
        fn of_words_of(number: u64) -> Self {
            packet::MaskedKey::from_words(&[number, 7])
        }
    }

    fn counts(part: &SplitPart<KeyV4>) -> Counts {
        let one = |row: &WindowRow<KeyV4>| {
            ((packet::MaskedKey::words(&row.key)[0], row.vlan, row.ip_ttl), row.packets)
        };
        let counts: Counts = part.rows.iter().map(one).collect();
        assert_eq!(counts.len(), part.rows.len(), "no row stands twice");
        counts
    }

    #[test]
    fn rows_are_what_a_hash_map_counts_whoever_counted_them() {
        let mut expected = Counts::new();
        for packet in packets(1).chain(packets(2)) {
            let key = packet::MaskedKey::words(&packet.key)[0];
            *expected.entry((key, packet.fields.vlan, packet.fields.ip_ttl)).or_default() += 1;
        }
        let (mut one, mut other) = (part(1000), part(1000));
        for round in 0..3 {
            one.count(&packets(1).collect::<Vec<_>>());
            other.count(&packets(2).collect::<Vec<_>>());
            one.merge(&other, &Limits::new(0, 0));
            assert_eq!(counts(&one), expected, "round {round}");
            assert_eq!(one.unplaced, Unplaced::default());
            one.reset();
            other.reset();
            assert!(one.slots.iter().all(|slot| *slot == 0));
        }
    }

    #[test]
    fn a_full_table_counts_what_it_has_no_row_for() {
        let mut full = part(10);
        full.count(&packets(1).collect::<Vec<_>>());
        let placed: u64 = full.rows.iter().map(|row| row.packets).sum();
        assert_eq!((full.rows.len(), placed + full.unplaced.packets), (10, 3000));
        assert!(full.unplaced.packets > 0);
        full.reset();
        assert_eq!(full.unplaced.packets, 0);
    }

    #[test]
    fn merging_loses_nothing_that_workers_had_while_there_is_memory() {
        let mut expected = Counts::new();
        let mut placed = Vec::new();
        for seed in 1..=3 {
            let mut worker = part(100);
            // Flows are of one worker each.
            let own = packets(seed).filter(|packet| packet::MaskedKey::words(&packet.key)[0] % 3 == seed - 1);
            worker.count(&own.collect::<Vec<_>>());
            assert!(worker.rows.len() > 90, "{}", worker.rows.len());
            counts(&worker).into_iter().for_each(|(key, count)| *expected.entry(key).or_default() += count);
            placed.push(worker);
        }
        let [one, other, third] = &mut placed[..] else { panic!("three workers") };
        let all = one.unplaced.packets + other.unplaced.packets + third.unplaced.packets;
        let limits = Limits::new(1 << 20, 0);
        for round in 0..2 {
            if round != 0 {
                let own = packets(1).filter(|packet| packet::MaskedKey::words(&packet.key)[0] % 3 == 0);
                one.count(&own.collect::<Vec<_>>());
            }
            one.merge(other, &limits);
            one.merge(third, &limits);
            assert_eq!(counts(one), expected, "round {round}");
            assert_eq!(one.unplaced.packets, all);
            assert!(limits.bytes_used() > 100 * SplitPart::<KeyV4>::BYTES);
            one.reset();
            assert_eq!((limits.bytes_used(), one.capacity, one.rows.capacity()), (0, 100, 100));
        }
        // Without memory packets are not lost without a word.
        other.merge(third, &Limits::new(0, 0));
        let placed: u64 = other.rows.iter().map(|row| row.packets).sum();
        let of_third: u64 = third.rows.iter().map(|row| row.packets).sum();
        assert_eq!(other.rows.len(), 100);
        assert!(placed + other.unplaced.packets > of_third + third.unplaced.packets);
    }
}
