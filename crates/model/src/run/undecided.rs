//! Conditions that windows did not decide.

use crate::{Counters, Integer};
use serde::{Deserialize, Serialize};

/// A condition that some windows did not decide, so that it could neither fire nor resolve by them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndecidedReport {
    /// The query that the condition starts.
    pub query: String,
    /// The condition.
    pub condition: String,
    /// The number of windows, each counted once on each node.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// The numbers of windows by reason: `missing`, `coverage` (too much was lost), `cut` (watched in part), `partial`, `bounds` (the
    /// values are bounds).
    pub reasons: Counters,
}
