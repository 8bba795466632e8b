//! The hot path: a burst into the rows.

use super::CounterArray;
use super::cell::Cell;
use super::places::{Place, with_depth};
use super::policy::Policy;
use crate::sketch::Update;
use crate::sketch::memory::prefetch;

/// Packets whose lines are asked for before the first of them is counted.
pub(super) const BATCH: usize = 32;

/// Arrays of this size and more go through in two steps; smaller ones lie in the processor's second-level cache, where
/// asking costs more than waiting.
const LARGE_BYTES: usize = 512 << 10;

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
        let weight = burst.iter().fold(0_u64, |sum, update| sum.saturating_add(update.weight));
        self.added = self.added.saturating_add(weight);
        // No counter has more than all that came and went.
        let may_end = self.added.saturating_add(self.removed) >= P::Cell::LIMIT;
        let is_one_word = self.places.are_of_one_word(self.configuration.depth);
        with_depth!(self.configuration.depth, D => match (is_one_word, may_end) {
            (true, false) => self.add_rows::<D, true, false, K>(burst, observer),
            (false, false) => self.add_rows::<D, false, false, K>(burst, observer),
            (_, true) => self.add_rows::<D, false, true, K>(burst, observer),
        });
        self.changed();
    }

    // Not inlined: many copies of it in one function leave none of them enough registers.
    #[inline(never)]
    fn add_rows<const D: usize, const ONE_WORD: bool, const MAY_END: bool, K>(
        &mut self,
        burst: &[Update<K>],
        observer: &mut impl Observer<K, P>,
    ) {
        let functions = self.places.clone();
        let places = |hash: u64| -> [Place; D] {
            if P::HAS_SIGNS {
                functions.of::<D, ONE_WORD, true>(hash)
            } else {
                functions.of::<D, ONE_WORD, false>(hash)
            }
        };
        let cells = &mut *self.cells;
        if size_of_val(cells) < LARGE_BYTES {
            for update in burst {
                let counters = P::add::<D, MAY_END>(cells, &places(update.hash), update.weight);
                observer.counted(update, counters);
            }
            return;
        }
        let mut found = [[Place::default(); D]; BATCH];
        for burst in burst.chunks(BATCH) {
            for (found, update) in found.iter_mut().zip(burst) {
                *found = places(update.hash);
                for place in found {
                    prefetch(cells, place.index());
                }
            }
            for (found, update) in found.iter().zip(burst) {
                observer.counted(update, P::add::<D, MAY_END>(cells, found, update.weight));
            }
        }
    }
}
