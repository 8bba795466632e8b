//! Packets that a receiver did not hand over, or no worker took.

/// Counter of frames that the sample does not hold.
pub(crate) const NOT_SAMPLED: &str = "not_sampled";
/// Counter of frames for which a worker's ring had no room.
pub(crate) const RING_FULL: &str = "ring_full";
/// Counter of frames whose worker had failed.
pub(crate) const WORKER_FAILED: &str = "worker_failed";

/// Packets that were parsed and not counted by any worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UncountedPackets {
    /// A worker's ring was full.
    pub(crate) ring_full: u64,
    /// The worker had failed.
    pub(crate) worker_failed: u64,
}
