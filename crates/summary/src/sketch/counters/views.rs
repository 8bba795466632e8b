//! The two ways into counters: single packets, and weights.

use super::{FAR_BYTES, FULL, grow, sum};
use crate::sketch::Cell;
use crate::sketch::memory::prefetch;

/// Counters to which weights are added.
pub(crate) struct Weighed<'a, C> {
    pub(super) bytes: &'a mut [u8],
    pub(super) cells: &'a mut [C],
    pub(super) has_singles: bool,
}

impl<'a, C: Cell> Weighed<'a, C> {
    /// The cells; after [`super::Counters::settle`] where a sum may end at a limit.
    #[inline(always)]
    pub(crate) fn cells(self) -> &'a mut [C] {
        self.cells
    }

    /// True where the cells are too many to be near.
    #[inline(always)]
    pub(crate) fn are_far(&self) -> bool {
        size_of_val(self.cells) >= FAR_BYTES
    }

    /// Has a counter's cell on its way.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        prefetch(self.cells, at);
    }

    /// True where nothing was counted yet.
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

impl Weighed<'_, u32> {
    /// Has a counter [`grow`]; after [`super::Counters::settle`] where it may end.
    #[inline(always)]
    pub(crate) fn grow<const MAY_END: bool>(&mut self, at: usize, weight: u64, saturated: &mut u64) {
        grow::<MAY_END>(&mut self.cells[at], weight, saturated);
    }
}

/// Counters that packets are counted into one by one.
pub(crate) struct Split<'a, C> {
    pub(super) bytes: &'a mut [u8],
    pub(super) cells: &'a mut [C],
    pub(super) has_weights: bool,
}

impl<C: Cell> Split<'_, C> {
    /// True where the bytes take more than what is near.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.bytes.len() >= FAR_BYTES
    }

    /// Has a counter's byte on its way.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        prefetch(self.bytes, at);
    }

    /// Counts a packet, where no sum can end at a limit.
    #[inline(always)]
    pub(crate) fn count(&mut self, at: usize) {
        let byte = &mut self.bytes[at];
        *byte = byte.wrapping_add(1);
        if *byte == 0 {
            // What is full is not empty.
            *byte = 1;
            self.cells[at] = self.cells[at].plus_within(u64::from(FULL));
        }
    }

    /// True where nothing was counted yet.
    #[inline(always)]
    pub(crate) fn is_zero(&self, at: usize) -> bool {
        self.bytes[at] == 0 && (!self.has_weights || self.cells[at] == C::default())
    }
}
