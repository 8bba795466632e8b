//! The load of a probe.

use arena::Limits;
use engine::Snapshot;
use model::view::Load;
use std::sync::{Arc, Mutex, PoisonError};

/// The counts that the thread that watches a run tells the one that makes heartbeats.
#[derive(Clone, Debug)]
pub(super) struct LoadWatch {
    limits: Limits,
    seen: Arc<Mutex<LoadReading>>,
}

#[derive(Debug, Default)]
struct LoadReading {
    last: Snapshot,
    /// The busy and the polled time at the last heartbeat, nanoseconds.
    told: (u64, u64),
}

impl LoadWatch {
    /// Creates a watch of a run. `limits`: those of the run.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, seen: Arc::default() }
    }

    /// Takes the newest counts of the run.
    pub(super) fn see(&self, snapshot: Snapshot) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).last = snapshot;
    }

    /// Returns the load since it was last asked for.
    pub(super) fn take(&self) -> Load {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (seen.last.busy_ns, seen.last.polled_ns);
        let (busy, polled) = (now.0.saturating_sub(seen.told.0), now.1.saturating_sub(seen.told.1));
        seen.told = now;
        Load {
            busy: (polled != 0).then(|| busy as f64 / polled as f64),
            flows: self.limits.flows_used() as u64,
            // Without a limit it is the largest number.
            most_flows: Some(self.limits.flows_allowed())
                .filter(|most| *most != usize::MAX)
                .map(|most| most as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_that_of_the_time_since_the_last_one() {
        let watch = LoadWatch::new(Limits::new(1 << 20, 100));
        let see = |busy_ns, polled_ns| watch.see(Snapshot { busy_ns, polled_ns, ..Snapshot::default() });
        assert_eq!(watch.take(), Load { busy: None, flows: 0, most_flows: Some(100) });
        see(10, 100);
        assert_eq!(watch.take().busy, Some(0.1));
        see(100, 200);
        assert_eq!(watch.take().busy, Some(0.9));
        assert_eq!(watch.take().busy, None);
    }
}
