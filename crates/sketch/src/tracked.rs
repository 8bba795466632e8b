//! A counter array that can say which flows are heavy: the keys with the largest estimates are kept next to
//! it.

use super::candidates::{Candidates, CoreCandidates, MOST};
use super::counter_array::CounterObserver;
use super::{
    ArrayConfig, Configuration, Conservative, CounterArray, CounterCell, ErrorPromise, Estimate, Frequency,
    HeavyHitters, HeavyKeys, Linear, Merge, Policy, RowConfiguration, Signed, SignedCell, SketchError,
    Summary, Unmergeable, Update, UpdateBurst,
};
use packet::{Key, Seed};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

/// Candidates if only the memory is given.
const DEFAULT_CANDIDATES: usize = 1024;

/// A counter array's configuration, and the number of flows kept next to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrackedConfig<K, P> {
    array: ArrayConfig<P>,
    candidates: usize,
    key: PhantomData<fn() -> K>,
}

impl<K: Key, P: Policy> TrackedConfig<K, P> {
    /// The array, with `candidates` flows. Wu's global heavy hitter is one.
    ///
    /// # Errors
    /// If there are no candidates, or more than 16 million.
    pub fn new(array: ArrayConfig<P>, candidates: usize) -> Result<Self, SketchError> {
        SketchError::check_size(P::KIND, "number of candidates", candidates, 1, MOST)?;
        // Each packet's counters are read.
        Ok(Self { array: array.whole(), candidates, key: PhantomData })
    }

    /// The array, with a thousand candidates.
    pub(crate) fn with_default_candidates(array: ArrayConfig<P>) -> Result<Self, SketchError> {
        Self::new(array, DEFAULT_CANDIDATES)
    }

    /// The largest of `depth` rows: a thousand candidates, or a quarter of the memory for them, and the rest for the array.
    pub(crate) fn largest(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let one = Candidates::<K>::bytes_of(1);
        let mut candidates = (bytes / 4 / one).clamp(1, DEFAULT_CANDIDATES);
        while candidates > 1 && Candidates::<K>::bytes_of(candidates) > bytes / 4 {
            candidates -= 1;
        }
        let own = Candidates::<K>::bytes_of(candidates);
        let array = ArrayConfig::whole_with_bytes(depth, bytes.saturating_sub(own), seed).map_err(
            |error| match error {
                SketchError::TooLittleMemory { kind, least, .. } => {
                    SketchError::TooLittleMemory { kind, bytes, least: least + one }
                }
                other => other,
            },
        )?;
        Self::new(array, candidates)
    }

    /// The array's configuration.
    pub fn array(&self) -> &ArrayConfig<P> {
        &self.array
    }

    /// The number of flows that are kept.
    pub fn candidates(&self) -> usize {
        self.candidates
    }
}

impl<K: Key, P: Policy> Configuration for TrackedConfig<K, P> {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::largest(P::DEFAULT_DEPTH, bytes, seed)
    }

    fn bytes(&self) -> usize {
        self.array.bytes() + Candidates::<K>::bytes_of(self.candidates)
    }

    fn seed(&self) -> &Seed {
        self.array.seed()
    }
}

impl<K: Key, P: Policy> RowConfiguration for TrackedConfig<K, P> {
    const DEFAULT_DEPTH: usize = P::DEFAULT_DEPTH;

    fn with_rows(depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::with_default_candidates(ArrayConfig::new(depth, width, seed)?)
    }

    fn with_depth(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::largest(depth, bytes, seed)
    }

    fn depth(&self) -> usize {
        self.array().depth()
    }

    fn width(&self) -> usize {
        self.array().width()
    }

    fn promise(&self) -> Option<ErrorPromise> {
        Some(P::promise(self.array().depth(), self.array().width()))
    }
}

impl<K, P: Policy> fmt::Display for TrackedConfig<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} candidates={}", self.array, self.candidates)
    }
}

