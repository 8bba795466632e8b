//! The entropy of flows by stream sampling (Lall, Sekar, Ogihara, Xu, Zhang, "Data streaming algorithms for estimating entropy of
//! network traffic", SIGMETRICS 2006).

use super::confidence::{CONFIDENCE, DEVIATIONS};
use super::grid::{Grid, GridConfig};
use super::key_index::KeyIndex;
use super::memory::filled;
use super::reservoir::Reservoir;
use super::row_hash::RowHash;
use super::summary::BURST;
use super::{Configuration, Estimate, SketchError, Summary, Unmergeable, Update, UpdateBurst};
use packet::Key;

/// The part that a sample of n missed entirely is no more than this / n of the whole, with the same
/// confidence.
const RULE_OF_THREE: f64 = 3.0;

/// The first flows of the stream, counted exactly, and of all others random positions, with how often the
/// position's flow occurs from there on.
///
/// Of a flow with c units from a position on, the position contributes c·log₂ c − (c − 1)·log₂(c − 1): over
/// all its positions these add up to f·log₂ f, so that the mean over a sample, times the number of positions
/// there are, is Σ f·log₂ f without a bias. With that of the flows counted exactly it is S, and the entropy
/// of N units is log₂ N − S / N. Positions are a uniform sample of fixed size (a reservoir); all those of a
/// flow share one counter, so that a packet costs one index lookup. The unit is that of the weights: entropy
/// is of packets, or of bytes.
///
/// The paper sieves out the elephants, which cause most of the variance, by flows that were sampled twice,
/// which introduces a bias. Here the sieve keeps the first flows: nearly all elephants are among them, and
/// the choice does not depend on the draws. An elephant that begins later is sampled, with more variance.
///
/// The bounds (95 %) are normal ones by the sample's variance, plus what flows that were not sampled may add:
/// 3 / n of the positions (rule of three) with the most that one position can contribute, log₂ of their
/// number + 1.45. Streams that fit are known exactly.
///
/// Two samples of streams that have flows in common cannot be merged: for a flow that both sampled, neither
/// knows the other's count. [`merge_disjoint`](Self::merge_disjoint) is for streams without a common flow.
#[derive(Clone, Debug)]
pub struct EntropySample<K: Key> {
    config: GridConfig<Self>,
    hash: RowHash,
    index: KeyIndex,
    /// Sieved flows, as many as there are positions, then as many flows with positions.
    flows: Box<[EntropyFlow<K>]>,
    /// The number of sieved flows, which are the first ones.
    sieved: usize,
    /// The first of the others that is free; each of them stores the next one in its count.
    free: u64,
    /// The flow of each position, or `NONE`.
    flow_of: Box<[u32]>,
    /// The flow's count before each position.
    before: Box<[u64]>,
    reservoir: Reservoir,
    others: EntropySum,
}

const PURPOSE: u64 = 0xe47;
const NONE: u32 = u32::MAX;

/// A flow that is sieved, or has positions.
#[derive(Clone, Copy, Debug, Default)]
struct EntropyFlow<K> {
    key: K,
    tag: u32,
    /// The number of positions that the flow has.
    positions: u32,
    /// The flow's units since it arrived, or was sampled.
    count: u64,
}

/// Σ f·log₂ f of a stream, its error bound, and the stream's length.
#[derive(Clone, Copy, Debug, Default)]
struct EntropySum {
    value: f64,
    off: f64,
    total: u64,
}

impl EntropySum {
    fn and(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            // Not by squares: samples of equal seeds take the same positions and may be off alike.
            off: self.off + other.off,
            total: self.total.saturating_add(other.total),
        }
    }
}

/// c·log₂ c − (c − 1)·log₂(c − 1), without a difference of large numbers.
fn term(count: u64) -> f64 {
    let before = count as f64 - 1.0;
    if before <= 0.0 {
        return 0.0;
    }
    (count as f64).log2() + before * before.recip().ln_1p() * std::f64::consts::LOG2_E
}

impl<K: Key> Grid for EntropySample<K> {
    const KIND: &'static str = "entropy sample";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of positions";
    /// The allowed numbers of positions. With fewer, the mean is not normally distributed.
    const WIDTH: std::ops::RangeInclusive<usize> = 64..=KeyIndex::MOST / 2;

    fn bytes(_: usize, positions: usize) -> usize {
        KeyIndex::bytes(2 * positions)
            + positions * (2 * size_of::<EntropyFlow<K>>() + size_of::<u32>() + size_of::<u64>())
    }
}

