//! Lists of entries.

use super::counted::EntryCounts;
use crate::huge::room;

/// The first entry of a list, or the one after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListLink(u32);

impl Default for ListLink {
    fn default() -> Self {
        Self::NONE
    }
}

impl ListLink {
    const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// An entry known by `T`: one cache line, as FloWatcher aligns it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct ListEntry<T> {
    id: T,
    counted: EntryCounts,
    next: ListLink,
}

/// The entries of all lists of a table.
///
/// In a list they have the order of arrival: as in FloWatcher, a new one is appended, nothing is moved to the
/// front and nothing is removed. FloWatcher allocates each alone (`rte_calloc`, so in huge pages); here they
/// lie in one vector in huge pages, which is kinder: a new one costs less, and nothing lies between them.
#[derive(Debug)]
pub(super) struct ListArena<T>(Vec<ListEntry<T>>);

impl<T: Copy + Eq> ListArena<T> {
    /// Room for this many entries; more are taken too, at the price of moving all.
    pub(super) fn with_room(entries: usize) -> Self {
        Self(room(entries))
    }

    /// Forgets all entries and keeps the room.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes of the entries.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Counts a packet.
    #[inline(always)]
    pub(super) fn count(&mut self, head: &mut ListLink, id: T) {
        let (mut last, mut at) = (ListLink::NONE, *head);
        // No entry has the number `NONE`, so the look at the length is the end of the list too.
        while let Some(entry) = self.0.get_mut(at.at()) {
            if entry.id == id {
                entry.counted.add();
                return;
            }
            (last, at) = (at, entry.next);
        }
        self.append(head, last, id, EntryCounts::from_packets(1));
    }

    /// Appends an entry to the list of which `last` is the last one.
    fn append(&mut self, head: &mut ListLink, last: ListLink, id: T, counted: EntryCounts) -> ListLink {
        let new = ListLink(self.0.len() as u32);
        match self.0.get_mut(last.at()) {
            Some(last) => last.next = new,
            None => *head = new,
        }
        self.0.push(ListEntry { id, counted, next: ListLink::NONE });
        new
    }

    /// The entries of a list, in its order.
    pub(super) fn entries(&self, head: ListLink) -> impl Iterator<Item = (T, EntryCounts)> + '_ {
        let at = |link: ListLink| self.0.get(link.at());
        std::iter::successors(at(head), move |entry| at(entry.next)).map(|entry| (entry.id, entry.counted))
    }

    /// Makes empty lists what counting would have made them, in a time that does not depend on their length.
    /// `arrivals`: which list, what the entry is known by and what it has counted, each entry once.
    pub(super) fn load<H: AsMut<ListLink>>(
        &mut self,
        heads: &mut [H],
        arrivals: impl Iterator<Item = (usize, T, EntryCounts)>,
    ) {
        let mut last = vec![ListLink::NONE; heads.len()];
        for (list, id, counted) in arrivals {
            last[list] = self.append(heads[list].as_mut(), last[list], id, counted);
        }
    }
}

impl AsMut<ListLink> for ListLink {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_a_cache_line() {
        assert_eq!((size_of::<ListEntry<u16>>(), size_of::<ListEntry<packet::KeyV4>>()), (64, 64));
    }

    proptest! {
        #[test]
        fn entries_are_in_the_order_of_arrival(
            ids in prop::collection::vec((0_usize..3, 0_u8..20), 0..200),
            room in 0_usize..100,
        ) {
            let mut heads = [ListLink::default(); 3];
            let mut lists = ListArena::with_room(room);
            let mut model: [Vec<(u8, EntryCounts)>; 3] = Default::default();
            for &(list, id) in &ids {
                lists.count(&mut heads[list], id);
                match model[list].iter_mut().find(|(known, _)| *known == id) {
                    Some((_, counted)) => *counted = EntryCounts::from_packets(counted.packets + 1),
                    None => model[list].push((id, EntryCounts::from_packets(1))),
                }
            }
            for (head, model) in heads.iter().zip(&model) {
                prop_assert_eq!(&lists.entries(*head).collect::<Vec<_>>(), model);
            }
            prop_assert_eq!(lists.bytes(), 64 * model.iter().map(Vec::len).sum::<usize>());
        }
    }
}
