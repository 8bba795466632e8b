//! Table 1 of Alipourfard et al. (HotNets 2015): which structures answer which task, and which of the table's entries are
//! not built. Below it, the structures that count distinct values, which Wu et al. name, and those whose inner products Makwana names.

use crate::{Structure, TaskKind};

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureFamily {
    /// An exact table: the paper's baseline for the others.
    Table,
    /// Sketches.
    Sketch,
    /// Heaps and trees.
    Heap,
    /// Samples.
    Sample,
}

impl StructureFamily {
    /// Returns the usual name of the family.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Sketch => "sketch",
            Self::Heap => "heap or tree",
            Self::Sample => "sample",
        }
    }
}

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct CatalogEntry {
    /// The row.
    pub kind: TaskKind,
    /// The column.
    pub family: StructureFamily,
    /// The structures that are built.
    pub built: &'static [Structure],
    /// The structures that the paper names and that are not built, and the reason.
    pub missing: Option<&'static str>,
}

const fn entry(kind: TaskKind, family: StructureFamily, built: &'static [Structure]) -> CatalogEntry {
    CatalogEntry { kind, family, built, missing: None }
}

impl CatalogEntry {
    const fn but(self, missing: &'static str) -> Self {
        Self { missing: Some(missing), ..self }
    }
}

use Structure as S;
use StructureFamily::{Heap, Sample, Sketch, Table};
use TaskKind::{Change, Distinct, Entropy, FlowSizes, HeavyHitters, Inner, Quantiles, SuperSpreaders};

/// The entries of the table, by task.
pub const ENTRIES: [CatalogEntry; 25] = [
    entry(HeavyHitters, Table, &[S::Exact, S::SimpleHashTable]),
    entry(
        HeavyHitters,
        Sketch,
        &[S::CountMin, S::Conservative, S::CountSketch, S::KAry, S::MvSketch, S::CocoSketch, S::Reversible],
    ),
    entry(HeavyHitters, Heap, &[S::SpaceSaving, S::SpaceSavingHeap])
        .but("prefix tree that zooms (ANCS'11): a prefix is counted only once the tree has got there; prefixes= has a structure for each length instead, as Mitzenmacher et al. do"),
    entry(HeavyHitters, Sample, &[S::PacketSample, S::SampleAndHold]),
    entry(SuperSpreaders, Table, &[S::Exact]),
    entry(SuperSpreaders, Sketch, &[S::SpreadSketch]),
    entry(SuperSpreaders, Sample, &[S::ContactSample]),
    entry(FlowSizes, Table, &[S::Exact]),
    entry(FlowSizes, Sketch, &[S::SizeArray]),
    entry(FlowSizes, Sample, &[S::PacketSample]),
    entry(Change, Table, &[S::Exact]),
    entry(Change, Sketch, &[S::KAry, S::MvSketch, S::Turnstile, S::Reversible]),
    entry(Change, Heap, &[])
        .but("adaptive counting on a prefix tree (CoNEXT'13): a change is seen only where the tree is fine already, so that its answer has no bound"),
    entry(Change, Sample, &[S::FlowSample]),
    entry(Entropy, Table, &[S::Exact]),
    entry(Entropy, Sketch, &[S::SizeArray])
        .but("compressed counting (COLT'11): it projects every packet onto some hundred counters, far from line rate; the size array answers from one counter a packet"),
    entry(Entropy, Sample, &[S::StreamSample]),
    entry(Quantiles, Table, &[S::Exact]),
    entry(Quantiles, Sketch, &[S::Dyadic, S::DdSketch]),
    entry(Quantiles, Heap, &[])
        .but("summaries of Greenwald and Khanna (SIGMOD'01) and of Manku et al. (SIGMOD'99): no maintained library has them, and dyadic arrays and the reservoir reach a rank error of 1 % in the same memory"),
    entry(Quantiles, Sample, &[S::Reservoir]),
    entry(Distinct, Table, &[S::Exact]),
    entry(Distinct, Sketch, &[S::HyperLogLog, S::Bitmap, S::MultiResolutionBitmap]),
    entry(Inner, Table, &[S::Exact]),
    entry(Inner, Sketch, &[S::CountSketch, S::KAry, S::CountMin]),
];

/// The structures that answer a task.
pub fn structures(kind: TaskKind) -> impl Iterator<Item = Structure> {
    ENTRIES.iter().filter(move |entry| entry.kind == kind).flat_map(|entry| entry.built.iter().copied())
}
