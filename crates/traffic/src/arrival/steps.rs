//! A rate that changes in steps, over and over.

use super::ArrivalTimes;
use super::interval::ArrivalInterval;

/// Rates in packets per second that take turns, each for the same time. After the last one the first comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSteps {
    rates: [u64; Self::MOST],
    count: usize,
    phase_ns: u64,
}

impl RateSteps {
    /// The most rates.
    pub const MOST: usize = 16;
    /// The shortest and the longest time of a rate: a millisecond and an hour.
    pub const PHASES_NS: std::ops::RangeInclusive<u64> = 1_000_000..=3_600_000_000_000;

    /// Two rates at least, each of which has a packet in its time; `None` for fewer or more than [`RateSteps::MOST`], for a time out of
    /// range, or for a rate with no packet in it.
    pub fn new(rates: &[u64], phase_ns: u64) -> Option<Self> {
        let has_packet = |rate: &u64| u128::from(*rate) * u128::from(phase_ns) >= 1_000_000_000;
        let is_possible = (2..=Self::MOST).contains(&rates.len())
            && Self::PHASES_NS.contains(&phase_ns)
            && rates.iter().all(has_packet);
        let mut all = [0; Self::MOST];
        all.iter_mut().zip(rates).for_each(|(place, rate)| *place = *rate);
        is_possible.then_some(Self { rates: all, count: rates.len(), phase_ns })
    }

    /// The rates, packets per second.
    pub fn rates(&self) -> &[u64] {
        &self.rates[..self.count]
    }

    /// Returns the time for which each rate is in force, nanoseconds.
    pub fn phase_ns(&self) -> u64 {
        self.phase_ns
    }
}

/// Arrivals by [`RateSteps`]: evenly spread within each phase, the first packet of a phase at its begin. A phase has as many packets as whole
/// intervals fit into it.
#[derive(Clone, Debug)]
pub struct StepArrivals {
    phases: Box<[RatePhase]>,
    phase_ns: u64,
    /// Packets of a round.
    packets: u64,
    frames: u64,
}

#[derive(Clone, Copy, Debug)]
struct RatePhase {
    interval: ArrivalInterval,
    /// Packets of the round before this phase.
    before: u64,
    packets: u64,
}

impl StepArrivals {
    pub(super) fn new(steps: &RateSteps, frames: u64) -> Self {
        let mut packets = 0;
        let phases = steps.rates().iter().map(|&rate| {
            let own = (u128::from(rate) * u128::from(steps.phase_ns) / 1_000_000_000) as u64;
            let phase = RatePhase {
                interval: ArrivalInterval::new(1_000_000_000, rate.into(), 0),
                before: packets,
                packets: own,
            };
            packets += own;
            phase
        });
        let phases: Box<[RatePhase]> = phases.collect();
        Self { phases, phase_ns: steps.phase_ns, packets, frames }
    }

    fn round_ns(&self) -> u64 {
        self.phase_ns * self.phases.len() as u64
    }
}

impl ArrivalTimes for StepArrivals {
    #[inline(always)]
    fn time_ns(&self, lap: u64, frame: u32) -> u64 {
        let number = lap * self.frames + u64::from(frame);
        let (round, rest) = (number / self.packets, number % self.packets);
        let after = self.phases.partition_point(|phase| phase.before <= rest);
        let number = after.saturating_sub(1);
        let phase = &self.phases[number];
        round * self.round_ns() + number as u64 * self.phase_ns + phase.interval.ns(rest - phase.before)
    }

    #[inline]
    fn arrived(&self, ns: u64, _: &mut usize) -> u64 {
        let (round, rest) = (ns / self.round_ns(), ns % self.round_ns());
        let phase = &self.phases[(rest / self.phase_ns) as usize];
        let own = (phase.interval.unit_at(rest % self.phase_ns) + 1).min(phase.packets);
        round * self.packets + phase.before + own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_has_its_time_in_turn() {
        let steps = RateSteps::new(&[1_000, 3_000, 2_000], 1_000_000_000).expect("possible");
        let steps = StepArrivals::new(&steps, 7);
        let arrived = |ms: u64| steps.arrived(ms * 1_000_000 - 1, &mut 0);
        assert_eq!([1_000, 2_000, 3_000, 4_000, 5_000].map(arrived), [1_000, 4_000, 6_000, 7_000, 10_000]);
        assert_eq!([500, 1_500, 2_250].map(arrived), [500, 2_500, 4_500]);
        // Counting by times one by one gives the same.
        let time = |n: u64| steps.time_ns(n / 7, (n % 7) as u32);
        for n in 0..13_000 {
            assert!(n == 0 || time(n - 1) < time(n), "{n}");
            assert_eq!(steps.arrived(time(n), &mut 0), n + 1, "{n}");
            assert!(time(n) == 0 || steps.arrived(time(n) - 1, &mut 0) == n, "{n}");
        }
    }

    #[test]
    fn what_has_no_packet_is_no_step() {
        assert_eq!(RateSteps::new(&[1], 1_000_000_000), None);
        assert_eq!(RateSteps::new(&[1_000, 1], 500_000_000), None);
        assert_eq!(RateSteps::new(&[1_000_000, 2_000_000], 10), None);
        assert_eq!(RateSteps::new(&[1_000; 17], 1_000_000_000), None);
    }
}
