//! What outlives a controller.

use serde::{Deserialize, Serialize};

/// What a controller needs to continue after a restart, besides its queries and stories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    pub(crate) machine: events::Saved,
    pub(crate) settled_ns: Option<u64>,
}
