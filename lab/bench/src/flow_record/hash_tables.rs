//! FloWatcher's tables (section III.B, figure 3) as variants of the comparison: those that a run has too (`--table`), with entries of their own.

use super::counted::EntryCounts;
use super::flows::{HashedPackets, StreamFlow};
use super::table::{BenchFlowTable, Entries, Knows};
use arena::{Limits, OutOfMemory};
use flowtable::by_hash::{
    CombinedHash, CountedIn, DoubleHash, HashedEntry, HashedTable, ListHash, bucket_of, high_of,
};
use packet::KeyV4;

/// An entry that is known by `T`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry<T> {
    id: T,
    counted: EntryCounts,
}

impl<T: Copy + Eq + Default + Send + 'static> HashedEntry for Entry<T> {
    type Packet = T;

    #[inline(always)]
    fn is_free(&self) -> bool {
        self.counted.packets == 0
    }

    #[inline(always)]
    fn is_of(&self, id: &T) -> bool {
        self.id == *id
    }

    #[inline(always)]
    fn begin(id: &T) -> Self {
        Self { id: *id, counted: EntryCounts::from_packets(1) }
    }

    #[inline(always)]
    fn count(&mut self, _: &T) -> bool {
        self.counted.add();
        true
    }
}

/// Known by the other half of the hash: flows of one hash are one entry.
type ByHash = Entry<u16>;
/// Known by the whole 5-tuple, which is compared: exact.
type ByKey = Entry<KeyV4>;

/// No bound but that of the machine.
fn limits() -> Limits {
    Limits::new(usize::MAX >> 1, 1 << 28)
}

/// The hash of an entry by its place.
fn hash_of(bucket: usize, high: u16) -> u32 {
    u32::from(high) << 16 | bucket as u32
}

/// Counts packets by their hashes alone; returns the number of those without an entry.
fn count(table: &mut impl HashedTable<ByHash>, hashes: &[u32]) -> u64 {
    let mut without_entry = 0;
    for &hash in hashes {
        let counted = table.count(hash, &high_of(hash), |_| true);
        without_entry += u64::from(counted == CountedIn::Nowhere);
    }
    without_entry
}

/// All entries, by their hashes.
fn by_hash(table: &impl HashedTable<ByHash>) -> Entries {
    let entries = table.entries();
    Entries::ByHash(entries.map(|one| (hash_of(one.bucket, one.entry.id), one.entry.counted)).collect())
}

/// The entries of flows that are known by their hashes, in the order of arrival.
fn arrivals(flows: &[StreamFlow]) -> impl Iterator<Item = (usize, ByHash)> + '_ {
    let entry = |(hash, packets)| {
        (bucket_of(hash), Entry { id: high_of(hash), counted: EntryCounts::from_packets(packets) })
    };
    StreamFlow::first_of_each_hash(flows).map(entry)
}

/// The double hash. Packets of flows that came when both entries of their bucket were taken are counted together, not by flow (FloWatcher's
/// run-to-completion program; its pipeline program forgets them).
#[derive(Debug)]
pub(super) struct Double {
    table: DoubleHash<ByHash>,
    untracked: u64,
}

impl Double {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        Ok(Self { table: DoubleHash::new(&limits())?, untracked: 0 })
    }
}

impl BenchFlowTable for Double {
    fn name(&self) -> &'static str {
        "double"
    }

    fn knows(&self) -> Knows {
        Knows::TwoHashesPerBucket
    }

    fn renew(&mut self) {
        self.table.clear();
        self.untracked = 0;
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        self.untracked += count(&mut self.table, packets.hashes);
    }

    fn memory_bytes(&self) -> u64 {
        self.table.bytes() as u64
    }

    fn untracked(&self) -> u64 {
        self.untracked
    }

    fn entries(&mut self) -> Entries {
        by_hash(&self.table)
    }
}

/// The double hash with a linked list at each bucket.
#[derive(Debug)]
pub(super) struct Combined(CombinedHash<ByHash>);

impl Combined {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        CombinedHash::new(&limits()).map(Self)
    }
}

impl BenchFlowTable for Combined {
    fn name(&self) -> &'static str {
        "combined"
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
        assert!(self.0.load(arrivals(flows)), "the machine has memory for the flows");
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        count(&mut self.0, packets.hashes);
    }

    fn memory_bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    fn entries(&mut self) -> Entries {
        by_hash(&self.0)
    }
}

/// The linked-list hash as published.
#[derive(Debug)]
pub(super) struct LinkedList(ListHash<ByHash>);

impl LinkedList {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        ListHash::new(&limits()).map(Self)
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
        assert!(self.0.load(arrivals(flows)), "the machine has memory for the flows");
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        count(&mut self.0, packets.hashes);
    }

    fn memory_bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    fn entries(&mut self) -> Entries {
        by_hash(&self.0)
    }
}

/// Linked lists whose entries hold the whole 5-tuple and compare it: exact.
#[derive(Debug)]
pub(super) struct LinkedListFullKeys(ListHash<ByKey>);

impl LinkedListFullKeys {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        ListHash::new(&limits()).map(Self)
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
        let arrivals = flows.iter().map(|flow| {
            let counted = EntryCounts::from_packets(u64::from(flow.packets));
            (bucket_of(flow.hash), Entry { id: flow.key, counted })
        });
        assert!(self.0.load(arrivals), "the machine has memory for the flows");
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for (&hash, key) in packets.hashes.iter().zip(packets.keys) {
            self.0.count(hash, key, |_| true);
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    fn entries(&mut self) -> Entries {
        Entries::ByKey(self.0.entries().map(|one| (one.entry.id, one.entry.counted)).collect())
    }
}
