//! The time that a run takes for a packet, by step.

use crate::Integer;
use serde::{Deserialize, Serialize};

/// The time that a run took for a packet, by step, as far as bursts were timed. A packet's waiting in rings is in none of the steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepsReport {
    /// The number of bursts of which one was timed, on average.
    pub one_of: u32,
    /// The number of received packets whose steps were timed.
    #[serde(with = "Integer")]
    pub timed_packets: u64,
    /// The time of receiving a packet, nanoseconds.
    pub receive_ns: f64,
    /// The time of making key, hash and fields of a packet, nanoseconds.
    pub parse_ns: f64,
    /// The time of giving a packet to the thread that counts it, nanoseconds; 0 where receivers count themselves.
    pub hand_over_ns: f64,
    /// The time of counting a packet in tables and tasks, nanoseconds: the packet processing time (PPT).
    pub processing_ns: f64,
    /// The time of giving back what held a packet, nanoseconds; 0 without mbufs.
    pub free_ns: f64,
    /// The sum of the steps, nanoseconds: the delay of a packet.
    pub delay_ns: f64,
    /// The share of the packets that source and rings lost, percent: the packet drop rate (PDR).
    ///
    /// `None` if the source cannot count its loss.
    pub drop_percent: Option<f64>,
    /// The share of the threads' time that the readings of the clock took, percent.
    pub cost_percent: f64,
    /// The counts of the processor for a packet.
    ///
    /// `None` if the machine does not show them.
    pub hardware: Option<HardwareReport>,
    /// The threads, receivers first.
    pub threads: Vec<StepsThread>,
}

/// The counts of the processor for a packet, in user code of all threads, empty polls included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareReport {
    /// The cycles.
    pub cycles: f64,
    /// The instructions.
    pub instructions: f64,
    /// The misses, mostly of the last-level cache.
    pub cache_misses: f64,
}

/// A thread that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepsThread {
    /// The role of the thread: `receiver` or `worker`.
    pub role: String,
    /// The number of frames that it received, or packets that it counted.
    #[serde(with = "Integer")]
    pub packets: u64,
    /// The share of its time in which it had something to do, by what was timed; `None` if nothing was.
    pub busy: Option<f64>,
}
