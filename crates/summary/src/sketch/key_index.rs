//! From a key's tag to the number under which its structure keeps it: open addressing with linear probing, a third full at the
//! most.

use super::SketchError;
use super::memory::{filled, prefetch};
use super::row_hash::place;

/// Slots for each number.
const SLOTS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    tag: u32,
    /// `FREE`, or the number.
    number: u32,
}

const FREE: u32 = u32::MAX;

/// Tags are 32 random bits of a key; a tag's home is its share of the slots, so that a slot tells its own.
#[derive(Clone, Debug)]
pub(crate) struct KeyIndex {
    slots: Box<[Slot]>,
}

impl KeyIndex {
    /// The most numbers: all below [`FREE`], in slots that 32 bits can count.
    pub(crate) const MOST: usize = 1 << 30;

    /// Room for numbers below `capacity`.
    pub(crate) fn new(capacity: usize) -> Result<Self, SketchError> {
        Ok(Self { slots: filled(capacity * SLOTS, Slot { tag: 0, number: FREE })? })
    }

    /// Memory for each number.
    pub(crate) const BYTES: usize = SLOTS * size_of::<Slot>();

    pub(crate) fn clear(&mut self) {
        self.slots.fill(Slot { tag: 0, number: FREE });
    }

    #[inline(always)]
    fn home(&self, tag: u32) -> usize {
        place(tag, self.slots.len() as u32)
    }

    #[inline(always)]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// Has a tag's slot on its way.
    #[inline(always)]
    pub(crate) fn prefetch(&self, tag: u32) {
        prefetch(&self.slots, self.home(tag));
    }

    /// The number at the tag's home, which is mostly the one that will be found.
    #[inline(always)]
    pub(crate) fn guess(&self, tag: u32) -> Option<u32> {
        let slot = self.slots[self.home(tag)];
        (slot.number != FREE).then_some(slot.number)
    }

    /// The number under `tag` that `is_it`.
    #[inline(always)]
    pub(crate) fn find(&self, tag: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(tag);
        loop {
            let slot = self.slots[at];
            if slot.number == FREE {
                return None;
            }
            if slot.tag == tag && is_it(slot.number) {
                return Some(slot.number);
            }
            at = self.after(at);
        }
    }

    /// Adds a number that is not there.
    #[inline]
    pub(crate) fn insert(&mut self, tag: u32, number: u32) {
        let mut at = self.home(tag);
        while self.slots[at].number != FREE {
            at = self.after(at);
        }
        self.slots[at] = Slot { tag, number };
    }

    /// Takes a number out that is there, and moves back those behind it that its slot kept from their home (Knuth, volume 3,
    /// algorithm 6.4 R).
    #[inline]
    pub(crate) fn remove(&mut self, tag: u32, number: u32) {
        let mut gap = self.home(tag);
        while self.slots[gap].number != number {
            gap = self.after(gap);
        }
        let mut at = self.after(gap);
        while self.slots[at].number != FREE {
            let home = self.home(self.slots[at].tag);
            // True where the gap lies between the home and the slot, around the end too.
            let may_move = if gap <= at { home <= gap || home > at } else { home <= gap && home > at };
            if may_move {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.slots[gap].number = FREE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few tags, so that they crowd; some at the end, so that they go around.
        #[test]
        fn finds_what_a_map_finds(steps in proptest::collection::vec((0_usize..12, prop_oneof![0_u32..6, (u32::MAX - 6)..]), 0..200)) {
            let mut index = KeyIndex::new(12).expect("memory");
            let mut map = HashMap::<u32, u32>::new();
            for (number, tag) in steps {
                let number = number as u32;
                if let Some(tag) = map.remove(&number) {
                    index.remove(tag, number);
                } else {
                    map.insert(number, tag);
                    index.insert(tag, number);
                }
                for number in 0..12 {
                    for tag in (0..6).chain(u32::MAX - 6..=u32::MAX) {
                        let there = map.get(&number) == Some(&tag);
                        prop_assert_eq!(index.find(tag, |n| n == number), there.then_some(number));
                    }
                }
            }
        }
    }
}
