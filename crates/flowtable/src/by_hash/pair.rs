//! Two entries in line.

use super::{CountedIn, HashedEntry, ListedEntry};

/// The number of entries of a pair.
pub(super) const OF_PAIR: usize = 2;

/// Two entries, taken in the order of arrival and never given back.
///
/// An entry is free while it has counted nothing. FloWatcher's program marks a free entry by a high half of 0, so that for one flow in 65,536
/// the entry, with its counts, is taken over by the next. The paper does not describe this, and it is not done here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<E>([E; OF_PAIR]);

impl<E: HashedEntry> Default for Pair<E> {
    fn default() -> Self {
        Self([E::default(); OF_PAIR])
    }
}

impl<E: HashedEntry> Pair<E> {
    /// Counts a packet; `None` if both entries are other flows'. `first`: the number of the first entry.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        first: usize,
        packet: &E::Packet,
        mut may_begin: impl FnMut(usize) -> bool,
    ) -> Option<CountedIn> {
        for (at, entry) in self.0.iter_mut().enumerate() {
            if entry.is_free() {
                if !may_begin(first + at) {
                    return Some(CountedIn::Nowhere);
                }
                *entry = E::begin(packet);
                return Some(CountedIn::Begun(first + at));
            }
            if entry.is_of(packet) {
                return Some(CountedIn::entry_in_use(first + at, entry.count(packet)));
            }
        }
        None
    }

    /// Puts an entry into a free place; false if there is none.
    pub(super) fn load(&mut self, entry: E) -> bool {
        let free = self.0.iter_mut().find(|entry| entry.is_free());
        free.map(|free| *free = entry).is_some()
    }

    /// Returns the entries in use.
    pub(super) fn entries(&self, bucket: usize) -> impl Iterator<Item = ListedEntry<E>> + '_ {
        let all = self.0.iter().enumerate().filter(|(_, entry)| !entry.is_free());
        all.map(move |(at, &entry)| ListedEntry { bucket, number: bucket * OF_PAIR + at, entry })
    }
}
