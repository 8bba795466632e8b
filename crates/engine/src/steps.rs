//! The time of a measuring thread by step, for benches: a few clock readings per burst, only on request.

use crate::hardware::HardwareCounts;
use std::time::{Duration, Instant};

/// The role of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadRole {
    /// The thread receives, and counts or hands over.
    #[default]
    Receiver,
    /// The thread counts what it is handed.
    Worker,
}

/// The time of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// The role of the thread.
    pub role: ThreadRole,
    /// Frames received, or packets counted.
    pub packets: u64,
    /// Polls of sources that returned frames. Receivers only.
    pub receive: Duration,
    /// Releasing what each burst held, such as mbufs. Receivers only.
    pub free: Duration,
    /// Parsing. Receivers only.
    pub parse: Duration,
    /// Updating tables (Wu et al. call it the packet processing time); of a receiver with workers, handing over.
    pub count: Duration,
    /// The time from the thread's first poll to its end.
    pub elapsed: Duration,
    /// The counts of the processor; `None` if they are not accessible.
    pub hardware: Option<HardwareCounts>,
}

impl StepTimes {
    /// Returns the share of the thread's time in which it had something to do.
    pub fn busy(&self) -> f64 {
        let busy = self.receive + self.free + self.parse + self.count;
        busy.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Nanoseconds per packet of one of the times above.
    pub fn per_packet(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.packets.max(1) as f64
    }
}

/// Reads the clock, if enabled. The cost of its readings is excluded from the times: 23 ns each, twice a
/// packet's share of some steps if polls find one or two packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    /// The cost of a reading; `None` if none is made.
    reading: Option<Duration>,
    spent: Duration,
}

impl Stopwatch {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { reading: is_on.then(mean_reading), spent: Duration::ZERO }
    }

    pub(crate) fn is_on(self) -> bool {
        self.reading.is_some()
    }

    /// Returns the cost of all readings of the stopwatch.
    pub(crate) fn spent(self) -> Duration {
        self.spent
    }

    /// Calls `work` and adds its time to `sum`.
    #[inline(always)]
    pub(crate) fn time<T>(&mut self, sum: &mut Duration, work: impl FnOnce() -> T) -> T {
        let Some(reading) = self.reading else { return work() };
        let began = Instant::now();
        let done = work();
        // The first reading's end and the second one's beginning lie within.
        *sum += began.elapsed().saturating_sub(reading);
        self.spent += 2 * reading;
        done
    }
}

/// The mean cost of a reading. A clock with steps of ten nanoseconds shows 20 or 30: the fastest would be 4
/// too few, three times that per packet if polls find one or two.
fn mean_reading() -> Duration {
    /// The number of readings. The slowest eighth may have been interrupted.
    const READINGS: u32 = 1024;
    let mut readings: Vec<_> = (0..READINGS).map(|_| Instant::now().elapsed()).collect();
    readings.sort_unstable();
    readings.truncate(readings.len() / 8 * 7);
    readings.iter().sum::<Duration>() / readings.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_is_timed_and_only_where_that_is_asked_for() {
        let (mut on, mut off) = (Stopwatch::new(true), Stopwatch::new(false));
        let mut sums = [Duration::ZERO; 3];
        let nap = Duration::from_millis(2);
        let began = Instant::now();
        for _ in 0..3 {
            on.time(&mut sums[0], || std::thread::sleep(nap));
            off.time(&mut sums[1], || std::thread::sleep(nap));
        }
        assert_eq!(on.time(&mut sums[2], || 7), 7);
        let elapsed = began.elapsed();
        assert!(sums[0] + on.spent() >= 3 * nap && sums[0] <= elapsed, "{sums:?}");
        assert_eq!((sums[1], off.spent()), (Duration::ZERO, Duration::ZERO));
        assert!(on.is_on() && !off.is_on());
        assert!(on.spent() <= elapsed);
    }
}
