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

impl<P: Policy> CounterArray<P> {
    /// Counts a burst. `then` gets each packet's number in the burst and the estimate with it, in the integer by which
    /// candidates are compared.
    #[inline(always)]
    pub(crate) fn add<K>(&mut self, burst: &[Update<K>], then: impl FnMut(usize, i64)) {
        // The loops below have no end that is not known when they are compiled.
        match self.configuration.depth {
            1 => self.add_rows::<1, K>(burst, then),
            2 => self.add_rows::<2, K>(burst, then),
            3 => self.add_rows::<3, K>(burst, then),
            4 => self.add_rows::<4, K>(burst, then),
            5 => self.add_rows::<5, K>(burst, then),
            6 => self.add_rows::<6, K>(burst, then),
            7 => self.add_rows::<7, K>(burst, then),
            _ => self.add_rows::<8, K>(burst, then),
        }
    }

    #[inline(always)]
    fn add_rows<const D: usize, K>(&mut self, burst: &[Update<K>], mut then: impl FnMut(usize, i64)) {
        let width = self.configuration.width as u32;
        let rows: [RowHash; D] = std::array::from_fn(|row| self.rows[row]);
        let places = |hash: u64| -> [Place; D] {
            std::array::from_fn(|row| {
                let word = rows[row].word(hash);
                let sign = if P::HAS_SIGNS { word << 31 } else { 0 };
                Place((row as u32 * width + place(word, width) as u32) | sign)
            })
        };
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
