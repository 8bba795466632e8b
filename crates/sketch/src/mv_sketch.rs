//! MV-Sketch (Tang, Huang, Lee, INFOCOM 2019): each cell keeps the key that has the majority in it, so that heavy flows and heavy
//! changes are read off the sketch.

use super::counters::add;
use super::grid::{CellIndices, Grid, GridConfig, GridRows};
use super::memory::{filled, prefetch};
use super::row_hash::MAX_ROWS;
use super::summary::BURST;
use super::{Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary};
use super::{Unmergeable, Update, UpdateBurst};
use packet::Key;
use std::collections::BTreeSet;

/// Rows of cells by majority vote (Boyer and Moore).
///
/// Bounds are certain: of a cell's total V a candidate with a lead of C has no more than (V + C) / 2 and no
/// less than C, any other key no more than (V − C) / 2; the best row is used (lemmas 1 and 2 of the paper).
/// With w cells a row the estimate is above the truth by more than e·N / 2w with a probability of e⁻ʳ at most
/// for r rows. A flow with more than half of one of its cells is a candidate.
#[derive(Clone)]
pub struct MvSketch<K: Key> {
    config: GridConfig<Self>,
    rows: GridRows,
    cells: Box<[MajorityCell<K>]>,
    saturated: u64,
}

/// Packed: a 5-tuple of 13 bytes shall take 21.
#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
struct MajorityCell<K> {
    key: K,
    total: u32,
    /// The lead of the candidate over all others together; not more than the total.
    lead: u32,
}

impl<K: Key> MajorityCell<K> {
    /// Returns the bounds of what `key` can have had here: not less, not more.
    #[inline(always)]
    fn bounds(&self, key: &K) -> (u64, u64) {
        let (total, lead, candidate) = (u64::from(self.total), u64::from(self.lead), self.key);
        if total == u64::from(u32::MAX) {
            (0, u64::MAX)
        } else if candidate == *key {
            (lead, (total + lead) / 2)
        } else {
            (0, (total - lead) / 2)
        }
    }

    #[inline(always)]
    fn take(&mut self, key: K, total: u32, lead: u32) -> u64 {
        let (sum, over) = add(self.total, total.into());
        let candidate = self.key;
        let (key, lead) = if candidate == key {
            (key, add(self.lead, lead.into()).0)
        } else if lead > self.lead {
            (key, lead - self.lead)
        } else {
            (candidate, self.lead - lead)
        };
        *self = Self { key, total: sum, lead };
        over
    }
}

impl<K: Key> Grid for MvSketch<K> {
    const KIND: &'static str = "MV-Sketch";
    const DEFAULT_ROWS: usize = 2;
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=u32::MAX as usize / MAX_ROWS;

    fn bytes(rows: usize, width: usize) -> usize {
        rows * width * size_of::<MajorityCell<K>>()
    }
}

impl<K: Key> MvSketch<K> {
    /// Updates of a saturated counter. Such a cell no longer gives a bound.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    fn bounds(&self, key: &K) -> (u64, u64) {
        let places = self.rows.places(key.hash(&self.config.seed));
        let bounds = places.map(|place| self.cells[place].bounds(key));
        bounds.fold((0, u64::MAX), |(l, u), (lower, upper)| (l.max(lower), u.min(upper)))
    }

    /// Returns all candidates.
    fn candidates(&self) -> impl Iterator<Item = K> {
        self.cells.iter().filter(|cell| { cell.total } > 0).map(|cell| cell.key)
    }

    /// Flows whose weight may have changed by `threshold` or more from `before` to this, with the most that
    /// they may have changed by, the largest first (section III-C). No flow is missed that is a candidate in
    /// either.
    ///
    /// # Errors
    /// If the configurations differ, with both.
    pub fn heavy_changes(&self, before: &Self, threshold: u64) -> Result<HeavyKeys<K>, Unmergeable> {
        Unmergeable::check(&self.config, &before.config)?;
        let candidates: BTreeSet<K> = self.candidates().chain(before.candidates()).collect();
        let changes = candidates.into_iter().filter_map(|key| {
            let ((l1, u1), (l2, u2)) = (before.bounds(&key), self.bounds(&key));
            let most = u1.saturating_sub(l2).max(u2.saturating_sub(l1));
            let least = l1.saturating_sub(u2).max(l2.saturating_sub(u1));
            let change = Estimate::bounded(most as f64, least as f64, most as f64, 1.0);
            (most >= threshold).then_some((key, change))
        });
        Ok(HeavyKeys::new(changes.collect(), false))
    }
}

impl<K: Key> Summary for MvSketch<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, 0x3f),
            cells: filled(config.cells(), MajorityCell::default())?,
            saturated: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.cells.fill(MajorityCell::default());
        self.saturated = 0;
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> UpdateBurst<K> for MvSketch<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let mut places: CellIndices = [[0; MAX_ROWS]; BURST];
        for burst in burst.chunks(BURST) {
            self.rows.locate(burst, &mut places, |place| prefetch(&self.cells, place));
            for (places, update) in places.iter().zip(burst) {
                // A counter that overflows saturates, and then no bound is claimed.
                let weight = u32::try_from(update.weight).unwrap_or(u32::MAX);
                let is_cut = u64::from(update.weight > weight.into());
                for &place in &places[..self.rows.len()] {
                    self.saturated += is_cut.max(self.cells[place as usize].take(update.key, weight, weight));
                }
            }
        }
    }
}

/// Sketches are merged cell by cell, by the vote of an update; the bounds hold as before.
impl<K: Key> Merge for MvSketch<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.saturated += other.saturated;
        for (ours, theirs) in self.cells.iter_mut().zip(&other.cells) {
            self.saturated += ours.take(theirs.key, theirs.total, theirs.lead);
        }
        Ok(())
    }
}

