//! The common interface of the tables of one comparison.

use super::counted::EntryCounts;
use super::flows::{HashedPackets, StreamFlow};
use packet::KeyV4;

/// The property by which a table knows a flow, and so which flows it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knows {
    /// The key: all flows.
    Keys,
    /// The RSS hash: flows with the same hash count as one.
    Hashes,
    /// The RSS hash, and no more than the two first to arrive of those with the same low half.
    TwoHashesPerBucket,
}

/// A table's answer, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    ByHash(Vec<(u32, EntryCounts)>),
    ByKey(Vec<(KeyV4, EntryCounts)>),
}

/// A table that counts packets and bytes per flow.
pub(super) trait BenchFlowTable {
    /// Name of the variant.
    fn name(&self) -> &'static str;
    fn knows(&self) -> Knows;
    /// Empties it.
    fn renew(&mut self);
    /// True if the time for a packet grows with the number of flows.
    fn is_list(&self) -> bool {
        false
    }
    /// Brings an empty list into the state after counting all packets of these flows, in a time independent
    /// of its length.
    fn load(&mut self, _: &[StreamFlow]) {}
    fn count(&mut self, packets: HashedPackets<'_>);
    /// Returns the memory of the table, bytes, without the allocator's overhead.
    fn memory_bytes(&self) -> u64;
    /// Packets that no entry counts.
    fn untracked(&self) -> u64 {
        0
    }
    /// Returns all entries; a list still has them afterwards.
    fn entries(&mut self) -> Entries;
}
