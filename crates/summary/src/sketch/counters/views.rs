//! The two ways into counters: single packets, and weights.

use super::{FAR_BYTES, FULL, grow, sum};
use crate::sketch::Cell;
use crate::sketch::memory::prefetch;

/// Counters to which weights are added.
pub(crate) struct Weighed<'a, C> {
    pub(super) bytes: &'a mut [u8],
    pub(super) cells: &'a mut [C],
}

impl<'a, C: Cell> Weighed<'a, C> {
    /// The cells, which are to be settled first where a sum may end at a limit.
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
        self.cells[at] == C::default() && self.bytes.get(at).is_none_or(|byte| *byte == 0)
    }

    /// Has the cell take what its byte holds, so that it is the counter. All that was counted until then must be within the limit.
    #[inline(always)]
    pub(crate) fn settle(&mut self, at: usize) -> &mut C {
        if let Some(byte) = self.bytes.get_mut(at) {
            self.cells[at] = sum(self.cells[at], Some(byte));
            *byte = 0;
        }
        &mut self.cells[at]
    }
}

impl Weighed<'_, u32> {
    /// Has a counter [`grow`].
    #[inline(always)]
    pub(crate) fn grow<const MAY_END: bool>(&mut self, at: usize, weight: u64, saturated: &mut u64) {
        let cell = if MAY_END { self.settle(at) } else { &mut self.cells[at] };
        grow::<MAY_END>(cell, weight, saturated);
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
