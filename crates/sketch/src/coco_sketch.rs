//! CocoSketch (Zhang et al., SIGCOMM 2021): heavy flows by the full key, and by any part of it, from one structure.

use super::confidence::CONFIDENCE;
use super::counters::add;
use super::draw::SketchRng;
use super::grid::{CellIndices, Grid, GridConfig, GridRows};
use super::memory::{filled, prefetch};
use super::row_hash::MAX_ROWS;
use super::summary::BURST;
use super::{Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary};
use super::{Unmergeable, Update, UpdateBurst};
use packet::Key;
use std::collections::BTreeMap;

/// Cells with a key and a counter. A packet of a flow that holds none of its cells is added to the least of
/// them, and takes it over with a probability of its weight's share of the new count: so the expected counter
/// of each flow is the flow's weight.
///
/// Estimates are unbiased, and sums of them over all flows that agree in a part of the key are too. The
/// variance is f (N − f) / w at most for w cells a row (section 4.2; more rows lower it), from which the
/// bounds follow by Chebyshev's inequality with a confidence of 95 %; they are wide, as they hold for the
/// worst stream. Merging counts once more what cells have counted, and has that variance again.
#[derive(Clone)]
pub struct CocoSketch<K: Key> {
    config: GridConfig<Self>,
    rows: GridRows,
    cells: Box<[CocoCell<K>]>,
    draw: SketchRng,
    total: u64,
    saturated: u64,
    /// The most times that packets were counted: once, and again in each sketch that it was merged into.
    stages: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
struct CocoCell<K> {
    key: K,
    count: u32,
}

impl<K: Key> Grid for CocoSketch<K> {
    const KIND: &'static str = "CocoSketch";
    const DEFAULT_ROWS: usize = 2;
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=u32::MAX as usize / MAX_ROWS;

    fn bytes(rows: usize, width: usize) -> usize {
        rows * width * size_of::<CocoCell<K>>()
    }
}

impl<K: Key> CocoSketch<K> {
    /// Updates of a saturated counter: estimates are too low since.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    fn purpose() -> u64 {
        0xc0c0
    }

    /// Adds to the cell of a key among those of its places, or to the least of them, which the key may take over.
    #[inline(always)]
    fn take(&mut self, places: impl Iterator<Item = usize> + Clone, key: &K, weight: u64) {
        let is_there = |place: &usize| {
            let cell = self.cells[*place];
            (cell.count > 0) && { cell.key } == *key
        };
        let least = || places.clone().min_by_key(|place| self.cells[*place].count);
        let Some(at) = places.clone().find(is_there).or_else(least) else { return };
        let cell = &mut self.cells[at];
        let (sum, over) = add(cell.count, weight);
        cell.count = sum;
        self.saturated += over;
        if { cell.key } != *key && self.draw.happens(weight, sum.into()) {
            cell.key = *key;
        }
    }

    /// Returns all keys, each with the sum of all its cells.
    fn sums<P: Ord>(&self, part: impl Fn(&K) -> P) -> BTreeMap<P, u64> {
        let mut sums = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| { cell.count } > 0) {
            let key = cell.key;
            *sums.entry(part(&key)).or_default() += u64::from(cell.count);
        }
        sums
    }

    /// Heavy hitters by the `part` of a key (an address, a prefix, …): section 3 of the paper.
    pub fn heavy_parts<P: Ord + Copy>(&self, part: impl Fn(&K) -> P, threshold: u64) -> HeavyKeys<P> {
        let heavy = self.sums(part).into_iter().filter(|(_, sum)| *sum >= threshold);
        HeavyKeys::new(heavy.map(|(part, sum)| (part, self.bounded(sum))).collect(), false)
    }

    /// |f̂ − f| ≤ ε √(f N), solved for f, where P ≥ 1 − s / (w ε²) for s stages.
    fn bounded(&self, sum: u64) -> Estimate {
        let (value, total) = (sum as f64, self.total as f64);
        let epsilon = (f64::from(self.stages) / (self.config.width as f64 * (1.0 - CONFIDENCE))).sqrt();
        let spread = epsilon * total.sqrt();
        let root = (spread * spread + 4.0 * value).sqrt();
        let (lower, upper) = (((root - spread) / 2.0).powi(2), ((root + spread) / 2.0).powi(2));
        let upper = if self.saturated > 0 { f64::INFINITY } else { upper.max(value) };
        Estimate::bounded(value, lower.min(value), upper, CONFIDENCE)
    }
}

