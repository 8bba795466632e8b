//! The two ways to update counters, by single packets and by weights, and their common interface for loops.

use super::{FAR_BYTES, FULL, grow, sum};
use crate::CounterCell;
use crate::memory::prefetch;
use arena::shared::AtomicCounter;

/// Counters that a burst is counted into.
pub(crate) trait CounterView {
    /// True if the counters of packets exceed the near cache.
    fn are_far(&self) -> bool;
    /// Prefetches what a packet counts in.
    fn prefetch(&self, at: usize);
    /// True if nothing was counted yet.
    fn is_zero(&self, at: usize) -> bool;
    /// Counts a packet.
    fn count(&mut self, at: usize, weight: u64);
}

/// Counters to which weights are added.
pub(crate) struct Weighed<'a, C> {
    pub(super) bytes: &'a mut [u8],
    pub(super) cells: &'a mut [C],
    pub(super) has_singles: bool,
}

impl<'a, C: CounterCell> Weighed<'a, C> {
    /// The cells; after [`super::SplitCounters::settle`] where a sum may end at a limit.
    #[inline(always)]
    pub(crate) fn cells(self) -> &'a mut [C] {
        self.cells
    }

    /// True if the cells are too many to be near.
    #[inline(always)]
    pub(crate) fn are_far(&self) -> bool {
        size_of_val(self.cells) >= FAR_BYTES
    }

    /// True if nothing was counted yet.
    #[inline(always)]
    pub(crate) fn is_zero(&self, at: usize) -> bool {
        self.cells[at] == C::default() && (!self.has_singles || self.bytes[at] == 0)
    }

    /// A cell that has taken what its byte holds, so that it is the counter; the byte is 0 where a sum has ended at a limit.
    #[inline(always)]
    pub(crate) fn settled(&mut self, at: usize) -> &mut C {
        let cell = &mut self.cells[at];
        if self.has_singles {
            *cell = sum(*cell, Some(&self.bytes[at]));
            self.bytes[at] = 0;
        }
        cell
    }
}

impl<'a> Weighed<'a, u32> {
    /// Returns a view for a burst whose weights the counters [`grow`] by; after [`super::SplitCounters::settle`] where one may end. What does
    /// not fit is added to `saturated`.
    #[inline(always)]
    pub(crate) fn growing<const MAY_END: bool>(self, saturated: &'a mut u64) -> Growing<'a, MAY_END> {
        Growing { counters: self, saturated }
    }
}

/// Counters of 32 bits that grow by weights, to their end where they may.
pub(crate) struct Growing<'a, const MAY_END: bool> {
    counters: Weighed<'a, u32>,
    saturated: &'a mut u64,
}

impl<const MAY_END: bool> CounterView for Growing<'_, MAY_END> {
    #[inline(always)]
    fn are_far(&self) -> bool {
        self.counters.are_far()
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.counters.cells, at);
    }

    #[inline(always)]
    fn is_zero(&self, at: usize) -> bool {
        self.counters.is_zero(at)
    }

    #[inline(always)]
    fn count(&mut self, at: usize, weight: u64) {
        grow::<MAY_END>(&mut self.counters.cells[at], weight, self.saturated);
    }
}

/// Counters that several cores add to.
#[derive(Clone, Copy)]
pub(crate) struct AtomicCounters<'a>(pub(crate) &'a [AtomicCounter]);

impl CounterView for AtomicCounters<'_> {
    #[inline(always)]
    fn are_far(&self) -> bool {
        size_of_val(self.0) >= FAR_BYTES
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.0, at);
    }

    #[inline(always)]
    fn is_zero(&self, at: usize) -> bool {
        self.0[at].get() == 0
    }

    #[inline(always)]
    fn count(&mut self, at: usize, weight: u64) {
        self.0[at].add(weight);
    }
}

/// Counters that packets are counted into one by one, where no sum can end at a limit.
pub(crate) struct SingleCounters<'a, C> {
    pub(super) bytes: &'a mut [u8],
    pub(super) cells: &'a mut [C],
    pub(super) has_weights: bool,
}

impl<C: CounterCell> CounterView for SingleCounters<'_, C> {
    #[inline(always)]
    fn are_far(&self) -> bool {
        self.bytes.len() >= FAR_BYTES
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.bytes, at);
    }

    #[inline(always)]
    fn is_zero(&self, at: usize) -> bool {
        self.bytes[at] == 0 && (!self.has_weights || self.cells[at] == C::default())
    }

    /// `weight` is 1.
    #[inline(always)]
    fn count(&mut self, at: usize, weight: u64) {
        debug_assert_eq!(weight, 1, "packets count one by one here");
        let byte = &mut self.bytes[at];
        *byte = byte.wrapping_add(1);
        if *byte == 0 {
            // What is full is not empty.
            *byte = 1;
            self.cells[at] = self.cells[at].plus_within(u64::from(FULL));
        }
    }
}
