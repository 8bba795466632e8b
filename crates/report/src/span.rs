//! A span of stream time.

use crate::rfc3339;
use serde::{Deserialize, Serialize};

/// A half-open span of stream time, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first instant in it.
    #[serde(rename = "start", with = "rfc3339")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "rfc3339")]
    pub end_ns: u64,
}

impl Span {
    /// Its length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.length_ns() as f64 / 1e9
    }
}
