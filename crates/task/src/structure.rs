//! The structures that tasks can be counted in, by name.

/// A structure. Its types are those of `sketch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// A table of all flows (of all contacts, of all values).
    Exact,
    /// Count-Min with its heaviest flows kept next to it.
    CountMin,
    /// Count-Min with conservative update, with its heaviest flows kept next to it.
    Conservative,
    /// Count Sketch, with its heaviest flows kept next to it.
    CountSketch,
    /// The k-ary sketch, with its heaviest flows kept next to it.
    KAry,
    /// Count-Min of numbers that may fall below zero, as changes do, with its heaviest flows kept next to it.
    Turnstile,
    /// The Reversible sketch, whose keys are read off its counters; of keys of more than four bytes, the one with sets of their bytes.
    Reversible,
    /// The Simple Hash Table as published: keys are never checked.
    SimpleHashTable,
    /// SpaceSaving by stream-summary; by heap if bytes are counted.
    SpaceSaving,
    /// SpaceSaving by heap.
    SpaceSavingHeap,
    /// MV-Sketch.
    MvSketch,
    /// CocoSketch.
    CocoSketch,
    /// Packet sampling.
    PacketSample,
    /// Flow sampling.
    FlowSample,
    /// Sample and hold.
    SampleAndHold,
    /// A single row of counters, whose sums are separated by expectation maximisation.
    SizeArray,
    /// Random positions of the stream.
    StreamSample,
    /// A sample of contacts by their hash.
    ContactSample,
    /// Distinct counters in rows, with candidates.
    SpreadSketch,
    /// Count-Min over dyadic intervals.
    Dyadic,
    /// A uniform sample of values.
    Reservoir,
    /// Bins of equal relative error.
    DdSketch,
    /// HyperLogLog.
    HyperLogLog,
    /// A bitmap with linear counting.
    Bitmap,
    /// Bitmaps, each of which takes half of what the one before it leaves.
    MultiResolutionBitmap,
}

use Structure::{
    Bitmap, CocoSketch, Conservative, ContactSample, CountMin, CountSketch, DdSketch, Dyadic, Exact,
    FlowSample, HyperLogLog, KAry, MultiResolutionBitmap, MvSketch, PacketSample, Reservoir, Reversible,
    SampleAndHold, SimpleHashTable, SizeArray, SpaceSaving, SpaceSavingHeap, SpreadSketch, StreamSample,
    Turnstile,
};
use serde::{Deserialize, Serialize};

impl Structure {
    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Exact => "exact",
            CountMin => "count-min",
            Conservative => "conservative-update",
            CountSketch => "count-sketch",
            KAry => "k-ary",
            Turnstile => "turnstile",
            Reversible => "reversible",
            SimpleHashTable => "simple-hash-table",
            SpaceSaving => "space-saving",
            SpaceSavingHeap => "space-saving-heap",
            MvSketch => "mv-sketch",
            CocoSketch => "coco-sketch",
            PacketSample => "packet-sample",
            FlowSample => "flow-sample",
            SampleAndHold => "sample-and-hold",
            SizeArray => "size-array",
            StreamSample => "stream-sample",
            ContactSample => "contact-sample",
            SpreadSketch => "spread-sketch",
            Dyadic => "dyadic",
            Reservoir => "reservoir",
            DdSketch => "ddsketch",
            HyperLogLog => "hyper-log-log",
            Bitmap => "bitmap",
            MultiResolutionBitmap => "multi-resolution-bitmap",
        }
    }

    /// Returns true if the structure requires all packets of a flow on one core.
    pub(crate) fn needs_whole_flows(self) -> bool {
        matches!(self, Conservative | StreamSample)
    }

    /// Returns true if the structure consists of rows of counters, whose number and length can be chosen.
    pub(crate) fn has_rows(self) -> bool {
        matches!(
            self,
            CountMin
                | Conservative
                | CountSketch
                | KAry
                | Reversible
                | Turnstile
                | SimpleHashTable
                | MvSketch
                | CocoSketch
                | SpreadSketch
        )
    }

    /// Returns true if a flow that the structure names is the one that it counted.
    pub(crate) fn checks_keys(self) -> bool {
        self != SimpleHashTable
    }

    /// Returns the reason why byte counts cannot be kept in the structure; `None` if they can.
    pub(crate) fn why_not_bytes(self) -> Option<&'static str> {
        match self {
            Conservative | CountSketch | Reversible | SimpleHashTable | MvSketch | CocoSketch => {
                Some("its counters have 32 bits, which bytes fill in a second")
            }
            SizeArray
            | SpreadSketch
            | ContactSample
            | Dyadic
            | Reservoir
            | DdSketch
            | HyperLogLog
            | Bitmap
            | MultiResolutionBitmap => Some("it counts packets"),
            Exact | StreamSample | CountMin | KAry | Turnstile | SpaceSaving | SpaceSavingHeap
            | PacketSample | FlowSample | SampleAndHold => None,
        }
    }
}
