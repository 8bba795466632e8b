//! The TCP losses that must be found.

use serde::{Serialize, Serializer};

/// The losses that a tap must find (`docs/loss.md`), all directions and connections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossTruth {
    /// The bytes lost before the tap.
    #[serde(serialize_with = "json_integer")]
    pub ploss_byte: u64,
    /// The segments that repaired those losses.
    pub ploss_count: u64,
    /// The segments that were overtaken before the tap.
    pub reorder_count: u64,
    /// The bytes that the tap saw and that were sent again, because they were lost after it.
    #[serde(serialize_with = "json_integer")]
    pub retrans_byte: u64,
    /// The segments that carried the bytes sent again.
    pub retrans_count: u64,
}

impl LossTruth {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            ploss_byte: self.ploss_byte + other.ploss_byte,
            ploss_count: self.ploss_count + other.ploss_count,
            reorder_count: self.reorder_count + other.reorder_count,
            retrans_byte: self.retrans_byte + other.retrans_byte,
            retrans_count: self.retrans_count + other.retrans_count,
        }
    }
}

/// Integers beyond 2⁵³ as text: a reader that takes numbers as doubles would round them.
pub(crate) fn json_integer<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= 1 << 53 { serializer.serialize_u64(*value) } else { serializer.collect_str(value) }
}
