//! Counter arrays: rows of counters, of which each packet changes one in every row. One layout, five policies.
//!
//! | policy | counters | answer | what it can do |
//! | --- | --- | --- | --- |
//! | [`CountMin`] | only grow | the least of the rows | merge, inner product |
//! | [`Conservative`] | only those that must grow | the least of the rows | better answers, but it cannot be merged |
//! | [`CountSketch`] | signed by a random sign | median | merge, inner product, removal, difference |
//! | [`KAry`] | signed | median, less what other flows are expected to add | the same |
//! | [`Turnstile`] | signed | median | the same: Count-Min where totals may be negative |
//!
//! Keys are known by their hash alone, so that one array serves keys of any kind.
//!
//! All rows lie in one allocation, row after row: a packet touches as many cache lines as there are rows.
//! Putting them into one line would save misses and lose the rows' independence, which the bounds need. That
//! independence rests on the secret hash, as rows are digits of one word: hashes that follow a pattern
//! collide in several rows at once. If the array is larger than the near cache, a burst is counted in two
//! steps: the first finds the places and prefetches their lines, the second counts. Packets that are counted
//! one by one into many counters that only add use separate bytes (`counters.rs`).
//!
//! Several cores count into one array by [`SharedArray`], or each into its own, which are added when a window ends.

mod bounds;
mod combined;
mod inner_product;
mod noise;
mod places;
mod policy;
mod shared;
mod update;

pub use inner_product::InnerProduct;
pub use places::SignedPosition;
pub use policy::{Conservative, CountMin, CountSketch, KAry, Linear, Policy, Signed, Turnstile};
pub(super) use policy::{median_of, promise_of_least};
pub use shared::SharedArray;
pub(super) use update::CounterObserver;

use super::counters::SplitCounters;
use super::grid::widest;
use super::row_hash::MAX_ROWS;
use super::{
    Bounds, Configuration, ErrorPromise, Estimate, Frequency, Merge, RowConfiguration, SketchError, Summary,
    Unmergeable, Update, UpdateBurst,
};
use super::{CounterCell, SignedCell};
use packet::{Key, Seed};
use places::{RowLocator, with_depth};
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Places are numbers of 31 bits; the 32nd is a sign.
const MOST_CELLS: usize = 1 << 31;

/// Size and seed of a counter array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayConfig<P> {
    depth: usize,
    width: usize,
    seed: Seed,
    /// Counters are not split.
    is_whole: bool,
    policy: PhantomData<fn() -> P>,
}

/// Equality ignores whether counters are split, which makes no difference to what is counted.
impl<P> PartialEq for ArrayConfig<P> {
    fn eq(&self, other: &Self) -> bool {
        (self.depth, self.width, self.seed) == (other.depth, other.width, other.seed)
    }
}

impl<P: Policy> ArrayConfig<P> {
    /// `depth` rows of `width` counters.
    ///
    /// # Errors
    /// If the policy does not allow the sizes.
    pub fn new(depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError> {
        SketchError::check_size(P::KIND, "depth", depth, 1, MAX_ROWS)?;
        SketchError::check_size(P::KIND, "width", width, P::LEAST_WIDTH, (MOST_CELLS - 1) / depth)?;
        Ok(Self { depth, width, seed, is_whole: !P::SPLITS, policy: PhantomData })
    }

    /// Returns the configuration with counters that are not split, independently of their number: for arrays that count only weights, or
    /// are read while they count.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// The largest of `depth` rows that takes no more than `bytes`, split or not.
    fn largest(depth: usize, bytes: usize, seed: Seed, is_whole: bool) -> Result<Self, SketchError> {
        let sized = |width| Self::new(depth, width, seed).map(|sized| Self { is_whole, ..sized });
        let least = sized(P::LEAST_WIDTH)?.bytes();
        if bytes < least {
            return Err(SketchError::TooLittleMemory { kind: P::KIND, bytes, least });
        }
        let widths = P::LEAST_WIDTH..=(MOST_CELLS - 1) / depth;
        sized(widest(widths, |width| sized(width).is_ok_and(|sized| sized.bytes() <= bytes)))
    }

    /// The largest whole one of `depth` rows.
    pub(super) fn whole_with_bytes(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::largest(depth, bytes, seed, true)
    }

    /// Returns the number of all counters.
    fn cells(&self) -> usize {
        self.depth * self.width
    }

    /// Rows.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Counters in a row.
    pub fn width(&self) -> usize {
        self.width
    }
}

impl<P: Policy> Configuration for ArrayConfig<P> {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        if P::SPLITS {
            let split = Self::largest(P::DEFAULT_DEPTH, bytes, seed, false)?;
            if SplitCounters::<P::Cell>::are_many(split.cells()) {
                return Ok(split);
            }
        }
        // Just below where counters begin to be split, splitting them would leave memory unused.
        Self::whole_with_bytes(P::DEFAULT_DEPTH, bytes, seed)
    }