impl<K: Key> Summary for CocoSketch<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, Self::purpose()),
            cells: filled(config.cells(), CocoCell::default())?,
            draw: SketchRng::new(&config.seed, Self::purpose()),
            total: 0,
            saturated: 0,
            stages: 1,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.cells.fill(CocoCell::default());
        self.draw = SketchRng::new(&self.config.seed, Self::purpose());
        (self.total, self.saturated, self.stages) = (0, 0, 1);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> UpdateBurst<K> for CocoSketch<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let mut places: CellIndices = [[0; MAX_ROWS]; BURST];
        for burst in burst.chunks(BURST) {
            self.rows.locate(burst, &mut places, |place| prefetch(&self.cells, place));
            for (places, update) in places.iter().zip(burst) {
                let places = &places[..self.rows.len()];
                self.take(places.iter().map(|place| *place as usize), &update.key, update.weight);
                self.total = self.total.saturating_add(update.weight);
            }
        }
    }
}

/// Counts what a cell of the other has counted as one packet of its key, the greatest first: estimates stay unbiased, and a key that both
/// have found is counted in one cell. Cell by cell, of two heavy flows in cells of one place one would be given the counts of both: with
/// four workers, a tenth of the 50 heaviest flows had bounds without the truth.
impl<K: Key> Merge for CocoSketch<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.saturated += other.saturated;
        self.total = self.total.saturating_add(other.total);
        self.stages = self.stages.max(other.stages.saturating_add(1));
        self.draw = self.draw.joined(&other.draw);
        let mut theirs: Vec<CocoCell<K>> =
            other.cells.iter().copied().filter(|cell| cell.count > 0).collect();
        theirs.sort_unstable_by_key(|cell| std::cmp::Reverse(cell.count));
        for CocoCell { key, count } in theirs {
            let mut places = [0; MAX_ROWS];
            let located = self.rows.places(key.hash(&self.config.seed));
            places.iter_mut().zip(located).for_each(|(place, located)| *place = located);
            self.take(places[..self.rows.len()].iter().copied(), &key, count.into());
        }
        Ok(())
    }
}

impl<K: Key> Frequency<K> for CocoSketch<K> {
    fn estimate(&self, key: &K) -> Estimate {
        let places = self.rows.places(key.hash(&self.config.seed));
        let cells = places.map(|place| self.cells[place]).filter(|cell| { cell.key } == *key);
        self.bounded(cells.map(|cell| u64::from(cell.count)).sum())
    }
}

