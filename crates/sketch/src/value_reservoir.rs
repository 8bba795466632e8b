//! A uniform sample of values (Vitter, "Random sampling with a reservoir", ACM TOMS 1985).

use super::confidence::CONFIDENCE;
use super::grid::{Grid, GridConfig};
use super::memory::filled;
use super::reservoir::Reservoir;
use super::{
    Configuration, Estimate, Merge, Quantiles, SketchError, Summary, Unmergeable, Update, UpdateBurst,
};

/// A fixed number of the weights of its updates (sizes of packets or flows, times in nanoseconds), each with
/// the same probability; keys and hashes are not used. Most values cost a decrement.
///
/// Quantiles are those of the sample. Their bounds are of ranks: with a confidence of 95 % no share of n values is off by more than
/// √(ln(2 / 0.05) / 2n) (Dvoretzky, Kiefer, Wolfowitz 1956, with Massart's constant), 0.75 % for 32,768 values (256 KiB). As long as all
/// values are kept, they are exact.
///
/// Samples of equal seeds take the same positions of their streams, so that their errors may be correlated:
/// bounds of merged ones are √2 times as wide.
#[derive(Clone, Debug)]
pub struct ValueReservoir {
    config: GridConfig<Self>,
    values: Box<[u64]>,
    reservoir: Reservoir,
    least: u64,
    most: u64,
    is_merged: bool,
}

const PURPOSE: u64 = 0x7a1e;

impl Grid for ValueReservoir {
    const KIND: &'static str = "value reservoir";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of values";

    fn bytes(_: usize, values: usize) -> usize {
        values * size_of::<u64>()
    }
}

impl ValueReservoir {
    /// The number of values.
    pub fn total(&self) -> u64 {
        self.reservoir.seen()
    }

    fn kept(&self) -> &[u64] {
        let kept = self.total().min(self.values.len() as u64);
        &self.values[..kept as usize]
    }

    /// Returns the difference by which a share of all values may be off that of the sample.
    fn rank_error(&self) -> f64 {
        let kept = self.kept().len();
        if self.total() == kept as u64 {
            return 0.0;
        }
        let merged = if self.is_merged { 2.0 } else { 1.0 };
        (merged * (2.0 / (1.0 - CONFIDENCE)).ln() / (2.0 * kept as f64)).sqrt()
    }
}

impl Summary for ValueReservoir {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            values: filled(config.width, 0)?,
            reservoir: Reservoir::new(&config.seed, PURPOSE, config.width),
            least: u64::MAX,
            most: 0,
            is_merged: false,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.reservoir = Reservoir::new(&self.config.seed, PURPOSE, self.config.width);
        (self.least, self.most, self.is_merged) = (u64::MAX, 0, false);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for ValueReservoir {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        for update in burst {
            self.least = self.least.min(update.weight);
            self.most = self.most.max(update.weight);
        }
        let mut rest = burst;
        while let Some(before) = self.reservoir.pass(rest.len() as u64) {
            let place = self.reservoir.place();
            self.values[place] = rest[before as usize].weight;
            rest = &rest[before as usize + 1..];
        }
    }
}

/// A uniform sample of both streams: from each the number that one sample of both would have
/// (hypergeometrically distributed), chosen at random.
impl Merge for ValueReservoir {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        let (kept, theirs_kept) = (self.kept().len(), other.kept());
        let is_all = self.total() == kept as u64 && other.total() == theirs_kept.len() as u64;
        // How many are left of each stream to be drawn from.
        let (mut ours, mut theirs) = (self.total(), other.total());
        let size = ours.saturating_add(theirs).min(self.values.len() as u64) as usize;
        let draw = &mut self.reservoir;
        let mut from_ours = 0;
        for _ in 0..size {
            let is_ours = draw.happens(ours, ours.saturating_add(theirs));
            (ours, theirs) = if is_ours { (ours - 1, theirs) } else { (ours, theirs - 1) };
            from_ours += usize::from(is_ours);
        }
        // Any this many of ours stay, then any this many of theirs come (Knuth, volume 2, algorithm 3.4.2 S).
        let mut to = 0;
        for at in 0..kept {
            if draw.happens((from_ours - to) as u64, (kept - at) as u64) {
                self.values[to] = self.values[at];
                to += 1;
            }
        }
        for (at, value) in theirs_kept.iter().enumerate() {
            if draw.happens((size - to) as u64, (theirs_kept.len() - at) as u64) {
                self.values[to] = *value;
                to += 1;
            }
        }
        draw.join(&other.reservoir);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        // While all are kept there is no common error.
        self.is_merged = self.is_merged || other.is_merged || !is_all;
        Ok(())
    }
}

