//! Packet sampling (as NetFlow's; Duffield, Lund, Thorup 2003).

use super::SampleConfig;
use super::table::SampleTable;
use crate::chernoff;
use crate::confidence::CONFIDENCE;
use crate::draw::Skip;
use crate::{
    Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};
use packet::Key;

/// Each packet is taken with the same probability, independently of all others.
///
/// A flow's estimate is what was taken of it, divided by the probability, and unbiased (Horvitz and Thompson 1952). Its bounds are
/// Chernoff's, with a confidence of 95 %: they know no more of a weight than the largest that was seen. Those of a list of heavy flows hold
/// for all of them at once with that confidence: the sample itself chooses whom it names, and of many small flows it names those of which it
/// happens to have taken much. Samples of equal seeds draw
/// alike, so that of merged ones as many packets are taken together.
#[derive(Clone, Debug)]
pub struct PacketSample<K: Key> {
    config: SampleConfig<Self>,
    table: SampleTable<K>,
    /// Packets until the next one that is taken.
    skip: Skip,
    /// The largest weight of a packet, taken or not.
    largest: u64,
    /// The number of samples merged into this one.
    merged: u32,
    /// The weight of all packets.
    total: u64,
}

/// The purpose of the draws.
const PURPOSE: u64 = 0x5a1;

impl<K: Key> PacketSample<K> {
    /// Weight of taken packets whose flow found no room.
    pub fn not_kept(&self) -> u64 {
        self.table.not_kept
    }

    /// The sampled flows, with the weight that was taken of each, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.table.all().map(|(key, sum, _)| (key, sum))
    }

    /// Flows with a saturated sum, without an upper bound.
    pub fn saturated(&self) -> usize {
        self.table.saturated()
    }

    /// An estimate of what this much was taken of. `mean` gives the bounds of a mean.
    fn estimate_sum(&self, sum: u64, mean: impl Fn(f64) -> (f64, f64)) -> Estimate {
        let p = self.config.probability();
        let value = sum as f64 / p;
        // One of the merged samples may have turned the flow away that another kept.
        let is_open = sum == u64::MAX || (self.merged > 0 && self.table.not_kept > 0);
        let or_open = |upper: f64| if is_open { f64::INFINITY } else { upper };
        if self.config.one_in == 1 {
            return Estimate::bounded(value, value, or_open(value), 1.0);
        }
        // In these units all terms are between 0 and 1.
        let unit = self.unit();
        let (lower, upper) = mean(sum as f64 / unit);
        // What was taken was there.
        let upper = (upper * unit / p).max(sum as f64);
        Estimate::bounded(value, (lower * unit / p).max(sum as f64), or_open(upper), CONFIDENCE)
    }

    /// The most that one draw can have taken.
    fn unit(&self) -> f64 {
        self.largest.max(1) as f64 * (f64::from(self.merged) + 1.0)
    }

    /// Returns the estimate of a flow that is asked for, whatever was taken of it.
    fn estimate_queried(&self, sum: u64) -> Estimate {
        self.estimate_sum(sum, |seen| chernoff::mean_of(seen, CONFIDENCE))
    }

    /// Returns the estimate of a flow that what was taken of it made part of an answer.
    fn estimate_reported(&self, sum: u64) -> Estimate {
        let total = self.total as f64 * self.config.probability() / self.unit();
        self.estimate_sum(sum, |seen| chernoff::mean_of_any(seen, total, CONFIDENCE))
    }
}

impl<K: Key> Summary for PacketSample<K> {
    type Configuration = SampleConfig<Self>;

    fn new(config: &SampleConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            table: SampleTable::new(config.capacity, &config.seed)?,
            skip: Skip::new(&config.seed, PURPOSE, config.probability()),
            largest: 0,
            merged: 0,
            total: 0,
        })
    }

    fn configuration(&self) -> &SampleConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
        self.skip = Skip::new(&self.config.seed, PURPOSE, self.config.probability());
        (self.largest, self.merged, self.total) = (0, 0, 0);
    }

    fn bytes(&self) -> usize {
        crate::Configuration::bytes(&self.config)
    }
}

impl<K: Key> UpdateBurst<K> for PacketSample<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let p = self.config.probability();
        for update in burst {
            self.largest = self.largest.max(update.weight);
            self.total = self.total.saturating_add(update.weight);
            if self.skip.left > 0 {
                self.skip.left -= 1;
                continue;
            }
            self.skip.renew(p);
            self.table.add(self.table.tag(update.hash), &update.key, update.weight);
        }
    }
}

/// The sample of both streams; which packets it takes from then on is not what one pass would have taken.
impl<K: Key> Merge for PacketSample<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.table.merge(&other.table, &self.config.seed);
        self.largest = self.largest.max(other.largest);
        self.total = self.total.saturating_add(other.total);
        self.merged = self.merged.saturating_add(other.merged).saturating_add(1);
        Ok(())
    }
}

impl<K: Key> Frequency<K> for PacketSample<K> {
    fn estimate(&self, key: &K) -> Estimate {
        match self.table.get(key.hash(&self.config.seed), key) {
            Some((sum, _)) => self.estimate_queried(sum),
            None if self.table.not_kept > 0 => Estimate::unbounded(0.0),
            None => self.estimate_queried(0),
        }
    }
}

impl<K: Key> HeavyHitters<K> for PacketSample<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let p = self.config.probability();
        let heavy = self.table.all().filter(|(_, sum, _)| *sum as f64 / p >= threshold as f64);
        let heavy = heavy.map(|(key, sum, _)| (*key, self.estimate_reported(sum)));
        HeavyKeys::new(heavy.collect(), self.table.not_kept > 0)
    }
}
