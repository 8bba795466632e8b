//! What is known of a measurement in addition to its records.

/// Sums since the run began, given to writers at the end of each window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Stream time, nanoseconds since the epoch: the window's end.
    pub time_ns: u64,
    /// Frames taken from the source.
    pub received: u64,
    /// Frames counted in a flow record.
    pub measured: u64,
    /// Frames that the source lost; `None` if it cannot know.
    pub lost: Option<u64>,
}
