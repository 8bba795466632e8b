//! Structures that count flows.

use super::Making;
use crate::{Structure, Weight};
use arena::Lease;
use sketch::{
    ByteKey, Cardinality, CocoSketch, Configuration, Conservative, CountMin, CountSketch, EntropySample,
    Estimate, ExactCounts, FlowSample, HeavyHitters, HeavyKeys, HyperLogLog, KAry, LinearBitmap, Merge,
    MultiResolutionBitmap, MvSketch, PacketSample, ReversibleKeys, ReversibleSets, RowConfiguration,
    SampleAndHold, SampleConfig, SamplingMethod, SimpleHashTable, SizeArray, SketchError, SpaceSavingHeap,
    SpaceSavingSummary, Summary, Tracked, Turnstile, Unmergeable, Update, UpdateBurst,
};
use std::fmt;

/// A structure that counts flows: chosen when a run begins, and matched once a burst.
pub(crate) enum FlowCounter<K: ByteKey> {
    Exact(ExactCounts<K>),
    CountMin(Tracked<K, CountMin>),
    CountMinBytes(Tracked<K, CountMin<u64>>),
    Conservative(Tracked<K, Conservative>),
    CountSketch(Tracked<K, CountSketch>),
    KAry(Tracked<K, KAry>),
    KAryBytes(Tracked<K, KAry<i64>>),
    Turnstile(Tracked<K, Turnstile>),
    TurnstileBytes(Tracked<K, Turnstile<i64>>),
    Reversible(Box<ReversibleKeys<K>>),
    ReversibleSets(ReversibleSets<K>),
    SimpleHashTable(SimpleHashTable<K>),
    SpaceSaving(SpaceSavingSummary<K>),
    SpaceSavingHeap(SpaceSavingHeap<K>),
    MvSketch(MvSketch<K>),
    CocoSketch(CocoSketch<K>),
    PacketSample(PacketSample<K>),
    FlowSample(FlowSample<K>),
    SampleAndHold(SampleAndHold<K>),
    SizeArray(SizeArray),
    StreamSample(EntropySample<K>),
    HyperLogLog(HyperLogLog),
    Bitmap(LinearBitmap),
    MultiResolutionBitmap(MultiResolutionBitmap),
}

impl<K: ByteKey> fmt::Debug for FlowCounter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Evaluates an expression for the structure, whichever it is.
macro_rules! each {
    ($counted:expr, $structure:ident => $body:expr) => {
        match $counted {
            Self::Exact($structure) => $body,
            Self::CountMin($structure) => $body,
            Self::CountMinBytes($structure) => $body,
            Self::Conservative($structure) => $body,
            Self::CountSketch($structure) => $body,
            Self::KAry($structure) => $body,
            Self::KAryBytes($structure) => $body,
            Self::Turnstile($structure) => $body,
            Self::TurnstileBytes($structure) => $body,
            Self::Reversible($structure) => $body,
            Self::ReversibleSets($structure) => $body,
            Self::SimpleHashTable($structure) => $body,
            Self::SpaceSaving($structure) => $body,
            Self::SpaceSavingHeap($structure) => $body,
            Self::MvSketch($structure) => $body,
            Self::CocoSketch($structure) => $body,
            Self::PacketSample($structure) => $body,
            Self::FlowSample($structure) => $body,
            Self::SampleAndHold($structure) => $body,
            Self::SizeArray($structure) => $body,
            Self::StreamSample($structure) => $body,
            Self::HyperLogLog($structure) => $body,
            Self::Bitmap($structure) => $body,
            Self::MultiResolutionBitmap($structure) => $body,
        }
    };
}

/// A sample of this many bytes that takes one in `one_in`.
fn sample<S>(making: &Making) -> Result<S, SketchError>
where
    S: SamplingMethod + Summary<Configuration = SampleConfig<S>>,
{
    let fits = SampleConfig::<S>::with_bytes(making.bytes, making.seed)?;
    S::new(&SampleConfig::new(making.one_in, fits.capacity, making.seed))
}