impl<K: Key> EntropySample<K> {
    /// Units that were counted, including those of merged samples.
    pub fn total(&self) -> u64 {
        self.own_total().saturating_add(self.others.total)
    }

    /// The entropy of all units by flows, in bits; `None` without any.
    pub fn entropy(&self) -> Option<Estimate> {
        let EntropySum { value, off, total } = self.own().and(self.others);
        if total == 0 {
            return None;
        }
        let total = total as f64;
        // From one flow to a flow for each unit.
        let entropy = |sum: f64| (total.log2() - sum / total).clamp(0.0, total.log2());
        let (value, lower, upper) = (entropy(value), entropy(value + off), entropy(value - off));
        let confidence = if off > 0.0 { CONFIDENCE } else { 1.0 };
        // Exact except for rounding in `f64`.
        let rounding = 1e-9 * total.log2();
        Some(Estimate::bounded(value, (lower - rounding).max(0.0), upper + rounding, confidence))
    }

    /// Merges the sample of a stream that has no flow in common with this one's.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn merge_disjoint(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.others = self.others.and(other.own()).and(other.others);
        Ok(())
    }

    /// Returns the weight without the merged samples.
    fn own_total(&self) -> u64 {
        let counts = self.flows[..self.sieved].iter().map(|flow| flow.count);
        counts.fold(self.reservoir.seen(), u64::saturating_add)
    }

    /// Returns the sum without the merged samples.
    fn own(&self) -> EntropySum {
        let counts = self.flows[..self.sieved].iter().map(|flow| flow.count as f64);
        let exact: f64 = counts.map(|count| count * count.log2()).sum();
        let total = self.own_total();
        let terms = self.flow_of.iter().zip(&self.before).filter(|(flow, _)| **flow != NONE);
        let terms = terms.map(|(flow, before)| term(self.flows[*flow as usize].count - before));
        let number = terms.clone().count() as f64;
        if number == 0.0 {
            return EntropySum { value: exact, off: 0.0, total };
        }
        let mean = terms.clone().sum::<f64>() / number;
        let units = self.reservoir.seen() as f64;
        let off = if number < units {
            let variance = terms.map(|term| (term - mean).powi(2)).sum::<f64>() / (number - 1.0);
            let not_sampled = RULE_OF_THREE / number * (units.log2() + std::f64::consts::LOG2_E);
            DEVIATIONS * (variance / number * (1.0 - number / units)).sqrt() + not_sampled
        } else {
            0.0
        };
        EntropySum { value: exact + mean * units, off: off * units, total }
    }

    fn find(&self, tag: u32, key: &K) -> Option<usize> {
        self.index.find(tag, |number| self.flows[number as usize].key == *key).map(|number| number as usize)
    }

    #[cold]
    fn sieve(&mut self, tag: u32, update: &Update<K>) {
        self.flows[self.sieved] = EntropyFlow { key: update.key, tag, positions: 0, count: update.weight };
        self.index.insert(tag, self.sieved as u32);
        self.sieved += 1;
    }

    /// A position was taken, after which `rest` units of this packet remain for the flow.
    #[cold]
    fn take(&mut self, tag: u32, key: &K, rest: u64) {
        let place = self.reservoir.place();
        // First, as there may be no room for another flow; and it may be this one.
        self.give_up(place);
        let number = match self.find(tag, key) {
            Some(number) => {
                self.flows[number].positions += 1;
                number
            }
            None => {
                let number = self.free as usize;
                self.free = self.flows[number].count;
                self.flows[number] = EntropyFlow { key: *key, tag, positions: 1, count: rest };
                self.index.insert(tag, number as u32);
                number
            }
        };
        self.flow_of[place] = number as u32;
        self.before[place] = self.flows[number].count - rest;
    }

    /// Forgets a position, if any, and its flow where that has no other.
    fn give_up(&mut self, place: usize) {
        let number = self.flow_of[place];
        let Some(flow) = self.flows.get_mut(number as usize) else { return };
        flow.positions -= 1;
        if flow.positions == 0 {
            self.index.remove(flow.tag, number);
            flow.count = self.free;
            self.free = u64::from(number);
        }
    }

    fn free_all(&mut self) {
        self.sieved = 0;
        self.free = self.config.width as u64;
        (1..).zip(&mut self.flows).for_each(|(next, flow)| flow.count = next);
    }
}

fn reservoir<K: Key>(config: &GridConfig<EntropySample<K>>) -> Reservoir {
    Reservoir::new(&config.seed, PURPOSE, config.width)
}

