//! Chains of entries, each an allocation of its own, and what an entry counts.

/// What an entry counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Counted {
    /// Bytes of each packet (the IP length of the shortest Ethernet frame); one length for all, so that tables
    /// differ in nothing but finding the entry.
    pub(super) const PACKET_BYTES: u32 = 46;

    pub(super) fn of(packets: u64) -> Self {
        Self { packets, bytes: packets * u64::from(Self::PACKET_BYTES) }
    }

    /// One more packet.
    #[inline(always)]
    pub(super) fn add(&mut self) {
        self.packets += 1;
        self.bytes += u64::from(Self::PACKET_BYTES);
    }
}

/// An entry in a chain, known by `T`: one cache line, as FloWatcher aligns it.
#[derive(Debug)]
#[repr(align(64))]
struct Node<T> {
    id: T,
    counted: Counted,
    next: Option<Box<Node<T>>>,
}

/// Entries in the order of arrival. As in FloWatcher, a new one is allocated alone, when its first packet
/// comes, and appended; nothing is moved to the front, nothing is removed.
#[derive(Debug)]
pub(super) struct Chain<T>(Option<Box<Node<T>>>);

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Copy + Eq> Chain<T> {
    /// Bytes of an entry, without what the allocator adds.
    pub(super) const ENTRY_BYTES: usize = size_of::<Node<T>>();

    /// Counts a packet; true where its entry is new.
    #[inline(always)]
    pub(super) fn count(&mut self, id: T) -> bool {
        let mut link = &mut self.0;
        while let Some(node) = link {
            if node.id == id {
                node.counted.add();
                return false;
            }
            link = &mut node.next;
        }
        *link = Some(Box::new(Node { id, counted: Counted::of(1), next: None }));
        true
    }

    /// All entries, in their order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (T, Counted)> + '_ {
        std::iter::successors(self.0.as_deref(), |node| node.next.as_deref())
            .map(|node| (node.id, node.counted))
    }

    /// Makes empty chains what counting would have made them, in a time that does not depend on their length:
    /// entries are allocated in the order of arrival, and then linked from the last to the first. `arrivals`:
    /// the chain, what the entry is known by and what it has counted, each entry once. Gives how many there
    /// were.
    pub(super) fn load(
        chains: &mut [impl AsMut<Self>],
        arrivals: impl Iterator<Item = (usize, T, Counted)>,
    ) -> usize {
        let allocated: Vec<_> = arrivals
            .map(|(chain, id, counted)| (chain, Box::new(Node { id, counted, next: None })))
            .collect();
        let count = allocated.len();
        for (chain, mut node) in allocated.into_iter().rev() {
            let chain = chains[chain].as_mut();
            node.next = chain.0.take();
            chain.0 = Some(node);
        }
        count
    }
}

impl<T> AsMut<Self> for Chain<T> {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// One after the other: the compiler's own way would call itself once per entry.
impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_a_cache_line() {
        assert_eq!(Chain::<u16>::ENTRY_BYTES, 64);
        assert_eq!(Chain::<packet::KeyV4>::ENTRY_BYTES, 64);
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let mut chain = [Chain::default()];
        assert_eq!(Chain::load(&mut chain, (0..1_000_000_u32).map(|id| (0, id, Counted::of(1)))), 1_000_000);
        assert_eq!(chain[0].entries().count(), 1_000_000);
    }

    proptest! {
        #[test]
        fn entries_are_in_the_order_of_arrival(ids in prop::collection::vec(0_u8..20, 0..200)) {
            let mut chain = Chain::default();
            let mut model: Vec<(u8, u64)> = Vec::new();
            for &id in &ids {
                let known = model.iter_mut().find(|(known, _)| *known == id);
                prop_assert_eq!(chain.count(id), known.is_none());
                match known {
                    Some((_, packets)) => *packets += 1,
                    None => model.push((id, 1)),
                }
            }
            let entries: Vec<_> = chain.entries().map(|(id, counted)| (id, counted.packets)).collect();
            prop_assert_eq!(&entries, &model);
            // What is loaded is what was counted.
            let mut loaded = [Chain::default()];
            Chain::load(&mut loaded, model.iter().map(|&(id, packets)| (0, id, Counted::of(packets))));
            prop_assert!(loaded[0].entries().eq(chain.entries()));
        }
    }
}
