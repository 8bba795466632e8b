//! Counters of large structures, in two parts, so that packets that are counted one by one access a quarter
//! of the memory.
//!
//! A counter is a cell, and a byte that packets count in: each time the byte is full, 255 are carried to the
//! cell. Other weights are added to the cell alone. The counter is the sum of both. A million counters take a
//! megabyte that way, which a core's own cache holds, instead of four, and the cells are touched by one
//! packet in 255 of a counter's. (Hybrid counters: small ones near, large ones far; Shah, Iyer, Prabhakar,
//! McKeown, "Maintaining statistics counters in router line cards", IEEE Micro 2002, for SRAM and DRAM.)
//! Measured with 2^20 counters a row and packets by Zipf(1): one row with keys 13 to 10 ns, three rows 19 to
//! 14 ns.
//!
//! Fewer counters have no bytes: their cells are in a near cache.

mod stop;
mod views;
mod weights;

pub use stop::{add, grow};
pub(crate) use views::{AtomicCounters, CounterView, SingleCounters, Weighed};
pub(crate) use weights::Weights;

use super::memory::filled;
use super::{CounterCell, SketchError};

/// Cells of this many bytes and more exceed the core's L2 cache, or take most of it.
const FAR_BYTES: usize = 512 << 10;

/// The most that a byte holds. A byte that has counted is never 0 again, so that a nonzero counter seldom has to read its cell.
const FULL: u8 = u8::MAX;

/// The counters of a large structure, in two parts.
#[derive(Clone, Debug)]
pub(crate) struct SplitCounters<C> {
    /// The bytes of the counters; empty if the cells are not split.
    bytes: Box<[u8]>,
    cells: Box<[C]>,
    /// False if cells have only what full bytes gave them: a counter whose byte is 0 has nothing then, so
    /// that its cell, far away, need not be read.
    has_weights: bool,
    /// False if all bytes are 0, which need not be read then.
    has_singles: bool,
}

impl<C: CounterCell> SplitCounters<C> {
    /// `len` of them, split if they are many.
    pub(crate) fn new(len: usize) -> Result<Self, SketchError> {
        Self::make(len, Self::are_many(len))
    }

    /// `len` of them that are not split, for callers that read counters while they count.
    pub(crate) fn whole(len: usize) -> Result<Self, SketchError> {
        Self::make(len, false)
    }

    fn make(len: usize, are_split: bool) -> Result<Self, SketchError> {
        let bytes = if are_split { filled(len, 0)? } else { Box::default() };
        Ok(Self { bytes, cells: filled(len, C::default())?, has_weights: false, has_singles: false })
    }

    /// True if this many counters are stored in two parts by default.
    pub(crate) const fn are_many(len: usize) -> bool {
        len >= FAR_BYTES / size_of::<C>()
    }

    /// Memory of `len` counters.
    pub(crate) const fn bytes_of(len: usize) -> usize {
        Self::bytes_of_whole(len) + if Self::are_many(len) { len } else { 0 }
    }

    /// Memory of `len` counters that are not split.
    pub(crate) const fn bytes_of_whole(len: usize) -> usize {
        len * size_of::<C>()
    }

    /// Returns the memory of the counters, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.cells)
    }

    /// A counter's value.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> C {
        sum(self.cells[at], self.bytes.get(at))
    }

    /// The values of a range of counters.
    pub(crate) fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = C> + '_ {
        let mut bytes = self.bytes.get(range.clone()).unwrap_or_default().iter();
        self.cells[range].iter().map(move |cell| sum(*cell, bytes.next()))
    }

    /// Returns all values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = C> + '_ {
        self.range(0..self.cells.len())
    }

    /// Sets a counter.
    pub(crate) fn set(&mut self, at: usize, value: C) {
        self.cells[at] = value;
        self.has_weights = true;
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte = 0;
        }
    }

    /// Replaces each counter by `combined` of it and the other's.
    pub(crate) fn combine(&mut self, other: &Self, combined: impl Fn(C, C) -> C) {
        self.settle();
        self.has_weights = true;
        for (cell, theirs) in self.cells.iter_mut().zip(other.iter()) {
            *cell = combined(*cell, theirs);
        }
    }

    /// Carries the bytes to the cells, so that these are the counters. No sum may have saturated before:
    /// called once before one may, as no byte counts from then on.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        if self.has_singles {
            self.settle_all();
        }
    }

    #[cold]
    fn settle_all(&mut self) {
        for (cell, byte) in self.cells.iter_mut().zip(&self.bytes) {
            *cell = sum(*cell, Some(byte));
        }
        self.bytes.fill(0);
        (self.has_weights, self.has_singles) = (true, false);
    }

    /// Sets all of them to 0.
    pub(crate) fn reset(&mut self) {
        self.bytes.fill(0);
        self.cells.fill(C::default());
        (self.has_weights, self.has_singles) = (false, false);
    }

    /// Returns a view that counts packets one by one; `None` if the counters are not split.
    #[inline(always)]
    pub(crate) fn split(&mut self) -> Option<SingleCounters<'_, C>> {
        let Self { bytes, cells, has_weights, has_singles } = self;
        *has_singles = !bytes.is_empty();
        has_singles.then_some(SingleCounters { bytes, cells, has_weights: *has_weights })
    }

    /// Returns a view that counts packets of any weight.
    #[inline(always)]
    pub(crate) fn weighed(&mut self) -> Weighed<'_, C> {
        self.has_weights = true;
        Weighed { bytes: &mut self.bytes, cells: &mut self.cells, has_singles: self.has_singles }
    }
}

