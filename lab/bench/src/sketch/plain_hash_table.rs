//! The Simple Hash Table as published: one murmur3, packet by packet.

use super::contender::Contender;
use super::stream::SketchStream;
use crate::murmur3::{library_murmur3, murmur3};
use crate::tuple::Tuple;
use packet::KeyV4;

/// An entry: what it counts, and for whom.
pub(super) trait TableEntry: Copy + Default + 'static {
    const NAMES: [&'static str; 2];
    fn add(&mut self, tuple: &Tuple);
    /// The kept flow, and its packets.
    fn kept(&self) -> (Tuple, u32);
    /// Returns a bound: no less than a flow of the entry had.
    fn most(&self, tuple: &Tuple) -> u32;
}

/// 17 bytes: a 5-tuple and a counter, as Wu et al. have them (section 4.4.2).
#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
pub(super) struct PublishedEntry {
    tuple: Tuple,
    count: u32,
}

impl TableEntry for PublishedEntry {
    const NAMES: [&'static str; 2] = ["plain_murmur3", "tuned_murmur3"];

    #[inline(always)]
    fn add(&mut self, tuple: &Tuple) {
        if self.count == 0 {
            self.tuple = *tuple;
        }
        self.count += 1;
    }

    fn kept(&self) -> (Tuple, u32) {
        (self.tuple, self.count)
    }

    fn most(&self, _: &Tuple) -> u32 {
        self.count
    }
}

/// 21 bytes: the same with a second counter for all flows but the one that is kept.
#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
pub(super) struct CheckedEntry {
    first: PublishedEntry,
    others: u32,
}

impl CheckedEntry {
    #[inline(always)]
    fn is_first(&self, tuple: &Tuple) -> bool {
        self.first.tuple == *tuple
    }
}

impl TableEntry for CheckedEntry {
    const NAMES: [&'static str; 2] = ["plain_checked_murmur3", "tuned_checked_murmur3"];

    #[inline(always)]
    fn add(&mut self, tuple: &Tuple) {
        if self.first.count == 0 || self.is_first(tuple) {
            self.first.add(tuple);
        } else {
            self.others += 1;
        }
    }

    fn kept(&self) -> (Tuple, u32) {
        self.first.kept()
    }

    fn most(&self, tuple: &Tuple) -> u32 {
        if self.is_first(tuple) { self.first.count } else { self.others }
    }
}

/// A hash table by a function for bytes of any number, and the hash modulo the width; or `TUNED`: compiled for 13 bytes into the loop, for a
/// width that is a power of two.
pub(super) struct PlainHashTable<E, const TUNED: bool> {
    entries: Vec<E>,
}

impl<E: TableEntry, const TUNED: bool> PlainHashTable<E, TUNED> {
    pub(super) fn new(width: usize) -> Self {
        assert!(width.is_power_of_two());
        Self { entries: vec![E::default(); width] }
    }

    #[inline(always)]
    fn place(&self, tuple: &Tuple) -> usize {
        let width = self.entries.len();
        if TUNED {
            murmur3(tuple.bytes(), 1) as usize & (width - 1)
        } else {
            (library_murmur3(tuple.bytes(), 1) % width as u32) as usize
        }
    }
}

impl<E: TableEntry, const TUNED: bool> Contender for PlainHashTable<E, TUNED> {
    fn name(&self) -> &'static str {
        E::NAMES[usize::from(TUNED)]
    }

    fn is_baseline(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.entries.fill(E::default());
    }

    fn count(&mut self, stream: &SketchStream) {
        for tuple in &stream.tuples {
            let place = self.place(tuple);
            self.entries[place].add(tuple);
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        let tuple = Tuple::from_v4(key);
        Some(self.entries[self.place(&tuple)].most(&tuple).into())
    }

    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>> {
        let kept = self.entries.iter().map(TableEntry::kept);
        let heavy = kept.filter(|(_, count)| u64::from(*count) >= threshold.max(1));
        Some(heavy.map(|(tuple, _)| tuple.key()).collect())
    }
}
