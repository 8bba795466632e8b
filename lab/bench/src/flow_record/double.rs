//! FloWatcher's double hash (section III.B, figure 3a).

use super::bucket::{BUCKETS, Pair, hash_of, high, low};
use super::flows::HashedPackets;
use super::table::{BenchFlowTable, Entries, Knows};

/// A bucket in a separate cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct DoubleBucket {
    entries: Pair,
    /// Packets of all flows that arrived when both entries were taken: one number for all of them, not by
    /// flow.
    untracked: u64,
}

/// 2^16 buckets of two entries. As published: the first two different hashes that arrive in a bucket keep its
/// entries, as nothing is ever evicted; packets of any other are counted together, by bucket and not by flow
/// (FloWatcher's run-to-completion program; its pipeline program forgets them). Flows of one hash are one.
#[derive(Debug)]
pub(super) struct Double(Vec<DoubleBucket>);

impl Double {
    pub(super) fn new() -> Self {
        Self(vec![DoubleBucket::default(); BUCKETS])
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
        self.0.fill(DoubleBucket::default());
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for &hash in packets.hashes {
            let bucket = &mut self.0[low(hash)];
            bucket.untracked += u64::from(!bucket.entries.count(high(hash)));
        }
    }

    fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    fn untracked(&self) -> u64 {
        self.0.iter().map(|bucket| bucket.untracked).sum()
    }

    fn entries(&mut self) -> Entries {
        let buckets = self.0.iter().enumerate();
        Entries::ByHash(
            buckets
                .flat_map(|(at, bucket)| {
                    bucket.entries.entries().map(move |(high, counted)| (hash_of(at, high), counted))
                })
                .collect(),
        )
    }
}