/// A counter of a cell and its byte.
#[inline(always)]
fn sum<C: CounterCell>(cell: C, byte: Option<&u8>) -> C {
    byte.map_or(cell, |byte| cell.plus(u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: usize = FAR_BYTES / size_of::<u32>();

    #[test]
    fn only_many_are_split() {
        for (len, are_split) in [(1, false), (MANY - 1, false), (MANY, true)] {
            let mut counters = SplitCounters::<u32>::new(len).expect("memory");
            assert_eq!(counters.split().is_some(), are_split);
            assert_eq!(counters.bytes(), SplitCounters::<u32>::bytes_of(len));
            assert_eq!(counters.bytes(), len * if are_split { 5 } else { 4 });
            let mut counters = SplitCounters::<u32>::whole(len).expect("memory");
            assert!(counters.split().is_none());
            assert_eq!(counters.bytes(), SplitCounters::<u32>::bytes_of_whole(len));
        }
    }

    /// Packets and weights in any order, up to a full byte and beyond, against plain sums.
    #[test]
    fn a_counter_is_what_was_added() {
        const ORDER: [usize; 6] = [0, 0, 0, 1, 2, 3];
        let mut counters = SplitCounters::<i64>::new(MANY).expect("memory");
        let mut sums = [0_i64; 5];
        for step in 0..5_000_usize {
            let at = ORDER[step % ORDER.len()];
            assert_eq!(counters.split().expect("many").is_zero(at), sums[at] == 0);
            // The first packets have no weights.
            if step > 2_000 && step % 7 == 0 {
                assert_eq!(counters.weighed().is_zero(at), sums[at] == 0);
                counters.weighed().cells()[at] += 1_000;
                sums[at] += 1_000;
            } else {
                counters.split().expect("many").count(at, 1);
                sums[at] += 1;
            }
            if step % 1_111 == 0 {
                assert_eq!(*counters.weighed().settled(at), sums[at]);
            }
            assert_eq!(counters.get(at), sums[at]);
        }
        assert!(counters.range(0..5).eq(sums) && counters.range(2..4).eq([sums[2], sums[3]]));
        assert_eq!(counters.iter().sum::<i64>(), sums.iter().sum::<i64>());
        let other = counters.clone();
        counters.settle();
        assert!(counters.range(0..5).eq(sums) && counters.weighed().cells()[..5] == sums);
        counters.combine(&other, |ours, theirs| 3 * ours - theirs);
        assert!(counters.range(0..5).eq(sums.map(|sum| 2 * sum)));
        counters.reset();
        assert!(counters.iter().all(|counter| counter == 0) && counters.split().expect("many").is_zero(0));
    }

    #[test]
    fn what_was_counted_one_by_one_is_not_zero_for_weights() {
        let (mut counters, mut saturated) = (SplitCounters::<u32>::new(MANY).expect("memory"), 0);
        counters.split().expect("many").count(5, 1);
        let mut growing = counters.weighed().growing::<false>(&mut saturated);
        growing.count(6, 7);
        assert!(!growing.is_zero(5) && !growing.is_zero(6) && growing.is_zero(7));
        assert_eq!((counters.get(5), counters.get(6), saturated), (1, 7, 0));
    }

    #[test]
    fn what_was_counted_by_weight_is_not_zero_for_packets() {
        let mut counters = SplitCounters::<u32>::new(MANY).expect("memory");
        counters.weighed().cells()[5] += 3;
        let split = counters.split().expect("many");
        assert!(!split.is_zero(5) && split.is_zero(6));
        counters.set(6, 1);
        assert!(!counters.split().expect("many").is_zero(6));
    }
}
