//! The memory that a run takes besides tables, before it begins.

use crate::config::MeasurementConfig;
use crate::design::StatePlacement;
use crate::plan::ResolvedDesign;
use crate::ring::ReceiverRings;

/// Initial bytes of tables if flows are merged ([`ResolvedDesign::merges`]): four arenas of 2 MiB for each address
/// family, twice per worker if state is separate, and once where they are merged.
pub fn merging_bytes(plan: &ResolvedDesign) -> usize {
    const TABLES: usize = 2 * 4 * (2 << 20);
    match (plan.merges(), plan.state) {
        (false, _) => 0,
        (true, StatePlacement::Separate) => (2 * plan.counting() + 1) * TABLES,
        (true, StatePlacement::Shared) => TABLES,
    }
}

/// Bytes of the rings between receivers and workers.
pub fn ring_bytes(plan: &ResolvedDesign, config: &MeasurementConfig) -> usize {
    let workers = plan.receivers * plan.workers;
    workers.saturating_mul(ReceiverRings::bytes(config.hand_over_batches, config.burst))
}
