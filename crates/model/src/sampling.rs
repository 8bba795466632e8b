//! By which share packets were sampled.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// By which share packets were sampled: each with this probability, independently of all others (RFC 5475, section 5.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Packets sampled, as a share of those that came: what totals are divided by.
    pub share: f64,
    /// The least share of a window.
    pub least: f64,
    /// The greatest share of a window.
    pub greatest: f64,
    /// Packets that were sampled and not counted, because a ring had no room for them or a worker had failed; bounds have them.
    #[serde(with = "Integer")]
    pub lost: u64,
}

impl From<&flow::Sampled> for Sampling {
    fn from(sampled: &flow::Sampled) -> Self {
        let [least, greatest] = sampled.shares().map(flow::Share::probability);
        Self { share: sampled.probability(), least, greatest, lost: sampled.lost() }
    }
}
