//! The end of a replay that several receivers share: flows end by the stream time of all of it, not by that
//! of their own queue. Otherwise a flow of a queue whose last frame arrived early would end as if the stream
//! had ended there.

use crate::backoff::Backoff;
use port::TimeBase;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The progress of a run's receivers.
#[derive(Debug)]
pub(crate) struct EndBarrier {
    receiving: AtomicUsize,
    latest_ns: AtomicU64,
    /// Live receivers use one clock, and their sources end independently: no receiver waits for another.
    waits: bool,
}

impl EndBarrier {
    pub(crate) fn new(receivers: usize, time_base: TimeBase) -> Self {
        Self {
            receiving: AtomicUsize::new(receivers),
            latest_ns: AtomicU64::new(0),
            waits: time_base == TimeBase::Packets,
        }
    }

    /// The handle of one receiver; to be requested once for each.
    pub(crate) fn receiving(&self) -> Receiving<'_> {
        Receiving(self)
    }
}

/// A receiver that has not ended.
#[derive(Debug)]
pub(crate) struct Receiving<'a>(&'a EndBarrier);

impl Receiving<'_> {
    /// The receiver has ended at stream time `now`. Waits for the other receivers and returns the stream time
    /// at which flows end.
    pub(crate) fn end(self, now: u64) -> u64 {
        let finish = self.0;
        finish.latest_ns.fetch_max(now, Ordering::Relaxed);
        drop(self);
        if !finish.waits {
            return now;
        }
        let mut backoff = Backoff::default();
        while finish.receiving.load(Ordering::Acquire) != 0 {
            backoff.wait();
        }
        finish.latest_ns.load(Ordering::Relaxed)
    }
}

/// Ends receiving, also if the receiver fails: the other receivers stop waiting for it.
impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        self.0.receiving.fetch_sub(1, Ordering::Release);
    }
}
