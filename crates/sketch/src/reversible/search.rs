//! The search for heavy keys, byte by byte.

use super::{Lanes, MOST_FOUND, ReversibleSketch, VERIFYING, WORDS, lane, or};
use crate::combination::Combination;
use crate::confidence::CONFIDENCE;
use crate::count_min::read_off;
use crate::counter_array::median_of;
use crate::deviations::{RowDeviations, is_told, least_not_reached};
use crate::row_hash::MAX_ROWS;
use crate::{Estimate, Frequency, HeavyKeys, Unmergeable};

/// Prefixes that a search examines before it stops: well below a second.
const MOST_STEPS: u64 = 1 << 24;
/// Rows from which on a change may be hidden in one of them by what other keys have less.
const ROWS_WITH_A_MISS: usize = 5;
/// All keys of 32 bits.
const ALL_KEYS: f64 = 4_294_967_296.0;

/// The prefixes of an index, by their number of words, that lead to a heavy counter.
type HeavyPrefixes = [Vec<bool>; WORDS];

/// A search, byte by byte.
struct AddressSearch<'a, J> {
    sketch: &'a ReversibleSketch,
    /// By row.
    heavy: Vec<HeavyPrefixes>,
    /// Rows in which a key's counter must be heavy.
    least_rows: usize,
    /// The estimate of a key that belongs to the answer.
    judge: J,
    steps: u64,
    found: Vec<(u32, Estimate)>,
}

impl<J: Fn(u32) -> Option<Estimate>> AddressSearch<'_, J> {
    /// Continues after the first `words` bytes of a mangled key, whose part of the indices is `lanes`. False
    /// if the work is too much.
    fn go_on(&mut self, words: usize, mangled: u32, lanes: Lanes) -> bool {
        let shift = ReversibleSketch::word_bits(&self.sketch.config) as usize * (WORDS - 1 - words);
        for value in 0..256 {
            self.steps += 1;
            if self.steps > MOST_STEPS || self.found.len() >= MOST_FOUND {
                return false;
            }
            let lanes = or(lanes, self.sketch.index.tables[words][value as usize]);
            let rows = self.heavy.iter().enumerate();
            let heavy = rows.filter(|(row, heavy)| heavy[words][lane(lanes, *row) >> shift]).count();
            if heavy < self.least_rows {
                continue;
            }
            let mangled = mangled << 8 | value;
            if words + 1 < WORDS {
                if !self.go_on(words + 1, mangled, lanes) {
                    return false;
                }
                continue;
            }
            let key = self.sketch.index.mangling.unmangle(mangled);
            if let Some(estimate) = (self.judge)(key) {
                self.found.push((key, estimate));
            }
        }
        true
    }
}

impl ReversibleSketch {
    /// Returns which prefixes of an index lead to a heavy counter, by row.
    fn heavy_prefixes(&self, is_heavy: impl Fn(usize) -> bool) -> Vec<HeavyPrefixes> {
        let (bits, width) = (Self::word_bits(&self.config) as usize, self.config.width);
        let prefixes = |row: usize| {
            let mut heavy: HeavyPrefixes =
                std::array::from_fn(|words| vec![false; 1 << (bits * (words + 1))]);
            for index in (0..width).filter(|index| is_heavy(row * width + index)) {
                for (words, prefixes) in heavy.iter_mut().enumerate() {
                    prefixes[index >> (bits * (WORDS - 1 - words))] = true;
                }
            }
            heavy
        };
        (0..self.config.rows).map(prefixes).collect()
    }

    /// The keys of which all counters but `misses` are heavy, and that have an estimate.
    fn search(
        &self,
        is_heavy: impl Fn(usize) -> bool,
        misses: usize,
        judge: impl Fn(u32) -> Option<Estimate>,
    ) -> HeavyKeys<u32> {
        let (heavy, least_rows) = (self.heavy_prefixes(is_heavy), self.config.rows - misses);
        let with_heavy = heavy.iter().filter(|heavy| heavy[0].contains(&true)).count();
        if with_heavy < least_rows {
            return HeavyKeys::new(Vec::new(), false);
        }
        let mut search =
            AddressSearch { sketch: self, heavy, least_rows, judge, steps: 0, found: Vec::new() };
        let is_whole = search.go_on(0, 0, [0; 2]);
        HeavyKeys::new(search.found, !is_whole)
    }

