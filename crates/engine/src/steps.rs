//! Where the time of a measuring thread goes, for benches: a few clock readings per burst, only where asked for.

use crate::hardware::HardwareCounts;
use std::time::{Duration, Instant};

/// What a thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It receives, and counts or hands over.
    #[default]
    Receiver,
    /// It counts what it is handed.
    Worker,
}

/// The time of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// What it did.
    pub role: Role,
    /// Frames received, or packets counted.
    pub packets: u64,
    /// Polls of sources that gave frames. Receivers only.
    pub receive: Duration,
    /// Giving back what each burst held, such as mbufs. Receivers only.
    pub free: Duration,
    /// Parsing. Receivers only.
    pub parse: Duration,
    /// Updating tables (Wu et al. call it the packet processing time); of a receiver with workers, handing over.
    pub count: Duration,
    /// From its first poll to its end.
    pub elapsed: Duration,
    /// What the processor counted; `None` where it does not tell.
    pub hardware: Option<HardwareCounts>,
}

impl Steps {
    /// The share of its time in which it had something to do.
    pub fn busy(&self) -> f64 {
        let busy = self.receive + self.free + self.parse + self.count;
        busy.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Nanoseconds per packet of one of the times above.
    pub fn per_packet(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.packets.max(1) as f64
    }
}

/// Reads the clock, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    pub(crate) is_on: bool,
}

impl Stopwatch {
    /// Calls `work` and adds its time to `sum`.
    #[inline(always)]
    pub(crate) fn time<T>(self, sum: &mut Duration, work: impl FnOnce() -> T) -> T {
        if !self.is_on {
            return work();
        }
        let began = Instant::now();
        let done = work();
        *sum += began.elapsed();
        done
    }
}
