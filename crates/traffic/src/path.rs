//! TCP connections along a path of hops, at most one of which loses packets, as taps between the hops see
//! them.
//!
//! Every loss is drawn beforehand, only first transmissions are lost, and the last segments of a connection
//! never are. So each lost segment leaves a hole and is repaired exactly once, and what a tap must find is
//! known to the byte. A delayed segment is overtaken by at most two others, which does not trigger a
//! retransmission.

mod planted;
mod simulation;

pub use crate::spec::path::PathSpec;
pub(crate) use planted::{PlantedPath, PlantedPaths};
pub use simulation::{PathSimulation, TapFrame};

use crate::loss_truth::LossTruth;
use serde::Serialize;

/// The losses of a path, and what each tap must find of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathTruth {
    /// The specification, as `Display` of [`PathSpec`] shows it.
    pub spec: String,
    /// Number of the hop that loses packets, from 1 on; 0 where none does. Tap `n`, counted from 0, lies
    /// before hop `n` + 1.
    pub lossy_hop: u32,
    /// The segments that the hop lost.
    pub lost_count: u64,
    /// The payload of the lost segments, bytes.
    pub lost_byte: u64,
    /// The losses that each tap must find, by tap, from the sender on.
    pub taps: Vec<TapTruth>,
}

/// The frames and losses that one tap must find; losses in the direction of the data, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TapTruth {
    /// Frames, both directions.
    pub packets: u64,
    /// The losses that the tap must find.
    #[serde(flatten)]
    pub loss: LossTruth,
}
