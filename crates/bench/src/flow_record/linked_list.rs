//! FloWatcher's linked-list hash (section III.B, figure 3b), as published and with full keys.

use super::bucket::{BUCKETS, hash_of, high, low};
use super::chain::{Chain, Counted};
use super::flows::Flow;
use super::table::{Entries, Knows, Packets, Table};
use packet::KeyV4;

/// 2^16 heads of lists, whose entries are known by the other half of the hash: flows of one hash are one entry.
#[derive(Debug)]
pub(super) struct LinkedList {
    heads: Vec<Chain<u16>>,
    entries: usize,
}

impl LinkedList {
    pub(super) fn new() -> Self {
        Self { heads: empty(), entries: 0 }
    }
}

/// The same lists, whose entries hold the whole 5-tuple and compare it: exact.
#[derive(Debug)]
pub(super) struct LinkedListFullKeys {
    heads: Vec<Chain<KeyV4>>,
    entries: usize,
}

impl LinkedListFullKeys {
    pub(super) fn new() -> Self {
        Self { heads: empty(), entries: 0 }
    }
}

fn empty<T>() -> Vec<Chain<T>> {
    (0..BUCKETS).map(|_| Chain::default()).collect()
}

fn bytes<T: Copy + Eq>(heads: &[Chain<T>], entries: usize) -> u64 {
    (size_of_val(heads) + entries * Chain::<T>::ENTRY_BYTES) as u64
}

impl Table for LinkedList {
    fn name(&self) -> &'static str {
        "linked_list"
    }

    fn knows(&self) -> Knows {
        Knows::Hashes
    }

    fn renew(&mut self) {
        *self = Self::new();
    }

    fn is_list(&self) -> bool {
        true
    }

    fn load(&mut self, flows: &[Flow]) {
        let arrivals = Flow::first_of_each_hash(flows);
        let arrivals = arrivals.map(|(hash, packets)| (low(hash), high(hash), Counted::of(packets)));
        self.entries = Chain::load(&mut self.heads, arrivals);
    }

    fn count(&mut self, packets: Packets<'_>) {
        for &hash in packets.hashes {
            self.entries += usize::from(self.heads[low(hash)].count(high(hash)));
        }
    }

    fn memory_bytes(&self) -> u64 {
        bytes(&self.heads, self.entries)
    }

    fn entries(&mut self) -> Entries {
        let heads = self.heads.iter().enumerate();
        Entries::ByHash(
            heads
                .flat_map(|(at, head)| {
                    head.entries().map(move |(high, counted)| (hash_of(at, high), counted))
                })
                .collect(),
        )
    }
}

impl Table for LinkedListFullKeys {
    fn name(&self) -> &'static str {
        "linked_list_full_keys"
    }

    fn knows(&self) -> Knows {
        Knows::Keys
    }

    fn renew(&mut self) {
        *self = Self::new();
    }

    fn is_list(&self) -> bool {
        true
    }

    fn load(&mut self, flows: &[Flow]) {
        let arrivals =
            flows.iter().map(|flow| (low(flow.hash), flow.key, Counted::of(u64::from(flow.packets))));
        self.entries = Chain::load(&mut self.heads, arrivals);
    }

    fn count(&mut self, packets: Packets<'_>) {
        for (&hash, &key) in packets.hashes.iter().zip(packets.keys) {
            self.entries += usize::from(self.heads[low(hash)].count(key));
        }
    }

    fn memory_bytes(&self) -> u64 {
        bytes(&self.heads, self.entries)
    }

    fn entries(&mut self) -> Entries {
        Entries::ByKey(self.heads.iter().flat_map(Chain::entries).collect())
    }
}
