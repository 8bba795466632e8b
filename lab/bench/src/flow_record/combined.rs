//! FloWatcher's combined hash (section III.B, figure 3c).

use super::bucket::{BUCKETS, Pair, hash_of, high, low};
use super::counted::EntryCounts;
use super::flows::{HashedPackets, StreamFlow};
use super::list::{ListArena, ListLink};
use super::table::{BenchFlowTable, Entries, Knows};

/// A bucket in a separate cache line: two entries, and a list of later ones.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct CombinedBucket {
    entries: Pair,
    later: ListLink,
}

impl AsMut<ListLink> for CombinedBucket {
    fn as_mut(&mut self) -> &mut ListLink {
        &mut self.later
    }
}

/// The double hash with a linked list at each bucket, known by the hash as well.
#[derive(Debug)]
pub(super) struct Combined {
    buckets: Vec<CombinedBucket>,
    lists: ListArena<u16>,
}

impl Combined {
    pub(super) fn new(flows: usize) -> Self {
        Self { buckets: vec![CombinedBucket::default(); BUCKETS], lists: ListArena::with_room(flows) }
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
        self.buckets.fill(CombinedBucket::default());
        self.lists.clear();
    }

    fn is_list(&self) -> bool {
        true
    }

    fn load(&mut self, flows: &[StreamFlow]) {
        let mut later = Vec::new();
        for (hash, packets) in StreamFlow::first_of_each_hash(flows) {
            let counted = EntryCounts::from_packets(packets);
            if !self.buckets[low(hash)].entries.load(high(hash), counted) {
                later.push((low(hash), high(hash), counted));
            }
        }
        self.lists.load(&mut self.buckets, later.into_iter());
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for &hash in packets.hashes {
            let bucket = &mut self.buckets[low(hash)];
            if !bucket.entries.count(high(hash)) {
                self.lists.count(&mut bucket.later, high(hash));
            }
        }
    }

    fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.buckets) + self.lists.bytes()) as u64
    }

    fn entries(&mut self) -> Entries {
        let buckets = self.buckets.iter().enumerate();
        Entries::ByHash(
            buckets
                .flat_map(|(at, bucket)| {
                    let entries = bucket.entries.entries().chain(self.lists.entries(bucket.later));
                    entries.map(move |(high, counted)| (hash_of(at, high), counted))
                })
                .collect(),
        )
    }
}
