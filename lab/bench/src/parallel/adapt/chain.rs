//! Wires that begin one after the other.

use port::wire::WireQueue;
use port::{PacketSource, Poll, SourceCounter, SourceError, TimeBase};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time when each wire began, nanoseconds since the epoch.
pub(super) type Begins = Arc<Mutex<Vec<u64>>>;

/// Each queue is polled until it ends; the clock of the next one's wire starts then.
pub(super) struct ChainedWires {
    queues: Vec<WireQueue>,
    at: usize,
    begins: Begins,
}

impl ChainedWires {
    pub(super) fn new(queues: Vec<WireQueue>) -> (Self, Begins) {
        let begins = Begins::default();
        (Self { queues, at: 0, begins: Arc::clone(&begins) }, begins)
    }
}

impl PacketSource for ChainedWires {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        let mut begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        if begins.len() == self.at {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            begins.push(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        }
        drop(begins);
        let is_last = self.at + 1 == self.queues.len();
        match self.queues[self.at].rx_burst()? {
            Poll::Ended if !is_last => {
                self.at += 1;
                Ok(Poll::Idle)
            }
            poll => Ok(poll),
        }
    }

    fn time_base(&self) -> TimeBase {
        TimeBase::Clock
    }

    fn name(&self) -> &str {
        "wires"
    }

    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        let mut sum = 0;
        for queue in &mut self.queues {
            sum += queue.lost()?.iter().map(|(_, count)| count).sum::<u64>();
        }
        Some(vec![("imissed", sum)])
    }

    fn lost_off_core(&self) -> u64 {
        self.queues.iter().map(PacketSource::lost_off_core).sum()
    }
}
