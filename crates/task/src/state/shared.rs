//! Flow counters in which all workers count (`--state shared`; Wu et al. 2016, section 3.2), and what each worker keeps beside them.

use super::{FlowCounter, Making};
use crate::{Structure, Weight};
use sketch::{
    ByteKey, Configuration, CoreCandidates, CountMin, CountSketch, HyperLogLog, KAry, Linear, LinearBitmap,
    MultiResolutionBitmap, RowConfiguration, SharedArray, SharedBitmap, SharedHyperLogLog,
    SharedReversibleKeys, SharedReversibleSets, SketchError, Summary, Tracked, TrackedConfig, Turnstile,
    Unmergeable, Update,
};
use std::sync::Arc;

/// Returns true if the updates of a structure commute, so that cores may make them in any order: counters that are added to, bits and
/// registers.
pub(crate) fn can_be_shared(structure: Structure) -> bool {
    matches!(
        structure,
        Structure::CountMin
            | Structure::CountSketch
            | Structure::KAry
            | Structure::Turnstile
            | Structure::Reversible
            | Structure::HyperLogLog
            | Structure::Bitmap
            | Structure::MultiResolutionBitmap
    )
}

/// A counter array that cores share, and how many flows each of them keeps beside it.
#[derive(Debug)]
pub(crate) struct ArrayOfCores<K, P: Linear> {
    config: TrackedConfig<K, P>,
    array: SharedArray<K, P>,
}

impl<K: ByteKey, P: Linear> ArrayOfCores<K, P> {
    fn new(making: &Making) -> Result<Self, SketchError> {
        let config = config::<K, P>(making)?;
        Ok(Self { config, array: SharedArray::new(config.array())? })
    }

    fn update(&self, burst: &[Update<K>], candidates: Option<&mut CoreCandidates<K>>) {
        match candidates {
            Some(candidates) => self.array.update_burst_of_core(burst, candidates),
            None => self.array.update_burst(burst),
        }
    }

    fn settled(&self, cores: &[&CoreCandidates<K>]) -> Result<Tracked<K, P>, SketchError> {
        Tracked::from_cores(&self.config, &self.array, cores.iter().copied())
    }
}

fn config<K: ByteKey, P: Linear>(making: &Making) -> Result<TrackedConfig<K, P>, SketchError> {
    RowConfiguration::sized(making.rows, making.bytes, making.seed)
}

/// The number of flows that each worker keeps beside a structure of all workers; `None` of one that keeps keys itself, or none.
fn listed<K: ByteKey>(making: &Making, weight: Weight) -> Result<Option<usize>, SketchError> {
    let is_bytes = weight == Weight::Bytes;
    Ok(Some(match making.structure {
        Structure::CountMin if is_bytes => config::<K, CountMin<u64>>(making)?.candidates(),
        Structure::CountMin => config::<K, CountMin>(making)?.candidates(),
        Structure::CountSketch => config::<K, CountSketch>(making)?.candidates(),
        Structure::KAry if is_bytes => config::<K, KAry<i64>>(making)?.candidates(),
        Structure::KAry => config::<K, KAry>(making)?.candidates(),
        Structure::Turnstile if is_bytes => config::<K, Turnstile<i64>>(making)?.candidates(),
        Structure::Turnstile => config::<K, Turnstile>(making)?.candidates(),
        _ => return Ok(None),
    }))
}

/// Memory of the list of flows that each worker keeps beside a structure of all workers.
pub(crate) fn list_bytes<K: ByteKey>(making: &Making, weight: Weight) -> usize {
    // A size that is impossible is refused where the structure is made.
    listed::<K>(making, weight).ok().flatten().map_or(0, CoreCandidates::<K>::bytes_of)
}

/// A flow counter in which all workers count at the same time.
#[derive(Debug)]
pub(crate) enum SharedFlowCounter<K: ByteKey> {
    CountMin(ArrayOfCores<K, CountMin>),
    CountMinBytes(ArrayOfCores<K, CountMin<u64>>),
    CountSketch(ArrayOfCores<K, CountSketch>),
    KAry(ArrayOfCores<K, KAry>),
    KAryBytes(ArrayOfCores<K, KAry<i64>>),
    Turnstile(ArrayOfCores<K, Turnstile>),
    TurnstileBytes(ArrayOfCores<K, Turnstile<i64>>),
    Reversible(SharedReversibleKeys<K>),
    ReversibleSets(SharedReversibleSets<K>),
    HyperLogLog(SharedHyperLogLog),
    Bitmap(SharedBitmap<LinearBitmap>),
    MultiResolutionBitmap(SharedBitmap<MultiResolutionBitmap>),
}