    /// The counters of the ordinary rows.
    fn verifying(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let (rows, width) = (self.config.rows, self.config.width);
        (rows..rows + VERIFYING).map(move |row| row * width..(row + 1) * width)
    }

    /// The keys that had `threshold` or more by their estimate, of those that can be keys.
    pub(super) fn heavy_numbers(&self, threshold: u64, is_key: impl Fn(u32) -> bool) -> HeavyKeys<u32> {
        // A counter of 0 indicates no flow.
        let threshold = threshold.max(1);
        let is_heavy = |at| u64::from(self.counters.get(at)) >= threshold;
        let judge = |key| {
            let estimate = self.estimate(&key);
            (is_key(key) && estimate.value >= threshold as f64).then_some(estimate)
        };
        let mut found = self.search(is_heavy, 0, judge);
        found.keys.iter_mut().for_each(|(_, estimate)| *estimate = read_off(estimate.value));
        found
    }

    /// The keys whose total in `change`, a combination of sketches like this one, is `threshold` or more, or -`threshold` or less, by its estimate: the
    /// median of the rows. A change is found if no more than one row hides it, where there are five or six besides the ordinary ones; of fewer, if none does. Its
    /// bounds hold for all keys together.
    ///
    /// # Errors
    /// If the configurations differ, with both.
    pub(super) fn heavy_changes(
        &self,
        change: &Combination<Self>,
        threshold: f64,
        is_key: impl Fn(u32) -> bool,
    ) -> Result<HeavyKeys<u32>, Unmergeable> {
        Unmergeable::check(&self.config, change.configuration())?;
        let threshold = threshold.max(f64::MIN_POSITIVE);
        let (noise, misses) =
            (self.noise_of_changes(change), usize::from(self.config.rows >= ROWS_WITH_A_MISS));
        let judge = |key| {
            let mut cells = [0.0; MAX_ROWS];
            let depth = self.config.rows + VERIFYING;
            self.all_places(key).zip(&mut cells).for_each(|(place, cell)| *cell = change.cells[place]);
            let (first, second) = (cells[depth - 2], cells[depth - 1]);
            let cells = &mut cells[..depth];
            cells.sort_unstable_by(f64::total_cmp);
            let median = median_of(cells);
            // The ordinary rows count as the others do: keys that are none share most of those that are hashed by bytes.
            let heavy = cells.iter().filter(|cell| **cell * median.signum() >= threshold).count();
            if heavy + misses < depth || !is_key(key) {
                return None;
            }
            let estimate = match noise {
                Some(noise) => {
                    let (lower, upper) = (first.min(second) - noise, first.max(second) + noise);
                    Estimate::bounded(median.clamp(lower, upper), lower, upper, CONFIDENCE)
                }
                None => Estimate::unbounded(median),
            };
            (estimate.value.abs() >= threshold).then_some(estimate)
        };
        Ok(self.search(|at| change.cells[at].abs() >= threshold, misses, judge))
    }

    /// The number by which not both ordinary rows are off, for all keys together; `None` where they do not tell.
    fn noise_of_changes(&self, change: &Combination<Self>) -> Option<f64> {
        let deviations =
            |row: std::ops::Range<usize>| RowDeviations::new(change.cells[row].iter().map(|cell| cell.abs()));
        let rows: Vec<_> = self.verifying().map(deviations).collect();
        let flows = change.counted.min(ALL_KEYS);
        let both = |shares: &[f64]| shares.iter().map(|share| share.min(1.0)).product();
        let least = least_not_reached(&rows, (self.config.width, 1.0), (flows, CONFIDENCE), both);
        (!change.is_saturated && is_told(least)).then_some(least)
    }
}