    fn bytes(&self) -> usize {
        let bytes_of = if self.is_whole {
            SplitCounters::<P::Cell>::bytes_of_whole
        } else {
            SplitCounters::<P::Cell>::bytes_of
        };
        bytes_of(self.cells())
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl<P: Policy> RowConfiguration for ArrayConfig<P> {
    const DEFAULT_DEPTH: usize = P::DEFAULT_DEPTH;

    fn with_rows(depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::new(depth, width, seed)
    }

    fn with_depth(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::whole_with_bytes(depth, bytes, seed)
    }

    fn depth(&self) -> usize {
        Self::depth(self)
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn promise(&self) -> Option<ErrorPromise> {
        Some(P::promise(Self::depth(self), Self::width(self)))
    }
}

impl<P: Policy> fmt::Display for ArrayConfig<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} depth={} width={} counter={}", P::KIND, self.depth, self.width, P::Cell::NAME)
    }
}

/// An array of counters: rows of counters, of which each packet changes one in every row.
///
/// Linear ones merge:
///
/// ```
/// # use sketch::{CountMin, CounterArray, Merge};
/// fn merges<S: Merge>() {}
/// merges::<CounterArray<CountMin>>();
/// ```
///
/// Counters of conservative update are no sums, so that this does not compile:
///
/// ```compile_fail,E0277
/// # use sketch::{Conservative, CounterArray, Merge};
/// fn merges<S: Merge>() {}
/// merges::<CounterArray<Conservative>>();
/// ```
#[derive(Clone, Debug)]
pub struct CounterArray<P: Policy> {
    configuration: ArrayConfig<P>,
    places: RowLocator,
    /// The counters, row after row.
    counters: SplitCounters<P::Cell>,
    /// Sum of the weights that were added; it saturates.
    added: u64,
    /// Sum of the weights that were removed; it saturates.
    removed: u64,
    underflows: u64,
    /// The second moment, cached by the first query; discarded with each change.
    second_moment: OnceLock<Option<f64>>,
}

impl<P: Policy> CounterArray<P> {
    /// The total weight of the key with this hash. If nothing was ever removed it is not below zero.
    pub fn estimate_hash(&self, hash: u64) -> Estimate {
        self.bound_total(P::estimate(self, hash))
    }

    /// The estimates of the flows of a list, by their hashes: their bounds hold for all flows together, and so for those that were
    /// listed for their estimates.
    pub(super) fn estimates_of_listed<K>(&self, flows: impl Iterator<Item = (K, u64)>) -> Vec<(K, Estimate)> {
        let mut noise = None;
        let widened = |(key, hash)| {
            let Estimate { value, bounds } = P::estimate(self, hash);
            let bounds = bounds.map(|bounds| {
                let noise = *noise.get_or_insert_with(|| self.noise_of_all(bounds.confidence));
                // What is expected of other flows is taken from all, the flow itself included.
                let own = if P::TAKES_LEAST {
                    0.0
                } else {
                    2.0 * (value.abs() + noise) / self.configuration.width as f64
                };
                let (below, above) = (noise + own, if P::TAKES_LEAST { 0.0 } else { noise + own });
                Bounds { lower: value - below, upper: value + above, ..bounds }
            });
            (key, self.bound_total(Estimate { value, bounds }))
        };
        flows.map(widened).collect()
    }

    /// An estimate that is not below zero where nothing was ever removed.
    fn bound_total(&self, estimate: Estimate) -> Estimate {
        if self.removed == 0 { bounds::not_negative(estimate) } else { estimate }
    }

    /// The rank by which the key with this hash is compared with others, as when a packet of it was counted.
    pub(super) fn rank_hash(&self, hash: u64) -> i64 {
        let counters = P::counters(self, hash);
        with_depth!(self.configuration.depth, D => P::rank::<D>(std::array::from_fn(|row| counters[row])))
    }

    /// Weight added, minus what was removed.
    pub fn total(&self) -> f64 {
        self.added as f64 - self.removed as f64
    }