impl<K: Key> Frequency<K> for MvSketch<K> {
    fn estimate(&self, key: &K) -> Estimate {
        let (lower, upper) = self.bounds(key);
        if upper == u64::MAX {
            return Estimate::bounded(u32::MAX.into(), lower as f64, f64::INFINITY, 1.0);
        }
        Estimate::bounded(upper as f64, lower as f64, upper as f64, 1.0)
    }
}

impl<K: Key> HeavyHitters<K> for MvSketch<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let candidates: BTreeSet<K> = self.candidates().collect();
        let estimates = candidates.into_iter().map(|key| (key, self.estimate(&key)));
        HeavyKeys::new(estimates.filter(|(_, estimate)| estimate.value >= threshold as f64).collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally, OracleStream};
    use super::*;
    use packet::{KeyV4, Seed};

    type Sketch = MvSketch<KeyV4>;

    fn config(rows: usize, width: usize, number: u64) -> GridConfig<Sketch> {
        GridConfig::new(rows, width, Seed::new(number))
    }

    fn bounds_hold(sketch: &Sketch, stream: &OracleStream, close: &mut BoundTally) {
        let GridConfig { rows, width, .. } = sketch.config;
        let off = std::f64::consts::E * stream.total as f64 / (2 * width) as f64;
        let mut promise = BoundTally::default();
        let strangers = stream.strangers().map(|key| (key, 0)).take(50);
        for (key, count) in stream.counts.iter().map(|(key, count)| (*key, *count)).chain(strangers) {
            let estimate = sketch.estimate(&key);
            promise.count(estimate, count as f64);
            // One key a sketch is independent of others.
            if key == stream.updates[0].key {
                close.count_bare(estimate.value - count as f64 <= off, 1.0 - (-(rows as f64)).exp());
            }
        }
        promise.must_hold();
    }

    #[test]
    fn bounds_hold_of_one_pass_and_merged() {
        for (rows, width) in [(1, 100), (2, 300), (4, 300)] {
            let mut close = BoundTally::default();
            for number in 0..40 {
                let stream = OracleStream::zipf(10_000, 3_000, number);
                let config = config(rows, width, number);
                let sketch: Sketch = oracle::summary_of(&config, &stream.updates);
                bounds_hold(&sketch, &stream, &mut close);
                let mut merged: Sketch = oracle::summary_of(&config, &stream.updates[..4_000]);
                merged.merge(&oracle::summary_of(&config, &stream.updates[4_000..])).expect("equal");
                bounds_hold(&merged, &stream, &mut close);
                // The largest two have some 12 % and 6 %, far more than a cell's share.
                let found = merged.heavy_hitters(stream.total / 50).keys;
                for key in stream.heavy(stream.total / 50) {
                    assert!(rows == 1 || found.iter().any(|(found, _)| *found == key), "{config}");
                }
            }
            close.must_hold();
        }
    }

    #[test]
    fn changes_are_found_and_bounded() {
        for number in 0..20 {
            let [before, now] = [0, 1000].map(|other| {
                let mut stream = OracleStream::zipf(10_000, 2_000, number + other);
                let seed = Seed::new(number);
                stream.updates.iter_mut().for_each(|update| *update = Update::new(update.key, 1, &seed));
                stream
            });
            let config = config(3, 1000, number);
            let sketches =
                [&before, &now].map(|stream| oracle::summary_of::<Sketch, _>(&config, &stream.updates));
            let changes = sketches[1].heavy_changes(&sketches[0], 200).expect("equal configurations").keys;
            let count = |stream: &OracleStream, key| stream.counts.get(key).copied().unwrap_or(0);
            let mut promise = BoundTally::default();
            for (key, change) in &changes {
                promise.count(*change, count(&before, key).abs_diff(count(&now, key)) as f64);
            }
            promise.must_hold();
            for key in before.counts.keys().chain(now.counts.keys()) {
                let change = count(&before, key).abs_diff(count(&now, key));
                assert!(
                    change < 200 || changes.iter().any(|(found, _)| found == key),
                    "a change of {change}"
                );
            }
            let other = Sketch::new(&super::tests::config(3, 999, number)).expect("a structure");
            assert!(other.heavy_changes(&sketches[0], 1).is_err());
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
        let answers = |sketch: &Sketch| oracle::all_answers(sketch, &stream);
        oracle::check_keys_count_as_packets(&config(2, 100, 1), &stream, answers);
        oracle::reset_equals_new(&config(2, 100, 1), &stream.updates, &second.updates, answers);
        oracle::do_not_merge::<Sketch>(&config(2, 100, 1), &config(3, 100, 1));
        oracle::check_sizes::<Sketch>();
        assert!(Sketch::new(&config(2, 0, 1)).is_err() && Sketch::new(&config(0, 5, 1)).is_err());
        assert!(Sketch::new(&config(9, 5, 1)).is_err());
    }

    #[test]
    fn a_full_counter_bounds_nothing() {
        let config = config(1, 1, 1);
        let mut sketch = Sketch::new(&config).expect("a structure");
        for weight in [u64::from(u32::MAX), 1, u64::MAX] {
            sketch.update_burst(&[Update::new(KeyV4::default(), weight, &config.seed)]);
        }
        let bounds = sketch.estimate(&KeyV4::default()).bounds.expect("bounds");
        assert_eq!((sketch.saturated(), bounds.lower, bounds.upper), (2, 0.0, f64::INFINITY));
        let first = Update::new(KeyV4::default(), 1 << 32, &config.seed);
        assert_eq!(oracle::summary_of::<Sketch, _>(&config, &[first]).saturated(), 1);
    }
}