impl<K: ByteKey> FlowCounter<K> {
    /// An empty one. A structure that counts no flows has none.
    pub(crate) fn new(making: &Making, weight: Weight) -> Result<Self, SketchError> {
        let is_bytes = weight == Weight::Bytes;
        Ok(match making.structure {
            Structure::CountMin if is_bytes => Self::CountMinBytes(making.with_rows()?),
            Structure::CountMin => Self::CountMin(making.with_rows()?),
            Structure::Conservative => Self::Conservative(making.with_rows()?),
            Structure::CountSketch => Self::CountSketch(making.with_rows()?),
            Structure::KAry if is_bytes => Self::KAryBytes(making.with_rows()?),
            Structure::KAry => Self::KAry(making.with_rows()?),
            Structure::Turnstile if is_bytes => Self::TurnstileBytes(making.with_rows()?),
            Structure::Turnstile => Self::Turnstile(making.with_rows()?),
            Structure::Reversible => match making.key_bytes {
                Some(key_bytes) => {
                    let config = RowConfiguration::sized(making.rows, making.bytes, making.seed)?;
                    Self::Reversible(Box::new(ReversibleKeys::new(&config, key_bytes)?))
                }
                None => Self::ReversibleSets(making.with_rows()?),
            },
            Structure::SimpleHashTable => Self::SimpleHashTable(making.with_rows()?),
            Structure::SpaceSaving if !is_bytes => Self::SpaceSaving(making.sized()?),
            Structure::SpaceSaving | Structure::SpaceSavingHeap => Self::SpaceSavingHeap(making.sized()?),
            Structure::MvSketch => Self::MvSketch(making.with_rows()?),
            Structure::CocoSketch => Self::CocoSketch(making.with_rows()?),
            Structure::PacketSample => Self::PacketSample(sample(making)?),
            Structure::FlowSample => Self::FlowSample(sample(making)?),
            Structure::SampleAndHold => Self::SampleAndHold(sample(making)?),
            Structure::SizeArray => Self::SizeArray(making.sized()?),
            Structure::StreamSample => Self::StreamSample(making.sized()?),
            Structure::HyperLogLog => Self::HyperLogLog(making.sized()?),
            Structure::Bitmap => Self::Bitmap(making.sized()?),
            Structure::MultiResolutionBitmap => Self::MultiResolutionBitmap(making.sized()?),
            // All others count contacts or values; catalog and planner keep them apart.
            _ => Self::Exact(making.sized()?),
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, burst: &[Update<K>]) {
        each!(self, structure => structure.update_burst(burst));
    }

    /// Makes room for this many flows more, as far as there is memory. Only an exact table grows.
    pub(crate) fn make_room(&mut self, more: usize, memory: &mut Lease) {
        if let Self::Exact(table) = self {
            table.make_room(more, memory);
        }
    }

    /// True of a table that has all flows.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(table) if !table.is_short())
    }

    pub(crate) fn reset(&mut self) {
        each!(self, structure => structure.reset());
    }

    pub(crate) fn bytes(&self) -> usize {
        each!(self, structure => structure.bytes())
    }

    /// The structure with its sizes.
    pub(crate) fn text(&self) -> String {
        each!(self, structure => structure.configuration().to_string())
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => ours.merge(theirs),
            (Self::CountMin(ours), Self::CountMin(theirs)) => ours.merge(theirs),
            (Self::CountMinBytes(ours), Self::CountMinBytes(theirs)) => ours.merge(theirs),
            (Self::CountSketch(ours), Self::CountSketch(theirs)) => ours.merge(theirs),
            (Self::KAry(ours), Self::KAry(theirs)) => ours.merge(theirs),
            (Self::KAryBytes(ours), Self::KAryBytes(theirs)) => ours.merge(theirs),
            (Self::Turnstile(ours), Self::Turnstile(theirs)) => ours.merge(theirs),
            (Self::TurnstileBytes(ours), Self::TurnstileBytes(theirs)) => ours.merge(theirs),
            (Self::Reversible(ours), Self::Reversible(theirs)) => ours.merge(theirs),
            (Self::ReversibleSets(ours), Self::ReversibleSets(theirs)) => ours.merge(theirs),
            (Self::SimpleHashTable(ours), Self::SimpleHashTable(theirs)) => ours.merge(theirs),
            (Self::SpaceSaving(ours), Self::SpaceSaving(theirs)) => ours.merge(theirs),
            (Self::SpaceSavingHeap(ours), Self::SpaceSavingHeap(theirs)) => ours.merge(theirs),
            (Self::MvSketch(ours), Self::MvSketch(theirs)) => ours.merge(theirs),
            (Self::CocoSketch(ours), Self::CocoSketch(theirs)) => ours.merge(theirs),
            (Self::PacketSample(ours), Self::PacketSample(theirs)) => ours.merge(theirs),
            (Self::FlowSample(ours), Self::FlowSample(theirs)) => ours.merge(theirs),
            (Self::SampleAndHold(ours), Self::SampleAndHold(theirs)) => ours.merge(theirs),
            (Self::SizeArray(ours), Self::SizeArray(theirs)) => ours.merge(theirs),
            (Self::HyperLogLog(ours), Self::HyperLogLog(theirs)) => ours.merge(theirs),
            (Self::Bitmap(ours), Self::Bitmap(theirs)) => ours.merge(theirs),
            (Self::MultiResolutionBitmap(ours), Self::MultiResolutionBitmap(theirs)) => ours.merge(theirs),
            // The planner lets these run only where each core has its own flows.
            (Self::Conservative(ours), Self::Conservative(theirs)) => ours.merge_disjoint(theirs),
            (Self::StreamSample(ours), Self::StreamSample(theirs)) => ours.merge_disjoint(theirs),
            (ours, theirs) => Err(Unmergeable::new(ours.text(), theirs.text())),
        }
    }

