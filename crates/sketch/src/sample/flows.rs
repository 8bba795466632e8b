//! Flow sampling (Hohn and Veitch 2003): all packets of some flows.

use super::SampleConfig;
use super::table::SampleTable;
use crate::chernoff;
use crate::confidence::CONFIDENCE;
use crate::row_hash::RowHash;
use crate::{
    Cardinality, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary, Unmergeable,
    Update, UpdateBurst,
};
use packet::Key;

/// A flow is taken if a hash of its key is below the probability's share: so every core and every point takes
/// the same flows.
///
/// A sampled flow is counted exactly; nothing is known of others. The number of flows, as any sum over flows
/// ([`FlowSample::total_of`]), is that of the taken ones divided by the probability, which is unbiased; the
/// bounds of the number are Chernoff's with a confidence of 95 %.
#[derive(Clone, Debug)]
pub struct FlowSample<K: Key> {
    config: SampleConfig<Self>,
    table: SampleTable<K>,
    chance: RowHash,
}

impl<K: Key> FlowSample<K> {
    /// Weight of flows that were taken but found no room.
    pub fn not_kept(&self) -> u64 {
        self.table.not_kept
    }

    /// Flows with a saturated sum, without an upper bound.
    pub fn saturated(&self) -> usize {
        self.table.saturated()
    }

    /// The flows that were taken, each with its weight.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.table.all().map(|(key, sum, _)| (key, sum))
    }

    /// The sum of `value`, of a flow's key and weight, over all flows of the stream. No bound: it depends on the values.
    pub fn total_of(&self, value: impl Fn(&K, u64) -> f64) -> Estimate {
        let sum: f64 = self.table.all().map(|(key, sum, _)| value(key, sum)).sum();
        Estimate::unbounded(sum * f64::from(self.config.one_in))
    }

    /// True if the flow of this hash is one that is taken.
    #[inline(always)]
    fn is_taken(&self, hash: u64) -> bool {
        (u64::from(self.chance.word(hash)) * u64::from(self.config.one_in)) >> 32 == 0
    }
}

impl<K: Key> Summary for FlowSample<K> {
    type Configuration = SampleConfig<Self>;

    fn new(config: &SampleConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            table: SampleTable::new(config.capacity, &config.seed)?,
            chance: RowHash::draw(&config.seed, 0x5a2)[0],
        })
    }

    fn configuration(&self) -> &SampleConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
    }

    fn bytes(&self) -> usize {
        crate::Configuration::bytes(&self.config)
    }
}

impl<K: Key> UpdateBurst<K> for FlowSample<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        for update in burst {
            if self.is_taken(update.hash) {
                self.table.add(self.table.tag(update.hash), &update.key, update.weight);
            }
        }
    }
}

/// Merging gives the sample of one pass over both streams, where there is room for all that is taken.
impl<K: Key> Merge for FlowSample<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.table.merge(&other.table, &self.config.seed);
        Ok(())
    }
}

impl<K: Key> FlowSample<K> {
    /// The estimate of a flow with an entry. It had one from its first packet on, unless a merged table was
    /// full.
    fn estimate_sum(&self, sum: u64) -> Estimate {
        let upper = match sum.saturating_add(self.table.not_kept) {
            u64::MAX => f64::INFINITY,
            upper => upper as f64,
        };
        Estimate::bounded(sum as f64, sum as f64, upper, 1.0)
    }
}

impl<K: Key> Frequency<K> for FlowSample<K> {
    fn estimate(&self, key: &K) -> Estimate {
        let hash = key.hash(&self.config.seed);
        match self.table.get(hash, key) {
            Some((sum, _)) => self.estimate_sum(sum),
            None if self.is_taken(hash) => self.estimate_sum(0),
            None => Estimate::unbounded(0.0),
        }
    }
}

impl<K: Key> HeavyHitters<K> for FlowSample<K> {
    /// Heavy hitters among the sampled flows: a sample of all heavy ones.
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let heavy = self.table.all().filter(|(_, sum, _)| *sum >= threshold);
        let keys = heavy.map(|(key, sum, _)| (*key, self.estimate_sum(sum))).collect();
        HeavyKeys::new(keys, self.table.not_kept > 0)
    }
}

impl<K: Key> Cardinality for FlowSample<K> {
    fn distinct(&self) -> Estimate {
        let flows = self.table.all().count() as f64;
        let one_in = f64::from(self.config.one_in);
        match (self.table.not_kept, self.config.one_in) {
            (0, 1) => Estimate::exact(flows),
            (0, _) => {
                let (lower, upper) = chernoff::mean_of(flows, CONFIDENCE);
                Estimate::bounded(flows * one_in, (lower * one_in).max(flows), upper * one_in, CONFIDENCE)
            }
            // How many flows found no room is not known.
            _ => Estimate::bounded(flows * one_in, flows, f64::INFINITY, 1.0),
        }
    }
}
