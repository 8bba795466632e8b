//! FloWatcher's double hash (figure 3a).

use super::pair::{OF_PAIR, Pair};
use super::{BUCKETS, CountedIn, HashedEntry, HashedTable, ListedEntry, bucket_of};
use arena::{Lease, Limits, OutOfMemory, ask_for_large_pages};

/// A bucket in a separate cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket<E>(Pair<E>);

/// 2^16 buckets of two entries. The first two different hashes that arrive in a bucket keep its entries, as nothing is ever evicted; packets of
/// any other have no entry.
#[derive(Debug)]
pub struct DoubleHash<E> {
    buckets: Vec<Bucket<E>>,
    _memory: Lease,
}

impl<E: HashedEntry> DoubleHash<E> {
    /// Takes the memory of all buckets.
    ///
    /// # Errors
    /// If the limits leave no room for it.
    pub fn new(limits: &Limits) -> Result<Self, OutOfMemory> {
        let (buckets, memory) = buckets(Bucket(Pair::default()), limits)?;
        Ok(Self { buckets, _memory: memory })
    }
}

/// Returns the buckets of a table, all alike, and the lease of their memory.
pub(super) fn buckets<B: Copy>(empty: B, limits: &Limits) -> Result<(Vec<B>, Lease), OutOfMemory> {
    let bytes = BUCKETS * size_of::<B>();
    let memory = limits.lease(bytes).ok_or_else(|| OutOfMemory::from_limits(bytes))?;
    let mut buckets: Vec<B> = Vec::with_capacity(BUCKETS);
    ask_for_large_pages(buckets.as_mut_ptr().cast(), bytes);
    buckets.resize(BUCKETS, empty);
    Ok((buckets, memory))
}

impl<E: HashedEntry> HashedTable<E> for DoubleHash<E> {
    #[inline(always)]
    fn count(&mut self, hash: u32, packet: &E::Packet, may_begin: impl FnMut(usize) -> bool) -> CountedIn {
        let bucket = bucket_of(hash);
        let counted = self.buckets[bucket].0.count(bucket * OF_PAIR, packet, may_begin);
        counted.unwrap_or(CountedIn::Nowhere)
    }

    fn entries(&self) -> impl Iterator<Item = ListedEntry<E>> + '_ {
        self.buckets.iter().enumerate().flat_map(|(bucket, entries)| entries.0.entries(bucket))
    }

    fn clear(&mut self) {
        self.buckets.fill(Bucket(Pair::default()));
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}
