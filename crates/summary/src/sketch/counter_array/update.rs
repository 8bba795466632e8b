//! The hot path: a burst into the rows.

use super::policy::Policy;
use super::{CounterArray, RowHash};
use crate::sketch::Update;
use crate::sketch::memory::prefetch;
use crate::sketch::row_hash::place;

/// Packets whose lines are asked for before the first of them is counted.
const BATCH: usize = 32;

/// Arrays of this size and more go through in two steps; smaller ones lie in the processor's second-level cache, where
/// asking costs more than waiting.
const LARGE_BYTES: usize = 512 << 10;

/// Where a place's sign is, for policies that have one.
const SIGN: u32 = 1 << 31;

/// Place of `hash` in a row.
#[inline(always)]
pub(super) fn column(row: &RowHash, hash: u64, width: usize) -> usize {
    place(row.word(hash), width as u32)
}

/// True where the row counts `hash` below zero. The column takes the word's upper bits, this the lowest one.
#[inline(always)]
pub(super) fn is_negative(row: &RowHash, hash: u64) -> bool {
    row.word(hash) & 1 != 0
}

/// A counter's place in the whole array, with the sign by which it counts.
#[derive(Clone, Copy, Default)]
pub struct Place(u32);

impl Place {
    /// The counter's number.
    #[inline(always)]
    pub fn index(self) -> usize {
        (self.0 & !SIGN) as usize
    }

    /// The counter's number under a policy without signs.
    #[inline(always)]
    pub(super) fn unsigned(self) -> usize {
        self.0 as usize
    }

    /// True where the counter falls by what is added.
    #[inline(always)]
    pub fn is_negative(self) -> bool {
        self.0 & SIGN != 0
    }
}

/// The places of `hash` in all rows.
#[inline(always)]
pub(super) fn places<P: Policy, const D: usize>(rows: &[RowHash; D], width: u32, hash: u64) -> [Place; D] {
    std::array::from_fn(|row| {
        let word = rows[row].word(hash);
        let sign = if P::HAS_SIGNS { word << 31 } else { 0 };
        Place((row as u32 * width + place(word, width) as u32) | sign)
    })
}

/// Runs a program that is compiled for every depth, so that its loops over the rows have no end to look for.
macro_rules! with_depth {
    ($depth:expr, $d:ident => $program:expr) => {
        with_depth!(@ $depth, $d, $program, 1 2 3 4 5 6 7)
    };
    (@ $depth:expr, $d:ident, $program:expr, $($row:literal)*) => {
        match $depth {
            $($row => {
                const $d: usize = $row;
                $program
            })*
            _ => {
                const $d: usize = $crate::sketch::row_hash::MAX_ROWS;
                $program
            }
        }
    };
}
pub(super) use with_depth;

/// Who looks at each packet's counters.
pub(crate) trait Observer<K, P: Policy> {
    /// A packet and its counters after it, signs undone.
    fn counted<const D: usize>(&mut self, packet: &Update<K>, counters: [P::Cell; D]);
}

/// Nobody.
pub(super) struct Nobody;

impl<K, P: Policy> Observer<K, P> for Nobody {
    #[inline(always)]
    fn counted<const D: usize>(&mut self, _: &Update<K>, _: [P::Cell; D]) {}
}

impl<P: Policy> CounterArray<P> {
    /// Counts a burst, and shows each packet to the observer.
    #[inline(always)]
    pub(crate) fn add<K>(&mut self, burst: &[Update<K>], observer: &mut impl Observer<K, P>) {
        with_depth!(self.configuration.depth, D => self.add_rows::<D, K>(burst, observer));
    }

    // Not inlined: eight copies of it in one function leave none of them enough registers.
    #[inline(never)]
    fn add_rows<const D: usize, K>(&mut self, burst: &[Update<K>], observer: &mut impl Observer<K, P>) {
        let width = self.configuration.width as u32;
        let rows: [RowHash; D] = std::array::from_fn(|row| self.rows[row]);
        let places = |hash: u64| places::<P, D>(&rows, width, hash);
        let cells = &mut *self.cells;
        let mut total = self.added;
        if size_of_val(cells) < LARGE_BYTES {
            for update in burst {
                total = total.saturating_add(update.weight);
                observer.counted(update, P::add(cells, &places(update.hash), update.weight));
            }
        } else {
            let mut found = [[Place::default(); D]; BATCH];
            for burst in burst.chunks(BATCH) {
                for (found, update) in found.iter_mut().zip(burst) {
                    *found = places(update.hash);
                    for place in found {
                        prefetch(cells, place.index());
                    }
                }
                for (found, update) in found.iter().zip(burst) {
                    total = total.saturating_add(update.weight);
                    observer.counted(update, P::add(cells, found, update.weight));
                }
            }
        }
        self.added = total;
        self.changed();
    }
}
