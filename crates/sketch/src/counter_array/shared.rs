//! A counter array that all cores share, as in Wu et al. 2016: counters by compare-and-swap (Algorithm 4), and one global heavy hitter
//! guarded by a critical section (section 2.2.1, Algorithm 6).

use super::places::{RowLocator, SignedPosition, with_depth};
use super::update::BATCH;
use super::{ArrayConfig, CounterArray, Linear};
use crate::memory::{filled_with, prefetch};
use crate::{Configuration, CoreCandidates, SketchError, Summary, Update};
use crate::{CounterCell, SignedCell};
use arena::shared::{AtomicCounter, Section};
use arena::sync::{AtomicU64, Ordering};
use packet::Key;

/// A counter array that several cores update at the same time. Counters have 64 bits while they are shared,
/// and stop at their limits.
///
/// Any linear policy: additions commute. Conservative update reads all rows and raises some; two cores at
/// once would lose packets, so it is excluded, and this does not compile:
///
/// ```compile_fail,E0277
/// # use summary::sketch::{Conservative, SharedArray};
/// fn shared(_: SharedArray<packet::KeyV4, Conservative>) {}
/// ```
///
/// The global heavy hitter is the flow with the largest estimate that any packet had when it was counted. The
/// critical section is entered only for an estimate above that, which every packet of the heaviest flow has:
/// this is its cost.
#[derive(Debug)]
pub struct SharedArray<K, P: Linear> {
    configuration: ArrayConfig<P>,
    places: RowLocator,
    /// The counters, row after row.
    cells: Box<[AtomicCounter]>,
    added: AtomicCounter,
    heaviest: Section<(K, u64)>,
    /// The estimate in `heaviest`, for updates that only check whether theirs is larger. It may lag behind.
    largest: AtomicU64,
}

