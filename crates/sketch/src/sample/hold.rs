//! Sample and hold (Estan and Varghese, SIGCOMM 2002): once a flow was sampled, all its further packets are
//! counted.

use super::SampleConfig;
use super::table::SampleTable;
use crate::confidence::CONFIDENCE;
use crate::draw::Skip;
use crate::{
    Configuration, Estimate, Frequency, HeavyHitters, HeavyKeys, Merge, SketchError, Summary, Unmergeable,
    Update, UpdateBurst,
};
use packet::Key;

/// A sample-and-hold table: each unit of weight (packet or byte) of a flow that is not held yet is sampled with the same probability p;
/// from the sampled unit on the flow is held, and all its units are counted.
///
/// What was missed before is geometrically distributed: its expectation 1/p − 1 is added, which makes the
/// estimate unbiased, and it exceeds ln(0.05) / ln(1 − p) in 5 % of the cases at most (section 4.1.1 of the
/// paper).
#[derive(Clone, Debug)]
pub struct SampleAndHold<K: Key> {
    config: SampleConfig<Self>,
    table: SampleTable<K>,
    /// Units of flows that are not held until the next one that is sampled.
    skip: Skip,
    /// The number of samples merged into this one: a flow may have begun in each.
    merged: u32,
}

/// The purpose of the draws.
const PURPOSE: u64 = 0x5a3;

impl<K: Key> SampleAndHold<K> {
    /// Weight of flows that were sampled but found no room.
    pub fn not_kept(&self) -> u64 {
        self.table.not_kept
    }

    /// Flows with a saturated sum, without an upper bound.
    pub fn saturated(&self) -> usize {
        self.table.saturated()
    }

    /// The most that a flow can have had before it was sampled, with the confidence, in this and all samples
    /// merged into it.
    fn most_missed(&self) -> f64 {
        if self.config.one_in == 1 {
            return 0.0;
        }
        let samples = f64::from(self.merged) + 1.0;
        let failing = (1.0 - CONFIDENCE) / samples;
        let one = (failing.ln() / (-self.config.probability()).ln_1p()).ceil();
        one * samples
    }

    fn held(&self, sum: u64, begun: u32) -> Estimate {
        let missed = (1.0 / self.config.probability() - 1.0) * f64::from(begun);
        // Where a full table has turned a flow away that another of the merged ones held, what it missed there has no limit.
        let is_open = sum == u64::MAX || (self.merged > 0 && self.table.not_kept > 0);
        let sum = sum as f64;
        let upper = if is_open { f64::INFINITY } else { sum + self.most_missed().max(missed) };
        Estimate::bounded(sum + missed, sum, upper, if self.config.one_in == 1 { 1.0 } else { CONFIDENCE })
    }
}

impl<K: Key> Summary for SampleAndHold<K> {
    type Configuration = SampleConfig<Self>;

    fn new(config: &SampleConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            table: SampleTable::new(config.capacity, &config.seed)?,
            skip: Skip::new(&config.seed, PURPOSE, config.probability()),
            merged: 0,
        })
    }

    fn configuration(&self) -> &SampleConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.table.clear();
        self.skip = Skip::new(&self.config.seed, PURPOSE, self.config.probability());
        self.merged = 0;
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> UpdateBurst<K> for SampleAndHold<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let p = self.config.probability();
        let mut tags = [0; crate::summary::BURST];
        for burst in burst.chunks(tags.len()) {
            for (tag, update) in tags.iter_mut().zip(burst) {
                *tag = self.table.tag(update.hash);
                self.table.prefetch(*tag);
            }
            for (&tag, Update { key, weight, .. }) in tags.iter().zip(burst) {
                if self.table.add_if_kept(tag, key, *weight) {
                    continue;
                }
                if self.skip.left >= *weight {
                    self.skip.left -= weight;
                    continue;
                }
                // From the sampled unit on.
                self.table.add(tag, key, weight - self.skip.left);
                self.skip.renew(p);
            }
        }
    }
}

/// Flows that are held by either are held by the merged one; what each may have missed adds up in the bounds.
impl<K: Key> Merge for SampleAndHold<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.table.merge(&other.table, &self.config.seed);
        self.merged = self.merged.saturating_add(other.merged).saturating_add(1);
        Ok(())
    }
}

impl<K: Key> Frequency<K> for SampleAndHold<K> {
    fn estimate(&self, key: &K) -> Estimate {
        match self.table.get(key.hash(&self.config.seed), key) {
            Some((sum, begun)) => self.held(sum, begun),
            None if self.table.not_kept > 0 => Estimate::unbounded(0.0),
            None => Estimate::bounded(0.0, 0.0, self.most_missed(), CONFIDENCE),
        }
    }
}

impl<K: Key> HeavyHitters<K> for SampleAndHold<K> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let all = self.table.all().map(|(key, sum, begun)| (*key, self.held(sum, begun)));
        let heavy = all.filter(|(_, estimate)| estimate.value >= threshold as f64);
        HeavyKeys::new(heavy.collect(), self.table.not_kept > 0)
    }
}