impl<K: ByteKey> SharedFlowCounter<K> {
    /// Creates an empty one of a structure that [can be shared](can_be_shared).
    pub(crate) fn new(making: &Making, weight: Weight) -> Result<Self, SketchError> {
        let is_bytes = weight == Weight::Bytes;
        let (rows, bytes, seed) = (making.rows, making.bytes, making.seed);
        Ok(match making.structure {
            Structure::CountSketch => Self::CountSketch(ArrayOfCores::new(making)?),
            Structure::KAry if is_bytes => Self::KAryBytes(ArrayOfCores::new(making)?),
            Structure::KAry => Self::KAry(ArrayOfCores::new(making)?),
            Structure::Turnstile if is_bytes => Self::TurnstileBytes(ArrayOfCores::new(making)?),
            Structure::Turnstile => Self::Turnstile(ArrayOfCores::new(making)?),
            Structure::Reversible => match making.key_bytes {
                Some(key_bytes) => Self::Reversible(SharedReversibleKeys::new(
                    &RowConfiguration::sized(rows, bytes, seed)?,
                    key_bytes,
                )?),
                None => Self::ReversibleSets(SharedReversibleSets::new(&RowConfiguration::sized(
                    rows, bytes, seed,
                )?)?),
            },
            Structure::HyperLogLog => {
                let config: <HyperLogLog as Summary>::Configuration = Configuration::with_bytes(bytes, seed)?;
                Self::HyperLogLog(SharedHyperLogLog::new(&config)?)
            }
            Structure::Bitmap => Self::Bitmap(SharedBitmap::new(&Configuration::with_bytes(bytes, seed)?)?),
            Structure::MultiResolutionBitmap => {
                Self::MultiResolutionBitmap(SharedBitmap::new(&Configuration::with_bytes(bytes, seed)?)?)
            }
            _ if is_bytes => Self::CountMinBytes(ArrayOfCores::new(making)?),
            _ => Self::CountMin(ArrayOfCores::new(making)?),
        })
    }

    /// Creates the list of flows that each worker keeps beside it; `None` of a structure that keeps keys itself, or none.
    fn candidates(making: &Making, weight: Weight) -> Result<Option<CoreCandidates<K>>, SketchError> {
        listed::<K>(making, weight)?.map(CoreCandidates::new).transpose()
    }

    fn update(&self, burst: &[Update<K>], candidates: Option<&mut CoreCandidates<K>>) {
        match self {
            Self::CountMin(array) => array.update(burst, candidates),
            Self::CountMinBytes(array) => array.update(burst, candidates),
            Self::CountSketch(array) => array.update(burst, candidates),
            Self::KAry(array) => array.update(burst, candidates),
            Self::KAryBytes(array) => array.update(burst, candidates),
            Self::Turnstile(array) => array.update(burst, candidates),
            Self::TurnstileBytes(array) => array.update(burst, candidates),
            Self::Reversible(sketch) => sketch.update_burst(burst),
            Self::ReversibleSets(sketch) => sketch.update_burst(burst),
            Self::HyperLogLog(registers) => registers.update_burst(burst),
            Self::Bitmap(bitmap) => bitmap.update_burst(burst),
            Self::MultiResolutionBitmap(bitmaps) => bitmaps.update_burst(burst),
        }
    }

    /// Returns the counter of one core that has the same counts, with the flows of these lists.
    fn settled(&self, cores: &[&CoreCandidates<K>]) -> Result<FlowCounter<K>, SketchError> {
        Ok(match self {
            Self::CountMin(array) => FlowCounter::CountMin(array.settled(cores)?),
            Self::CountMinBytes(array) => FlowCounter::CountMinBytes(array.settled(cores)?),
            Self::CountSketch(array) => FlowCounter::CountSketch(array.settled(cores)?),
            Self::KAry(array) => FlowCounter::KAry(array.settled(cores)?),
            Self::KAryBytes(array) => FlowCounter::KAryBytes(array.settled(cores)?),
            Self::Turnstile(array) => FlowCounter::Turnstile(array.settled(cores)?),
            Self::TurnstileBytes(array) => FlowCounter::TurnstileBytes(array.settled(cores)?),
            Self::Reversible(sketch) => FlowCounter::Reversible(Box::new(sketch.snapshot()?)),
            Self::ReversibleSets(sketch) => FlowCounter::ReversibleSets(sketch.snapshot()?),
            Self::HyperLogLog(registers) => FlowCounter::HyperLogLog(registers.snapshot()?),
            Self::Bitmap(bitmap) => FlowCounter::Bitmap(bitmap.snapshot()?),
            Self::MultiResolutionBitmap(bitmaps) => FlowCounter::MultiResolutionBitmap(bitmaps.snapshot()?),
        })
    }

