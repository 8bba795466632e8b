//! FloWatcher's combined hash (section III.B, figure 3c).

use super::bucket::{BUCKETS, Pair, hash_of, high, low};
use super::chain::{Chain, Counted};
use super::flows::Flow;
use super::table::{Entries, Knows, Packets, Table};

/// A bucket in a cache line of its own: two entries, and a list of those that came later.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket {
    entries: Pair,
    later: Chain<u16>,
}

impl AsMut<Chain<u16>> for Bucket {
    fn as_mut(&mut self) -> &mut Chain<u16> {
        &mut self.later
    }
}

/// The double hash with a linked list at each bucket, known by the hash as well.
#[derive(Debug)]
pub(super) struct Combined {
    buckets: Vec<Bucket>,
    /// Entries in lists.
    later: usize,
}

impl Combined {
    pub(super) fn new() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| Bucket::default()).collect(), later: 0 }
    }
}

impl Table for Combined {
    fn name(&self) -> &'static str {
        "combined"
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
        let mut later = Vec::new();
        for (hash, packets) in Flow::first_of_each_hash(flows) {
            let counted = Counted::of(packets);
            if !self.buckets[low(hash)].entries.load(high(hash), counted) {
                later.push((low(hash), high(hash), counted));
            }
        }
        self.later = Chain::load(&mut self.buckets, later.into_iter());
    }

    fn count(&mut self, packets: Packets<'_>) {
        for &hash in packets.hashes {
            let bucket = &mut self.buckets[low(hash)];
            if !bucket.entries.count(high(hash)) {
                self.later += usize::from(bucket.later.count(high(hash)));
            }
        }
    }

    fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.buckets) + self.later * Chain::<u16>::ENTRY_BYTES) as u64
    }

    fn entries(&mut self) -> Entries {
        let buckets = self.buckets.iter().enumerate();
        Entries::ByHash(
            buckets
                .flat_map(|(at, bucket)| {
                    let entries = bucket.entries.entries().chain(bucket.later.entries());
                    entries.map(move |(high, counted)| (hash_of(at, high), counted))
                })
                .collect(),
        )
    }
}