impl<K: Key> HeavyHitters<K> for CocoSketch<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        self.heavy_parts(|key| *key, threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally, OracleStream};
    use super::*;
    use packet::{FlowKey, KeySpec, KeyV4, Seed};
    use std::net::IpAddr;

    type Sketch = CocoSketch<KeyV4>;

    fn config(rows: usize, width: usize, number: u64) -> GridConfig<Sketch> {
        GridConfig::new(rows, width, Seed::new(number))
    }

    fn source(key: &KeyV4) -> Option<IpAddr> {
        let FlowKey { src_addr, .. } = key.flow_key(&KeySpec::FIVE_TUPLE);
        src_addr
    }

    /// One stream by many seeds: the mean of a flow's estimates is its count, for parts of the key too, and
    /// the bounds hold.
    #[test]
    fn estimates_are_unbiased_and_bounded_also_when_merged_and_by_parts() {
        const SEEDS: u64 = 200;
        let stream = OracleStream::bytes(3_000, 400, 1);
        for (rows, width) in [(1, 50), (2, 50)] {
            let mut promise = BoundTally::default();
            let mut sums = [0.0; 4];
            let big = *stream.counts.iter().max_by_key(|(_, count)| **count).expect("flows").0;
            let middle = stream.updates[500].key;
            let mut source_sum = BTreeMap::<_, u64>::new();
            for (key, count) in &stream.counts {
                *source_sum.entry(source(key)).or_default() += count;
            }
            for number in 0..SEEDS {
                let config = config(rows, width, number);
                let mut updates = stream.updates.clone();
                // Flow after flow: of packets in any order, simply keeping the last key would be unbiased too.
                updates.sort_by_key(|update| update.key);
                updates.iter_mut().for_each(|update| update.hash = update.key.hash(&config.seed));
                let sketch: Sketch = oracle::summary_of(&config, &updates);
                let mut merged: Sketch = oracle::summary_of(&config, &updates[..1_000]);
                merged.merge(&oracle::summary_of(&config, &updates[1_000..])).expect("equal configurations");
                let by_source = sketch.heavy_parts(source, 0).keys;
                let of =
                    |part| by_source.iter().find(|(found, _)| *found == part).map_or(0.0, |(_, e)| e.value);
                let found = [
                    sketch.estimate(&big).value,
                    merged.estimate(&big).value,
                    merged.estimate(&middle).value,
                    of(source(&middle)),
                ];
                sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
                promise.count(sketch.estimate(&middle), stream.counts[&middle] as f64);
                promise.count(merged.estimate(&big), stream.counts[&big] as f64);
                let all: f64 = sketch.heavy_hitters(0).keys.iter().map(|(_, estimate)| estimate.value).sum();
                assert_eq!(all, stream.total as f64);
            }
            promise.must_hold();
            let truths = [
                stream.counts[&big],
                stream.counts[&big],
                stream.counts[&middle],
                source_sum[&source(&middle)],
            ];
            for (sum, truth) in sums.into_iter().zip(truths) {
                let (mean, truth) = (sum / SEEDS as f64, truth as f64);
                let deviation = (truth * (stream.total as f64 - truth) / width as f64 / SEEDS as f64).sqrt();
                assert!((mean - truth).abs() < 5.0 * deviation, "{mean} for {truth}, deviation {deviation}");
            }
        }
    }

    /// The heaviest that are found are not any flows: a small one among them has the count of others.
    #[test]
    fn bounds_hold_for_the_heaviest_found_by_several_workers() {
        let stream = OracleStream::zipf(60_000, 6_000, 1);
        for workers in [1, 2, 4] {
            let mut promise = BoundTally::default();
            for number in 0..25 {
                let config = config(2, 240, number);
                let mut updates = stream.updates.clone();
                updates.iter_mut().for_each(|update| update.hash = update.key.hash(&config.seed));
                let of_worker = |worker: usize| {
                    let own: Vec<_> = updates.iter().skip(worker).step_by(workers).copied().collect();
                    oracle::summary_of::<Sketch, _>(&config, &own)
                };
                let mut merged = of_worker(0);
                (1..workers)
                    .for_each(|worker| merged.merge(&of_worker(worker)).expect("equal configurations"));
                let mut found = merged.heavy_hitters(0).keys;
                found.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
                for (key, estimate) in &found[..50] {
                    promise.count(*estimate, stream.counts[key] as f64);
                }
            }
            promise.must_hold();
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
        let answers = |sketch: &Sketch| oracle::all_answers(sketch, &stream);
        oracle::reset_equals_new(&config(2, 100, 1), &stream.updates, &second.updates, answers);
        oracle::do_not_merge::<Sketch>(&config(2, 100, 1), &config(2, 101, 1));
        oracle::check_sizes::<Sketch>();
        assert!(Sketch::new(&config(2, 0, 1)).is_err());
    }

    #[test]
    fn a_full_counter_leaves_no_upper_bound() {
        let config = config(1, 1, 1);
        let update = Update::new(KeyV4::default(), u64::MAX, &config.seed);
        let sketch: Sketch = oracle::summary_of(&config, &[update, update]);
        assert_eq!(sketch.saturated(), 2);
        assert_eq!(sketch.estimate(&KeyV4::default()).bounds.expect("bounds").upper, f64::INFINITY);
    }
}
