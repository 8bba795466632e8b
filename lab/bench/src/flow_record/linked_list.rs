//! FloWatcher's linked-list hash (section III.B, figure 3b), as published and with full keys.

use super::bucket::{BUCKETS, hash_of, high, low};
use super::counted::EntryCounts;
use super::flows::{HashedPackets, StreamFlow};
use super::list::{ListArena, ListLink};
use super::table::{BenchFlowTable, Entries, Knows};
use packet::KeyV4;

/// 2^16 lists whose entries are known by `T`.
#[derive(Debug)]
struct Heads<T> {
    heads: Vec<ListLink>,
    lists: ListArena<T>,
}

impl<T: Copy + Eq> Heads<T> {
    fn new(flows: usize) -> Self {
        Self { heads: vec![ListLink::default(); BUCKETS], lists: ListArena::with_room(flows) }
    }

    fn clear(&mut self) {
        self.heads.fill(ListLink::default());
        self.lists.clear();
    }

    #[inline(always)]
    fn count(&mut self, hash: u32, id: T) {
        self.lists.count(&mut self.heads[low(hash)], id);
    }

    fn bytes(&self) -> u64 {
        (size_of_val(&*self.heads) + self.lists.bytes()) as u64
    }

    /// Returns all entries, with the number of their list.
    fn entries(&self) -> impl Iterator<Item = (usize, (T, EntryCounts))> + '_ {
        let heads = self.heads.iter().enumerate();
        heads.flat_map(|(at, &head)| self.lists.entries(head).map(move |entry| (at, entry)))
    }
}

/// Entries are known by the other half of the hash: flows of one hash are one entry.
#[derive(Debug)]
pub(super) struct LinkedList(Heads<u16>);

impl LinkedList {
    pub(super) fn new(flows: usize) -> Self {
        Self(Heads::new(flows))
    }
}

/// Linked lists whose entries hold the whole 5-tuple and compare it: exact.
#[derive(Debug)]
pub(super) struct LinkedListFullKeys(Heads<KeyV4>);

impl LinkedListFullKeys {
    pub(super) fn new(flows: usize) -> Self {
        Self(Heads::new(flows))
    }
}

impl BenchFlowTable for LinkedList {
    fn name(&self) -> &'static str {
        "linked_list"
    }

    fn knows(&self) -> Knows {
        Knows::Hashes
    }

    fn renew(&mut self) {
        self.0.clear();
    }

    fn is_list(&self) -> bool {
        true
    }

    fn load(&mut self, flows: &[StreamFlow]) {
        let arrivals = StreamFlow::first_of_each_hash(flows);
        let arrivals =
            arrivals.map(|(hash, packets)| (low(hash), high(hash), EntryCounts::from_packets(packets)));
        self.0.lists.load(&mut self.0.heads, arrivals);
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for &hash in packets.hashes {
            self.0.count(hash, high(hash));
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn entries(&mut self) -> Entries {
        let entries = self.0.entries();
        Entries::ByHash(entries.map(|(at, (high, counted))| (hash_of(at, high), counted)).collect())
    }
}

impl BenchFlowTable for LinkedListFullKeys {
    fn name(&self) -> &'static str {
        "linked_list_full_keys"
    }

    fn knows(&self) -> Knows {
        Knows::Keys
    }

    fn renew(&mut self) {
        self.0.clear();
    }

    fn is_list(&self) -> bool {
        true
    }

    fn load(&mut self, flows: &[StreamFlow]) {
        let arrivals = flows
            .iter()
            .map(|flow| (low(flow.hash), flow.key, EntryCounts::from_packets(u64::from(flow.packets))));
        self.0.lists.load(&mut self.0.heads, arrivals);
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for (&hash, &key) in packets.hashes.iter().zip(packets.keys) {
            self.0.count(hash, key);
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn entries(&mut self) -> Entries {
        Entries::ByKey(self.0.entries().map(|(_, entry)| entry).collect())
    }
}