    /// Removals after which a counter, or the total, was below zero, where no flow's true total can bring it:
    /// more was removed than was counted. A Count Sketch's counters go below zero at any time, so that only
    /// the total can show it there.
    pub fn underflows(&self) -> u64 {
        self.underflows
    }

    /// Saturated counters. They stay at their limit, and answers that depend on one have no bound.
    pub fn saturated_counters(&self) -> usize {
        self.counters.iter().filter(|counter| counter.is_at_limit()).count()
    }

    /// Counters of one row.
    fn row(&self, row: usize) -> impl Iterator<Item = P::Cell> + '_ {
        let width = self.configuration.width;
        self.counters.range(row * width..(row + 1) * width)
    }

    /// The places of `hash`, including those beyond the depth, where there are no counters.
    fn places_of(&self, hash: u64) -> [SignedPosition; MAX_ROWS] {
        if P::HAS_SIGNS { self.places.all::<true>(hash) } else { self.places.all::<false>(hash) }
    }

    /// The counter of `hash` in each row; those beyond the depth are zero.
    fn cells_of(&self, hash: u64) -> [P::Cell; MAX_ROWS] {
        let mut cells = [P::Cell::default(); MAX_ROWS];
        for (cell, place) in cells.iter_mut().zip(self.places_of(hash)).take(self.configuration.depth) {
            *cell = self.counters.get(place.index());
        }
        cells
    }

    fn changed(&mut self) {
        self.second_moment.take();
    }
}

impl<P: Policy> Summary for CounterArray<P> {
    type Configuration = ArrayConfig<P>;

    fn new(configuration: &ArrayConfig<P>) -> Result<Self, SketchError> {
        let make = if configuration.is_whole { SplitCounters::whole } else { SplitCounters::new };
        Ok(Self {
            configuration: *configuration,
            places: RowLocator::draw(&configuration.seed, configuration.width, P::HAS_SIGNS),
            counters: make(configuration.cells())?,
            added: 0,
            removed: 0,
            underflows: 0,
            second_moment: OnceLock::new(),
        })
    }

    fn configuration(&self) -> &ArrayConfig<P> {
        &self.configuration
    }

    fn reset(&mut self) {
        self.counters.reset();
        (self.added, self.removed, self.underflows) = (0, 0, 0);
        self.changed();
    }

    fn bytes(&self) -> usize {
        self.counters.bytes()
    }
}

impl<K, P: Policy> UpdateBurst<K> for CounterArray<P> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        self.add(burst, &mut update::NoObserver);
    }

    fn count_keys(&mut self, keys: &[K])
    where
        K: Key,
    {
        self.add_keys(keys);
    }
}

impl<K: Key, P: Policy> Frequency<K> for CounterArray<P> {
    fn estimate(&self, key: &K) -> Estimate {
        self.estimate_hash(key.hash(&self.configuration.seed))
    }
}

impl<P: Linear> Merge for CounterArray<P> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.add_counters(other)
    }
}

impl<C: CounterCell> CounterArray<Conservative<C>> {
    /// Takes in what was counted of other flows, as by another core with its own flows. The sums are no less
    /// than any flow had and no more than Count-Min's counters, so that the bound holds; they are not what
    /// one array would have of all, which grows less.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn merge_disjoint(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.add_counters(other)
    }
}

impl<P: Policy> CounterArray<P> {
    fn add_counters(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &other.configuration)?;
        self.counters.combine(&other.counters, P::Cell::sum);
        self.added = self.added.saturating_add(other.added);
        self.removed = self.removed.saturating_add(other.removed);
        self.underflows += other.underflows;
        self.changed();
        Ok(())
    }
}

impl<P: Signed> CounterArray<P>
where
    P::Cell: SignedCell,
{
    /// Removes a burst.
    pub fn remove_burst<K>(&mut self, burst: &[Update<K>]) {
        for update in burst {
            self.removed = self.removed.saturating_add(update.weight);
            let fell = P::remove(self, update.hash, update.weight);
            self.underflows += u64::from(fell || self.removed > self.added);
        }
        self.changed();
    }

    /// Becomes what changed since `earlier`: estimates are differences then, below zero where a flow had more before.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn subtract(&mut self, earlier: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &earlier.configuration)?;
        self.counters.combine(&earlier.counters, P::Cell::difference);
        self.added = self.added.saturating_add(earlier.removed);
        self.removed = self.removed.saturating_add(earlier.added);
        self.changed();
        Ok(())
    }
}