impl<K: Key> Summary for EntropySample<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let mut sample = Self {
            config: config.clone(),
            hash: RowHash::draw(&config.seed, PURPOSE)[0],
            index: KeyIndex::new(2 * config.width)?,
            flows: filled(2 * config.width, EntropyFlow::default())?,
            sieved: 0,
            free: 0,
            flow_of: filled(config.width, NONE)?,
            before: filled(config.width, 0)?,
            reservoir: reservoir(config),
            others: EntropySum::default(),
        };
        sample.free_all();
        Ok(sample)
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.index.clear();
        self.flow_of.fill(NONE);
        self.free_all();
        self.reservoir = reservoir(&self.config);
        self.others = EntropySum::default();
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> UpdateBurst<K> for EntropySample<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let mut tags = [0; BURST];
        for burst in burst.chunks(BURST) {
            for (tag, update) in tags.iter_mut().zip(burst) {
                *tag = self.hash.word(update.hash);
                self.index.prefetch(*tag);
            }
            for (tag, update) in tags.iter().zip(burst) {
                if let Some(number) = self.find(*tag, &update.key) {
                    let count = &mut self.flows[number].count;
                    *count = count.saturating_add(update.weight);
                    if number < self.sieved {
                        continue;
                    }
                } else if self.sieved < self.config.width && update.weight > 0 {
                    self.sieve(*tag, update);
                    continue;
                }
                let mut rest = update.weight;
                while let Some(before) = self.reservoir.pass(rest) {
                    rest -= before;
                    self.take(*tag, &update.key, rest);
                    rest -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, BoundTally, OracleStream};
    use super::super::{Bounds, SizeDistribution};
    use super::*;
    use packet::{KeyV4, Seed};

    type Sample = EntropySample<KeyV4>;

    fn config(positions: usize, number: u64) -> GridConfig<Sample> {
        GridConfig::with_width(positions, Seed::new(number))
    }

    fn truth(stream: &OracleStream) -> f64 {
        SizeDistribution::from_sizes(stream.counts.values().copied()).entropy().expect("flows")
    }

    /// A stream of these flows' packets, flow by flow.
    fn stream_of(sizes: impl Iterator<Item = (u32, u64)>, seed: &Seed) -> Vec<Update<KeyV4>> {
        let key = |flow: u32| {
            let [a, b, c, d] = flow.to_be_bytes();
            KeyV4::new([10, 0, 0, 1, a, b, c, d], [1, 2, 3, 4], 17)
        };
        sizes.flat_map(|(flow, size)| vec![Update::new(key(flow), 1, seed); size as usize]).collect()
    }

    #[test]
    fn the_bounds_hold_and_entropies_have_no_bias() {
        let (packets, bytes) = (OracleStream::zipf(20_000, 5_000, 1), OracleStream::bytes(2_000, 300, 2));
        for stream in [&packets, &bytes] {
            let truth = truth(stream);
            for positions in [64, 1_000] {
                const SEEDS: u64 = 200;
                let mut promise = BoundTally::default();
                let mut values = vec![];
                for number in 0..SEEDS {
                    let config = config(positions, number);
                    let seeded =
                        |update: &Update<KeyV4>| Update::new(update.key, update.weight, &config.seed);
                    let updates: Vec<_> = stream.updates.iter().map(seeded).collect();
                    let sample: Sample = oracle::summary_of(&config, &updates);
                    let entropy = sample.entropy().expect("packets");
                    promise.count(entropy, truth);
                    values.push(entropy.value);
                    assert_eq!(sample.total(), stream.total);
                }
                promise.must_hold();
                // By how far the values themselves lie apart, as the bounds are wider; where all positions are kept only rounding does.
                let mean = values.iter().sum::<f64>() / SEEDS as f64;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                let off = (squares / (SEEDS * (SEEDS - 1)) as f64).sqrt();
                assert!((mean - truth).abs() < 5.0 * off + 1e-9, "{mean} for {truth}, give or take {off}");
            }
        }
    }

    /// One elephant among flows of a packet each, which a small sample may miss altogether.
    #[test]
    fn what_was_not_sampled_is_within_the_bounds() {
        let mut promise = BoundTally::default();
        for number in 0..300 {
            let config = config(64, number);
            // Last, so that it is not sieved.
            let sizes = (0..9_900).map(|flow| (flow, 1)).chain([(u32::MAX, 100)]);
            let sample: Sample = oracle::summary_of(&config, &stream_of(sizes, &config.seed));
            let truth = 1e4_f64.log2() - 0.01 * 100_f64.log2();
            promise.count(sample.entropy().expect("packets"), truth);
        }
        promise.must_hold();
    }

    /// As long as all positions are kept: for any order of flows, also when merged.
    #[test]
    fn short_streams_are_exact() {
        for stream in [OracleStream::zipf(5_000, 800, 1), OracleStream::bytes(80, 20, 2)] {
            let room = stream.total as usize;
            let sample: Sample = oracle::summary_of(&config(room, 1), &stream.updates);
            let entropy = sample.entropy().expect("packets");
            assert!((entropy.value - truth(&stream)).abs() < 1e-9);
            assert_eq!(entropy.bounds.expect("bounds").confidence, 1.0);
            // By flow: two streams without a common one.
            let (some, others): (Vec<_>, Vec<_>) =
                stream.updates.iter().partition(|update| update.key.hash(&Seed::new(9)) % 3 == 0);
            let mut merged: Sample = oracle::summary_of(&config(room, 1), &some);
            merged.merge_disjoint(&oracle::summary_of(&config(room, 1), &others)).expect("equal");
            assert!((merged.entropy().expect("packets").value - entropy.value).abs() < 1e-9);
            assert_eq!(merged.total(), stream.total);
        }
    }

    #[test]
    fn merged_samples_are_within_the_bounds() {
        let stream = OracleStream::zipf(20_000, 5_000, 1);
        let truth = truth(&stream);
        let mut promise = BoundTally::default();
        for number in 0..100 {
            let config = config(100, number);
            let mut cores: [Sample; 3] = std::array::from_fn(|_| Sample::new(&config).expect("a structure"));
            for update in &stream.updates {
                let core = update.key.hash(&Seed::new(99)) % 3;
                cores[core as usize].update_burst(&[Update::new(update.key, 1, &config.seed)]);
            }
            let [mut merged, second, third] = cores;
            merged.merge_disjoint(&second).expect("equal configurations");
            merged.merge_disjoint(&third).expect("equal configurations");
            promise.count(merged.entropy().expect("packets"), truth);
        }
        promise.must_hold();
    }

    /// Every position has the count of its flow from there on.
    #[test]
    fn counts_are_those_from_the_positions_on() {
        let stream = OracleStream::zipf(5_000, 800, 3);
        let mut sample = Sample::new(&config(200, 3)).expect("a structure");
        // From which position on each place counts, by one packet at a time.
        let mut since = [None; 200];
        let state = |sample: &Sample, place: usize| {
            let flow = sample.flows.get(sample.flow_of[place] as usize)?;
            Some((flow.key, flow.count - sample.before[place]))
        };
        for (at, update) in stream.updates.iter().enumerate() {
            let before: [_; 200] = std::array::from_fn(|place| state(&sample, place));
            sample.update_burst(&[*update]);
            for (place, before) in before.into_iter().enumerate() {
                let counted = before.map(|(key, count)| (key, count + u64::from(key == update.key)));
                if state(&sample, place) != counted {
                    since[place] = Some(at);
                }
            }
        }
        for (place, since) in since.iter().enumerate() {
            let flow = sample.flows[sample.flow_of[place] as usize];
            let from = since.expect("a position");
            assert_eq!(stream.updates[from].key, flow.key);
            let count = stream.updates[from..].iter().filter(|update| update.key == flow.key).count();
            assert_eq!(flow.count - sample.before[place], count as u64);
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (first, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::zipf(5_000, 900, 2));
        oracle::reset_equals_new(&config(99, 1), &first.updates, &second.updates, Sample::entropy);
        oracle::check_sizes::<Sample>();
        assert!(Sample::new(&config(63, 1)).is_err());
        let mut sample: Sample = oracle::summary_of(&config(99, 1), &first.updates);
        let before = sample.entropy();
        let other = Sample::new(&config(100, 1)).expect("a structure");
        let error = sample.merge_disjoint(&other).expect_err("they differ").to_string();
        assert!(error.contains("99") && error.contains("100"), "{error}");
        assert_eq!(sample.entropy(), before);
        assert_eq!(other.entropy(), None);
        // One flow, whose entropy is 0; and weights beyond the possible maximum.
        for weight in [1, 70, u64::MAX] {
            let update = Update { weight, ..first.updates[0] };
            let one: Sample = oracle::summary_of(&config(99, 1), &vec![update; 300]);
            let entropy = one.entropy().expect("packets");
            let Bounds { lower, upper, confidence } = entropy.bounds.expect("bounds");
            assert_eq!((entropy.value, lower, confidence), (0.0, 0.0, 1.0));
            assert!(upper < 1e-6 && one.total() == weight.saturating_mul(300));
        }
        let none: Sample = oracle::summary_of(&config(99, 1), &[Update { weight: 0, ..first.updates[0] }]);
        assert_eq!(none.entropy(), None);
    }
}