/// A counter array that keeps the keys with the largest estimates. Policies that are not linear cannot be merged, so that this does not
/// compile:
///
/// ```compile_fail,E0277
/// # use sketch::{Conservative, Merge, Tracked};
/// fn merges<S: Merge>() {}
/// merges::<Tracked<packet::KeyV4, Conservative>>();
/// ```
///
/// A flow's estimate is compared with the candidates' at each of its packets; the answer queries the array
/// again.
///
/// Where estimates only grow (Count-Min, conservative update), every flow with an estimate of the threshold
/// or more is in the answer, unless as many others as there are candidates had at least as much when its last
/// packet arrived; if they reach the threshold, the answer states that it is cut short. Under the other
/// policies estimates move both ways, and a flow near the threshold can be missed.
///
/// The bounds of a list hold for all flows together: they come from the counters, as many flows are asked about at once
/// and those with the largest estimates are named (`deviations.rs`).
#[derive(Clone, Debug)]
pub struct Tracked<K: Key, P: Policy> {
    configuration: TrackedConfig<K, P>,
    array: CounterArray<P>,
    candidates: Candidates<K>,
}

impl<K: Key, P: Policy> Tracked<K, P> {
    /// The array.
    pub fn array(&self) -> &CounterArray<P> {
        &self.array
    }

    /// The flows that are kept, with their hashes, in no order.
    pub fn candidates(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.candidates.iter()
    }

    /// The most by which a flow that is not kept was ranked at its last packet.
    pub fn most_lacking(&self) -> u64 {
        self.candidates.most_lacking().max(0) as u64
    }

    /// The flow with the largest estimate (Wu's and Makwana's heavy hitter).
    pub fn heaviest(&self) -> Option<(K, Estimate)> {
        self.heavy_hitters(1).keys.into_iter().next()
    }
}

impl<K: Key, P: Linear> Tracked<K, P> {
    /// Returns what several cores counted in one array, with those of their flows that have the largest estimates in it.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn from_cores<'a>(
        configuration: &TrackedConfig<K, P>,
        array: &crate::SharedArray<K, P>,
        cores: impl IntoIterator<Item = &'a CoreCandidates<K>>,
    ) -> Result<Self, SketchError>
    where
        K: 'a,
    {
        let array = array.snapshot()?;
        let mut candidates = Candidates::new(configuration.candidates)?;
        let cores: Vec<&CoreCandidates<K>> = cores.into_iter().collect();
        candidates.merge_shared(&cores, |hash| array.rank_hash(hash));
        Ok(Self { configuration: *configuration, array, candidates })
    }
}

impl<K: Key, P: Policy> Summary for Tracked<K, P> {
    type Configuration = TrackedConfig<K, P>;

    fn new(configuration: &TrackedConfig<K, P>) -> Result<Self, SketchError> {
        Ok(Self {
            configuration: *configuration,
            array: CounterArray::new(&configuration.array)?,
            candidates: Candidates::new(configuration.candidates)?,
        })
    }

    fn configuration(&self) -> &TrackedConfig<K, P> {
        &self.configuration
    }

    fn reset(&mut self) {
        self.array.reset();
        self.candidates.clear();
    }

    fn bytes(&self) -> usize {
        self.array.bytes() + self.candidates.bytes()
    }
}

impl<K: Key, P: Policy> UpdateBurst<K> for Tracked<K, P> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        self.array.add(burst, &mut self.candidates);
    }
}

impl<K: Key, P: Policy> CounterObserver<Update<K>, P> for Candidates<K> {
    #[inline(always)]
    fn counted<const D: usize>(&mut self, packet: &Update<K>, counters: [P::Cell; D]) {
        self.observe(packet.key, packet.hash, P::rank(counters));
    }
}

impl<K: Key, P: Policy> Frequency<K> for Tracked<K, P> {
    fn estimate(&self, key: &K) -> Estimate {
        self.array.estimate(key)
    }
}

impl<K: Key, P: Policy> HeavyHitters<K> for Tracked<K, P> {
    fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        let mut heavy = self.array.estimates_of_listed(self.candidates.iter());
        heavy.retain(|(_, estimate)| estimate.value >= threshold as f64);
        HeavyKeys::new(heavy, self.candidates.may_lack(threshold))
    }
}

impl<K: Key, P: Linear> Merge for Tracked<K, P> {
    /// Adds the arrays, and keeps those of both sides' candidates with the largest estimates in the sum: a
    /// flow that is scattered over several arrays is found if it is a candidate in one.
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &other.configuration)?;
        self.array.merge(&other.array)?;
        self.add_candidates(other);
        Ok(())
    }
}

