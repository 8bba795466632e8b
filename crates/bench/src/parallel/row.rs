//! One of the candidates that are compared at one load: a design, and what it counts in.

use super::fit::Fitted;
use super::sketches::Sketches;
use engine::{Plan, Split, State};

/// A candidate: one row of the comparison.
pub(super) struct Row {
    pub(super) variant: String,
    pub(super) case: Fitted,
    /// What counts in the place of flow tables, if not these.
    pub(super) sketches: Option<Sketches>,
    /// Share of packets dropped and nanoseconds of an update, in the paper's table.
    pub(super) paper: Option<[f64; 2]>,
}

impl Row {
    /// A design with flow tables.
    pub(super) fn of_tables(case: Fitted) -> Self {
        let Plan { design, split, state, .. } = &case.plan;
        let variant = format!("{design}_{}{}", case.plan.threads(), way(*split, *state));
        Self { variant, case, sketches: None, paper: None }
    }
}

/// How packets are split and flows kept, if not by hash and separate.
fn way(split: Split, state: State) -> &'static str {
    match (split, state) {
        (Split::Hash, State::Separate) => "",
        (Split::Position, State::Separate) => "_position",
        (Split::Hash, State::Shared) => "_shared",
        (Split::Position, State::Shared) => "_position_shared",
    }
}
