//! Which task list it is.

use serde::{Deserialize, Serialize};

/// Which task list it is. A later one is larger: one of a controller that started later is, whatever its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ListId {
    /// When the controller started, nanoseconds since the epoch.
    #[serde(default)]
    pub epoch: u64,
    /// Later lists of one controller have larger numbers.
    pub generation: u64,
}