impl<K: Key, P: Linear> SharedArray<K, P> {
    /// An empty one.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn new(configuration: &ArrayConfig<P>) -> Result<Self, SketchError> {
        Ok(Self {
            configuration: *configuration,
            places: RowLocator::draw(configuration.seed(), configuration.width, P::HAS_SIGNS),
            cells: filled_with(configuration.cells(), AtomicCounter::new)?,
            added: AtomicCounter::new(),
            heaviest: Section::new((K::default(), 0)),
            largest: AtomicU64::new(0),
        })
    }

    /// The configuration.
    pub fn configuration(&self) -> &ArrayConfig<P> {
        &self.configuration
    }

    /// Memory of its counters.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.cells)
    }

    /// Counts a burst; from any number of threads.
    pub fn update_burst(&self, burst: &[Update<K>]) {
        let mut note = |update: &Update<K>, rank| self.note_heaviest(update, rank);
        with_depth!(self.configuration.depth, D => self.add_rows::<D>(burst, &mut note));
    }

    /// Counts a burst of one of several cores, each with candidates of its own: no critical section, and no global heavy hitter.
    pub fn update_burst_of_core(&self, burst: &[Update<K>], candidates: &mut CoreCandidates<K>) {
        let CoreCandidates { flows, largest } = candidates;
        *largest = burst.iter().fold(*largest, |largest, update| largest.max(update.weight));
        let mut note = |update: &Update<K>, rank| flows.observe(update.key, update.hash, rank);
        with_depth!(self.configuration.depth, D => self.add_rows::<D>(burst, &mut note));
    }

    /// Adds a burst; `note` gets the rank of each packet's flow after it.
    #[inline(always)]
    fn add_rows<const D: usize>(&self, burst: &[Update<K>], note: &mut impl FnMut(&Update<K>, i64)) {
        let total = burst.iter().fold(0_u64, |total, update| total.saturating_add(update.weight));
        // First, so that a concurrent reader hardly ever finds more in a counter than in the total; nothing
        // orders the two.
        self.added.add(total);
        let mut found = [[SignedPosition::default(); D]; BATCH];
        for burst in burst.chunks(BATCH) {
            for (found, update) in found.iter_mut().zip(burst) {
                *found = if P::HAS_SIGNS {
                    self.places.place_first::<D, false, true>(update.hash)
                } else {
                    self.places.place_first::<D, false, false>(update.hash)
                };
                found.iter().for_each(|place| prefetch(&self.cells, place.index()));
            }
            for (update, places) in burst.iter().zip(&found) {
                note(update, self.add_one(update, places));
            }
        }
    }

    #[inline(always)]
    fn add_one<const D: usize>(&self, update: &Update<K>, places: &[SignedPosition; D]) -> i64 {
        P::rank::<D>(std::array::from_fn(|row| {
            let cell = &self.cells[places[row].index()];
            P::Cell::from_word(if P::HAS_SIGNS && places[row].is_negative() {
                (cell.update(|word| (word as i64).minus(update.weight) as u64) as i64).saturating_neg() as u64
            } else if P::Cell::IS_SIGNED {
                cell.update(|word| (word as i64).plus(update.weight) as u64)
            } else {
                cell.add(update.weight)
            })
        }))
    }

    #[inline(always)]
    fn note_heaviest(&self, update: &Update<K>, rank: i64) {
        // A negative value is no valid total.
        let estimate = rank.max(0) as u64;
        if estimate > self.largest.load(Ordering::Relaxed) {
            self.replace_heaviest(update.key, estimate);
        }
    }

    fn replace_heaviest(&self, key: K, estimate: u64) {
        self.heaviest.enter(|heaviest| {
            // Another core may have been here since.
            if estimate > heaviest.1 {
                *heaviest = (key, estimate);
                self.largest.store(estimate, Ordering::Relaxed);
            }
        });
    }

    /// The global heavy hitter and the estimate that it had; none before the first packet.
    pub fn heaviest(&self) -> Option<(K, u64)> {
        Some(self.heaviest.enter(|heaviest| *heaviest)).filter(|(_, estimate)| *estimate > 0)
    }

    /// An array of one core with the same counts, for queries. While others update, each counter is one that
    /// it had.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn snapshot(&self) -> Result<CounterArray<P>, SketchError> {
        let mut array = CounterArray::new(&self.configuration)?;
        for (cell, shared) in array.counters.weighed().cells().iter_mut().zip(&self.cells) {
            *cell = P::Cell::from_word(shared.get());
        }
        array.added = self.added.get();
        Ok(array)
    }

    /// Clears the array and keeps its memory. What other threads count meanwhile may be lost.
    pub fn reset(&self) {
        self.cells.iter().for_each(AtomicCounter::clear);
        self.added.clear();
        self.heaviest.enter(|heaviest| *heaviest = (K::default(), 0));
        self.largest.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{CountMin, Tracked, TrackedConfig};
    use packet::{KeyV4, Seed};
    use std::collections::HashMap;

    type Array = SharedArray<KeyV4, CountMin<u64>>;

    /// Adds to one row what a core has in hand. Returns the counter behind it.
    fn add_to_row(array: &Array, update: &Update<KeyV4>, row: usize) -> u64 {
        let places = array.places.place_first::<2, false, false>(update.hash);
        array.cells[places[row].index()].add(update.weight)
    }

    /// Two cores add to the rows of a flow in turn, so that neither finds all of it in both. It is in no list, and has no more than is said.
    #[test]
    fn a_flow_that_cores_have_in_hand_has_no_more_than_is_said() {
        let seed = Seed::new(1);
        let update = |flow: u8, weight: u64| Update::new(KeyV4::new([flow; 8], [0; 4], 6), weight, &seed);
        let config = ArrayConfig::<CountMin<u64>>::new(2, 1 << 12, seed).expect("a size");
        let tracked = TrackedConfig::new(config, 1).expect("a size");
        let array = Array::new(tracked.array()).expect("memory");
        let mut cores = [1, 2].map(|_| CoreCandidates::new(1).expect("memory"));
        let mut truth: HashMap<u8, u64> = HashMap::new();
        // Each list is full.
        for (core, flow) in cores.iter_mut().zip([1, 2]) {
            array.update_burst_of_core(&[update(flow, 1_500)], core);
            *truth.entry(flow).or_default() += 1_500;
        }
        let own = update(3, 1_500);
        let (first, second) = (add_to_row(&array, &own, 0), add_to_row(&array, &own, 1));
        // The first core goes on in the row of the second one, and the other way round.
        let ranks = [first.min(add_to_row(&array, &own, 1)), second.min(add_to_row(&array, &own, 0))];
        for (core, rank) in cores.iter_mut().zip(ranks) {
            core.largest = core.largest.max(own.weight);
            core.flows.observe(own.key, own.hash, rank as i64);
        }
        *truth.entry(3).or_default() += 3_000;
        let answer = Tracked::from_cores(&tracked, &array, &cores).expect("memory");
        let listed: Vec<KeyV4> = answer.candidates().map(|(key, _)| key).collect();
        let unlisted = truth.iter().filter(|(flow, _)| !listed.contains(&update(**flow, 0).key));
        let most = unlisted.map(|(_, bytes)| *bytes).max().expect("a flow without a place");
        assert_eq!(most, 3_000, "the flow that both had in hand is in no list");
        assert!(answer.most_lacking() >= most, "{} < {most}", answer.most_lacking());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::{CountMin, Tracked, TrackedConfig};
    use loom::{sync::Arc, thread};
    use packet::{KeyV4, Seed};

    fn update(flow: u8, weight: u64) -> Update<KeyV4> {
        Update::new(KeyV4::new([flow; 8], [0; 4], 6), weight, &Seed::new(1))
    }

    #[test]
    fn nothing_is_lost_and_the_heaviest_is_the_largest_estimate() {
        for flows in [[1, 1], [1, 2]] {
            loom::model(move || {
                let configuration = ArrayConfig::<CountMin<u64>>::new(1, 1, Seed::new(1)).expect("a size");
                let array = Arc::new(SharedArray::new(&configuration).expect("memory"));
                let other = Arc::clone(&array);
                let thread = thread::spawn(move || other.update_burst(&[update(flows[0], 5)]));
                array.update_burst(&[update(flows[1], 7)]);
                thread.join().expect("no thread fails");
                let answer = array.snapshot().expect("memory");
                assert_eq!((answer.estimate_hash(update(1, 0).hash).value, answer.total()), (12.0, 12.0));
                // One counter: the second update gets both weights.
                let (key, estimate) = array.heaviest().expect("packets");
                assert_eq!(estimate, 12);
                assert!(flows.iter().any(|flow| update(*flow, 0).key == key));
            });
        }
    }

    /// Whatever the order in which two cores add to the rows of a flow that neither keeps, it has no more than is said.
    #[test]
    fn a_flow_in_no_list_has_no_more_than_is_said() {
        loom::model(|| {
            let config = ArrayConfig::<CountMin<u64>>::new(2, 64, Seed::new(1)).expect("a size");
            let tracked = TrackedConfig::new(config, 1).expect("a size");
            let array = Arc::new(SharedArray::new(tracked.array()).expect("memory"));
            let list = |flow: u8| {
                let mut list = CoreCandidates::new(1).expect("memory");
                array.update_burst_of_core(&[update(flow, 5)], &mut list);
                list
            };
            let (mut own, mut others) = (list(1), list(2));
            let other = Arc::clone(&array);
            let thread = thread::spawn(move || {
                other.update_burst_of_core(&[update(3, 5)], &mut others);
                others
            });
            array.update_burst_of_core(&[update(3, 5)], &mut own);
            let others = thread.join().expect("no thread fails");
            let answer = Tracked::from_cores(&tracked, &array, [&own, &others]).expect("memory");
            let is_listed = answer.candidates().any(|(key, _)| key == update(3, 0).key);
            assert!(is_listed || answer.most_lacking() >= 10, "{}", answer.most_lacking());
        });
    }
}
