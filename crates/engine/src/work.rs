//! The load of the threads of a run.

/// The load of threads in a window of a live source, and what they lost by no fault of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadLoad {
    /// The share of the time that the busiest receiver spent on bursts of at least half of the largest size. A receiver that keeps up
    /// polls before that many frames have arrived.
    pub receivers_behind: f64,
    /// The share of the bursts at which the busiest worker had others waiting; `None` where receivers count themselves.
    pub workers_busy: Option<f64>,
    /// Frames that sources lost while a receiver was off its core, as far as they can tell.
    pub off_core: u64,
    /// (Σc)² / Σc² over the packets c of the window's flows: as many flows of equal size would be as skewed. 0 without rows.
    pub even_flows: f64,
}

impl ThreadLoad {
    /// Adds that of another receiver.
    pub(crate) fn add(&mut self, more: &Self) {
        self.receivers_behind = self.receivers_behind.max(more.receivers_behind);
        self.workers_busy = self.workers_busy.into_iter().chain(more.workers_busy).reduce(f64::max);
        self.off_core += more.off_core;
    }
}
