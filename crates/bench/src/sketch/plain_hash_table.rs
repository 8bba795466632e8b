//! The Simple Hash Table as it is written down: entries of 17 bytes, one murmur3, one packet after the other.

use super::contender::Contender;
use super::stream::Stream;
use crate::murmur3::{library_murmur3, murmur3};
use crate::tuple::Tuple;
use packet::KeyV4;

/// A 5-tuple and a counter, as Wu et al. have them (section 4.4.2).
#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
struct Entry {
    tuple: Tuple,
    count: u32,
}

/// By a function for bytes of any number, and the hash modulo the width; or `TUNED`: compiled for 13 bytes into the loop, for a
/// width that is a power of two.
pub(super) struct PlainHashTable<const TUNED: bool> {
    entries: Vec<Entry>,
}

impl<const TUNED: bool> PlainHashTable<TUNED> {
    pub(super) fn new(width: usize) -> Self {
        assert!(width.is_power_of_two());
        Self { entries: vec![Entry::default(); width] }
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

impl<const TUNED: bool> Contender for PlainHashTable<TUNED> {
    fn name(&self) -> &'static str {
        if TUNED { "tuned_murmur3" } else { "plain_murmur3" }
    }

    fn is_baseline(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.entries.fill(Entry::default());
    }

    fn count(&mut self, stream: &Stream) {
        for tuple in &stream.tuples {
            let place = self.place(tuple);
            let entry = &mut self.entries[place];
            if entry.count == 0 {
                entry.tuple = *tuple;
            }
            entry.count += 1;
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        Some(self.entries[self.place(&Tuple::of(key))].count.into())
    }

    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>> {
        let heavy = self.entries.iter().filter(|entry| u64::from(entry.count) >= threshold.max(1));
        Some(heavy.map(|entry| { entry.tuple }.key()).collect())
    }
}
