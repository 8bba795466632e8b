//! FloWatcher's combined hash (figure 3c).

use super::double::buckets;
use super::list::{ListLink, Lists};
use super::pair::{OF_PAIR, Pair};
use super::{BUCKETS, CountedIn, HashedEntry, HashedTable, ListedEntry, bucket_of};
use arena::{Lease, Limits, OutOfMemory};

/// The number of the first entry of the lists.
const FIRST_OF_LISTS: usize = BUCKETS * OF_PAIR;

/// Two entries, and a list of later ones.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket<E> {
    entries: Pair<E>,
    later: ListLink,
}

impl<E> AsMut<ListLink> for Bucket<E> {
    fn as_mut(&mut self) -> &mut ListLink {
        &mut self.later
    }
}

/// The double hash with a list at each bucket. Flows of one hash are one entry; all others have entries of their own.
#[derive(Debug)]
pub struct CombinedHash<E: HashedEntry> {
    buckets: Vec<Bucket<E>>,
    lists: Lists<E>,
    _memory: Lease,
}

impl<E: HashedEntry> CombinedHash<E> {
    /// Takes the memory of all buckets, and reserves addresses for as many entries in lists as the limits allow.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn new(limits: &Limits) -> Result<Self, OutOfMemory> {
        let empty = Bucket { entries: Pair::default(), later: ListLink::NONE };
        let (buckets, memory) = buckets(empty, limits)?;
        Ok(Self { buckets, lists: Lists::new(limits)?, _memory: memory })
    }

    /// Makes an empty table what counting would have made it, in a time that does not depend on the length of its lists. `arrivals`: buckets and
    /// contents, each entry once, in the order of arrival. Returns false if there is no room for all.
    pub fn load(&mut self, arrivals: impl Iterator<Item = (usize, E)>) -> bool {
        let mut later = Vec::new();
        for (bucket, entry) in arrivals {
            if !self.buckets[bucket].entries.load(entry) {
                later.push((bucket, entry));
            }
        }
        self.lists.load(&mut self.buckets, later.into_iter())
    }
}

impl<E: HashedEntry> HashedTable<E> for CombinedHash<E> {
    #[inline(always)]
    fn count(
        &mut self,
        hash: u32,
        packet: &E::Packet,
        mut may_begin: impl FnMut(usize) -> bool,
    ) -> CountedIn {
        let at = bucket_of(hash);
        let Bucket { entries, later } = &mut self.buckets[at];
        match entries.count(at * OF_PAIR, packet, &mut may_begin) {
            Some(counted) => counted,
            None => self.lists.count(later, FIRST_OF_LISTS, packet, may_begin),
        }
    }

    fn entries(&self) -> impl Iterator<Item = ListedEntry<E>> + '_ {
        self.buckets.iter().enumerate().flat_map(|(at, bucket)| {
            let later = self.lists.entries(bucket.later, at, FIRST_OF_LISTS);
            bucket.entries.entries(at).chain(later)
        })
    }

    fn clear(&mut self) {
        self.buckets.fill(Bucket { entries: Pair::default(), later: ListLink::NONE });
        self.lists.clear();
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.buckets) + self.lists.bytes()
    }
}
