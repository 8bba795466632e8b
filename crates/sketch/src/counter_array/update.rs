//! The hot path: counts a burst in the rows.

use super::CounterArray;
use super::places::{RowLocator, SignedPosition, with_depth};
use super::policy::Policy;
use crate::CounterCell;
use crate::Update;
use crate::counters::{CounterView, SingleCounters, Weights};
use crate::memory::prefetch;
use packet::Key;

/// Packets whose lines are prefetched before the first of them is counted.
pub(super) const BATCH: usize = 32;

/// Packets whose lines are prefetched if packets are counted in bytes, more of which are cached: 14.2 ns a packet for three rows of 2^20,
/// against 15.0 by 32 and 15.5 by 16.
const SPLIT_BATCH: usize = 24;

/// An observer of each packet's counters.
pub(crate) trait CounterObserver<Packet, P: Policy> {
    /// Takes a packet and its counters after it, without their signs.
    fn counted<const D: usize>(&mut self, packet: &Packet, counters: [P::Cell; D]);
}

/// The observer that does nothing.
pub(super) struct NoObserver;

impl<Packet, P: Policy> CounterObserver<Packet, P> for NoObserver {
    #[inline(always)]
    fn counted<const D: usize>(&mut self, _: &Packet, _: [P::Cell; D]) {}
}

impl<P: Policy> CounterArray<P> {
    /// Counts a burst, and shows each packet to the observer.
    #[inline(always)]
    pub(crate) fn add<K>(&mut self, burst: &[Update<K>], observer: &mut impl CounterObserver<Update<K>, P>) {
        self.add_weighed(burst, Weights::from_burst(burst), |update| (update.hash, update.weight), observer);
    }

    /// Counts one of each key.
    #[inline(always)]
    pub(super) fn add_keys<K: Key>(&mut self, keys: &[K]) {
        let seed = self.configuration.seed;
        self.add_weighed(keys, Weights::ones(keys.len()), |key| (key.hash(&seed), 1), &mut NoObserver);
    }

    /// Counts weighed packets. `of`: a packet's hash and weight.
    #[inline(always)]
    fn add_weighed<Packet>(
        &mut self,
        burst: &[Packet],
        weights: Weights,
        of: impl Fn(&Packet) -> (u64, u64),
        observer: &mut impl CounterObserver<Packet, P>,
    ) {
        self.added = self.added.saturating_add(weights.sum);
        // No counter has more than all weights added and removed.
        let may_end = self.added.saturating_add(self.removed) >= P::Cell::LIMIT;
        let is_one_word = self.places.are_of_one_word(self.configuration.depth);
        self.changed();
        if may_end {
            self.counters.settle();
        } else if weights.are_ones
            && P::SPLITS
            && let Some(split) = self.counters.split()
        {
            // Split counters are not read while they count.
            let places = &self.places;
            return with_depth!(self.configuration.depth, D => match is_one_word {
                true => count_rows::<P, D, true, Packet>(split, places, burst, of),
                false => count_rows::<P, D, false, Packet>(split, places, burst, of),
            });
        }
        with_depth!(self.configuration.depth, D => match (is_one_word, may_end) {
            (true, false) => self.add_rows::<D, true, false, Packet>(burst, of, observer),
            (false, false) => self.add_rows::<D, false, false, Packet>(burst, of, observer),
            (_, true) => self.add_rows::<D, false, true, Packet>(burst, of, observer),
        });
    }

    // Not inlined: many copies of it in one function leave none of them enough registers.
    #[inline(never)]
    fn add_rows<const D: usize, const ONE_WORD: bool, const MAY_END: bool, Packet>(
        &mut self,
        burst: &[Packet],
        of: impl Fn(&Packet) -> (u64, u64),
        observer: &mut impl CounterObserver<Packet, P>,
    ) {
        let functions = self.places.clone();
        let places = |hash: u64| -> [SignedPosition; D] {
            if P::HAS_SIGNS {
                functions.place_first::<D, ONE_WORD, true>(hash)
            } else {
                functions.place_first::<D, ONE_WORD, false>(hash)
            }
        };
        let weighed = self.counters.weighed();
        let are_far = weighed.are_far();
        let cells = weighed.cells();
        if !are_far {
            for packet in burst {
                let (hash, weight) = of(packet);
                observer.counted(packet, P::add::<D, MAY_END>(cells, &places(hash), weight));
            }
            return;
        }
        let mut found = [[SignedPosition::default(); D]; BATCH];
        for burst in burst.chunks(BATCH) {
            for (found, packet) in found.iter_mut().zip(burst) {
                *found = places(of(packet).0);
                for place in found {
                    prefetch(cells, place.index());
                }
            }
            for (found, packet) in found.iter().zip(burst) {
                observer.counted(packet, P::add::<D, MAY_END>(cells, found, of(packet).1));
            }
        }
    }
}

/// Counts packets one by one.
// Not inlined: see above.
#[inline(never)]
fn count_rows<P: Policy, const D: usize, const ONE_WORD: bool, Packet>(
    mut split: SingleCounters<'_, P::Cell>,
    functions: &RowLocator,
    burst: &[Packet],
    of: impl Fn(&Packet) -> (u64, u64),
) {
    const { assert!(!(P::SPLITS && P::HAS_SIGNS)) };
    let functions = functions.clone();
    let places = |packet: &Packet| functions.place_first::<D, ONE_WORD, false>(of(packet).0);
    if !split.are_far() {
        for packet in burst {
            places(packet).into_iter().for_each(|place| split.count(place.unsigned(), 1));
        }
        return;
    }
    let mut found = [[SignedPosition::default(); D]; SPLIT_BATCH];
    for burst in burst.chunks(SPLIT_BATCH) {
        for (found, packet) in found.iter_mut().zip(burst) {
            *found = places(packet);
            found.iter().for_each(|place| split.prefetch(place.unsigned()));
        }
        found[..burst.len()].iter().flatten().for_each(|place| split.count(place.unsigned(), 1));
    }
}
