//! The facts about a window from which tuning decides.

/// The facts about a window that all have completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuningObservation {
    /// The window's number.
    pub window: u64,
    /// The stream time of the window's end, nanoseconds since the epoch.
    pub end_ns: u64,
    /// The watched part of the window, nanoseconds.
    pub length_ns: u64,
    /// Frames received, those that sampling leaves out included.
    pub received: u64,
    /// Frames lost, for whatever reason.
    pub lost: u64,
    /// The number of lost frames that a worker's ring refused.
    pub ring_full: u64,
    /// The number of frames lost while a receiver was off its core, which no setting helps against.
    pub off_core: u64,
    /// The number of flows with packets in the window.
    pub flows: u64,
    /// The number of flows that the tables held at the window's end.
    pub held: u64,
    /// The number of flows of equal size that would have the same collision probability: (Σc)² / Σc² of the flows' packets c (the inverse of
    /// Simpson's index). The fewer it are of `flows`, the more skewed is the traffic.
    pub even_flows: f64,
    /// Share of the time that the busiest receiver spent on bursts of half the size or more, 0 to 1.
    pub receivers_behind: f64,
    /// Share of the bursts at which the busiest worker had others waiting, 0 to 1; `None` where there are no workers.
    pub workers_busy: Option<f64>,
}

impl TuningObservation {
    /// Frames that arrived.
    pub(super) fn offered(&self) -> u64 {
        self.received + self.lost
    }

    /// Frames that arrived in a second.
    pub(super) fn offered_pps(&self) -> f64 {
        self.pps(self.offered())
    }

    /// Frames that were received in a second.
    pub(super) fn received_pps(&self) -> f64 {
        self.pps(self.received)
    }

    fn pps(&self, frames: u64) -> f64 {
        frames as f64 * 1e9 / self.length_ns.max(1) as f64
    }

    /// The share of the frames that was lost, without what was lost off the core.
    pub(super) fn loss(&self) -> f64 {
        self.lost.saturating_sub(self.off_core) as f64 / self.offered().max(1) as f64
    }

    /// Returns how busy the busiest thread was.
    pub(super) fn busy(&self) -> f64 {
        self.receivers_behind.max(self.workers_busy.unwrap_or(0.0))
    }
}
