//! The common parts of FloWatcher's tables: the division of the RSS hash, and two entries in line.

use super::counted::EntryCounts;

/// Buckets, or heads of lists.
pub(super) const BUCKETS: usize = 1 << 16;

/// The low half of an RSS hash chooses the bucket.
#[inline(always)]
pub(super) fn low(hash: u32) -> usize {
    usize::from(hash as u16)
}

/// The high half distinguishes the entries of a bucket.
#[inline(always)]
pub(super) fn high(hash: u32) -> u16 {
    (hash >> 16) as u16
}

/// The hash of an entry by its place.
pub(super) fn hash_of(bucket: usize, high: u16) -> u32 {
    u32::from(high) << 16 | bucket as u32
}

/// Two entries, taken in the order of arrival and never given back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    highs: [u16; 2],
    counted: [EntryCounts; 2],
}

impl Pair {
    /// Counts a packet; false if both entries are other flows'.
    ///
    /// An entry is free while it has counted nothing. FloWatcher's program marks a free entry by a high half
    /// of 0, so that for one flow in 65,536 the entry, with its counts, is taken over by the next. The paper
    /// does not describe this, and it is not done here.
    #[inline(always)]
    pub(super) fn count(&mut self, high: u16) -> bool {
        for (known, counted) in self.highs.iter_mut().zip(&mut self.counted) {
            if counted.packets == 0 {
                *known = high;
            }
            if *known == high {
                counted.add();
                return true;
            }
        }
        false
    }

    /// Takes a free entry for a flow with what it has counted; false if there is none.
    pub(super) fn load(&mut self, high: u16, counted: EntryCounts) -> bool {
        let free = self.counted.iter().position(|counted| counted.packets == 0);
        if let Some(at) = free {
            (self.highs[at], self.counted[at]) = (high, counted);
        }
        free.is_some()
    }

    /// The entries in use.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u16, EntryCounts)> + '_ {
        let all = self.highs.iter().copied().zip(self.counted);
        all.filter(|(_, counted)| counted.packets != 0)
    }
}
