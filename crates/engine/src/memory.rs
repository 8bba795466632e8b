//! The memory that a run takes besides tables, before it begins.

use crate::config::Config;
use crate::design::State;
use crate::lane::Lane;
use crate::plan::Plan;

/// Initial bytes of tables if flows are merged ([`Plan::merges`]): four arenas of 2 MiB for each address
/// family, twice per worker if state is separate, and once where they are merged.
pub fn merging_bytes(plan: &Plan) -> usize {
    const TABLES: usize = 2 * 4 * (2 << 20);
    match (plan.merges(), plan.state) {
        (false, _) => 0,
        (true, State::Separate) => (2 * plan.counting() + 1) * TABLES,
        (true, State::Shared) => TABLES,
    }
}

/// Bytes of the rings between receivers and workers.
pub fn ring_bytes(plan: &Plan, config: &Config) -> usize {
    let workers = plan.receivers * plan.workers;
    workers.saturating_mul(Lane::bytes(config.hand_over_parcels, config.burst))
}