    /// True if its flows are searched for by their counters, which takes the longer, the lower the threshold.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self, Self::Reversible(_) | Self::ReversibleSets(_))
    }

    /// The flows that had `threshold` or more; nothing of a structure that keeps no keys.
    pub(crate) fn heavy_hitters(&self, threshold: u64) -> HeavyKeys<K> {
        match self {
            Self::Exact(structure) => structure.heavy_hitters(threshold),
            Self::CountMin(structure) => structure.heavy_hitters(threshold),
            Self::CountMinBytes(structure) => structure.heavy_hitters(threshold),
            Self::Conservative(structure) => structure.heavy_hitters(threshold),
            Self::CountSketch(structure) => structure.heavy_hitters(threshold),
            Self::KAry(structure) => structure.heavy_hitters(threshold),
            Self::KAryBytes(structure) => structure.heavy_hitters(threshold),
            Self::Turnstile(structure) => structure.heavy_hitters(threshold),
            Self::TurnstileBytes(structure) => structure.heavy_hitters(threshold),
            Self::Reversible(structure) => structure.heavy_hitters(threshold),
            Self::ReversibleSets(structure) => structure.heavy_hitters(threshold),
            Self::SimpleHashTable(structure) => structure.heavy_hitters(threshold),
            Self::SpaceSaving(structure) => structure.heavy_hitters(threshold),
            Self::SpaceSavingHeap(structure) => structure.heavy_hitters(threshold),
            Self::MvSketch(structure) => structure.heavy_hitters(threshold),
            Self::CocoSketch(structure) => structure.heavy_hitters(threshold),
            Self::PacketSample(structure) => structure.heavy_hitters(threshold),
            Self::FlowSample(structure) => structure.heavy_hitters(threshold),
            Self::SampleAndHold(structure) => structure.heavy_hitters(threshold),
            Self::SizeArray(_)
            | Self::StreamSample(_)
            | Self::HyperLogLog(_)
            | Self::Bitmap(_)
            | Self::MultiResolutionBitmap(_) => HeavyKeys::new(Vec::new(), true),
        }
    }

    /// The most that any flow had that is not listed, where no estimate of the flows that are known and not listed is more than `known`. `None` where
    /// nothing certain bounds it.
    pub(crate) fn most_unlisted(&self, known: u64) -> Option<u64> {
        let (most, largest) = match self {
            // One that was refused by one table, and kept by another one, lacks some.
            Self::Exact(structure) => return Some(known.saturating_add(structure.not_kept())),
            Self::CountMin(structure) => (structure.most_lacking(), u64::from(u32::MAX)),
            Self::Conservative(structure) => (structure.most_lacking(), u64::from(u32::MAX)),
            Self::CountMinBytes(structure) => (structure.most_lacking(), i64::MAX as u64),
            Self::SpaceSaving(structure) => (structure.least(), u64::MAX),
            Self::SpaceSavingHeap(structure) => (structure.least(), u64::MAX),
            _ => return None,
        };
        // A counter at its end bounds nothing.
        Some(most.max(known)).filter(|most| *most < largest)
    }

    /// The number of distinct keys; `None` of a structure that does not count them.
    pub(crate) fn distinct(&self) -> Option<Estimate> {
        match self {
            Self::Exact(table) => Some(table.distinct()),
            Self::HyperLogLog(registers) => Some(registers.distinct()),
            Self::Bitmap(bitmap) => Some(bitmap.distinct()),
            Self::MultiResolutionBitmap(bitmaps) => Some(bitmaps.distinct()),
            _ => None,
        }
    }
}
