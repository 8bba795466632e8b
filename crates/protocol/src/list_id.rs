//! The identifier of a task list.

use serde::{Deserialize, Serialize};

/// The identifier of a task list. A later one is larger: one of a controller that started later is, whatever its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ListId {
    /// The time at which the controller started, nanoseconds since the epoch.
    #[serde(default)]
    pub epoch: u64,
    /// The number of the list; later lists of one controller have larger numbers.
    pub generation: u64,
}
