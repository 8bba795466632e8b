//! The time of a measuring thread by step: a few clock readings per burst that is timed, only on request.

use crate::hardware::HardwareCounts;
use packet::split_mix;
use std::time::{Duration, Instant};

/// The bursts whose steps are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepTiming {
    /// No burst.
    #[default]
    Off,
    /// Every burst, at the cost of six clock readings each.
    EveryBurst,
    /// One of this many rounds of polls, drawn at random, and of the bursts that a worker is handed. Times are scaled up to all packets.
    OneOf(u32),
}

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
    /// Packets whose steps were timed.
    pub timed_packets: u64,
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
    /// The time of the clock readings themselves, which is in none of the steps.
    pub readings: Duration,
    /// The counts of the processor; `None` if they are not accessible.
    pub hardware: Option<HardwareCounts>,
}

impl StepTimes {
    /// Returns the share of the thread's time in which it had something to do.
    pub fn busy(&self) -> f64 {
        let busy = self.receive + self.free + self.parse + self.count;
        busy.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The times, shortened alike where they are more than the thread had: the time off its core of a burst that is timed
    /// stands for that of bursts that are not.
    pub(crate) fn limited(self) -> Self {
        let sum = self.receive + self.free + self.parse + self.count;
        if sum <= self.elapsed {
            return self;
        }
        let share = self.elapsed.as_secs_f64() / sum.as_secs_f64();
        let [receive, free, parse, count] =
            [self.receive, self.free, self.parse, self.count].map(|time| time.mul_f64(share));
        Self { receive, free, parse, count, ..self }
    }

    /// Nanoseconds per packet of one of the times above.
    pub fn per_packet(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.packets.max(1) as f64
    }
}

/// Nanoseconds per packet by step, of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepNs {
    /// Polling.
    pub receive: f64,
    /// Giving mbufs back.
    pub free: f64,
    /// Frame to key and fields.
    pub parse: f64,
    /// Updating tables.
    pub process: f64,
    /// Handing over to workers; nothing where receivers count themselves.
    pub hand_over: f64,
}

impl StepNs {
    /// The steps of a packet, by what all threads of a run took.
    pub fn from_threads(threads: &[StepTimes]) -> Self {
        let of_role = |role: ThreadRole| threads.iter().filter(move |steps| steps.role == role);
        let packets = |role| of_role(role).map(|steps| steps.packets).sum::<u64>().max(1) as f64;
        let per_packet = |role, time: fn(&StepTimes) -> Duration| {
            of_role(role).map(time).sum::<Duration>().as_secs_f64() * 1e9 / packets(role)
        };
        let of_receivers = per_packet(ThreadRole::Receiver, |steps| steps.count);
        let (process, hand_over) = match of_role(ThreadRole::Worker).next() {
            // Of the packets that reached them: what rings refused took none of their time.
            Some(_) => (per_packet(ThreadRole::Worker, |steps| steps.count), of_receivers),
            None => (of_receivers, 0.0),
        };
        Self {
            receive: per_packet(ThreadRole::Receiver, |steps| steps.receive),
            free: per_packet(ThreadRole::Receiver, |steps| steps.free),
            parse: per_packet(ThreadRole::Receiver, |steps| steps.parse),
            process,
            hand_over,
        }
    }

    /// Returns the sum of the steps: the delay of a packet, without its waiting in rings.
    pub fn sum(&self) -> f64 {
        self.receive + self.free + self.parse + self.process + self.hand_over
    }
}

/// Reads the clock, if enabled. The cost of its readings is excluded from the times: 23 ns each, twice a
/// packet's share of some steps if polls find one or two packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    /// True while work is timed.
    is_running: bool,
    timing: StepTiming,
    /// The cost of a reading; zero if none is made.
    reading: Duration,
    spent: Duration,
    /// Bursts that are not timed before the next one that is.
    left: u32,
    /// The state of the draw of `left`.
    drawn: u64,
}

impl Stopwatch {
    pub(crate) fn new(timing: StepTiming) -> Self {
        let is_on = timing != StepTiming::Off;
        let reading = if is_on { mean_reading() } else { Duration::ZERO };
        let is_running = timing == StepTiming::EveryBurst;
        // The nanoseconds of the mean reading differ from thread to thread and from run to run.
        let drawn = u64::from(reading.subsec_nanos());
        Self { is_running, timing, reading, spent: Duration::ZERO, left: 0, drawn }
    }

    pub(crate) fn is_on(self) -> bool {
        self.timing != StepTiming::Off
    }

    pub(crate) fn is_running(self) -> bool {
        self.is_running
    }

