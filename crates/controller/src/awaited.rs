//! A window that waits.

use events::EventKey;
use protocol::LookBackTask;
use std::collections::BTreeSet;

/// A window that waits for what nodes have kept of it.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) end_ns: u64,
    /// The time since which the window waits, where there is a clock.
    pub(crate) since_ns: Option<u64>,
    /// The tasks that nodes were asked and have not answered.
    pub(crate) asked: Vec<(usize, LookBackTask)>,
    /// Queries, nodes and instances that will not be answered.
    pub(crate) given_up: BTreeSet<(usize, usize, EventKey)>,
}
