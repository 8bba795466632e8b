//! Arrival times of packets: the schedule of a replay at a set rate.
//!
//! A trace of `F` frames is replayed repeatedly, lap by lap. Packet `n` is frame `n mod F` of lap `n / F`.
//! Its arrival, in nanoseconds after the start, is a function of `n` alone: the result does not depend on the
//! caller, the order of queries, or the share of the packets.

mod interval;
mod poisson;
mod steps;

use interval::ArrivalInterval;
use notation::{Rate, SpecError, unknown_key};
use std::fmt;
use std::str::FromStr;

pub use steps::{RateSteps, StepArrivals};

/// The distribution of arrivals at the same mean rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ArrivalProcess {
    /// Even arrivals: one packet after each interval, or, at a rate in bits, each as soon as the line is free.
    #[default]
    Constant,
    /// Random and independent arrivals: intervals have an exponential distribution.
    Poisson,
    /// Bursts of this many packets at one moment, each followed by a pause.
    Bursts(u32),
}

/// The bytes that a frame occupies on an Ethernet line (IEEE 802.3, clauses 3 and 4): preamble and start
/// delimiter (8 bytes), the frame with its check sequence (4), padded to 64, and the gap between packets
/// (12). `wire_len` is without check sequence.
pub fn line_bytes(wire_len: u32) -> u64 {
    (u64::from(wire_len) + 4).max(64) + 20
}

impl FromStr for ArrivalProcess {
    type Err = SpecError;

    /// Reads `constant`, `poisson` or `bursts:32`.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("constant", "") => Ok(Self::Constant),
            ("poisson", "") => Ok(Self::Poisson),
            ("bursts", count) => match notation::count(count) {
                Ok(count @ 1..=1_000_000) => Ok(Self::Bursts(count as u32)),
                _ => Err(SpecError::new(format!(
                    "arrivals={text}: say how many packets come together, from 1 to 1000000, as in bursts:32"
                ))),
            },
            (name, _) => {
                Err(unknown_key("arrivals: there is no", name, &["constant", "poisson", "bursts:N"]))
            }
        }
    }
}

impl fmt::Display for ArrivalProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Bursts(count) => write!(f, "bursts:{count}"),
        }
    }
}

/// Arrival times, one kind of schedule per type so that the loop over a burst is specialised for it.
pub trait ArrivalTimes {
    /// Returns the time when a frame of the trace arrives in a lap, nanoseconds after the start.
    fn time_ns(&self, lap: u64, frame: u32) -> u64;

    /// The number of packets that have arrived at or before this time, which is at most
    /// [`Schedule::MOST_NS`]. `hint`: kept by the caller between calls (initially 0); it shortens the search
    /// if times do not go far back.
    fn arrived(&self, ns: u64, hint: &mut usize) -> u64;
}

/// The schedule of a trace. See [`ArrivalTimes`] for the queries of each kind.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Arrivals spread evenly by packets.
    Even(Even),
    /// Arrivals in bursts.
    Bursts(BurstSchedule),
    /// Arrivals spread evenly by bits: frames of different lengths.
    Line(ArrivalTable<u64>),
    /// Arrivals at random.
    Poisson(ArrivalTable<u32>),
    /// Arrivals spread evenly, at rates that take turns.
    Steps(StepArrivals),
}

impl Schedule {
    /// The longest time that can be queried: ten days. Within it every count of a schedule's units fits 62
    /// bits.
    pub const MOST_NS: u64 = 864_000_000_000_000;

    /// Packets per second that a schedule can have.
    const PACKETS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;
    /// Bits per second: from 1 Mbit/s to 1,000 Gbit/s.
    const BITS: std::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;

    /// Checks that a schedule can have this rate: within the bounds its times are exact.
    ///
    /// # Errors
    /// The rate is out of bounds, which the error names.
    pub fn check(rate: Rate) -> Result<(), SpecError> {
        match rate {
            Rate::Packets(number) if !Self::PACKETS.contains(&number) => {
                Err(SpecError::new("must be from 1pps to 1000Mpps"))
            }
            Rate::Bits(number) if !Self::BITS.contains(&number) => {
                Err(SpecError::new("must be from 1Mbps to 1000Gbps"))
            }
            _ => Ok(()),
        }
    }

    /// The schedule of a trace with frames of these lengths on the wire (without check sequence). At least
    /// one frame, fewer than 2³²; a rate that [`Schedule::check`] accepts. A rate in bits gives bursts and
    /// random arrivals the packet rate that follows from the trace's mean frame.
    pub fn new(
        arrivals: ArrivalProcess,
        rate: Rate,
        wire_lens: impl Iterator<Item = u32> + Clone,
        seed: u64,
    ) -> Self {
        let frames = wire_lens.clone().count() as u64;
        // Interval between two packets: a quotient of nanoseconds.
        let (numerator, denominator) = match rate {
            Rate::Packets(rate) => (1_000_000_000, u128::from(rate)),
            Rate::Bits(rate) => {
                let sum: u128 = wire_lens.clone().map(|length| u128::from(line_bytes(length))).sum();
                (sum * 8_000_000_000, u128::from(rate) * u128::from(frames))
            }
        };
        let even = |fraction| ArrivalInterval::new(numerator, denominator, fraction);
        match (arrivals, rate) {
            (ArrivalProcess::Poisson, _) => Self::Poisson(ArrivalTable {
                interval: even(poisson::FRACTION),
                frames,
                values: poisson::arrivals(seed).into(),
                lap_value: (poisson::PACKETS as u64) << poisson::FRACTION,
            }),
            (ArrivalProcess::Bursts(count), _) => {
                Self::Bursts(BurstSchedule { even: Even { interval: even(0), frames }, count: count.into() })
            }
            (ArrivalProcess::Constant, Rate::Bits(rate)) if differ(wire_lens.clone()) => {
                let mut sum = 0;
                let values: Box<[u64]> = wire_lens
                    .map(|length| {
                        let before = sum;
                        sum += line_bytes(length);
                        before
                    })
                    .collect();
                let interval = ArrivalInterval::new(8_000_000_000, rate.into(), 0);
                Self::Line(ArrivalTable { interval, frames, values, lap_value: sum })
            }
            (ArrivalProcess::Constant, _) => Self::Even(Even { interval: even(0), frames }),
        }
    }