    /// Clears it. No worker may count in it.
    pub(crate) fn reset(&self) {
        match self {
            Self::CountMin(of) => of.array.reset(),
            Self::CountMinBytes(of) => of.array.reset(),
            Self::CountSketch(of) => of.array.reset(),
            Self::KAry(of) => of.array.reset(),
            Self::KAryBytes(of) => of.array.reset(),
            Self::Turnstile(of) => of.array.reset(),
            Self::TurnstileBytes(of) => of.array.reset(),
            Self::Reversible(sketch) => sketch.reset(),
            Self::ReversibleSets(sketch) => sketch.reset(),
            Self::HyperLogLog(registers) => registers.reset(),
            Self::Bitmap(bitmap) => bitmap.reset(),
            Self::MultiResolutionBitmap(bitmaps) => bitmaps.reset(),
        }
    }
}

/// The part of a worker in a flow counter of all workers.
#[derive(Debug)]
pub(crate) struct SharedPart<K: ByteKey> {
    making: Making,
    weight: Weight,
    /// The counter of the window in which the worker counts.
    counter: Option<Arc<SharedFlowCounter<K>>>,
    /// The flows that the worker keeps.
    candidates: Option<CoreCandidates<K>>,
    /// The flows of other workers, once their parts are merged.
    others: Vec<CoreCandidates<K>>,
}

impl<K: ByteKey> SharedPart<K> {
    /// Creates a part that counts nothing until it has a counter.
    pub(crate) fn new(making: &Making, weight: Weight) -> Result<Self, SketchError> {
        let candidates = SharedFlowCounter::candidates(making, weight)?;
        Ok(Self { making: *making, weight, counter: None, candidates, others: Vec::new() })
    }

    /// Memory of the part.
    pub(crate) fn bytes(&self) -> usize {
        self.candidates.as_ref().map_or(0, CoreCandidates::bytes)
    }

    /// Counts in this counter from here on.
    pub(crate) fn bind(&mut self, counter: &Arc<SharedFlowCounter<K>>) {
        self.counter = Some(Arc::clone(counter));
    }

    #[inline]
    pub(crate) fn update(&mut self, burst: &[Update<K>]) {
        if let Some(counter) = &self.counter {
            counter.update(burst, self.candidates.as_mut());
        }
    }

    /// Joins the part of another worker, which counted in the same counter.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (&self.counter, &other.counter) {
            (Some(ours), Some(theirs)) if !Arc::ptr_eq(ours, theirs) => {
                return Err(Unmergeable::new("a structure of one window", "that of another window"));
            }
            (None, Some(theirs)) => self.counter = Some(Arc::clone(theirs)),
            _ => {}
        }
        self.others.extend(other.candidates.iter().chain(&other.others).cloned());
        Ok(())
    }

    /// Returns the counter of one core that has the counts of all workers whose parts were merged.
    pub(crate) fn settled(&self) -> Result<FlowCounter<K>, SketchError> {
        let cores: Vec<_> = self.candidates.iter().chain(&self.others).collect();
        match &self.counter {
            Some(counter) => counter.settled(&cores),
            None => FlowCounter::new(&self.making, self.weight),
        }
    }

    /// Leaves the counter, and forgets everything.
    pub(crate) fn reset(&mut self) {
        (self.counter, self.others) = (None, Vec::new());
        self.candidates.iter_mut().for_each(CoreCandidates::clear);
    }
}

#[cfg(test)]
mod tests {
    use crate::tasks::Tasks;
    use crate::{RunProperties, TaskSpec};
    use packet::{KeySpec, Seed};

    /// Each worker has lists of two windows, and each is copied when it is merged: the account of the run has all three.
    #[test]
    fn the_lists_of_workers_are_in_the_account() {
        for text in [
            "heavy-hitters:structure=count-min,share=1%,memory=256KiB",
            "heavy-hitters:structure=count-min,key=dst_addr,prefixes=8/32,by=bytes,share=1%,memory=1MiB",
            "heavy-hitters:structure=k-ary,share=1%,memory=16KiB",
            // The array is small, and the list as long as beside a large one.
            "heavy-hitters:structure=count-min,share=1%,depth=3,width=256",
        ] {
            let task: TaskSpec = text.parse().expect("a task");
            let run = RunProperties {
                key: KeySpec::FIVE_TUPLE,
                is_paired: false,
                packets: Some(10_000),
                workers: 4,
                scatters: true,
                shares: true,
                seed: Seed::new(1),
            };
            let tasks = Tasks::plan(&[task], &run).expect("it can be counted");
            let states = tasks.states_of_worker(4).expect("memory");
            let lists: usize = states.states.iter().flatten().map(|state| state.bytes()).sum();
            assert!(lists > 0, "{text}");
            let charged = tasks.bytes(5) - tasks.bytes(4);
            assert!(charged >= 3 * lists, "{text}: {charged} for lists of {lists}");
            // Not much more, either.
            assert!(charged < 4 * lists, "{text}: {charged} for lists of {lists}");
        }
    }
}
