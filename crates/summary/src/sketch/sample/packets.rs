//! Packet sampling (as NetFlow's; Duffield, Lund, Thorup 2003).

use super::SampleConfig;
use super::table::SampleTable;
use crate::sketch::chernoff;
use crate::sketch::confidence::CONFIDENCE;
use crate::sketch::draw::Skip;
use crate::sketch::{
    Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};
use packet::Key;

/// Each packet is taken with the same probability, independently of all others.
///
/// A flow's estimate is its sampled weight divided by the probability, which is unbiased (Horvitz and
/// Thompson 1952). Its bounds are Chernoff's, with a confidence of 95 %: they use the largest weight that was
/// seen. Samples of equal seeds draw alike, so that merged ones take packets at the same positions.
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

    fn of_sum(&self, sum: u64) -> Estimate {
        let p = self.config.probability();
        let value = sum as f64 / p;
        // One of the merged samples may have turned the flow away that another kept.
        let is_open = sum == u64::MAX || (self.merged > 0 && self.table.not_kept > 0);
        let or_open = |upper: f64| if is_open { f64::INFINITY } else { upper };
        if self.config.one_in == 1 {
            return Estimate::bounded(value, value, or_open(value), 1.0);
        }
        // In units of the most that one draw can have taken all terms are between 0 and 1.
        let unit = self.largest.max(1) as f64 * (f64::from(self.merged) + 1.0);
        let (lower, upper) = chernoff::mean_of(sum as f64 / unit, CONFIDENCE);
        // What was taken was there.
        Estimate::bounded(value, (lower * unit / p).max(sum as f64), or_open(upper * unit / p), CONFIDENCE)
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
        })
    }

    fn configuration(&self) -> &SampleConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
        self.skip = Skip::new(&self.config.seed, PURPOSE, self.config.probability());
        (self.largest, self.merged) = (0, 0);
    }

    fn bytes(&self) -> usize {
        crate::sketch::Configuration::bytes(&self.config)
    }
}

impl<K: Key> UpdateBurst<K> for PacketSample<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let p = self.config.probability();
        for update in burst {
            self.largest = self.largest.max(update.weight);
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
        self.merged = self.merged.saturating_add(other.merged).saturating_add(1);
        Ok(())
    }
}

impl<K: Key> Frequency<K> for PacketSample<K> {
    fn estimate(&self, key: &K) -> Estimate {
        match self.table.get(key.hash(&self.config.seed), key) {
            Some((sum, _)) => self.of_sum(sum),
            None if self.table.not_kept > 0 => Estimate::unbounded(0.0),
            None => self.of_sum(0),
        }
    }
}

impl<K: Key> HeavyHitters<K> for PacketSample<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let all = self.table.all().map(|(key, sum, _)| (*key, self.of_sum(sum)));
        let heavy = all.filter(|(_, estimate)| estimate.value >= threshold as f64);
        HeavyKeys::new(heavy.collect(), self.table.not_kept > 0)
    }
}