    /// The schedule of a trace of this many frames, at least one, whose rate changes.
    pub fn from_steps(steps: &RateSteps, frames: u64) -> Self {
        Self::Steps(StepArrivals::new(steps, frames))
    }

    /// See [`ArrivalTimes::time_ns`].
    pub fn time_ns(&self, lap: u64, frame: u32) -> u64 {
        match self {
            Self::Even(times) => times.time_ns(lap, frame),
            Self::Bursts(times) => times.time_ns(lap, frame),
            Self::Line(times) => times.time_ns(lap, frame),
            Self::Poisson(times) => times.time_ns(lap, frame),
            Self::Steps(times) => times.time_ns(lap, frame),
        }
    }

    /// See [`ArrivalTimes::arrived`].
    #[inline]
    pub fn arrived(&self, ns: u64, hint: &mut usize) -> u64 {
        match self {
            Self::Even(times) => times.arrived(ns, hint),
            Self::Bursts(times) => times.arrived(ns, hint),
            Self::Line(times) => times.arrived(ns, hint),
            Self::Poisson(times) => times.arrived(ns, hint),
            Self::Steps(times) => times.arrived(ns, hint),
        }
    }
}

/// Returns true if frames take different shares of a line.
fn differ(mut wire_lens: impl Iterator<Item = u32>) -> bool {
    let first = wire_lens.next().map(line_bytes);
    wire_lens.any(|length| Some(line_bytes(length)) != first)
}

/// Packet `n` at `n` intervals.
#[derive(Clone, Debug)]
pub struct Even {
    interval: ArrivalInterval,
    frames: u64,
}

impl ArrivalTimes for Even {
    #[inline(always)]
    fn time_ns(&self, lap: u64, frame: u32) -> u64 {
        self.interval.ns(lap * self.frames + u64::from(frame))
    }

    #[inline]
    fn arrived(&self, ns: u64, _: &mut usize) -> u64 {
        self.interval.unit_at(ns) + 1
    }
}

/// Arrivals in bursts: each packet arrives with the first of its burst.
#[derive(Clone, Debug)]
pub struct BurstSchedule {
    even: Even,
    count: u64,
}

impl ArrivalTimes for BurstSchedule {
    #[inline(always)]
    fn time_ns(&self, lap: u64, frame: u32) -> u64 {
        let number = lap * self.even.frames + u64::from(frame);
        self.even.interval.ns(number - number % self.count)
    }

    #[inline]
    fn arrived(&self, ns: u64, _: &mut usize) -> u64 {
        (self.even.interval.unit_at(ns) / self.count + 1) * self.count
    }
}

/// Times from a table, which is repeated at its end.
#[derive(Clone, Debug)]
pub struct ArrivalTable<V> {
    interval: ArrivalInterval,
    frames: u64,
    /// Rising from 0, in units of the interval.
    values: Box<[V]>,
    /// The duration of one pass of the table.
    lap_value: u64,
}

impl<V: Copy + Into<u64>> ArrivalTimes for ArrivalTable<V> {
    #[inline(always)]
    fn time_ns(&self, lap: u64, frame: u32) -> u64 {
        // The line's table has the trace's length; the random one has a power of two, independent of the
        // trace.
        let (round, index) = if self.values.len() as u64 == self.frames {
            (lap, u64::from(frame))
        } else {
            let number = lap * self.frames + u64::from(frame);
            (number / poisson::PACKETS as u64, number % poisson::PACKETS as u64)
        };
        self.interval.ns(round * self.lap_value + self.values[index as usize].into())
    }

    #[inline]
    fn arrived(&self, ns: u64, hint: &mut usize) -> u64 {
        let unit = self.interval.unit_at(ns);
        let (round, rest) = (unit / self.lap_value, unit % self.lap_value);
        *hint = count_up_to(&self.values, rest, *hint);
        round * self.values.len() as u64 + *hint as u64
    }
}

/// The number of values that are at most `limit`, by doubling steps from `hint` on: few steps if the answer
/// is near.
#[inline]
fn count_up_to<V: Copy + Into<u64>>(values: &[V], limit: u64, hint: usize) -> usize {
    let is_reached = |value: V| value.into() <= limit;
    let mut low = if hint > 0 && hint <= values.len() && is_reached(values[hint - 1]) { hint } else { 0 };
    let mut step = 1;
    while low + step <= values.len() && is_reached(values[low + step - 1]) {
        low += step;
        step *= 2;
    }
    let end = values.len().min(low + step);
    low + values[low..end].partition_point(|&value| is_reached(value))
}

#[cfg(test)]
mod tests;
