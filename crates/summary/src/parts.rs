//! What flows are asked beyond the plain record: only some runs ask for it, and its state lies in arenas of its own, so that
//! the plain record pays nothing.

use crate::statistic::StatisticSpec;

/// What of a packet is a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Frames received between two packets of the flow (FloWatcher, section III.D): the interleaving gap.
    Gap,
    /// Layer-3 bytes of a packet.
    Size,
    /// Nanoseconds between two packets of the flow.
    InterArrival,
}

/// What flows are asked beyond the plain record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Statistics by metric, in the order of the record's values.
    pub statistics: [Option<(Metric, StatisticSpec)>; 3],
    /// Both directions of a key lie together, and end together in one record (`--biflow`).
    pub biflow: bool,
    /// TCP losses (`--loss`).
    pub loss: bool,
    /// Flows are shares, to be put together ([`crate::FlowShare`]). Alone among the parts: what the others know of a flow is in
    /// no share.
    pub shares: bool,
}

impl Parts {
    /// True where both directions of a key must lie together: keys must then be hashed alike ([`packet::Key::pair_hash`]).
    pub fn are_paired(&self) -> bool {
        self.biflow || self.loss
    }

    /// True where nothing is asked beyond the plain record.
    pub fn is_plain(&self) -> bool {
        !self.are_paired() && self.statistics.iter().all(Option::is_none)
    }

    /// True where bursts must carry details.
    pub fn need_details(&self) -> bool {
        self.loss || self.shares || self.statistics.iter().flatten().any(|(metric, _)| *metric == Metric::Gap)
    }
}
