//! The flow tables of a bench's designs at one load.

use super::fit::fit;
use super::point::{TallyKind, WirePoint};
use engine::{OfferedLoad, Preset, Split, StatePlacement};

/// A point for each design of these settings.
pub(super) fn tables(preset: &Preset, load: OfferedLoad) -> Result<Vec<WirePoint>, String> {
    let point = |&case: &_| {
        let plan = fit(case)?.plan;
        let variant = format!("{}_{}{}", plan.design, plan.threads(), way(plan.split, plan.state));
        Ok(WirePoint { variant, ..WirePoint::at(preset, case, load) })
    };
    preset.cases.iter().map(point).collect()
}

impl WirePoint {
    /// Returns true if all cores update the same flow table.
    pub(super) fn is_shared_table(&self) -> bool {
        matches!(self.counting, TallyKind::Flows | TallyKind::Gaps(_)) && self.design.ends_with("shared")
    }
}

/// Returns the suffix for the split of packets and the place of flows, if not by hash and separate.
fn way(split: Split, state: StatePlacement) -> &'static str {
    match (split, state) {
        (Split::Hash, StatePlacement::Separate) => "",
        (Split::Position, StatePlacement::Separate) => "_position",
        (Split::Hash, StatePlacement::Shared) => "_shared",
        (Split::Position, StatePlacement::Shared) => "_position_shared",
    }
}