impl Quantiles for ValueReservoir {
    fn quantile(&self, q: f64) -> Option<Estimate> {
        let mut kept = self.kept().to_vec();
        if kept.is_empty() || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let (total, number, off) = (self.total() as f64, kept.len() as f64, self.rank_error());
        let rank = (q * (total - 1.0)).floor();
        let mut at = |index: usize| *kept.select_nth_unstable(index).1 as f64;
        if off == 0.0 {
            return Some(Estimate::exact(at(rank as usize)));
        }
        // This many of the sample are not above the value of this rank, at least, and this many below it, at
        // most.
        let not_above = (number * ((rank + 1.0) / total - off)).ceil();
        let below = (number * (rank / total + off)).floor();
        let value = at((q * (number - 1.0)) as usize);
        let lower = if not_above >= 1.0 { at(not_above as usize - 1) } else { self.least as f64 };
        let upper = if below < number { at(below as usize) } else { self.most as f64 };
        Some(Estimate::bounded(value, lower.min(value), upper.max(value), CONFIDENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::SketchRng;
    use super::super::oracle::{self, BoundTally};
    use super::*;
    use packet::Seed;

    fn config(values: usize, number: u64) -> GridConfig<ValueReservoir> {
        GridConfig::with_width(values, Seed::new(number))
    }

    fn of(weights: impl IntoIterator<Item = u64>) -> Vec<Update<()>> {
        weights.into_iter().map(|weight| Update { key: (), hash: 0, weight }).collect()
    }

    /// Values of all sizes, larger ones later.
    fn updates(number: u64, count: usize) -> Vec<Update<()>> {
        let mut draw = SketchRng::new(&Seed::new(number), 1);
        of((0..count as u64).map(|i| (draw.word() >> (draw.word() % 65).min(63)).saturating_add(i)))
    }

    fn sorted(updates: &[Update<()>]) -> Vec<u64> {
        let mut values: Vec<u64> = updates.iter().map(|update| update.weight).collect();
        values.sort();
        values
    }

    fn answers(sketch: &ValueReservoir) -> Vec<Option<Estimate>> {
        (0..=20).map(|q| sketch.quantile(f64::from(q) / 20.0)).collect()
    }

    #[test]
    fn the_bounds_hold_of_one_pass_and_of_merged_ones() {
        let (mut one_pass, mut merged_ones) = (BoundTally::default(), BoundTally::default());
        for number in 0..100 {
            let updates = updates(number, 5_000);
            let values = sorted(&updates);
            let one: ValueReservoir = oracle::summary_of(&config(200, number), &updates);
            let mut merged: ValueReservoir = oracle::summary_of(&config(200, number), &updates[..2_000]);
            for part in [&updates[2_000..2_050], &updates[2_050..4_000]] {
                merged.merge(&oracle::summary_of(&config(200, number), part)).expect("equal");
            }
            // One that was merged continues.
            merged.update_burst(&updates[4_000..]);
            assert_eq!((one.total(), merged.total()), (5_000, 5_000));
            let q = (number as f64 * 0.37).fract();
            let truth = values[(q * 4_999.0) as usize] as f64;
            one_pass.count(one.quantile(q).expect("values"), truth);
            merged_ones.count(merged.quantile(q).expect("values"), truth);
        }
        one_pass.must_hold();
        merged_ones.must_hold();
    }

    /// Two equal streams with equal seeds: both samples take the same positions.
    #[test]
    fn samples_that_miss_alike_are_within_the_bounds() {
        let mut promise = BoundTally::default();
        for number in 0..200 {
            let updates = updates(number, 3_000);
            let core: ValueReservoir = oracle::summary_of(&config(100, number), &updates);
            let mut merged = core.clone();
            (0..3).for_each(|_| merged.merge(&core).expect("equal configurations"));
            let truth = sorted(&updates)[1_499] as f64;
            promise.count(merged.quantile(0.5).expect("values"), truth);
        }
        promise.must_hold();
    }

    #[test]
    fn the_rank_error_is_below_one_percent_in_256_kib() {
        for number in 0..20 {
            let config = GridConfig::with_bytes(256 << 10, Seed::new(number)).expect("enough memory");
            let reservoir: ValueReservoir = oracle::summary_of(&config, &of(0..300_000));
            for q in (0..=50).map(|q| f64::from(q) / 50.0) {
                let Estimate { value, bounds } = reservoir.quantile(q).expect("values");
                // Values are their own ranks.
                assert!((value / 299_999.0 - q).abs() < 0.01, "{q}: {value}");
                let bounds = bounds.expect("bounds");
                assert!(bounds.upper - value < 3_000.0 && value - bounds.lower < 3_000.0, "{q}: {bounds:?}");
            }
        }
    }

    /// Every value of two streams is in the merged sample with the same frequency.
    #[test]
    fn a_merged_sample_is_uniform() {
        const SEEDS: u64 = 4_000;
        for (first, second, after) in [(40, 10, 10), (3, 50, 7), (2, 3, 55), (60, 0, 0), (0, 60, 0)] {
            let mut kept = [0_u32; 60];
            for number in 0..SEEDS {
                let [all, first, second] = [first + second + after, first, first + second];
                let mut merged: ValueReservoir = oracle::summary_of(&config(6, number), &of(0..first));
                // Of another seed, as equal ones take alike.
                let mut other: ValueReservoir = oracle::summary_of(&config(6, !number), &of(first..second));
                other.config = merged.config.clone();
                merged.merge(&other).expect("equal configurations");
                merged.update_burst(&of(second..all));
                assert_eq!(merged.kept().len(), 6);
                merged.kept().iter().for_each(|value| kept[*value as usize] += 1);
            }
            let mean = SEEDS as f64 / 10.0;
            let off = 5.0 * (mean * 0.9).sqrt();
            for (value, kept) in kept.iter().enumerate() {
                let name = format!("{first}, {second}, {after}");
                assert!((f64::from(*kept) - mean).abs() < off, "{name}: {value} {kept} times for {mean}");
            }
        }
    }

    #[test]
    fn few_values_are_exact_merged_too() {
        let updates = updates(1, 99);
        let values = sorted(&updates);
        let mut merged: ValueReservoir = oracle::summary_of(&config(100, 1), &updates[..60]);
        merged.merge(&oracle::summary_of(&config(100, 1), &updates[60..])).expect("equal configurations");
        let one: ValueReservoir = oracle::summary_of(&config(100, 1), &updates);
        for reservoir in [one, merged] {
            for (rank, value) in values.iter().enumerate() {
                let q = (rank as f64 / 98.0).min(1.0);
                let truth = values[(q * 98.0) as usize];
                assert_eq!(reservoir.quantile(q), Some(Estimate::exact(truth as f64)), "{value}");
            }
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (first, second) = (updates(1, 3_000), updates(2, 500));
        oracle::reset_equals_new(&config(99, 1), &first, &second, answers);
        oracle::do_not_merge::<ValueReservoir>(&config(99, 1), &config(100, 1));
        oracle::do_not_merge::<ValueReservoir>(&config(99, 1), &config(99, 2));
        oracle::check_sizes::<ValueReservoir>();
        assert!(ValueReservoir::new(&config(0, 1)).is_err());
        let mut empty = ValueReservoir::new(&config(9, 1)).expect("a structure");
        empty.merge(&empty.clone()).expect("equal configurations");
        for q in [0.0, 0.5, 1.0, 1.5, -0.1, f64::NAN] {
            assert_eq!(empty.quantile(q), None);
        }
        empty.update_burst(&of([7]));
        assert_eq!((empty.quantile(f64::NAN), empty.quantile(0.3)), (None, Some(Estimate::exact(7.0))));
    }
}