impl<K: Key, C: CounterCell> Tracked<K, Conservative<C>> {
    /// Merges as [`CounterArray::merge_disjoint`] does, with both sides' candidates.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn merge_disjoint(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &other.configuration)?;
        self.array.merge_disjoint(&other.array)?;
        self.add_candidates(other);
        Ok(())
    }
}

impl<K: Key, P: Policy> Tracked<K, P> {
    /// Keeps those of both sides' candidates with the largest estimates in the array, which has both sides'
    /// packets.
    fn add_candidates(&mut self, other: &Self) {
        self.candidates.merge(&other.candidates, |hash| self.array.rank_hash(hash));
    }
}

impl<K: Key, P: Signed> Tracked<K, P>
where
    P::Cell: SignedCell,
{
    /// The candidates of either side that changed by `threshold` or more since `earlier`, up or down:
    /// estimates are differences.
    ///
    /// # Errors
    /// If the configurations differ, with both.
    pub fn changes_since(&self, earlier: &Self, threshold: u64) -> Result<HeavyKeys<K>, Unmergeable> {
        Unmergeable::check(&self.configuration, &earlier.configuration)?;
        let mut difference = self.array.clone();
        difference.subtract(&earlier.array)?;
        let both = self.candidates.iter().chain(earlier.candidates.iter());
        let keys: HashMap<u64, K> = both.map(|(key, hash)| (hash, key)).collect();
        let mut changed = difference.estimates_of_listed(keys.into_iter().map(|(hash, key)| (key, hash)));
        changed.retain(|(_, estimate)| estimate.value.abs() >= threshold as f64);
        let may_lack = self.candidates.may_lack(threshold) || earlier.candidates.may_lack(threshold);
        Ok(HeavyKeys::new(changed, may_lack))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::super::{Conservative, CountMin, CountSketch, KAry, Turnstile};
    use super::*;
    use packet::KeyV4;

    type Flows<P> = Tracked<KeyV4, P>;

    fn config<P: Policy>(candidates: usize) -> TrackedConfig<KeyV4, P> {
        let array = ArrayConfig::new(3, 50, Seed::new(1)).expect("an array");
        TrackedConfig::new(array, candidates).expect("candidates")
    }

    /// The last packet is of the one candidate, so that its rank is the present one.
    fn ranks_are_those_of_packets<P: Linear>() {
        let mut updates = OracleStream::zipf(5_000, 500, 1).updates;
        updates.extend([updates[0]; 5_000]);
        let mut flows: Flows<P> = oracle::summary_of(&config(1), &updates);
        let rank = flows.candidates.least();
        flows.merge(&Tracked::new(&config(1)).expect("memory")).expect("equal configurations");
        assert!(rank > Some(4_000));
        assert_eq!(flows.candidates.least(), rank, "{}", P::KIND);
    }

    #[test]
    fn merging_ranks_flows_as_their_packets_did() {
        ranks_are_those_of_packets::<CountMin>();
        ranks_are_those_of_packets::<CountSketch>();
        ranks_are_those_of_packets::<KAry>();
        ranks_are_those_of_packets::<Turnstile>();
    }

    #[test]
    fn a_list_that_may_lack_flows_says_so() {
        let [a, b, c, d] = [1, 2, 3, 4]
            .map(|flow| Update::new(KeyV4::new([flow; 8], [0; 4], 6), u64::from(10 * flow), &Seed::new(1)));
        let cut_from = |flows: &Flows<CountMin>| {
            (0..100).filter(|threshold| flows.heavy_hitters(*threshold).is_cut_short).max()
        };
        let mut ours: Flows<CountMin> = oracle::summary_of(&config(2), &[c]);
        assert_eq!(cut_from(&ours), None);
        ours.update_burst(&[d, a]);
        assert_eq!(cut_from(&ours), Some(30));
        // What is in neither list may have had 30 here and 20 there.
        let theirs = oracle::summary_of(&config(2), &[b, c, a]);
        ours.merge(&theirs).expect("equal configurations");
        assert_eq!(cut_from(&ours), Some(50));
        ours.reset();
        assert_eq!(cut_from(&ours), None);
        let ours: Tracked<KeyV4, Conservative> = oracle::summary_of(&config(1), &[a, b]);
        assert!(ours.heavy_hitters(20).is_cut_short && !ours.heavy_hitters(21).is_cut_short);
    }
}
