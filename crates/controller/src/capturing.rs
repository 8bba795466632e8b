//! A capture that nodes are asked for.

use protocol::CaptureTask;
use std::collections::BTreeSet;

/// A capture that is going on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Capturing {
    pub(crate) task: CaptureTask,
    /// The nodes that have not said how it ended.
    pub(crate) nodes: BTreeSet<usize>,
}
