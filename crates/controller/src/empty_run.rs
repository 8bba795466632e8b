//! Windows without packets: across nodes, and of derived queries.

/// Windows in a row in which the nodes of a query had no packets: one answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EmptyRun {
    /// The end of the first one.
    pub(crate) first_end_ns: u64,
    /// The end of the last one that is known.
    pub(crate) last_end_ns: u64,
    /// The nodes that are missing in all of them.
    pub(crate) missing: Vec<usize>,
}

/// Windows in a row in which none of the queries that are read had packets: one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DerivedRun {
    /// The end of the first one.
    pub(crate) first_end_ns: u64,
    /// The end of the last one that is known.
    pub(crate) last_end_ns: u64,
}
