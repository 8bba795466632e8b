//! Tables that know flows by 32 bits of a hash: those of FloWatcher (Zhang et al. 2019, section III-B, figure 3).
//!
//! One half of the hash chooses a bucket, the other half tells the entries of the bucket apart. Keys are not compared, so flows with one hash
//! are one entry. [`DoubleHash`] has two entries at each bucket, [`ListHash`] a list, and [`CombinedHash`] two entries and then a list.
//! [`FlowsByHash`] counts the flows of a run in one of them, and knows what it counted wrongly.

mod combined;
mod double;
mod flows;
mod list;
mod pair;
#[cfg(test)]
mod tests;

pub use combined::CombinedHash;
pub use double::DoubleHash;
pub use flows::{CountedPackets, FlowsByHash, Miscounts};
pub use list::ListHash;

use std::fmt;
use std::str::FromStr;

/// The buckets of a table.
pub const BUCKETS: usize = 1 << 16;

/// Returns the bucket of a hash: its low half.
#[inline(always)]
pub fn bucket_of(hash: u32) -> usize {
    usize::from(hash as u16)
}

/// Returns the half of a hash by which the entries of a bucket are told apart: the high one.
#[inline(always)]
pub fn high_of(hash: u32) -> u16 {
    (hash >> 16) as u16
}

/// The contents of an entry. That of `Default` is free: it has counted nothing.
pub trait HashedEntry: Copy + Default + Send + 'static {
    /// The properties of a packet by which its entry is known, and those that are counted.
    type Packet;
    /// Returns true if the entry has counted nothing.
    fn is_free(&self) -> bool;
    /// Returns true if the packet belongs to the entry.
    fn is_of(&self, packet: &Self::Packet) -> bool;
    /// Returns an entry that has counted this packet alone.
    fn begin(packet: &Self::Packet) -> Self;
    /// Counts one more packet. Returns false if it is known to be of another flow than the packet that began the entry.
    fn count(&mut self, packet: &Self::Packet) -> bool;
}

/// The entry that counted a packet. Entries have numbers: those of pairs come first, those of lists follow in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedIn {
    /// A new entry, which the packet began.
    Begun(usize),
    /// An entry that had counted packets before.
    Known(usize),
    /// An entry that a packet of another flow began, which has the same hash.
    Shared(usize),
    /// No entry: there is no place for one more.
    Nowhere,
}

impl CountedIn {
    /// The packet was counted in an entry that had counted others. `is_its`: of the same flow, as far as is known.
    #[inline(always)]
    fn entry_in_use(number: usize, is_its: bool) -> Self {
        if is_its { Self::Known(number) } else { Self::Shared(number) }
    }
}

/// An entry that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedEntry<E> {
    /// The bucket.
    pub bucket: usize,
    /// The number of the entry, as in [`CountedIn`].
    pub number: usize,
    /// The contents.
    pub entry: E,
}

/// A table of entries that are known by a hash.
pub trait HashedTable<E: HashedEntry> {
    /// Counts a packet. `may_begin` is asked whether an entry of this number may begin.
    fn count(&mut self, hash: u32, packet: &E::Packet, may_begin: impl FnMut(usize) -> bool) -> CountedIn;
    /// Returns the entries in use, bucket by bucket, in the order in which they began.
    fn entries(&self) -> impl Iterator<Item = ListedEntry<E>> + '_;
    /// Removes all entries.
    fn clear(&mut self);
    /// Returns the bytes of buckets and lists.
    fn bytes(&self) -> usize;
}

/// The kinds of tables that know flows by a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashTableKind {
    /// Two entries at each bucket; packets of further flows have no entry.
    Double,
    /// A list at each bucket.
    List,
    /// Two entries at each bucket, and a list of later ones.
    Combined,
}

impl HashTableKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Double, Self::List, Self::Combined];

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::List => "list",
            Self::Combined => "combined",
        }
    }
}

impl fmt::Display for HashTableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HashTableKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| format!("'{text}' is no table: there are double, list and combined"))
    }
}
