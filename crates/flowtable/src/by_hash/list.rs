//! FloWatcher's linked-list hash (figure 3b), and the lists of its combined one.

use super::double::buckets;
use super::{CountedIn, HashedEntry, HashedTable, ListedEntry, bucket_of};
use arena::{Arena, Lease, Limits, OutOfMemory};

/// The first entry of a list, or the one after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListLink(u32);

impl ListLink {
    /// The end of a list. No entry has this number.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// An entry of a list: one cache line, as FloWatcher aligns it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct ListEntry<E> {
    entry: E,
    next: ListLink,
}

/// The entries of all lists of a table.
///
/// In a list they have the order of arrival: as in FloWatcher, a new one is appended, nothing is moved to the front and nothing is removed.
/// FloWatcher allocates each alone (`rte_calloc`, so in huge pages); here they lie in one arena, which is kinder: a new one costs less, and
/// nothing lies between them.
#[derive(Debug)]
pub(super) struct Lists<E: HashedEntry>(Arena<ListEntry<E>>);

impl<E: HashedEntry> Lists<E> {
    /// Reserves addresses for as many entries as the limits allow.
    pub(super) fn new(limits: &Limits) -> Result<Self, OutOfMemory> {
        let of_memory = limits.bytes_allowed() / size_of::<ListEntry<E>>() + 1;
        // A number less than that of the end of a list.
        let most = limits.flow_limit().min(of_memory).min(1 << 30);
        Ok(Self(Arena::reserve(most, limits)?))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the bytes of the entries.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Counts a packet in the list that begins at `head`. `first`: the number of the first entry of all lists.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        head: &mut ListLink,
        first: usize,
        packet: &E::Packet,
        mut may_begin: impl FnMut(usize) -> bool,
    ) -> CountedIn {
        let (mut last, mut at) = (ListLink::NONE, *head);
        // No entry has the number of the end, so the look at the length is the end of the list too.
        while let Some(ListEntry { entry, next }) = self.0.get_mut(at.at()) {
            if entry.is_of(packet) {
                return CountedIn::entry_in_use(first + at.at(), entry.count(packet));
            }
            (last, at) = (at, *next);
        }
        let new = self.0.len();
        if !self.0.make_room() || !may_begin(first + new) {
            return CountedIn::Nowhere;
        }
        self.append(head, last, E::begin(packet));
        CountedIn::Begun(first + new)
    }

    /// Appends an entry, for which there is room, to the list of which `last` is the last one.
    fn append(&mut self, head: &mut ListLink, last: ListLink, entry: E) -> ListLink {
        let new = ListLink(self.0.len() as u32);
        match self.0.get_mut(last.at()) {
            Some(last) => last.next = new,
            None => *head = new,
        }
        self.0.push(ListEntry { entry, next: ListLink::NONE });
        new
    }

    /// Returns the entries of a list, in its order. `first`: the number of the first entry of all lists.
    pub(super) fn entries(
        &self,
        head: ListLink,
        bucket: usize,
        first: usize,
    ) -> impl Iterator<Item = ListedEntry<E>> + '_ {
        let at = move |link: ListLink| self.0.get(link.at()).map(|entry| (link, entry));
        let all = std::iter::successors(at(head), move |(_, entry)| at(entry.next));
        all.map(move |(link, listed)| ListedEntry { bucket, number: first + link.at(), entry: listed.entry })
    }

    /// Makes empty lists what counting would have made them, in a time that does not depend on their length. `arrivals`: the buckets and
    /// contents of entries, each entry once. Returns false if there is no room for all.
    pub(super) fn load<H: AsMut<ListLink>>(
        &mut self,
        heads: &mut [H],
        mut arrivals: impl Iterator<Item = (usize, E)>,
    ) -> bool {
        let mut last = vec![ListLink::NONE; heads.len()];
        arrivals.all(|(bucket, entry)| {
            let has_room = self.0.make_room();
            if has_room {
                last[bucket] = self.append(heads[bucket].as_mut(), last[bucket], entry);
            }
            has_room
        })
    }
}

impl AsMut<ListLink> for ListLink {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// 2^16 lists. Flows of one hash are one entry; all others have entries of their own.
#[derive(Debug)]
pub struct ListHash<E: HashedEntry> {
    heads: Vec<ListLink>,
    lists: Lists<E>,
    _memory: Lease,
}

impl<E: HashedEntry> ListHash<E> {
    /// Takes the memory of all heads, and reserves addresses for as many entries as the limits allow.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn new(limits: &Limits) -> Result<Self, OutOfMemory> {
        let (heads, memory) = buckets(ListLink::NONE, limits)?;
        Ok(Self { heads, lists: Lists::new(limits)?, _memory: memory })
    }

    /// Makes an empty table what counting would have made it, in a time that does not depend on the length of its lists. `arrivals`: buckets and
    /// contents, each entry once, in the order of arrival. Returns false if there is no room for all.
    pub fn load(&mut self, arrivals: impl Iterator<Item = (usize, E)>) -> bool {
        self.lists.load(&mut self.heads, arrivals)
    }
}

impl<E: HashedEntry> HashedTable<E> for ListHash<E> {
    #[inline(always)]
    fn count(&mut self, hash: u32, packet: &E::Packet, may_begin: impl FnMut(usize) -> bool) -> CountedIn {
        self.lists.count(&mut self.heads[bucket_of(hash)], 0, packet, may_begin)
    }

    fn entries(&self) -> impl Iterator<Item = ListedEntry<E>> + '_ {
        let heads = self.heads.iter().enumerate();
        heads.flat_map(|(bucket, &head)| self.lists.entries(head, bucket, 0))
    }

    fn clear(&mut self) {
        self.heads.fill(ListLink::NONE);
        self.lists.clear();
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.heads) + self.lists.bytes()
    }
}
