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

impl<P: Policy> CounterArray<P> {
    /// Counts a burst. `then` gets each packet's number in the burst and its flow's [`Policy::rank`] with it.
    #[inline(always)]
    pub(crate) fn add<K>(&mut self, burst: &[Update<K>], then: impl FnMut(usize, i64)) {
        with_depth!(self.configuration.depth, D => self.add_rows::<D, K>(burst, then));
    }

    #[inline(always)]
    fn add_rows<const D: usize, K>(&mut self, burst: &[Update<K>], mut then: impl FnMut(usize, i64)) {
        let width = self.configuration.width as u32;
        let rows: [RowHash; D] = std::array::from_fn(|row| self.rows[row]);
        let places = |hash: u64| places::<P, D>(&rows, width, hash);
        let cells = &mut *self.cells;
        let mut total = self.added;
        if size_of_val(cells) < LARGE_BYTES {
            for (number, update) in burst.iter().enumerate() {
                total = total.saturating_add(update.weight);
                then(number, P::add(cells, &places(update.hash), update.weight));
            }
        } else {
            let mut found = [[Place::default(); D]; BATCH];
            for (first, burst) in (0..).step_by(BATCH).zip(burst.chunks(BATCH)) {
                for (found, update) in found.iter_mut().zip(burst) {
                    *found = places(update.hash);
                    for place in found {
                        prefetch(cells, place.index());
                    }
                }
                for (number, (found, update)) in (first..).zip(found.iter().zip(burst)) {
                    total = total.saturating_add(update.weight);
                    then(number, P::add(cells, found, update.weight));
                }
            }
        }
        self.added = total;
        self.changed();
    }
}
