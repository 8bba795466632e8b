//! An index from a key's tag to the number under which its structure keeps it: buckets of a cache line each, half full, that count the
//! numbers that found no room in them (as in Meta's F14 tables), so that nothing has to move when a number leaves.

use super::SketchError;
use super::memory::{filled, prefetch};
use super::row_hash::place;
use arena::ones;
use arena::tags::{TAGS, matching};

/// Numbers for each bucket: then one bucket in fifty is full.
const LOAD: usize = TAGS / 2;

/// A bucket of marks. Compared at once, it costs only one unpredictable branch: found or not.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct IndexBucket {
    /// `FREE`, or a part of the tag.
    marks: [u16; TAGS],
    numbers: [u32; TAGS],
    /// Numbers stored after this bucket because it was full when they arrived.
    passed: u32,
}

const FREE: u16 = 0;

const EMPTY: IndexBucket = IndexBucket { marks: [FREE; TAGS], numbers: [0; TAGS], passed: 0 };

/// Tags are 32 random bits of a key: its share of the buckets is where it begins, the lower half is its mark.
#[derive(Clone, Debug)]
pub(crate) struct KeyIndex {
    buckets: Box<[IndexBucket]>,
}

#[inline(always)]
fn mark(tag: u32) -> u16 {
    (tag as u16).max(FREE + 1)
}

impl KeyIndex {
    /// The most numbers: in buckets that 32 bits can count.
    pub(crate) const MOST: usize = 1 << 30;

    /// Room for `capacity` numbers.
    pub(crate) fn new(capacity: usize) -> Result<Self, SketchError> {
        Ok(Self { buckets: filled(capacity.div_ceil(LOAD), EMPTY)? })
    }

    /// Memory for `capacity` numbers.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity.div_ceil(LOAD) * size_of::<IndexBucket>()
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.fill(EMPTY);
    }

    #[inline(always)]
    fn home(&self, tag: u32) -> usize {
        place(tag, self.buckets.len() as u32)
    }

    #[inline(always)]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }

    /// Prefetches a tag's bucket.
    #[inline(always)]
    pub(crate) fn prefetch(&self, tag: u32) {
        prefetch(&self.buckets, self.home(tag));
    }

    /// A number in the tag's home that has its mark, which is mostly the one that will be found.
    #[inline(always)]
    pub(crate) fn guess(&self, tag: u32) -> Option<u32> {
        let bucket = &self.buckets[self.home(tag)];
        ones(matching(&bucket.marks, mark(tag))).next().map(|slot| bucket.numbers[slot])
    }

    /// The number under `tag` that `is_it`.
    #[inline(always)]
    pub(crate) fn find(&self, tag: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(tag);
        // At most all buckets, so that a caller's error cannot hang.
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            let mut numbers = ones(matching(&bucket.marks, mark(tag))).map(|slot| bucket.numbers[slot]);
            if let Some(number) = numbers.find(|number| is_it(*number)) {
                return Some(number);
            }
            if bucket.passed == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Adds a number that is not in the index.
    #[inline]
    pub(crate) fn insert(&mut self, tag: u32, number: u32) {
        let mut at = self.home(tag);
        let slot = loop {
            let bucket = &mut self.buckets[at];
            match ones(matching(&bucket.marks, FREE)).next() {
                Some(slot) => break slot,
                None => bucket.passed += 1,
            }
            at = self.after(at);
        };
        let bucket = &mut self.buckets[at];
        (bucket.marks[slot], bucket.numbers[slot]) = (mark(tag), number);
    }

    /// Removes an existing number.
    #[inline]
    pub(crate) fn remove(&mut self, tag: u32, number: u32) {
        let mut at = self.home(tag);
        loop {
            let bucket = &mut self.buckets[at];
            let mut marked = ones(matching(&bucket.marks, mark(tag)));
            if let Some(slot) = marked.find(|slot| bucket.numbers[*slot] == number) {
                bucket.marks[slot] = FREE;
                return;
            }
            bucket.passed -= 1;
            at = self.after(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few tags, so that they collide; some at the end, so that they wrap around.
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
                        // As a key of another tag is another key.
                        let found = index.find(tag, |n| n == number && map.get(&n) == Some(&tag));
                        prop_assert_eq!(found, there.then_some(number));
                    }
                }
            }
            for (number, tag) in map {
                index.remove(tag, number);
            }
            prop_assert!(index.buckets.iter().all(|bucket| bucket.passed == 0 && bucket.marks == [FREE; TAGS]));
        }
    }
}
