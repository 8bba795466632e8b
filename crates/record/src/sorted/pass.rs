//! A pass: rows that are read together.

use std::ops::{Bound, Range, RangeBounds};

/// Rows that are read together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortPass {
    pub(super) times: Range<i64>,
    /// The addresses of the rows; `None`: all addresses.
    pub(super) addresses: Option<AddressRange>,
}

/// Pairs of destination and source, from one to before another one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AddressRange(pub(super) Bound<[u128; 2]>, pub(super) Bound<[u128; 2]>);

impl AddressRange {
    pub(super) fn contains(&self, both: &[u128; 2]) -> bool {
        (self.0, self.1).contains(both)
    }
}
