//! Structures that count flows.

use crate::{Choice, Structure, Weight};
use packet::Key;
use std::fmt;
use summary::sketch::{
    CocoSketch, Configuration, Conservative, CountMin, CountSketch, EntropySample, ExactCounts, FlowSample,
    HeavyHitters, HeavyKeys, KAry, Merge, MvSketch, PacketSample, SampleAndHold, SampleConfig, Sampling,
    SimpleHashTable, SizeArray, SketchError, SpaceSavingHeap, SpaceSavingSummary, Summary, Tracked,
    Unmergeable, Update, UpdateBurst,
};

/// One of them: chosen when a run begins, and matched once a burst.
pub(crate) enum Counted<K: Key> {
    Exact(ExactCounts<K>),
    CountMin(Tracked<K, CountMin>),
    CountMinBytes(Tracked<K, CountMin<u64>>),
    Conservative(Tracked<K, Conservative>),
    CountSketch(Tracked<K, CountSketch>),
    KAry(Tracked<K, KAry>),
    KAryBytes(Tracked<K, KAry<i64>>),
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
}

impl<K: Key> fmt::Debug for Counted<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The same for whatever structure it is.
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
        }
    };
}

/// A structure of so many bytes.
fn sized<S: Summary>(bytes: usize, seed: &packet::Seed) -> Result<S, SketchError> {
    S::new(&Configuration::with_bytes(bytes, *seed)?)
}

/// A sample of so many bytes that takes one in `one_in`.
fn sample<S>(choice: &Choice, seed: &packet::Seed) -> Result<S, SketchError>
where
    S: Sampling + Summary<Configuration = SampleConfig<S>>,
{
    let fits = SampleConfig::<S>::with_bytes(choice.bytes, *seed)?;
    S::new(&SampleConfig::new(choice.one_in, fits.capacity, *seed))
}

impl<K: Key> Counted<K> {
    /// An empty one. A structure that counts no flows has none.
    pub(crate) fn new(choice: &Choice, weight: Weight, seed: &packet::Seed) -> Result<Self, SketchError> {
        let bytes = choice.bytes;
        let is_bytes = weight == Weight::Bytes;
        Ok(match choice.structure {
            Structure::CountMin if is_bytes => Self::CountMinBytes(sized(bytes, seed)?),
            Structure::CountMin => Self::CountMin(sized(bytes, seed)?),
            Structure::Conservative => Self::Conservative(sized(bytes, seed)?),
            Structure::CountSketch => Self::CountSketch(sized(bytes, seed)?),
            Structure::KAry if is_bytes => Self::KAryBytes(sized(bytes, seed)?),
            Structure::KAry => Self::KAry(sized(bytes, seed)?),
            Structure::SimpleHashTable => Self::SimpleHashTable(sized(bytes, seed)?),
            Structure::SpaceSaving if !is_bytes => Self::SpaceSaving(sized(bytes, seed)?),
            Structure::SpaceSaving | Structure::SpaceSavingHeap => Self::SpaceSavingHeap(sized(bytes, seed)?),
            Structure::MvSketch => Self::MvSketch(sized(bytes, seed)?),
            Structure::CocoSketch => Self::CocoSketch(sized(bytes, seed)?),
            Structure::PacketSample => Self::PacketSample(sample(choice, seed)?),
            Structure::FlowSample => Self::FlowSample(sample(choice, seed)?),
            Structure::SampleAndHold => Self::SampleAndHold(sample(choice, seed)?),
            Structure::SizeArray => Self::SizeArray(sized(bytes, seed)?),
            Structure::StreamSample => Self::StreamSample(sized(bytes, seed)?),
            // All others count contacts or values; catalog and planner keep them apart.
            _ => Self::Exact(sized(bytes, seed)?),
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, burst: &[Update<K>]) {
        each!(self, structure => structure.update_burst(burst));
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
            (Self::SimpleHashTable(ours), Self::SimpleHashTable(theirs)) => ours.merge(theirs),
            (Self::SpaceSaving(ours), Self::SpaceSaving(theirs)) => ours.merge(theirs),
            (Self::SpaceSavingHeap(ours), Self::SpaceSavingHeap(theirs)) => ours.merge(theirs),
            (Self::MvSketch(ours), Self::MvSketch(theirs)) => ours.merge(theirs),
            (Self::CocoSketch(ours), Self::CocoSketch(theirs)) => ours.merge(theirs),
            (Self::PacketSample(ours), Self::PacketSample(theirs)) => ours.merge(theirs),
            (Self::FlowSample(ours), Self::FlowSample(theirs)) => ours.merge(theirs),
            (Self::SampleAndHold(ours), Self::SampleAndHold(theirs)) => ours.merge(theirs),
            (Self::SizeArray(ours), Self::SizeArray(theirs)) => ours.merge(theirs),
            // The planner lets it run only where each core has flows of its own.
            (Self::StreamSample(ours), Self::StreamSample(theirs)) => ours.merge_disjoint(theirs),
            (ours, theirs) => Err(Unmergeable::new(ours.text(), theirs.text())),
        }
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
            Self::SimpleHashTable(structure) => structure.heavy_hitters(threshold),
            Self::SpaceSaving(structure) => structure.heavy_hitters(threshold),
            Self::SpaceSavingHeap(structure) => structure.heavy_hitters(threshold),
            Self::MvSketch(structure) => structure.heavy_hitters(threshold),
            Self::CocoSketch(structure) => structure.heavy_hitters(threshold),
            Self::PacketSample(structure) => structure.heavy_hitters(threshold),
            Self::FlowSample(structure) => structure.heavy_hitters(threshold),
            Self::SampleAndHold(structure) => structure.heavy_hitters(threshold),
            Self::SizeArray(_) | Self::StreamSample(_) => HeavyKeys::new(Vec::new(), true),
        }
    }
}
