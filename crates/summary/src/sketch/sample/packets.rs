//! Packet sampling (as NetFlow's; Duffield, Lund, Thorup 2003).

use super::table::SampleTable;
use super::{CONFIDENCE, SampleConfig};
use crate::sketch::chernoff;
use crate::sketch::draw::Draw;
use crate::sketch::{
    Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};
use packet::Key;

/// Each packet is taken with the same probability, independently of all others.
///
/// A flow's estimate is what was taken of it, divided by the probability, and unbiased (Horvitz and Thompson 1952). Its bounds are
/// Chernoff's, with a confidence of 95 %: they know no more of a weight than the largest that was seen.
#[derive(Clone, Debug)]
pub struct PacketSample<K: Key> {
    config: SampleConfig<Self>,
    table: SampleTable<K>,
    draw: Draw,
    /// Packets until the next one that is taken.
    skip: u64,
    /// The largest weight of a packet, taken or not.
    largest: u64,
}

/// What is drawn for packets.
const PURPOSE: u64 = 0x5a1;

impl<K: Key> PacketSample<K> {
    /// Weight of taken packets whose flow found no room.
    pub fn not_kept(&self) -> u64 {
        self.table.not_kept
    }

    fn of_sum(&self, sum: u64) -> Estimate {
        let p = self.config.probability();
        let value = sum as f64 / p;
        if self.config.one_in == 1 {
            return Estimate::exact(value);
        }
        // In units of the largest weight all terms are between 0 and 1.
        let unit = self.largest.max(1) as f64;
        let (lower, upper) = chernoff::mean_of(sum as f64 / unit, CONFIDENCE);
        // What was taken was there.
        Estimate::bounded(value, (lower * unit / p).max(sum as f64), upper * unit / p, CONFIDENCE)
    }
}

impl<K: Key> Summary for PacketSample<K> {
    type Configuration = SampleConfig<Self>;

    fn new(config: &SampleConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let mut sample = Self {
            config: config.clone(),
            table: SampleTable::new(config.capacity, &config.seed)?,
            draw: Draw::new(&config.seed, PURPOSE),
            skip: 0,
            largest: 0,
        };
        sample.skip = sample.draw.failures(config.probability());
        Ok(sample)
    }

    fn configuration(&self) -> &SampleConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
        self.draw = Draw::new(&self.config.seed, PURPOSE);
        self.skip = self.draw.failures(self.config.probability());
        self.largest = 0;
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
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.skip = self.draw.failures(p);
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
