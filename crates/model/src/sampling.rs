//! The shares by which packets were sampled.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// The shares of the packets that were sampled, each packet independently of all others (RFC 5475, section 5.2.2.1). Counts in answers are
/// estimates of all packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampling {
    /// The share of the packets that were sampled, by which totals are divided.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub share: f64,
    /// The least share of a window.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub least: f64,
    /// The greatest share of a window.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub greatest: f64,
    /// The number of packets that were sampled and not counted, because a ring had no room for them or a worker had failed; bounds include
    /// them.
    #[serde(with = "Integer")]
    pub lost: u64,
}

impl Sampling {
    /// Returns the sampling of both together, whose totals are divided by the one share; `None` where the shares differ.
    #[must_use]
    pub fn with(&self, other: &Self) -> Option<Self> {
        (self.share == other.share).then(|| Self {
            share: self.share,
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            lost: self.lost.saturating_add(other.lost),
        })
    }
}

impl From<&flow::Sampled> for Sampling {
    fn from(sampled: &flow::Sampled) -> Self {
        let [least, greatest] = sampled.shares().map(flow::Share::probability);
        Self { share: sampled.probability(), least, greatest, lost: sampled.lost() }
    }
}