    /// Begins a burst of this many packets, and returns whether it is timed. Of bursts, those without packets are not drawn.
    pub(crate) fn begin(&mut self, packets: u64) -> bool {
        if let (StepTiming::OneOf(_), 0) = (self.timing, packets) {
            self.is_running = false;
        } else if let StepTiming::OneOf(bursts) = self.timing {
            self.is_running = self.left == 0;
            self.left = match self.left {
                // The mean distance of two timed bursts is `bursts`: a fixed one could follow a pattern of the bursts.
                0 => (split_mix(&mut self.drawn) % u64::from(2 * bursts.max(1) - 1)) as u32,
                left => left - 1,
            };
        }
        self.is_running
    }

    /// Times work from here on, or does not, where another stopwatch draws the bursts.
    pub(crate) fn follow(&mut self, is_running: bool) {
        self.is_running = is_running;
    }

    /// Returns the cost of all readings of the stopwatch.
    pub(crate) fn spent(self) -> Duration {
        self.spent
    }

    /// Calls `work` and adds its time to `sum`.
    #[inline(always)]
    pub(crate) fn time<T>(&mut self, sum: &mut Duration, work: impl FnOnce() -> T) -> T {
        if !self.is_running {
            return work();
        }
        let began = Instant::now();
        let done = work();
        // The first reading's end and the second one's beginning lie within.
        *sum += began.elapsed().saturating_sub(self.reading);
        self.spent += 2 * self.reading;
        done
    }

    /// The time that all packets took, of which these were timed and took `sum`.
    pub(crate) fn scale(self, sum: Duration, packets: u64, timed: u64) -> Duration {
        match self.timing {
            StepTiming::OneOf(_) if timed != 0 => sum.mul_f64(packets as f64 / timed as f64),
            _ => sum,
        }
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
        let (mut on, mut off) = (Stopwatch::new(StepTiming::EveryBurst), Stopwatch::new(StepTiming::Off));
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

    #[test]
    fn one_of_many_bursts_is_timed() {
        let mut stopwatch = Stopwatch::new(StepTiming::OneOf(64));
        let (mut timed, mut distances, mut last) = (0, Vec::new(), 0);
        for burst in 0..64_000 {
            if stopwatch.begin(1) {
                timed += 1;
                distances.push(burst - last);
                last = burst;
            }
        }
        assert!((900..1100).contains(&timed), "{timed}");
        distances.sort_unstable();
        distances.dedup();
        assert!(distances.len() > 100 && distances.iter().all(|distance| *distance < 128), "{distances:?}");
        assert!((0..100).all(|_| Stopwatch::new(StepTiming::EveryBurst).begin(0)));
        assert!(!Stopwatch::new(StepTiming::Off).begin(1));
        let mut all = Stopwatch::new(StepTiming::OneOf(1));
        assert!((0..100).all(|_| all.begin(1)) && !all.begin(0));
    }

    #[test]
    fn times_are_scaled_to_all_packets() {
        let sum = Duration::from_micros(10);
        assert_eq!(Stopwatch::new(StepTiming::OneOf(64)).scale(sum, 6400, 100), 64 * sum);
        assert_eq!(Stopwatch::new(StepTiming::OneOf(64)).scale(Duration::ZERO, 6400, 0), Duration::ZERO);
        assert_eq!(Stopwatch::new(StepTiming::EveryBurst).scale(sum, 6400, 100), sum);
    }

    #[test]
    fn steps_take_no_more_time_than_the_thread_had() {
        let us = Duration::from_micros;
        let [receive, free, parse, count] = [10_000, 10_000, 20_000, 40_000].map(us);
        let steps = StepTimes { receive, free, parse, count, elapsed: us(100_000), ..StepTimes::default() };
        assert_eq!(steps.limited(), steps);
        // Parsing, scaled up from a burst in which the thread was off its core.
        let limited = StepTimes { parse: us(340_000), ..steps }.limited();
        let times = [limited.receive, limited.free, limited.parse, limited.count];
        assert_eq!(times, [2_500, 2_500, 85_000, 10_000].map(us));
        assert!((limited.busy() - 1.0).abs() < 1e-6, "{limited:?}");
    }

    #[test]
    fn steps_of_a_packet_are_those_of_the_threads_that_had_it() {
        let ns = Duration::from_nanos;
        let receiver = StepTimes { packets: 100, receive: ns(1000), parse: ns(500), ..StepTimes::default() };
        let alone = StepTimes { count: ns(3000), free: ns(200), ..receiver };
        let steps = StepNs::from_threads(&[alone]);
        assert_eq!([steps.receive, steps.parse, steps.process, steps.free], [10.0, 5.0, 30.0, 2.0]);
        assert_eq!((steps.hand_over, steps.sum()), (0.0, 47.0));
        let worker = |packets, count| StepTimes {
            role: ThreadRole::Worker,
            packets,
            count: ns(count),
            ..StepTimes::default()
        };
        let steps = StepNs::from_threads(&[alone, worker(40, 1200), worker(40, 1200)]);
        assert_eq!((steps.hand_over, steps.process), (30.0, 30.0));
    }
}
